//! `krm completion`: what clap knows, for shells; and what only a look at the files can tell.
//!
//! The scripts for bash, fish and zsh ask krm itself for folders with a kustomization, names of resources and names of
//! commands: `krm __complete LINE`, with the command line up to the cursor, prints one candidate per line. kubectl asks
//! a program called `kubectl_complete-krm` for everything that may follow `kubectl krm`: a link to krm by that name.

mod candidates;

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use krm_engine::Result;

use self::candidates::{Line, WITH_COMMANDS, WITH_FOLDERS};
use crate::cli::{Cli, CompleteArgs, CompletionArgs, as_kustomize};
use crate::os;

pub fn completion(args: CompletionArgs) -> Result<()> {
    let mut script = Vec::new();
    let (command, name) = match as_kustomize::is_called() {
        true => (as_kustomize::command(Cli::command()), "kustomize"),
        false => (Cli::command(), "krm"),
    };
    clap_complete::generate(args.shell, &mut without_hidden(&command), name, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Fish {
        script += &third_level(&without_hidden(&command), name);
    }
    let script = with_candidates(args.shell, name, &script);
    os::print(script.as_bytes())
}

/// The command without those below it that are hidden: the scripts for bash and fish would offer them all the same.
fn without_hidden(command: &Command) -> Command {
    if !command.has_subcommands() {
        return command.clone();
    }
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set()).map(without_hidden);
    // clap keeps names for as long as the program runs, and that ends with the script.
    let kept = |text: &str| -> &'static str { Box::leak(text.into()) };
    let copy = Command::new(kept(command.get_name()))
        .disable_help_subcommand(command.is_disable_help_subcommand_set())
        .args(command.get_arguments().cloned())
        .subcommands(shown)
        .visible_aliases(command.get_visible_aliases().map(kept));
    let copy = command.get_about().into_iter().fold(copy, |copy, about| copy.about(about.clone()));
    command.get_version().into_iter().fold(copy, |copy, version| copy.version(kept(version)))
}

/// What may follow the commands below those of `krm edit`, for fish: clap goes two levels deep.
fn third_level(command: &Command, name: &str) -> String {
    let mut lines = String::new();
    let about = |text: Option<&clap::builder::StyledStr>| {
        text.map(ToString::to_string).unwrap_or_default().replace('\\', "\\\\").replace('\'', "\\'")
    };
    let seen = |names: &str| format!("__fish_seen_subcommand_from {names}");
    let below = command
        .get_subcommands()
        .flat_map(|first| first.get_subcommands().map(move |second| (first, second)));
    for (first, second) in below.filter(|(_, second)| second.has_subcommands()) {
        let using = format!("__fish_{name}_using_subcommand {}", first.get_name());
        let using = format!("{using}; and {}", seen(second.get_name()));
        let thirds: Vec<&Command> = second.get_subcommands().collect();
        let names = thirds.iter().map(|third| third.get_name()).collect::<Vec<_>>().join(" ");
        for third in thirds {
            let (word, means) = (third.get_name(), about(third.get_about()));
            lines += &format!(
                "complete -c {name} -n \"{using}; and not {}\" -f -a \"{word}\" -d '{means}'\n",
                seen(&names)
            );
            for flag in third.get_arguments().filter(|flag| !flag.is_hide_set()) {
                let Some(long) = flag.get_long() else { continue };
                let short = flag.get_short().map(|short| format!(" -s {short}")).unwrap_or_default();
                let value = if flag.get_action().takes_values() { " -r" } else { "" };
                let means = about(flag.get_help());
                lines += &format!(
                    "complete -c {name} -n \"{using}; and {}\"{short} -l {long} -d '{means}'{value}\n",
                    seen(word)
                );
            }
        }
    }
    lines
}

/// A script that asks for candidates if folders, resources or commands may follow.
fn with_candidates(shell: Shell, name: &str, script: &str) -> String {
    match shell {
        Shell::Zsh => {
            let ask = format!(
                "_{name}_words() {{\n    local -a found\n    found=(${{(f)\"$({name} __complete \"$LBUFFER\" 2>/dev/null)\"}})\n    \
                 (( $#found )) && compadd -S '' -- $found\n}}\n\n_{name}_candidates() {{\n    _{name}_words || _files -/\n}}\n\n"
            );
            // The first line says what the file is for, and stays the first.
            let (first, rest) = script.split_once('\n').unwrap_or((script, ""));
            let rest = rest.lines().map(|line| {
                let function = match (is_for_folders(line), is_for_commands(line)) {
                    (true, _) => "candidates",
                    (_, true) => "words",
                    _ => return line.to_owned(),
                };
                line.replace(":_default'", &format!(":_{name}_{function}'"))
            });
            format!("{first}\n\n{ask}{}\n", rest.collect::<Vec<_>>().join("\n"))
        }
        Shell::Fish => {
            let commands = [&WITH_FOLDERS[..], &WITH_COMMANDS].concat().join(" ");
            let ask =
                |when: &str| format!("complete -c {name} -n '{when}' -f -k -a '(__fish_{name}_words)'\n");
            let words = format!(
                "function __fish_{name}_words\n    set -l found ({name} __complete (commandline -cp) 2>/dev/null)\n    \
                 if set -q found[1]\n        printf '%s\\n' $found\n    else\n        \
                 __fish_complete_directories (commandline -ct) ''\n    end\nend\n"
            );
            format!(
                "{script}{words}{}{}",
                ask(&format!("__fish_seen_subcommand_from {commands}")),
                ask("__fish_seen_subcommand_from edit; and __fish_seen_subcommand_from rename")
            )
        }
        Shell::Bash => format!(
            "{script}\n_{name}_candidates() {{\n    _{name} \"$@\"\n    case \"${{COMP_WORDS[COMP_CWORD]}}\" in -*) return ;; esac\n    \
             local found\n    found=$({name} __complete \"${{COMP_LINE:0:COMP_POINT}}\" 2>/dev/null)\n    \
             [ -n \"$found\" ] && COMPREPLY=($found)\n    \
             case \"$found\" in */) compopt -o nospace 2>/dev/null ;; esac\n    return 0\n}}\n\
             complete -F _{name}_candidates -o bashdefault -o default {name}\n"
        ),
        _ => script.to_owned(),
    }
}

/// Whether a line of the script for zsh is about arguments that are folders or names of resources.
fn is_for_folders(line: &str) -> bool {
    let line = line.trim_start();
    [
        "'*::targets",
        "'*::words",
        "'*::dirs",
        "'::target ",
        "'::target:",
        "'*::paths -- Files and folders",
        "':old",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// Whether it is about arguments that are names of commands.
fn is_for_commands(line: &str) -> bool {
    ["'*::topic -- A command", "'*::command -- The command"]
        .iter()
        .any(|start| line.trim_start().starts_with(start))
}

/// Prints the candidates that the scripts cannot know, for a command line that ends at the cursor.
pub fn candidates(args: &CompleteArgs) -> Result<()> {
    let line = &args.line;
    let mut words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let typed = if line.ends_with(char::is_whitespace) { "" } else { words.pop().unwrap_or_default() };
    let mut cli = Cli::command();
    cli.build();
    print(&Line::new(&cli, &words, typed).looked_up(), "")
}

/// Whether kubectl asks what may follow `kubectl krm`.
pub fn is_asked_by_kubectl() -> bool {
    let name = std::env::args_os().next();
    name.is_some_and(|name| Path::new(&name).file_stem().is_some_and(|stem| stem == "kubectl_complete-krm"))
}

/// Answers kubectl: the arguments are the words after `kubectl krm`, and the last of them, which may be empty, is at
/// the cursor.
pub fn answer_kubectl() -> Result<()> {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let (typed, before) = words.split_last().map_or(("", &words[..]), |(typed, before)| (&**typed, before));
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let mut cli = Cli::command();
    cli.build();
    let found = Line::new(&cli, &before, typed).all();
    // A number ends the answer. Bit 2 asks for no space after the word, bit 4 for no file names besides the candidates.
    let goes_on = found.iter().any(|candidate| candidate.ends_with('/'));
    let directive = if found.is_empty() { 0 } else { 4 + 2 * u8::from(goes_on) };
    print(&found, &format!(":{directive}\n"))
}

fn print(found: &[String], end: &str) -> Result<()> {
    let lines: String = found.iter().map(|candidate| format!("{candidate}\n")).collect();
    os::print((lines + end).as_bytes())
}
