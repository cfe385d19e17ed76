//! krm called by the name `kustomize`, through a link or a copy: the commands, the version and the exit status that
//! programs which run kustomize expect.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;

/// What kustomize has; everything else still works, but is not listed.
const COMMANDS: [&str; 9] =
    ["build", "cfg", "completion", "create", "edit", "fn", "localize", "openapi", "version"];

/// Whether the program was called `kustomize`.
pub fn is_called() -> bool {
    std::env::args_os()
        .next()
        .is_some_and(|name| Path::new(&name).file_stem().is_some_and(|s| s == "kustomize"))
}

/// The command line under that name.
pub fn command(command: clap::Command) -> clap::Command {
    let others: Vec<String> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .filter(|name| !COMMANDS.contains(&name.as_str()))
        .collect();
    let listed = others.into_iter().fold(command, |c, name| c.mut_subcommand(name, |below| below.hide(true)));
    listed.name("kustomize").bin_name("kustomize")
}

/// The arguments without `--stack-trace`, which kustomize takes everywhere: errors say where they come from without it.
pub fn without_stack_trace(mut args: Vec<OsString>) -> Vec<OsString> {
    let mut ours = true;
    args.retain(|arg| {
        ours &= arg != "--";
        !(ours && (arg == "--stack-trace" || arg == "--stack-trace=true" || arg == "--stack-trace=false"))
    });
    args
}

/// The exit status for a command line that is not a command: help is not an error, and everything else is 1.
pub fn exit_code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => 0,
        _ => 1,
    }
}
