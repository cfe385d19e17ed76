//! `krm man`: the manual, made of what the command line knows.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::{Command as Process, Stdio};

use clap::{Command, CommandFactory};
use krm_engine::{Diagnostic, Result};

use crate::cli::{Cli, ManArgs};
use crate::os;

/// What every page ends with: headings, and what is below them as terms and their meaning.
const SECTIONS: [(&str, &[(&str, &str)]); 2] = [
    (
        "EXIT STATUS",
        &[
            ("0", "done"),
            ("1", "the input is wrong; nothing was written"),
            ("2", "the command line is wrong"),
            ("101", "a bug in krm"),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            ("NO_COLOR, CLICOLOR_FORCE, TERM", "whether to use colours, unless --color says so"),
            ("KRM_PAGER, PAGER", "the program that shows long answers at a terminal"),
            (
                "KRM_FN_RUNTIME",
                "what runs functions that are images: docker, podman or nerdctl; sandbox for none of them, or bwrap, crun or runc",
            ),
            (
                "KRM_SANDBOX_LIMITS",
                "each-process settles for limits on each process where a sandbox cannot have a control group",
            ),
            ("XDG_CACHE_HOME", "where what was fetched and what functions printed is kept"),
            ("KUSTOMIZE_PLUGIN_HOME", "where plugins of the old kind are"),
        ],
    ),
];

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
    if args.roff {
        return os::print(&page(command, &cli));
    }
    if std::io::stdout().is_terminal() && show(&page(command, &cli)) {
        return Ok(());
    }
    os::print(text(command, &cli).as_bytes())
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

/// The page of a command in the language of manual pages.
fn page(command: &Command, cli: &Command) -> Vec<u8> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).expect("memory can always be written to");
    let mut end = String::new();
    for (heading, entries) in SECTIONS {
        end += &format!(".SH \"{heading}\"\n");
        for (term, meaning) in entries {
            end += &format!(".TP\n{term}\n{}\n", meaning.replace('-', "\\-"));
        }
    }
    let others = see_also(command, cli).into_iter();
    let others: Vec<String> = others.map(|name| format!("\\fB{}\\fR(1)", name.replace('-', "\\-"))).collect();
    end += &format!(".SH \"SEE ALSO\"\n{}\n", others.join(", "));
    page.extend_from_slice(end.as_bytes());
    page
}

/// The same as plain text, for pipes and for those who have no `man`.
fn text(command: &Command, cli: &Command) -> String {
    let mut text = command.clone().render_long_help().to_string().trim_end().to_owned() + "\n";
    for (heading, entries) in SECTIONS {
        text += &format!("\n{heading}\n");
        for (term, meaning) in entries {
            text += &format!("    {term}\n        {meaning}\n");
        }
    }
    let others: Vec<String> = see_also(command, cli).iter().map(|name| format!("{name}(1)")).collect();
    text + &format!("\nSEE ALSO\n    {}\n", others.join(", "))
}

/// The commands below, or those beside.
fn see_also(command: &Command, cli: &Command) -> Vec<String> {
    match command.has_subcommands() {
        true => command.get_subcommands().filter(|below| !below.is_hide_set()).map(name).collect(),
        false => vec![name(cli)],
    }
}

fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}
