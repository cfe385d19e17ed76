//! `krm completion`: what clap knows, for shells.

use clap::CommandFactory;
use krm_engine::Result;

use crate::cli::{Cli, CompletionArgs, as_kustomize};
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
