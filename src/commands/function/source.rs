//! `krm fn source`: files to a list.

use krm_engine::Result;
use krm_engine::package::Package;
use krm_function::{Object, ResourceList};

use crate::cli::{FnSourceArgs, SourceForm};
use crate::commands::function::run::read_config;
use crate::os::{self, Disk};
use crate::report::Report;

pub fn run(args: FnSourceArgs, report: &Report) -> Result<()> {
    let mut items = Vec::new();
    for dir in &args.dirs {
        items.extend(Package::read(&Disk::default(), dir, &report.sources)?.items());
    }
    let config = args.fn_config.as_deref().map(|file| read_config(file, &report.sources)).transpose()?;
    let list = match args.output {
        SourceForm::List => {
            let items = items.into_iter().map(|item| item.with_stated_home(true)).collect();
            ResourceList::new(items, config.map(Object::from))
        }
        SourceForm::Unwrap => {
            ResourceList::bare(items.into_iter().map(|item| Object::from(item.node)).collect())
        }
    };
    os::print(list.to_string().as_bytes())
}
