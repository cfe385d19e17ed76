//! `krm vendor`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use krm_engine::files::Repository;
use krm_engine::workspace::VENDORED;
use krm_engine::{Diagnostic, Result, Span, World};

use crate::os::content::{ContentKind, Listing};
use crate::os::locked::{self, CopyFault, Locked, list_beside};
use crate::os::lockfile::{self, LockFile, chart_name, is_vendor_name, vendor_name};
use crate::os::{self, Disk};

/// Put what krm.lock names into the tree, as plain files
///
/// Writes `vendor/krm`, next to `krm.lock`: a folder for each repository and chart, with a list of its files as `sha256sum`
/// reads it, and a file for each file. Builds take what they find there, and check it. Kustomizations stay as they are.
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::VENDOR)]
pub struct VendorArgs {
    /// A folder of the repository
    #[arg(default_value = ".", value_name = "DIR")]
    dir: PathBuf,

    /// Write nothing; fail if something is missing, superfluous or changed
    #[arg(long)]
    check: bool,

    /// Make no connection; fail if something is not on this machine
    #[arg(long)]
    offline: bool,
}

pub fn run(args: &VendorArgs) -> Result<()> {
    os::absolute(&args.dir)?;
    let Some(file) = lockfile::find(&args.dir) else {
        let message = format!("there is no krm.lock in or above `{}`", args.dir.display());
        return Err(Diagnostic::error("no-lock-file", message)
            .help("write one with `krm lock`; if it finds nothing to lock, there is nothing to copy"));
    };
    let root = file.parent().unwrap_or(Path::new("/")).to_owned();
    let lock = locked::read(&file)?;
    let folder = root.join(VENDORED);
    let faults = faults(&folder, &lock);
    if args.check {
        return match faults.is_empty() {
            true => Ok(()),
            false => {
                let error = locked::vendor_outdated("`vendor/krm` is not what krm.lock says");
                Err(faults.into_iter().fold(error, |error, fault| error.note(fault, Span::NONE)))
            }
        };
    }
    if faults.is_empty() {
        eprintln!("`{}` is up to date", locked::shown(&folder));
        return Ok(());
    }
    refuse_what_is_not_ours(&root, &folder)?;
    let disk = Disk::locking(Locked::new(lock, root.clone()).offline(args.offline).without_vendored());
    let locked = disk.locked()?.expect("it was made with one");
    for (address, _) in locked.lock.remotes.iter().filter(|(_, remote)| remote.commit.is_some()) {
        repository(address)?;
    }
    let missing = if args.offline { locked.missing() } else { Vec::new() };
    if let Some(first) = missing.first() {
        return Err(locked::not_here(first, &missing)
            .help("run `krm vendor` without `--offline`: it fetches what is missing"));
    }
    let new = folder.with_file_name(format!(".krm-{}", std::process::id()));
    let written = write(&disk, locked, &new).and_then(|()| os::replace_folder(&new, &folder));
    if let Err(error) = written {
        let _ = fs::remove_dir_all(&new);
        // Only if it is empty: what else is there is not ours.
        let _ = fs::remove_dir(root.join("vendor"));
        return Err(error);
    }
    let count = locked.lock.remotes.len() + locked.lock.charts.len();
    eprintln!("wrote `{}`: {count} {}", locked::shown(&folder), if count == 1 { "entry" } else { "entries" });
    if !locked.lock.images.is_empty() {
        eprintln!("images are not copied: an engine pulls them, by the digests in krm.lock");
    }
    Ok(())
}

/// What a folder must have, by name: the address, the content, and what that is.
fn wanted(lock: &LockFile) -> BTreeMap<String, (String, String, ContentKind)> {
    let remotes = lock.remotes.iter().map(|(address, remote)| {
        (vendor_name(address), (address.clone(), remote.content.clone(), remote.kind()))
    });
    let charts = lock.charts.iter().map(|(chart, locked)| {
        let name = chart_name(chart);
        (vendor_name(&name), (name, locked.content.clone(), ContentKind::Folder))
    });
    remotes.chain(charts).collect()
}

/// Whether there are copies, and they are not those that a lock file names.
pub fn is_outdated(root: &Path, lock: &LockFile) -> bool {
    let folder = root.join(VENDORED);
    folder.is_dir() && !faults(&folder, lock).is_empty()
}

/// What is wrong with the copies.
fn faults(folder: &Path, lock: &LockFile) -> Vec<String> {
    let wanted = wanted(lock);
    let mut faults = Vec::new();
    for (name, (address, content, kind)) in &wanted {
        let path = folder.join(name);
        let why = match locked::check_copy(&path, content, *kind) {
            Ok(()) => continue,
            Err(_) if !path.exists() => "it is missing".to_owned(),
            Err(CopyFault::Outdated) => format!("`{}` has another content", locked::shown(&path)),
            Err(CopyFault::Damaged(why)) => why,
        };
        faults.push(format!("{address}: {why}"));
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let base = name.strip_suffix(".sha256").unwrap_or(&name);
        if !wanted.contains_key(&name)
            && !wanted.get(base).is_some_and(|(_, _, kind)| *kind == ContentKind::Folder)
        {
            faults.push(format!("`{}` belongs to no entry", locked::shown(&entry.path())));
        }
    }
    faults
}

/// Refuses to replace what krm did not write: the folder is replaced as a whole, and through a
/// symbolic link that would happen elsewhere.
fn refuse_what_is_not_ours(root: &Path, folder: &Path) -> Result<()> {
    let refused = |path: &Path, why: &str| {
        Err(Diagnostic::error("vendor-not-ours", format!("`{}` {why}", locked::shown(path)))
            .help("move it elsewhere: `krm vendor` replaces `vendor/krm` as a whole"))
    };
    if let Some(above) = folder.parent().filter(|above| above.is_symlink() && *above != root) {
        return refused(above, "is a link");
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_vendor_name(name.strip_suffix(".sha256").unwrap_or(&name)) {
            return refused(&entry.path(), "was not written by krm");
        }
    }
    Ok(())
}

/// Writes all copies into a new folder.
fn write(disk: &Disk, locked: &Locked, new: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Diagnostic::error("vendor-not-written", format!("cannot write `{}`: {error}", locked::shown(new)))
    };
    fs::create_dir_all(new).map_err(failed)?;
    let mut errors = Vec::new();
    for (address, remote) in &locked.lock.remotes {
        let path = new.join(vendor_name(address));
        let copied = match remote.commit.is_some() {
            true => repository(address)
                .and_then(|repository| disk.fetch(&repository))
                .and_then(|fetched| copy(&fetched.folder, &path, address)),
            false => disk.get(address).and_then(|download| fs::write(&path, &download.bytes).map_err(failed)),
        };
        errors.extend(copied.err());
    }
    for chart in locked.lock.charts.keys() {
        let name = chart_name(chart);
        let copied = match disk.chart(chart) {
            Ok(Some(folder)) => copy(&folder, &new.join(vendor_name(&name)), &name),
            Ok(None) => {
                let message = format!("chart `{name}` is not on this machine");
                Err(Diagnostic::error("vendor-no-chart", message)
                    .help("run `krm lock --enable-helm`: it pulls charts and keeps them"))
            }
            Err(error) => Err(error),
        };
        errors.extend(copied.err());
    }
    Diagnostic::join(errors).map_or(Ok(()), Err)
}

/// The repository of an entry.
fn repository(address: &str) -> Result<Repository> {
    Repository::parse(address).ok_or_else(|| {
        let message = format!("the entry `{address}` of krm.lock is not the address of a repository");
        Diagnostic::error("lock-not-an-address", message).help("run `krm lock` to write the file anew")
    })
}

/// Copies a folder, and writes the list of its files beside it.
fn copy(from: &Path, to: &Path, address: &str) -> Result<()> {
    let listing = Listing::of(from, address)?;
    let written = listing.copy(from, to).and_then(|()| fs::write(list_beside(to), listing.text()));
    written.map_err(|error| {
        Diagnostic::error("vendor-not-written", format!("cannot write `{}`: {error}", locked::shown(to)))
    })
}
