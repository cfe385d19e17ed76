//! A git repository of the user, read through the `git` program: its revisions as worlds of files, and what changed between
//! them. Nothing is checked out, and neither the index nor a file of the user is touched.
//!
//! The repository may be somebody else's, unpacked from an archive. Its own configuration can name programs that git starts:
//! monitors of the file system, hooks, filters, and whatever fetches missing objects. None of them runs.

mod objects;
mod revision;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use krm_engine::{Diagnostic, Result, World};
use krm_yaml::Failure;

use self::objects::{Id, Objects};
pub use self::revision::Revision;
use super::Disk;
use super::locked::Fetching;

/// A repository.
pub struct Git {
    /// The folder of the working tree; of a bare repository its own.
    top: PathBuf,
    /// The current folder as seen from the top.
    prefix: PathBuf,
    bare: bool,
    objects: Arc<Objects>,
}

/// The two things that are compared, older first.
#[derive(Debug)]
pub struct Range {
    pub from: Side,
    pub to: Side,
}

/// The files of a revision, or those of the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    Revision {
        /// As the user wrote it.
        name: String,
        tree: Id,
    },
    WorkTree,
}

/// The files of a side.
pub struct SideFiles {
    pub world: Arc<dyn World>,
    /// The folder in which that world has the repository.
    pub root: PathBuf,
    /// What is fetched for it, and the lock file that says what that is.
    pub disk: Arc<Disk>,
    /// The revision, if it is one.
    pub revision: Option<Arc<Revision>>,
}

impl Side {
    pub fn name(&self) -> &str {
        match self {
            Side::Revision { name, .. } => name,
            Side::WorkTree => "the working tree",
        }
    }
}

impl Git {
    /// Finds the repository that a folder, usually the current one, is in.
    pub fn open(here: &Path) -> Result<Self> {
        let here = super::absolute(here)?;
        let path = |args: &[&str]| {
            let said = run(&here, args)?;
            let said = said.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(said);
            super::absolute(Path::new(&os_string(said)))
        };
        let (top, bare) = match path(&["rev-parse", "--show-toplevel"]) {
            Ok(top) => (top, false),
            Err(error) if error.failure() == Some(Failure::NoSuchProgram) => return Err(error),
            // A bare repository has no working tree; and if this fails too, there is no repository.
            Err(_) => (path(&["rev-parse", "--absolute-git-dir"]).map_err(no_repository)?, true),
        };
        let prefix = here.strip_prefix(&top).map(Path::to_owned).unwrap_or_default();
        let prefix = if bare { PathBuf::new() } else { prefix };
        let objects = Arc::new(Objects::open(&here)?);
        Ok(Self { top, prefix, bare, objects })
    }

    /// Reads `REV` (compared with the working tree), `A..B` (two trees) or `A...B` (what B did since it left A). What is
    /// left out is `HEAD`.
    pub fn range(&self, text: &str) -> Result<Range> {
        let or_head = |text: &str| if text.is_empty() { "HEAD".to_owned() } else { text.to_owned() };
        if let Some((a, b)) = text.split_once("...") {
            let (a, b) = (or_head(a), or_head(b));
            let (_, to) = (self.side(&a)?, self.side(&b)?);
            let base = run(&self.top, &["merge-base", "--", &a, &b]).map_err(|_| {
                Diagnostic::error("revisions-unrelated", format!("`{a}` and `{b}` have no common ancestor"))
                    .help(format!("compare them as they are with `{a}..{b}`; in a shallow clone, fetch more history first"))
            })?;
            let base = String::from_utf8_lossy(&base).trim().to_owned();
            return Ok(Range { from: self.side(&base)?, to });
        }
        if let Some((a, b)) = text.split_once("..") {
            return Ok(Range { from: self.side(&or_head(a))?, to: self.side(&or_head(b))? });
        }
        // As git means it: the commit alone.
        if let Some(commit) = text.strip_suffix("^!") {
            return Ok(Range { from: self.side(&format!("{commit}^"))?, to: self.side(commit)? });
        }
        let from = self.side(&or_head(text))?;
        if self.bare {
            return Err(Diagnostic::error("no-work-tree", "a bare repository has no files to compare with")
                .help(format!("name two revisions: `{}..OTHER`", from.name())));
        }
        Ok(Range { from, to: Side::WorkTree })
    }

    /// Whether a text names a revision.
    pub fn is_revision(&self, text: &str) -> bool {
        self.side(text.strip_suffix("^!").unwrap_or(text)).is_ok()
    }

    fn side(&self, name: &str) -> Result<Side> {
        let unknown = || {
            Diagnostic::error("revision-unknown", format!("there is no revision `{name}`"))
                .help("`git branch --all` and `git tag` list what there is; a shallow clone may lack it")
        };
        if name.starts_with('-') || name.contains('\n') {
            return Err(unknown());
        }
        // What is searched for by its message is all of the text.
        let found = match name.starts_with(":/") {
            true => String::from_utf8_lossy(
                &run(&self.top, &["rev-parse", "--verify", name]).map_err(|_| unknown())?,
            )
            .trim()
            .to_owned(),
            false => name.to_owned(),
        };
        let tree = format!("{found}^{{tree}}");
        if found.contains(['{', ':']) {
            // An upstream or an entry of the log that does not exist makes the process that holds the objects end; one that
            // only looks for it says why.
            run(&self.top, &["rev-parse", "--verify", &tree])
                .map_err(|error| unknown().note(error.message().to_owned(), krm_engine::Span::NONE))?;
        }
        match self.objects.named(&tree)? {
            Some(tree) => Ok(Side::Revision { name: name.to_owned(), tree }),
            None => Err(unknown()),
        }
    }

    /// Whether there is no working tree.
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// The folder of the working tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// What git does not look at in the working tree: what it ignores, folders as a whole. Absolute paths.
    pub fn ignored(&self) -> Result<Vec<PathBuf>> {
        let args = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        let names = run(&self.top, &args)?;
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let path = |name: &[u8]| {
            let name = name.strip_suffix(b"/").unwrap_or(name);
            self.top.join(PathBuf::from(os_string(name.to_vec())))
        };
        Ok(names.map(path).collect())
    }

    /// The files of a side. What is fetched follows the lock file of that side.
    pub fn files(&self, side: &Side, fetching: Fetching) -> Result<SideFiles> {
        match side {
            Side::WorkTree => {
                let disk = Arc::new(Disk::fetching(fetching));
                Ok(SideFiles { world: disk.clone(), root: self.top.clone(), disk, revision: None })
            }
            Side::Revision { tree, .. } => {
                let objects = self.objects.clone();
                let revision = Revision::new(objects, tree.clone(), &self.top, &self.prefix, fetching)?;
                let (root, disk) = (revision.root().to_owned(), revision.disk());
                let revision = Arc::new(revision);
                Ok(SideFiles { world: revision.clone(), root, disk, revision: Some(revision) })
            }
        }
    }

    /// The files that differ between two sides, as seen from the top. Of the working tree those that git ignores are left
    /// out.
    pub fn changed(&self, range: &Range) -> Result<Vec<PathBuf>> {
        let mut changed = match (&range.from, &range.to) {
            (Side::Revision { tree: a, .. }, Side::Revision { tree: b, .. }) => {
                let mut changed = Vec::new();
                self.objects
                    .differences(a, b, &mut PathBuf::new(), &mut changed)
                    .map_err(|error| unreadable(&error))?;
                changed
            }
            (Side::Revision { tree, .. }, Side::WorkTree) | (Side::WorkTree, Side::Revision { tree, .. }) => {
                let tree = tree.to_string();
                // To look into submodules, git starts itself in them, with their configuration.
                let tracked = [
                    "diff",
                    "--name-only",
                    "--no-renames",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--ignore-submodules=dirty",
                    "-z",
                    &tree,
                    "--",
                ];
                let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
                let without_filters = without_filters(&self.top)?;
                let without_filters: Vec<&str> = without_filters.iter().map(String::as_str).collect();
                let mut names = run(&self.top, &[&without_filters, &tracked[..]].concat())?;
                names.extend(run(&self.top, &untracked)?);
                let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
                names.map(|name| PathBuf::from(os_string(name.to_vec()))).collect()
            }
            (Side::WorkTree, Side::WorkTree) => Vec::new(),
        };
        changed.sort();
        changed.dedup();
        Ok(changed)
    }
}

fn no_repository(error: Diagnostic) -> Diagnostic {
    let message = "the current folder is not in a git repository";
    Diagnostic::error("no-repository", message)
        .note(error.message().to_owned(), krm_engine::Span::NONE)
        .help("revisions are compared inside a repository; folders are with `--overlays DIR DIR`")
}

fn unreadable(error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("git-object-unreadable", format!("an object of the repository cannot be read: {error}"))
        .help("`git fsck` says what is wrong with it; of a partial clone, fetch what is missing first: `git fetch --refetch --no-filter`")
}

/// Runs git in a folder and gives what it prints.
fn run(folder: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let output = git(folder).args(args).output().map_err(not_started)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let is_option = |arg: &&&str| **arg == "-c" || arg.contains('=');
    Err(refused(args.iter().find(|arg| !is_option(arg)).unwrap_or(&""), &output))
}

fn refused(verb: &str, output: &Output) -> Diagnostic {
    let said = String::from_utf8_lossy(&output.stderr);
    Diagnostic::error("git-refused", format!("git {verb} failed: {}", said.trim()))
}

/// Options that switch off the filters which the repository itself defines. Those of the user, such as the one for large
/// files, stay.
fn without_filters(top: &Path) -> Result<Vec<String>> {
    let list = ["config", "--show-scope", "--includes", "--name-only", "-z", "--get-regexp", r"^filter\."];
    let output = git(top).args(list).output().map_err(not_started)?;
    // Status 1 says that there are none.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(refused("config", &output));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = said.split_terminator('\0').collect();
    let own = words.chunks_exact(2).filter(|pair| !matches!(pair[0], "system" | "global" | "command"));
    let mut names: Vec<&str> =
        own.filter_map(|pair| pair[1].rsplit_once('.')).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let switched_off = |name: &str| {
        ["clean=", "smudge=", "process=", "required=false"]
            .map(|setting| ["-c".to_owned(), format!("{name}.{setting}")])
            .concat()
    };
    Ok(names.into_iter().flat_map(switched_off).collect())
}

/// The program, such that it changes nothing, asks nothing, fetches nothing and starts nothing that the repository names.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    let nothing = if cfg!(windows) { "core.hooksPath=NUL" } else { "core.hooksPath=/dev/null" };
    command.args(["--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", nothing]);
    // In a partial clone git would fetch what is missing, by a program that the repository names.
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
    // Messages are for our reports, whatever language the user prefers.
    command.current_dir(folder).env("LC_ALL", "C");
    if std::env::var_os("GIT_TERMINAL_PROMPT").is_none() {
        command.env("GIT_TERMINAL_PROMPT", "0");
    }
    command
}

fn not_started(error: std::io::Error) -> Diagnostic {
    Diagnostic::error("git-missing", format!("git cannot be started: {error}"))
        .failing(Failure::NoSuchProgram)
        .help("install git; it must be in PATH")
}

/// A name as git has it.
fn os_string(bytes: Vec<u8>) -> OsString {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        OsString::from_vec(bytes)
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(&bytes).into_owned().into()
    }
}

#[cfg(test)]
mod tests;
