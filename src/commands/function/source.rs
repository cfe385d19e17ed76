//! `krm fn source`: files to a list.

use std::path::Path;

use krm_engine::functions::{Tells, to_list};
use krm_engine::package::Package;
use krm_engine::{Result, kpt};
use krm_function::{Object, ResourceList};

use crate::cli::{FnSourceArgs, SourceForm};
use crate::commands::function::run::read_config;
use crate::commands::input;
use crate::os::{self, Disk};
use crate::report::Report;

pub fn run(args: FnSourceArgs, report: &Report) -> Result<()> {
    if let [dir] = args.dirs.as_slice()
        && dir.join(kpt::FILE).is_file()
    {
        return package(&args, dir, report);
    }
    let mut items = Vec::new();
    for dir in &args.dirs {
        let package = Package::read(&Disk::default(), dir, &report.sources)?;
        input::tell_templates(package.templates());
        items.extend(package.resources());
    }
    let config = args.fn_config.as_deref().map(|file| read_config(file, &report.sources)).transpose()?;
    let list = match args.output.format {
        SourceForm::List => {
            let items = items.into_iter().map(|r| to_list(r, Tells::FileAndIndex)).collect();
            ResourceList::new(items, config.map(Object::from))
        }
        SourceForm::Unwrap => {
            ResourceList::bare(items.into_iter().map(|r| Object::from(r.into_node())).collect())
        }
    };
    os::print(list.to_string().as_bytes())
}

/// A package with a Kptfile: that is one of its resources, and everything in it must be one.
fn package(args: &FnSourceArgs, dir: &Path, report: &Report) -> Result<()> {
    let tree = kpt::Tree::read_folder(&Disk::default(), dir, &report.sources)?;
    let resources = tree.resources();
    kpt::check(&resources)?;
    if args.output.format == SourceForm::Unwrap {
        let texts: Vec<String> = resources.iter().map(|r| tree.text(r)).collect();
        return os::print(texts.join("---\n").as_bytes());
    }
    // A configuration that is one of the resources says where it is, as they do.
    let stated = |file: &Path| {
        let path = file.strip_prefix(dir).unwrap_or(file).to_str()?;
        resources.iter().find(|r| kpt::path(r) == path).map(|r| tree.stated(r))
    };
    let config = match args.fn_config.as_deref() {
        None => None,
        Some(file) => {
            let read = read_config(file, &report.sources)?;
            Some(stated(file).unwrap_or_else(|| Object::from(read)))
        }
    };
    let items = resources.iter().map(|r| tree.stated(r)).collect();
    os::print(ResourceList::new(items, config).to_string().as_bytes())
}
