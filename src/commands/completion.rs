//! `krm completion`: what clap knows, for shells; and what only a look at the files can tell.
//!
//! The scripts for bash, fish and zsh ask krm itself for folders with a kustomization and for names of resources:
//! `krm __complete LINE`, with the command line up to the cursor, prints a candidate a line.

use std::path::Path;
use std::sync::Arc;

use clap::CommandFactory;
use clap_complete::Shell;
use krm_engine::{BuildOptions, Resource, Result, Session, Sources, World};

use crate::cli::{Cli, CompleteArgs, CompletionArgs, as_kustomize};
use crate::os::{self, Disk};

pub fn completion(args: CompletionArgs) -> Result<()> {
    let mut script = Vec::new();
    let (mut command, name) = match as_kustomize::is_called() {
        true => (as_kustomize::command(Cli::command()), "kustomize"),
        false => (Cli::command(), "krm"),
    };
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    let script = with_candidates(args.shell, name, &String::from_utf8_lossy(&script));
    os::print(script.as_bytes())
}

/// Commands that take folders with a kustomization.
const WITH_FOLDERS: [&str; 11] =
    ["affected", "build", "diff", "explain", "graph", "lint", "localize", "lock", "plan", "serve", "vendor"];

/// A script that asks for candidates where folders are meant.
fn with_candidates(shell: Shell, name: &str, script: &str) -> String {
    match shell {
        Shell::Zsh => {
            let ask = format!(
                "_{name}_candidates() {{\n    local -a found\n    found=(${{(f)\"$({name} __complete \"$LBUFFER\" 2>/dev/null)\"}})\n    \
                 (( $#found )) && compadd -S '' -- $found\n    _files -/\n}}\n\n"
            );
            // The first line says what the file is for, and stays the first.
            let (first, rest) = script.split_once('\n').unwrap_or((script, ""));
            let rest = rest.lines().map(|line| match is_for_folders(line) {
                true => line.replace(":_default'", &format!(":_{name}_candidates'")),
                false => line.to_owned(),
            });
            format!("{first}\n\n{ask}{}\n", rest.collect::<Vec<_>>().join("\n"))
        }
        Shell::Fish => {
            let commands = WITH_FOLDERS.join(" ");
            let ask = |when: &str| {
                format!(
                    "complete -c {name} -n '{when}' -k -a '({name} __complete (commandline -cp) 2>/dev/null)'\n"
                )
            };
            format!(
                "{script}{}{}",
                ask(&format!("__fish_seen_subcommand_from {commands}")),
                ask("__fish_seen_subcommand_from edit; and __fish_seen_subcommand_from rename")
            )
        }
        Shell::Bash => format!(
            "{script}\n_{name}_candidates() {{\n    _{name} \"$@\"\n    case \"${{COMP_WORDS[COMP_CWORD]}}\" in -*) return ;; esac\n    \
             local found\n    found=$({name} __complete \"${{COMP_LINE:0:COMP_POINT}}\" 2>/dev/null)\n    \
             [ -n \"$found\" ] && COMPREPLY=($found) && compopt -o nospace 2>/dev/null\n    return 0\n}}\n\
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

/// Prints what may come next on a command line that ends at the cursor.
pub fn candidates(args: &CompleteArgs) -> Result<()> {
    let line = &args.line;
    let mut words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let last = if line.ends_with(char::is_whitespace) { "" } else { words.pop().unwrap_or_default() };
    let verb = words.first().copied().unwrap_or_default();
    let mut found = match (verb, words.get(1).copied()) {
        _ if last.starts_with('-') => Vec::new(),
        ("edit", Some("rename")) if words.len() == 2 => resources("."),
        ("explain", Some(dir)) if is_target(Path::new(dir)) => resources(dir),
        (verb, _) if WITH_FOLDERS.contains(&verb) => folders(last),
        _ => Vec::new(),
    };
    found.retain(|candidate| candidate.starts_with(last));
    let text: String = found.iter().map(|candidate| format!("{candidate}\n")).collect();
    os::print(text.as_bytes())
}

/// So many folders are looked into before a name is offered without knowing.
const MOST_FOLDERS: usize = 2000;

/// Folders beside what was typed that have a kustomization, or some below them; these end in `/`.
fn folders(typed: &str) -> Vec<String> {
    let parent = typed.rfind('/').map_or("", |at| &typed[..=at]);
    let folder = if parent.is_empty() { Path::new(".") } else { Path::new(parent) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        if !path.is_dir() || name.starts_with('.') || name == "node_modules" {
            continue;
        }
        let mut left = MOST_FOLDERS;
        if is_target(&path) {
            found.push(format!("{parent}{name}"));
        }
        if has_target_below(&path, &mut left) {
            found.push(format!("{parent}{name}/"));
        }
    }
    found.sort();
    found
}

fn is_target(folder: &Path) -> bool {
    ["kustomization.yaml", "kustomization.yml", "Kustomization", "composition.yaml", "composition.yml"]
        .iter()
        .any(|name| folder.join(name).is_file())
}

fn has_target_below(folder: &Path, left: &mut usize) -> bool {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || entry.file_name() == ".git" {
            continue;
        }
        *left = left.saturating_sub(1);
        if *left == 0 || is_target(&entry.path()) || has_target_below(&entry.path(), left) {
            return true;
        }
    }
    false
}

/// The resources that a folder builds to, as `Deployment/web`. No program is run, and nothing is fetched.
fn resources(dir: &str) -> Vec<String> {
    let disk: Arc<dyn World> = Arc::new(Disk::around(&[dir.to_owned()]));
    let world: Arc<dyn World> = Arc::new(krm_engine::files::Offline(disk));
    let session = Session::new(world, Sources::new(), BuildOptions::default());
    let built = session.build(&[dir.to_owned()]).into_result().unwrap_or_default();
    let name = |r: &Resource| format!("{}/{}", r.kind(), r.name());
    let mut names: Vec<String> = built.iter().flat_map(|items| items.iter()).map(name).collect();
    names.sort();
    names.dedup();
    names
}
