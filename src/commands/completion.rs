//! `krm completion` and `krm man`: what clap knows, for shells and for people.

use std::path::Path;

use clap::CommandFactory;
use krm_engine::Result;

use crate::cli::{Cli, CompletionArgs, ManArgs, as_kustomize};
use crate::os;

pub fn completion(args: CompletionArgs) -> Result<()> {
    let mut script = Vec::new();
    let (mut command, name) = match as_kustomize::is_called() {
        true => (as_kustomize::command(Cli::command()), "kustomize"),
        false => (Cli::command(), "krm"),
    };
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    os::print(&script)
}

pub fn man(args: ManArgs) -> Result<()> {
    match args.dir {
        Some(dir) => {
            let mut changes = os::Changes::to_output(&dir)?;
            let mut cli = Cli::command().disable_help_subcommand(true);
            cli.build();
            write_pages(cli, &dir, &mut changes)?;
            changes.commit()
        }
        None => os::print(&rendered(&clap_mangen::Man::new(Cli::command()))),
    }
}

/// A page for the command, and one for each below it.
fn write_pages(command: clap::Command, dir: &Path, changes: &mut os::Changes) -> Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below.clone(), dir, changes)?;
    }
    let page = clap_mangen::Man::new(command);
    changes.write(&dir.join(page.get_filename()), &rendered(&page))
}

fn rendered(page: &clap_mangen::Man) -> Vec<u8> {
    let mut text = Vec::new();
    page.render(&mut text).expect("memory can always be written to");
    text
}
