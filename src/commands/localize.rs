//! `krm localize`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use krm_engine::edit::localize;
use krm_engine::edit::overlay::{self, Overlay};
use krm_engine::files::Repository;
use krm_engine::{Diagnostic, Result, World};

use crate::os::{self, Disk};
use crate::report::Report;

/// Copy a kustomization, with everything it fetches from elsewhere as files of the copy
///
/// The copy builds to the same output without a network, which is checked before it is written. What is fetched is in
/// `localized-files`, each repository and file once. Comments and the order of fields stay.
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
}

pub fn run(args: &LocalizeArgs, report: &Report) -> Result<()> {
    let disk: Arc<dyn World> = Arc::new(Disk::default());
    let copy = localize::plan(&*disk, &report.sources, &args.target, args.scope.as_deref())?;
    let destination = match &args.destination {
        Some(destination) => destination.clone(),
        None => default_name(args)?.into(),
    };
    if destination.exists() {
        let message = format!("`{}` exists already", destination.display());
        return Err(Diagnostic::error("localize-exists", message).help("name a new folder"));
    }
    let root = krm_engine::files::clean(&os::current_dir()?.join(&destination));
    if !args.no_verify {
        let files = copy.files.iter().map(|(path, bytes)| (root.join(path), Some(bytes.clone()))).collect();
        let offline = Arc::new(Overlay::new(disk.clone(), files).offline());
        let before = overlay::build(disk, &args.target)?;
        let after = overlay::build(offline, &root.join(&copy.target).to_string_lossy())?;
        if before != after {
            let message = format!("the copy of `{}` would not build to the same output", args.target);
            return Err(
                Diagnostic::error("localize-differs", message).help("`--no-verify` writes it all the same")
            );
        }
    }
    let mut changes = os::Changes::to_output(&destination)?;
    for (path, bytes) in &copy.files {
        changes.write(&destination.join(path), bytes)?;
    }
    changes.commit()?;
    copy.notes.iter().for_each(|note| eprintln!("{note}"));
    eprintln!("`{}` is now in `{}`", args.target, destination.join(&copy.target).display());
    Ok(())
}

/// As the reference calls it.
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
