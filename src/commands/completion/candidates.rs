//! What may come next on a command line, by what clap knows and by what is in the files.

use std::path::Path;
use std::sync::Arc;

use clap::builder::PossibleValue;
use clap::{Arg, Command};
use krm_engine::files::KUSTOMIZATION_FILES;
use krm_engine::{BuildOptions, COMPOSITION_FILES, Resource, Session, Sources, World};

use crate::commands::help;
use crate::os::Disk;

/// Commands that take folders with a kustomization.
pub const WITH_FOLDERS: [&str; 11] =
    ["affected", "build", "diff", "explain", "graph", "lint", "localize", "lock", "plan", "serve", "vendor"];

/// Commands that take names of commands.
pub const WITH_COMMANDS: [&str; 2] = ["help", "man"];

/// A command line up to the cursor.
pub struct Line<'a> {
    cli: &'a Command,
    command: &'a Command,
    /// The names of the command: `edit` and `rename`.
    names: Vec<&'a str>,
    /// What follows them, without flags and their values.
    words: Vec<&'a str>,
    /// The flag whose value comes next.
    flag: Option<&'a Arg>,
    /// What is typed of the next word.
    typed: &'a str,
}

impl<'a> Line<'a> {
    /// Reads the words after the name of the program. The commands must have been built: then each has the flags of those
    /// above it.
    pub fn new(cli: &'a Command, before: &[&'a str], typed: &'a str) -> Self {
        let mut line = Self { cli, command: cli, names: Vec::new(), words: Vec::new(), flag: None, typed };
        let mut rest = before.iter();
        let mut has_flags = true;
        while let Some(&word) = rest.next() {
            if word == "--" {
                has_flags = false;
            } else if has_flags && word.len() > 1 && word.starts_with('-') {
                line.flag = awaits_value(line.command, word);
                if line.flag.is_some() && rest.next().is_some() {
                    line.flag = None;
                }
            } else if let Some(below) =
                line.command.find_subcommand(word).filter(|_| has_flags && line.words.is_empty())
            {
                line.command = below;
                line.names.push(below.get_name());
            } else {
                line.words.push(word);
            }
        }
        line
    }

    /// Folders, resources and names of commands: what the scripts for shells do not know themselves.
    pub fn looked_up(&self) -> Vec<String> {
        if self.flag.is_some() || self.typed.starts_with('-') {
            return Vec::new();
        }
        let found = match (&self.names[..], &self.words[..]) {
            (["edit", "rename"], []) => resources("."),
            (["explain"], [dir, ..]) if is_target(Path::new(dir)) => resources(dir),
            ([name], _) if WITH_FOLDERS.contains(name) => folders(self.typed),
            ([name], _) if WITH_COMMANDS.contains(name) => self.topics(),
            _ => Vec::new(),
        };
        self.beginning_as_typed(found)
    }

    /// Everything that may come next, for a shell that knows nothing of krm.
    pub fn all(&self) -> Vec<String> {
        if let Some(flag) = self.flag {
            return self.beginning_as_typed(values(flag));
        }
        if let Some((name, _)) = self.typed.split_once('=').filter(|(name, _)| name.starts_with("--")) {
            let flag = self.command.get_arguments().find(|arg| is_called(arg, &name[2..]));
            let all = flag.map(values).unwrap_or_default().into_iter();
            return self.beginning_as_typed(all.map(|value| format!("{name}={value}")).collect());
        }
        if self.typed.starts_with('-') {
            let shown = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
            return self.beginning_as_typed(
                shown.filter_map(Arg::get_long).map(|name| format!("--{name}")).collect(),
            );
        }
        let mut found = self.looked_up();
        if self.words.is_empty() {
            found.extend(self.beginning_as_typed(names_below(self.command)));
        }
        let argument = self.command.get_positionals().nth(self.words.len());
        found.extend(self.beginning_as_typed(argument.map(values).unwrap_or_default()));
        found
    }

    /// What `krm help` and `krm man` know, after the words that are there already.
    fn topics(&self) -> Vec<String> {
        let command = self.words.iter().try_fold(self.cli, |command, word| command.find_subcommand(word));
        let mut found = command.map(names_below).unwrap_or_default();
        // There are hundreds of codes: too many for someone who has not typed a letter.
        if self.names == ["help"] && self.words.is_empty() && !self.typed.is_empty() {
            found.extend(help::codes().map(str::to_owned));
        }
        found
    }

    fn beginning_as_typed(&self, mut found: Vec<String>) -> Vec<String> {
        found.retain(|candidate| candidate.starts_with(self.typed));
        found
    }
}

/// The flag that a word ends in, if its value is the next word.
fn awaits_value<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let takes_value = |arg: &&Arg| {
        let is_needed = arg.get_num_args().is_some_and(|number| number.min_values() > 0);
        is_needed && arg.get_action().takes_values() && !arg.is_require_equals_set()
    };
    if let Some(name) = word.strip_prefix("--") {
        return command.get_arguments().find(|arg| is_called(arg, name)).filter(takes_value);
    }
    // In `-qo` the second may take the next word; in `-oq` the first has its value already.
    let letters = word.char_indices().skip(1);
    let mut flags = letters.filter_map(|(at, letter)| {
        let is_called = |arg: &&Arg| {
            let others = arg.get_all_short_aliases().unwrap_or_default();
            arg.get_short() == Some(letter) || others.contains(&letter)
        };
        let flag = command.get_arguments().find(is_called).filter(takes_value)?;
        Some((at + letter.len_utf8() == word.len()).then_some(flag))
    });
    flags.next().flatten()
}

fn is_called(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|others| others.contains(&name))
}

/// The values that an argument may have, if they can be listed.
fn values(arg: &Arg) -> Vec<String> {
    let shown = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    shown.map(|value: PossibleValue| value.get_name().to_owned()).collect()
}

fn names_below(command: &Command) -> Vec<String> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    shown.map(|below| below.get_name().to_owned()).collect()
}

/// The most folders to search. After that the name is offered anyway, since there may be a target further down.
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
    KUSTOMIZATION_FILES.iter().chain(&COMPOSITION_FILES).any(|name| folder.join(name).is_file())
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
