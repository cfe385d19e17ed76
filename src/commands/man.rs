//! `krm man`: the manual, made of what the command line knows.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command as Process, Stdio};

use clap::{Command, CommandFactory};
use krm_engine::{Diagnostic, Result};

use crate::cli::{Cli, ManArgs};
use crate::os;

/// What every page ends with, in the language of manual pages.
const STATUS: &str = r#".SH "EXIT STATUS"
.TP
0
done
.TP
1
the input is wrong; nothing was written
.TP
2
the command line is wrong
.TP
101
a bug in krm
"#;

const ENVIRONMENT: &str = r#".SH ENVIRONMENT
.TP
NO_COLOR, CLICOLOR_FORCE, TERM
whether to use colours, unless \fB\-\-color\fR says so
.TP
KRM_FN_RUNTIME
what runs functions that are images: docker, podman or nerdctl; sandbox for none of them, or bwrap, crun or runc
.TP
KRM_SANDBOX_LIMITS
each-process settles for limits on each process where a sandbox cannot have a control group
.TP
XDG_CACHE_HOME
where what was fetched and what functions printed is kept
.TP
KUSTOMIZE_PLUGIN_HOME
where plugins of the old kind are
"#;

pub fn run(args: &ManArgs) -> Result<()> {
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    if let Some(dir) = args.output.as_deref().or_else(|| folder(&args.command, &cli)) {
        let mut changes = os::Changes::to_output(dir)?;
        write_pages(&cli, dir, &mut changes)?;
        return changes.commit();
    }
    let mut command = &cli;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let message = format!("there is no command `krm {}`", args.command.join(" "));
            let names = command.get_subcommands().map(Command::get_name);
            let error = Diagnostic::error("man-no-command", message);
            match krm_yaml::nearest(name, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("`krm --help` lists the commands; `--output DIR` writes all pages"),
            }
        })?;
    }
    let page = page(command, &cli);
    if std::io::stdout().is_terminal() && show(&page) {
        return Ok(());
    }
    os::print(&page)
}

/// A folder in place of a command: how the pages were once written.
fn folder<'a>(words: &'a [String], cli: &Command) -> Option<&'a Path> {
    match words {
        [word] if word.contains('/') && cli.find_subcommand(word).is_none() => Some(Path::new(word)),
        _ => None,
    }
}

/// Has `man` show the page. Not everyone has it.
fn show(page: &[u8]) -> bool {
    let Ok(mut man) = Process::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    let written = man.stdin.take().is_some_and(|mut to| to.write_all(page).is_ok());
    man.wait().is_ok_and(|status| status.success()) && written
}

/// A page for the command, and one for each below it.
fn write_pages(command: &Command, dir: &Path, changes: &mut os::Changes) -> Result<()> {
    let mut open = vec![command];
    while let Some(one) = open.pop() {
        open.extend(one.get_subcommands().filter(|below| !below.is_hide_set()));
        changes.write(&dir.join(clap_mangen::Man::new(one.clone()).get_filename()), &page(one, command))?;
    }
    Ok(())
}

fn page(command: &Command, cli: &Command) -> Vec<u8> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text).expect("memory can always be written to");
    text.extend_from_slice(STATUS.as_bytes());
    text.extend_from_slice(ENVIRONMENT.as_bytes());
    text.extend_from_slice(see_also(command, cli).as_bytes());
    text
}

/// The commands below, or those beside.
fn see_also(command: &Command, cli: &Command) -> String {
    let names: Vec<String> = match command.has_subcommands() {
        true => command.get_subcommands().filter(|below| !below.is_hide_set()).map(name).collect(),
        false => [cli].into_iter().map(name).collect(),
    };
    let names: Vec<String> =
        names.iter().map(|name| format!("\\fB{}\\fR(1)", name.replace('-', "\\-"))).collect();
    format!(".SH \"SEE ALSO\"\n{}\n", names.join(", "))
}

fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}
