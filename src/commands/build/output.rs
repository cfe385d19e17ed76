//! Where `krm build -o` writes to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use krm_engine::files::clean;
use krm_engine::files::{KUSTOMIZATION_FILES, Repository};
use krm_engine::{Diagnostic, Resource, Resources, Result};
use rustc_hash::FxHashSet;

use crate::cli::{BuildArgs, as_kustomize};
use crate::os;
use crate::report::{counted, names};

/// A file per resource, named as `kustomize build --output` names them.
pub fn resource_files(dir: &Path, items: &Resources) -> Result<Vec<(PathBuf, String)>> {
    let namespaced = || items.iter().filter(|r| !r.id().cluster_scoped);
    let namespaces: FxHashSet<&str> = namespaced().map(|r| r.id().effective_namespace()).collect();
    // quirk(output-files-overwrite): With `--output` of a folder, of two resources that get the same file name the last
    // one is kept. (kustomize `build.Writer.WriteIndividualFiles`)
    let mut files = BTreeMap::new();
    for r in items.iter() {
        let mut name = file_name(r);
        if namespaces.len() > 1 && !r.id().cluster_scoped {
            name = format!("{}_{name}", r.id().effective_namespace().to_lowercase());
        }
        if name.contains(['/', '\0']) {
            let message = format!("no file can be called `{name}`");
            return Err(Diagnostic::error("output-file-name", message)
                .at(r.node().span())
                .help("write all resources to one file, or give this one a name that may be a file's"));
        }
        let mut text = String::new();
        krm_yaml::try_canonical_whole_into(r.node(), &mut text)?;
        files.insert(name, text);
    }
    Ok(files.into_iter().map(|(name, text)| (dir.join(name), text)).collect())
}

/// The files as one text for the cache. Neither names nor YAML contain the character that ends each of them.
pub fn packed(items: &Resources) -> Result<String> {
    let files = resource_files(Path::new(""), items)?;
    Ok(files.iter().map(|(name, text)| format!("{}\0{text}\0", name.display())).collect())
}

/// The files that [`packed`] turned into one text, in a folder.
pub fn unpacked<'a>(dir: &Path, packed: &'a [u8]) -> Vec<(PathBuf, &'a [u8])> {
    let parts: Vec<&[u8]> = packed.split(|byte| *byte == 0).collect();
    let files = parts.chunks_exact(2);
    files.map(|file| (dir.join(String::from_utf8_lossy(file[0]).as_ref()), file[1])).collect()
}

fn file_name(r: &Resource) -> String {
    let gvk = r.gvk();
    let parts = [&gvk.group, &gvk.version, &gvk.kind].into_iter().filter(|part| !part.is_empty());
    let kind: Vec<&str> = parts.map(|part| part.as_str()).collect();
    format!("{}_{}.yaml", kind.join("_"), r.name()).to_lowercase()
}

/// The file of each target: the path of its folder as it is written, with `.yaml`. It depends on that target alone.
pub fn file_names(targets: &[String]) -> Result<Vec<PathBuf>> {
    let names: Vec<PathBuf> = targets.iter().map(|target| file_of(target)).collect();
    let mut known = BTreeSet::new();
    match names.iter().find(|name| !known.insert(*name)) {
        None => Ok(names),
        Some(twice) => {
            let message = format!("two targets would be written to `{}`", twice.display());
            Err(Diagnostic::error("targets-alike", message)
                .help("name each target once; run krm in a folder around all of them"))
        }
    }
}

fn file_of(target: &str) -> PathBuf {
    let here = os::current_dir().unwrap_or_default();
    let path = match Repository::parse(target) {
        Some(repository) => {
            let bare = repository.url.split_once("://").map_or(&*repository.url, |(_, rest)| rest);
            let plain = |c: char| if c.is_alphanumeric() || "._-/".contains(c) { c } else { '-' };
            Path::new(&bare.chars().map(plain).collect::<String>()).join(repository.path.trim_matches('/'))
        }
        None => {
            let path = clean(Path::new(target));
            match path.strip_prefix(&here) {
                Ok(inside) => inside.to_owned(),
                Err(_) => path,
            }
        }
    };
    let mut names: Vec<String> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    if names.is_empty() {
        // `.` and `..`: the folder they are has a name.
        let real = here.join(target);
        let real = real.canonicalize().unwrap_or(real);
        names.push(real.file_name().map_or("target".into(), |name| name.to_string_lossy().into_owned()));
    }
    let last = names.pop().expect("there is one");
    names.into_iter().collect::<PathBuf>().join(format!("{last}.yaml"))
}

/// Writes a file per target; with `--prune` removes those that none of all targets made.
pub fn write_targets(dir: &Path, args: &BuildArgs, all: &[String], texts: &[impl AsRef<[u8]>]) -> Result<()> {
    let files = file_names(&args.targets)?.into_iter().map(|name| dir.join(name)).zip(texts);
    let made: BTreeSet<PathBuf> = file_names(all)?.iter().map(|name| dir.join(name)).collect();
    let stale = if args.prune { stale(dir, all, &made)? } else { Vec::new() };
    write_into(dir, args, &files.collect::<Vec<_>>(), &stale)?;
    for file in &stale {
        // Folders that are empty now; one that is not stays.
        let above = file.ancestors().skip(1).take_while(|above| *above != dir && above.starts_with(dir));
        above.for_each(|folder| drop(fs::remove_dir(folder)));
    }
    Ok(())
}

/// Writes files into a folder, removes others, and says which. kustomize says nothing, so neither does krm by that name.
pub fn write_into(
    dir: &Path,
    args: &BuildArgs,
    files: &[(PathBuf, impl AsRef<[u8]>)],
    stale: &[PathBuf],
) -> Result<()> {
    let written = write(dir, files, stale)?;
    if args.quiet || as_kustomize::is_called() {
        return Ok(());
    }
    let names_of = |files: &[&Path]| {
        names(files.iter().map(|file| file.strip_prefix(dir).unwrap_or(file).display().to_string()))
    };
    let stale: Vec<&Path> = stale.iter().map(PathBuf::as_path).collect();
    if written.is_empty() && stale.is_empty() {
        eprintln!("nothing changed in `{}`", dir.display());
    }
    for (verb, files) in [("wrote", written), ("removed", stale)] {
        if !files.is_empty() {
            let into = if verb == "wrote" { "to" } else { "from" };
            let count = counted(files.len(), "file");
            eprintln!("{verb} {count} {into} `{}`: {}", dir.display(), names_of(&files));
        }
    }
    Ok(())
}

/// Writes files into a folder, and removes others: all of it or nothing. Returns the files that were not the same already.
pub fn write<'a>(
    dir: &Path,
    files: &'a [(PathBuf, impl AsRef<[u8]>)],
    gone: &[PathBuf],
) -> Result<Vec<&'a Path>> {
    let mut changes = os::Changes::to_output(dir)?;
    let mut written = Vec::new();
    for (file, text) in files {
        if changes.write(file, text.as_ref())? {
            written.push(file.as_path());
        }
    }
    gone.iter().try_for_each(|file| changes.remove(file, None))?;
    changes.commit()?;
    Ok(written)
}

/// The files of a folder that no target made. A folder that holds what is built holds no output.
fn stale(dir: &Path, targets: &[String], made: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let Ok(real) = dir.canonicalize() else { return Ok(Vec::new()) };
    let holds = |target: &&String| {
        Path::new(target).canonicalize().is_ok_and(|path| path.starts_with(&real) || real.starts_with(&path))
    };
    if let Some(target) = targets.iter().find(holds) {
        let message =
            format!("`{}` cannot be pruned: the target `{target}` is in it, or around it", dir.display());
        return Err(Diagnostic::error("prune-sources", message)
            .help("write to a folder that holds nothing but output, as `-o rendered/`"));
    }
    let here = os::current_dir()?.canonicalize().unwrap_or_default();
    let mut around = real.ancestors().skip(1).take_while(|above| above.starts_with(&here) && *above != here);
    let holds_kustomization =
        |folder: &&Path| KUSTOMIZATION_FILES.iter().any(|name| folder.join(name).exists());
    let refused = |folder: &Path| {
        let message =
            format!("`{}` cannot be pruned: `{}` holds a kustomization", dir.display(), folder.display());
        Diagnostic::error("prune-kustomization", message)
            .help("write to a folder that holds nothing but output")
    };
    if let Some(base) = around.find(holds_kustomization) {
        // A kustomization may read what is below its folder.
        return Err(refused(base.strip_prefix(&here).unwrap_or(base)));
    }
    let mut stale = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if is_folder && !is_hidden {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml") && !is_hidden && !made.contains(&path) {
                if holds_kustomization(&folder.as_path()) {
                    return Err(refused(&folder));
                }
                stale.push(path);
            }
        }
    }
    stale.sort();
    Ok(stale)
}
