//! `krm localize`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use krm_engine::edit::localize::{self, Localized};
use krm_engine::edit::overlay::{self, Overlay};
use krm_engine::files::Repository;
use krm_engine::runtime::Scratch;
use krm_engine::{BuildOptions, Diagnostic, Result, World};

use super::build;
use crate::cli::BuildFlags;
use crate::os::{self, Disk};
use crate::report::Report;

/// Copy a kustomization, with everything it fetches from elsewhere as files of the copy
///
/// The copy builds to the same output without a network, which is checked before it is written, with the flags that the
/// build needs. What is fetched is in `localized-files`, each repository and file once; charts are where helm pulls them
/// to. Comments and the order of fields stay.
#[derive(Debug, Args)]
#[command(after_help = crate::cli::examples::LOCALIZE)]
pub struct LocalizeArgs {
    /// The folder with the kustomization, or an address
    #[arg(default_value = ".", value_name = "TARGET")]
    target: String,

    /// The folder of the copy, which must not exist; `localized-NAME` if none is given
    #[arg(value_name = "DESTINATION")]
    destination: Option<PathBuf>,

    /// The folder that everything which is not fetched must be in; the target itself if none is given
    #[arg(long, value_name = "DIR")]
    scope: Option<PathBuf>,

    /// Do not check that the copy builds to the same output
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    flags: BuildFlags,
}

pub fn run(args: &LocalizeArgs, report: &Report) -> Result<()> {
    let disk: Arc<dyn World> = Arc::new(Disk::around(std::slice::from_ref(&args.target)));
    let plan = || localize::plan(&*disk, &report.sources, &args.target, args.scope.as_deref());
    let mut copy = plan()?;
    let destination = match &args.destination {
        Some(destination) => destination.clone(),
        None => default_name(args)?.into(),
    };
    if destination.exists() {
        let message = format!("`{}` exists already", destination.display());
        return Err(Diagnostic::error("localize-exists", message).help("name a new folder"));
    }
    if !args.no_verify {
        let options = build::options(&args.flags)?;
        let before = overlay::build_with(disk.clone(), &args.target, options.clone())?;
        // The build may have pulled charts, which belong to the copy.
        if options.policy.helm.is_some() {
            copy = plan()?;
        }
        if built(&copy, disk.clone(), options)? != before {
            let message = format!("the copy of `{}` would not build to the same output", args.target);
            return Err(
                Diagnostic::error("localize-differs", message).help("`--no-verify` writes it all the same")
            );
        }
    }
    let mut changes = os::Changes::to_output(&destination)?;
    for (path, bytes) in &copy.files {
        changes.write_with_mode(&destination.join(path), bytes, mode(&copy, path)?)?;
    }
    changes.commit()?;
    copy.notes.iter().for_each(|note| eprintln!("{note}"));
    eprintln!("`{}` is now in `{}`", args.target, destination.join(&copy.target).display());
    Ok(())
}

/// What a copy builds to without a network. It is written to a folder for that, where programs see it.
fn built(copy: &Localized, disk: Arc<dyn World>, options: BuildOptions) -> Result<String> {
    let folder = Scratch::new("krm-localize")?;
    for (path, bytes) in &copy.files {
        let mode = mode(copy, path)?;
        let path = folder.path().join(path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| os::create_new(&path, mode)?.write_all(bytes));
        written.map_err(|error| os::not_written(&path, &error))?;
    }
    let offline = Arc::new(Overlay::new(disk, BTreeMap::new()).offline());
    overlay::build_with(offline, &folder.path().join(&copy.target).to_string_lossy(), options)
}

/// A function that is an executable is one in the copy, too, and a private file stays private.
fn mode(copy: &Localized, path: &Path) -> Result<u32> {
    copy.originals.get(path).map_or(Ok(os::NEW_FILE), |original| os::mode_for_copy(original))
}

/// As `kustomize localize` calls it, if it is given no name.
fn default_name(args: &LocalizeArgs) -> Result<String> {
    let name = |path: &str| Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(repository) = Repository::parse(&args.target) {
        let repo = name(repository.url.trim_end_matches(".git"));
        let reference = repository.reference.replace('/', "-");
        return Ok(if reference.is_empty() {
            format!("localized-{repo}")
        } else {
            format!("localized-{repo}-{reference}")
        });
    }
    Ok(format!("localized-{}", name(&os::absolute(Path::new(&args.target))?.to_string_lossy())))
}
