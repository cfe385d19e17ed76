//! `krm fn source`: files to a list.

use krm_engine::Result;
use krm_engine::functions::{Tells, to_list};
use krm_engine::package::Package;
use krm_function::{Object, ResourceList};

use crate::cli::{FnSourceArgs, SourceForm};
use crate::commands::function::run::read_config;
use crate::os::{self, Disk};
use crate::report::Report;

pub fn run(args: FnSourceArgs, report: &Report) -> Result<()> {
    let mut items = Vec::new();
    for dir in &args.dirs {
        items.extend(Package::read(&Disk::default(), dir, &report.sources)?.resources());
    }
    let config = args.fn_config.as_deref().map(|file| read_config(file, &report.sources)).transpose()?;
    let list = match args.output {
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
