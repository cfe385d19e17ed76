//! What differs between two results, and which lines of the sources make it so.
//!
//! Resources are paired, their trees compared field by field, and each change is led back through the histories of both
//! sides to the changed lines that explain it. A change that is the same in several targets, for the same cause, is one
//! change with a list of targets. All of it is plain data: text, JSON, Markdown and the page print this structure.

mod causes;
mod compare;
mod differing;
mod flags;
mod fold;
mod follows;
mod group;
mod images;
pub mod json;
mod moved;
mod narrow;
mod pair;

use krm_yaml::{Diagnostic, Node};

pub use crate::compare::ChangeKind;
pub use compare::{Given, Options, Outcome, Rendered, Side, compare, ending, hidden};
pub use differing::{Differing, alike};
pub use narrow::{narrowed, only_matches_nothing};

/// Which lines of a text differ from another's.
pub mod lines {
    pub use crate::compare::lines::{Hunk, hunks, unified};
}

/// What differs between two results of some targets.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Diff {
    /// What the first side is called.
    pub from: String,
    /// What the second side is called.
    pub to: String,
    /// They are two folders of one tree, not one as it was and as it is.
    pub overlays: bool,
    /// Every target that was looked at, in the order of their names.
    pub targets: Vec<TargetDiff>,
    /// By file and line.
    pub causes: Vec<Cause>,
    /// By cause; those that follow from another come after it.
    pub changes: Vec<Change>,
    /// Images whose name, tag or digest differs, by name.
    pub images: Vec<ImageChange>,
    /// Advice, in the order of the changes.
    pub flags: Vec<Flag>,
    /// Workloads whose pods restart, by name.
    pub restarts: Vec<Restart>,
    /// How many changes were left out because the user asked for that.
    pub ignored: usize,
}

/// A folder that was built on both sides.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetDiff {
    /// The folder, as the user names it.
    pub directory: String,
    /// What came of comparing it.
    pub status: Status,
    /// Whether there is such a folder: on the first side, on the second.
    pub there: [bool; 2],
    /// Why it cannot be compared: on the first side, on the second.
    pub errors: [Option<Diagnostic>; 2],
    /// How many resources differ.
    pub resources: usize,
    /// How many of them are on one side only.
    pub whole: usize,
    /// How many fields differ by themselves.
    pub fields: usize,
    /// How many differ because others do.
    pub follow: usize,
}

/// What came of comparing a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It is on both sides, and they differ.
    Changed,
    /// It is on both sides, and nothing differs, or nothing that the user wants to see.
    Same,
    /// It is on the second side only.
    Added,
    /// It is on the first side only.
    Removed,
    /// It does not build on one of the sides, or on both.
    Failed,
}

impl Status {
    /// The word for it in JSON and in text, such as `changed`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Changed => "changed",
            Status::Same => "same",
            Status::Added => "added",
            Status::Removed => "removed",
            Status::Failed => "failed",
        }
    }
}

/// A location in a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The path, as messages show it.
    pub file: String,
    /// The first line, from 1.
    pub line: usize,
    /// The first column, from 1, in characters.
    pub column: usize,
    /// The last line, from 1.
    pub end_line: usize,
    /// The column after the last character, from 1.
    pub end_column: usize,
}

/// The JSON Schema of [`json::diff`].
pub const JSON_SCHEMA: &str = include_str!("../../data/diff.schema.json");

/// Why something changed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Cause {
    /// The line; of one that was removed, where it was. `None` if no line of the sources changed.
    pub place: Option<Location>,
    /// The place is on the first side: the line is gone.
    pub removed: bool,
    /// The line as it was.
    pub before: Option<String>,
    /// The line as it is.
    pub after: Option<String>,
    /// The line of the second side that is where a removed one was.
    pub line_now: Option<usize>,
    /// How many other lines of the file changed, if all of it is one value.
    pub more: usize,
    /// Where else the same edit is, in [`Diff::folded`].
    pub also: Vec<Location>,
    /// The line names a file, and holds no value.
    pub names_file: bool,
    /// In words, if there is no line: `the other program`.
    pub what: Option<String>,
    /// The changes it explains, those that follow from them included.
    pub changes: Vec<usize>,
}

/// A field or a resource that differs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// Its index in [`Diff::changes`].
    pub id: usize,
    /// What explains it, by its index in [`Diff::causes`].
    pub cause: usize,
    /// What happened.
    pub kind: ChangeKind,
    /// The resource it happened to, or happened in.
    pub resource: Named,
    /// With merge keys for indexes; empty for the resource as a whole.
    pub field: String,
    /// The value on the first side, without what is [hidden](crate::explain::Hidden); `None` if it does not exist.
    pub before: Option<Node>,
    /// The same on the second side.
    pub after: Option<Node>,
    /// The values as they differ by target share only how they end.
    pub elided: bool,
    /// The targets it is in, by their numbers.
    pub targets: Vec<usize>,
    /// What it is in each of them: names, and values that follow from a name, may be others there.
    pub own: Vec<Own>,
    /// The last thing that happened to it on the first side.
    pub from: Option<Tail>,
    /// The last thing that happened to it on the second side.
    pub to: Option<Tail>,
    /// It differs because another change does.
    pub follows: Option<usize>,
    /// It does, even if that other one is not in the list.
    pub derived: bool,
    /// Something of its values is not shown.
    pub masked: bool,
    /// Resources are taken for the same because they are alike, not because they are known to be.
    pub guessed: bool,
    /// In each of its targets the resource gets another name or namespace: a new one takes the place of the old one.
    pub replaced: bool,
}

/// A change as it is in one target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Own {
    /// The target, by its index in [`Diff::targets`].
    pub target: usize,
    /// The resource, by its names in this target.
    pub resource: Named,
    /// The value on the first side; `None` if it does not exist.
    pub before: Option<Node>,
    /// The value on the second side; `None` if it does not exist.
    pub after: Option<Node>,
    /// The last thing that happened to it on the first side.
    pub from: Option<Tail>,
    /// The last thing that happened to it on the second side.
    pub to: Option<Tail>,
    /// The change it follows from, and which of that one's own.
    pub follows: Option<(usize, usize)>,
}

/// A resource, by the names it has on both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Named {
    /// Its `apiVersion`, group included.
    pub api_version: String,
    /// Its `kind`.
    pub kind: String,
    /// As it is first written, before prefixes and hashes; the final one if that is another name altogether.
    pub name: String,
    /// The final namespace and name on the first side; `None` if it does not exist.
    pub from: Option<(String, String)>,
    /// The same on the second side.
    pub to: Option<(String, String)>,
}

/// The last event of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tail {
    /// The kind of event, by its name: `set`, `followed` and so on.
    pub event: &'static str,
    /// What to call it: `images[0].newTag`.
    pub label: String,
    /// The folder of the kustomization it happened in; empty for what comes at the end of every build.
    pub layer: String,
    /// Where it is written; `None` if it is not written anywhere.
    pub place: Option<Location>,
}

/// An image that changes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImageChange {
    /// Without tag and digest; empty if the names differ, and then the other two have them.
    pub name: String,
    /// Tag and digest on the first side, as written.
    pub before: String,
    /// Tag and digest on the second side, as written.
    pub after: String,
    /// Where it changes, by index in [`Diff::targets`], in order.
    pub targets: Vec<usize>,
}

/// A workload whose pods restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Restart {
    /// The name it was first written with.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// In how many targets.
    pub targets: usize,
}

/// Advice about a change: what a cluster will make of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Flag {
    /// The rule it breaks: `immutable`, `removed`, `privileged` and so on.
    pub rule: &'static str,
    /// The change it is about, by its index in [`Diff::changes`].
    pub change: usize,
    /// The line that causes it, or else where the value is written.
    pub place: Option<Location>,
    /// In a sentence, for people.
    pub message: String,
}

impl Diff {
    /// The flags, except for pods that restart: of these there may be many, and [`restarts`](Self::restarts) counts them.
    pub fn warnings(&self) -> impl Iterator<Item = &Flag> {
        self.flags.iter().filter(|flag| flag.rule != flags::RESTART)
    }

    /// Whether anything differs.
    pub fn differs(&self) -> bool {
        self.targets.iter().any(|target| target.status != Status::Same)
    }

    /// What targets are called for short: the end of the path of each, as many parts of all as it takes to tell them
    /// from each other.
    pub fn short_names(&self) -> Vec<String> {
        let parts = |target: &TargetDiff| -> Vec<String> {
            target.directory.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let all: Vec<Vec<String>> = self.targets.iter().map(parts).collect();
        let deepest = all.iter().map(Vec::len).max().unwrap_or(0);
        let ends = |count: usize| -> Vec<&[String]> {
            all.iter().map(|parts| &parts[parts.len().saturating_sub(count)..]).collect()
        };
        let differ = |ends: &[&[String]]| {
            let mut seen = rustc_hash::FxHashSet::default();
            ends.iter().all(|end| seen.insert(*end))
        };
        let enough = (1..deepest).map(ends).find(|ends| differ(ends));
        match enough {
            Some(ends) => ends.into_iter().map(|end| end.join("/")).collect(),
            None => self.targets.iter().map(|target| target.directory.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(directories: &[&str]) -> Vec<String> {
        let target = |directory: &&str| TargetDiff {
            directory: (*directory).to_owned(),
            status: Status::Same,
            there: [true, true],
            errors: [None, None],
            resources: 0,
            whole: 0,
            fields: 0,
            follow: 0,
        };
        Diff { targets: directories.iter().map(target).collect(), ..Diff::default() }.short_names()
    }

    #[test]
    fn names_of_targets_are_shortened_alike() {
        assert_eq!(short(&["overlays/production", "overlays/staging"]), ["production", "staging"]);
        assert_eq!(
            short(&["apps/a/production", "apps/b/production", "apps/a/staging"]),
            ["a/production", "b/production", "a/staging"]
        );
        assert_eq!(short(&["a/x", "x", "b"]), ["a/x", "x", "b"]);
        assert_eq!(short(&["."]), ["."]);
        assert_eq!(short(&["/tmp/repo/a"]), ["a"]);
    }
}
