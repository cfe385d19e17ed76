//! `krm create`.

use std::path::Path;

use clap::Args;
use krm_engine::Result;
use krm_engine::edit::create::{self, New};
use krm_engine::edit::labels::{Common, Pair};

use crate::os::{self, Disk};

/// Create a kustomization in this folder
#[derive(Debug, Args)]
#[command(visible_alias = "init", after_help = crate::cli::examples::CREATE)]
pub struct CreateArgs {
    /// The resources: files, folders, patterns or addresses, separated by commas
    #[arg(long, default_value = "", hide_default_value = true, value_name = "PATH,...")]
    resources: String,

    /// The namespace of all resources
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    /// Annotations for all resources, as `key:value`, separated by commas
    #[arg(long, default_value = "", hide_default_value = true, value_name = "KEY:VALUE,...")]
    annotations: String,

    /// Labels for all resources, as `key:value`, separated by commas
    #[arg(long, default_value = "", hide_default_value = true, value_name = "KEY:VALUE,...")]
    labels: String,

    /// The prefix of all names
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "PREFIX",
        allow_hyphen_values = true
    )]
    nameprefix: String,

    /// The suffix of all names
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "SUFFIX",
        allow_hyphen_values = true
    )]
    namesuffix: String,

    /// List all files of the folder that hold resources
    #[arg(long)]
    autodetect: bool,

    /// Include the files of subfolders; a folder with a kustomization is listed as a whole
    #[arg(long)]
    recursive: bool,

    /// The folder, if not this one
    #[arg(short = 'C', long = "dir", default_value = ".", value_name = "DIR")]
    dir: String,
}

pub fn run(args: &CreateArgs) -> Result<()> {
    let (disk, dir) = (Disk::default(), Path::new(&args.dir));
    create::refuse_another(&disk, dir)?;
    let mut resources = match args.resources.as_str() {
        "" => Vec::new(),
        patterns => create::named(&disk, dir, &patterns.split(',').collect::<Vec<_>>())?,
    };
    if args.autodetect {
        let found = create::detect(&disk, dir, args.recursive)?;
        let new: Vec<String> = found.into_iter().filter(|path| !resources.contains(path)).collect();
        resources.extend(new);
    }
    let new = New {
        resources,
        namespace: args.namespace.clone(),
        name_prefix: args.nameprefix.clone(),
        name_suffix: args.namesuffix.clone(),
        labels: pairs(&args.labels, Common::Labels)?,
        annotations: pairs(&args.annotations, Common::Annotations)?,
    };
    os::write_into(dir, "kustomization.yaml", new.text().as_bytes())
}

fn pairs(text: &str, kind: Common) -> Result<Vec<Pair>> {
    match text {
        "" => Ok(Vec::new()),
        text => Pair::parse_all(&text.split(',').map(str::to_owned).collect::<Vec<_>>(), kind),
    }
}
