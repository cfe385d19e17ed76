//! Repositories by the `git` program, files by HTTP: each fetched once in a run, and gone at its end; or, if a lock file
//! says what they are, taken from where a copy is kept.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use krm_engine::files::Repository;
use krm_engine::files::{Download, Fetched};
use krm_engine::policy::Limits;
use krm_engine::runtime::{Argument, Permission, Scratch, Status, Tool, run_tool};
use krm_engine::{Diagnostic, Result};
use krm_yaml::Failure;

use super::git_files::{BareClone, RepositoryFiles};
use super::locked::{Copy, Fetching, Locked, missing_offline, not_locked};
use super::{lockfile, note, supervisor};

/// What was fetched so far.
#[derive(Default)]
pub struct Remote {
    repositories: Once<(String, String, bool), Arc<Checkout>>,
    /// Those of which no file is written, by their addresses and references.
    bare: Once<(String, String), Arc<BareClone>>,
    /// The tags of repositories and their default branches, by their addresses.
    tags: Once<String, Arc<HashSet<String>>>,
    branches: Once<String, String>,
    files: Once<String, Download>,
    /// Copies that are on this machine, checked once in a run.
    kept: Once<(String, String, bool), Option<Fetched>>,
    fetching: Fetching,
    /// Looked for when something is to be fetched, and not before.
    locked: OnceLock<Result<Option<Locked>>>,
    /// What is not in the lock file is about to be: no one needs to know.
    is_locking: bool,
}

impl Remote {
    pub fn new(fetching: Fetching) -> Self {
        Self { fetching, ..Self::default() }
    }

    /// Fetches by a lock file that is being written.
    pub fn locking(locked: Locked) -> Self {
        let fetching = Fetching { offline: locked.is_offline(), ..Fetching::default() };
        Self { is_locking: true, ..Self::with_lock(Ok(Some(locked)), fetching) }
    }

    /// Fetches by a lock file that is not on the disk.
    pub fn with_lock(locked: Result<Option<Locked>>, fetching: Fetching) -> Self {
        Self { fetching, locked: OnceLock::from(locked), ..Self::default() }
    }

    /// The lock file that counts here.
    pub fn locked(&self) -> Result<Option<&Locked>> {
        let locked = self.locked.get_or_init(|| Locked::find(&self.fetching));
        locked.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    pub fn is_offline(&self) -> bool {
        self.fetching.offline
    }

    /// The folder a repository is cloned to, and the commit that is checked out there.
    pub fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        let checkout = self.repositories.get(key(repository), || self.checkout(repository).map(Arc::new))?;
        let folder = match &checkout.folder {
            Place::Cloned(folder) => folder.path().to_owned(),
            Place::Kept(folder) => folder.clone(),
        };
        Ok(Fetched { folder, revision: checkout.revision.clone() })
    }

    fn checkout(&self, repository: &Repository) -> Result<Checkout> {
        let locked = self.locked()?;
        let entry = locked.and_then(|locked| Some((locked, locked.lock.repository(repository)?)));
        let Some((locked, (address, entry))) = entry else {
            self.may_fetch(&lockfile::repository_address(repository), locked)?;
            let settings = if self.is_locking { SAME_EVERYWHERE } else { &[] };
            return Checkout::of(repository, settings);
        };
        if let Some(Fetched { folder, revision }) = self.kept(repository)? {
            return Ok(Checkout { folder: Place::Kept(folder), revision });
        }
        let commit = entry.commit.as_deref().unwrap_or_default();
        if self.fetching.offline {
            return Err(missing_offline(address, Some(locked)));
        }
        let checkout = Checkout::at(repository, commit)?;
        let Place::Cloned(cloned) = &checkout.folder else { return Ok(checkout) };
        let kept = locked.keep_tree(address, &entry.content, cloned.path())?;
        match kept == cloned.path() {
            true => Ok(checkout),
            false => Ok(Checkout { folder: Place::Kept(kept), revision: checkout.revision }),
        }
    }

    /// A copy of a repository that is locked, if there is one on this machine.
    pub fn kept(&self, repository: &Repository) -> Result<Option<Fetched>> {
        self.kept.get(key(repository), || {
            let Some(locked) = self.locked()? else { return Ok(None) };
            let Some((address, entry)) = locked.lock.repository(repository) else { return Ok(None) };
            let Copy::Here(folder) = locked.tree(address, &entry.content)? else { return Ok(None) };
            let folder = folder.canonicalize().unwrap_or(folder);
            Ok(Some(Fetched { folder, revision: entry.commit.clone().unwrap_or_default() }))
        })
    }

    /// A copy of a file that is locked, if there is one on this machine.
    pub fn kept_file(&self, address: &str) -> Result<Option<Download>> {
        let Some(locked) = self.locked()? else { return Ok(None) };
        let Some(entry) = locked.lock.file(address) else { return Ok(None) };
        match locked.file(&lockfile::without_secrets(address), &entry.content)? {
            Copy::Here(bytes) => Ok(Some(Download::new(bytes))),
            Copy::Elsewhere => Ok(None),
        }
    }

    /// The files of a folder of a repository. `None` if they are rather to be read from a [checkout](Self::fetch): because a
    /// copy is kept, or because of what the repository says about them.
    pub fn files(&self, repository: &Repository, folder: &str) -> Result<Option<RepositoryFiles>> {
        let locked = self.locked()?;
        if self.fetching.offline || locked.is_some_and(|locked| locked.lock.repository(repository).is_some())
        {
            return Ok(None);
        }
        self.may_fetch(&lockfile::repository_address(repository), locked)?;
        let Repository { url, reference, .. } = repository;
        let key = (url.clone(), reference.clone());
        let clone = self.bare.get(key, || BareClone::fetch(repository).map(Arc::new))?;
        clone.files(repository, folder)
    }

    /// The first of these tags that a repository has.
    pub fn first_tag(&self, repository: &Repository, wanted: &[String]) -> Result<Option<usize>> {
        let tags = self.tags.get(repository.url.clone(), || tags(repository).map(Arc::new))?;
        Ok(wanted.iter().position(|tag| tags.contains(tag)))
    }

    /// The branch that a repository's `HEAD` is.
    pub fn default_branch(&self, repository: &Repository) -> Result<String> {
        self.branches.get(repository.url.clone(), || default_branch(repository))
    }

    /// What is at an address.
    pub fn get(&self, address: &str) -> Result<Download> {
        self.files.get(address.to_owned(), || self.download(address))
    }

    fn download(&self, address: &str) -> Result<Download> {
        let locked = self.locked()?;
        let entry = locked.and_then(|locked| Some((locked, locked.lock.file(address)?)));
        let Some((locked, entry)) = entry else {
            self.may_fetch(&lockfile::without_secrets(address), locked)?;
            return download(address, LONGEST).map(Download::new);
        };
        if let Some(kept) = self.kept_file(address)? {
            return Ok(kept);
        }
        let shown = lockfile::without_secrets(address);
        if self.fetching.offline {
            return Err(missing_offline(&shown, Some(locked)));
        }
        let fetched = download(address, LONGEST).map(Download::new)?;
        locked.keep_file(&shown, &entry.content, &fetched)?;
        Ok(fetched)
    }

    /// Whether what is not in the lock file is an error.
    pub fn refuses_unlocked(&self, locked: Option<&Locked>) -> bool {
        self.fetching.locked || (self.fetching.strict && locked.is_some())
    }

    /// Whether something that is not locked may be fetched.
    pub fn may_fetch(&self, what: &str, locked: Option<&Locked>) -> Result<()> {
        if self.fetching.offline {
            return Err(missing_offline(what, locked));
        }
        if self.refuses_unlocked(locked) {
            return Err(not_locked(what).into_error());
        }
        if locked.is_some() && !self.is_locking {
            note(not_locked(what));
        }
        Ok(())
    }
}

/// What makes two addresses one repository.
fn key(repository: &Repository) -> (String, String, bool) {
    (repository.url.clone(), repository.reference.clone(), repository.submodules)
}

/// A repository on this machine.
struct Checkout {
    folder: Place,
    revision: String,
}

/// Where a repository is.
enum Place {
    /// In a folder of its own, gone at the end of the run.
    Cloned(Scratch),
    /// In the store, or in the tree that is built.
    Kept(PathBuf),
}

/// Settings for content whose digest is locked: git must not adapt line ends and links to this machine, whatever the user
/// has chosen for their own repositories.
const SAME_EVERYWHERE: &[&str] = &[
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.eol=lf",
    "-c",
    "core.symlinks=true",
    "-c",
    "core.attributesFile=/dev/null",
];

/// Values made once each. Threads that want the same one wait for it; those that want another do not.
struct Once<K, V>(Mutex<HashMap<K, Arc<OnceLock<Result<V>>>>>);

impl<K, V> Default for Once<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Once<K, V> {
    fn get(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
        let cell =
            self.0.lock().expect("no one panics while holding the list").entry(key).or_default().clone();
        cell.get_or_init(make).clone()
    }
}

impl Checkout {
    /// Fetches what is needed of a repository, and no more: one commit, without its history. The files are written by git
    /// with these settings.
    fn of(repository: &Repository, settings: &[&str]) -> Result<Self> {
        let folder = Scratch::new("krm-git")?;
        let git =
            |args: &[&str]| git(folder.path(), args, repository).map_err(|fault| fault.advised(repository));
        let write_files = |args: &[&str]| git(&[settings, args].concat());
        git(&["init", "--quiet"])?;
        // Relative addresses of submodules need an origin.
        git(&["remote", "add", "--", "origin", &repository.url])?;
        fetch_head(folder.path(), repository)?;
        write_files(&["checkout", "--quiet", "FETCH_HEAD"])?;
        if repository.submodules && folder.path().join(".gitmodules").exists() {
            write_files(&["submodule", "--quiet", "update", "--init", "--recursive"])?;
        }
        let revision = String::from_utf8_lossy(&git(&["rev-parse", "HEAD"])?).trim().to_owned();
        Ok(Self { folder: Place::Cloned(folder), revision })
    }

    /// Fetches a commit. Servers that give none by its name give the branch or tag, which is as good if it has not
    /// moved.
    fn at(repository: &Repository, commit: &str) -> Result<Self> {
        let by_name = Repository { reference: commit.to_owned(), ..repository.clone() };
        let no_commit = match Self::of(&by_name, SAME_EVERYWHERE) {
            Ok(checkout) => return Ok(checkout),
            Err(error) => error,
        };
        let checkout = Self::of(repository, SAME_EVERYWHERE).map_err(|_| no_commit.clone())?;
        if checkout.revision == commit {
            return Ok(checkout);
        }
        let address = lockfile::repository_address(repository);
        let reference = if repository.reference.is_empty() { "HEAD" } else { &repository.reference };
        let message =
            format!("`{reference}` of `{}` has moved, and its locked commit is gone", repository.url);
        Err(Diagnostic::error("lock-moved", message)
            .note(format!("locked: {commit}"), krm_engine::Span::NONE)
            .note(format!("now:    {}", checkout.revision), krm_engine::Span::NONE)
            .help(format!("if the change is wanted, run `krm lock --update {address}`")))
    }
}

/// Fetches one commit into a repository, without its history.
pub(super) fn fetch_head(folder: &Path, repository: &Repository) -> Result<()> {
    let Repository { url, reference, .. } = repository;
    let reference = if reference.is_empty() { "HEAD" } else { reference };
    // After `--` nothing is an option, whatever it looks like.
    match git(folder, &["fetch", "--quiet", "--depth=1", "--", url, reference], repository) {
        Ok(_) => Ok(()),
        Err(fault) => Err(with_near_reference(fault, folder, repository)),
    }
}

/// How many branches and tags a message lists.
const MOST_NAMED: usize = 8;

/// Adds the branch or tag that was perhaps meant, if the repository can be reached and has no such reference.
fn with_near_reference(fault: GitFault, folder: &Path, repository: &Repository) -> Diagnostic {
    let error = match fault {
        GitFault::Failed(error) => error,
        GitFault::Other(error) => return error,
    };
    let wanted = repository.reference.as_str();
    let list = ["ls-remote", "--heads", "--tags", "--refs", "--", &repository.url];
    let Ok(said) = git(folder, &list, repository) else {
        return GitFault::Failed(error).advised(repository);
    };
    let said = String::from_utf8_lossy(&said);
    let names: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once('\t')?.1.strip_prefix("refs/"))
        .filter_map(|name| name.split_once('/').map(|(_, name)| name))
        .collect();
    if wanted.is_empty() || names.contains(&wanted) {
        return GitFault::Failed(error).advised(repository);
    }
    // `1.2` for `v1.2` and the reverse is the most common slip, and shorter than what counts as near.
    let other_v =
        |name: &&&str| name.strip_prefix('v') == Some(wanted) || wanted.strip_prefix('v') == Some(name);
    let near =
        names.iter().find(other_v).copied().or_else(|| krm_yaml::nearest(wanted, names.iter().copied()));
    let is_digits = wanted.len() < 40 && wanted.len() > 6 && wanted.bytes().all(|b| b.is_ascii_hexdigit());
    error.help(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if is_digits => "write a commit with all of its 40 digits".to_owned(),
        None if names.is_empty() => "the repository has neither branches nor tags".to_owned(),
        None if names.len() <= MOST_NAMED => format!("it has `{}`", names.join("`, `")),
        None => {
            format!("it has `{}` and {} more", names[..MOST_NAMED].join("`, `"), names.len() - MOST_NAMED)
        }
    })
}

fn tags(repository: &Repository) -> Result<HashSet<String>> {
    let folder = Scratch::new("krm-git")?;
    let list = ["ls-remote", "--refs", "--tags", "--", &repository.url];
    let said = git(folder.path(), &list, repository).map_err(|fault| fault.advised(repository))?;
    let said = String::from_utf8_lossy(&said);
    let names = said.lines().filter_map(|line| line.split_once('\t')?.1.strip_prefix("refs/tags/"));
    Ok(names.map(str::to_owned).collect())
}

fn default_branch(repository: &Repository) -> Result<String> {
    let folder = Scratch::new("krm-git")?;
    let list = ["ls-remote", "--symref", "--", &repository.url, "HEAD"];
    let said = git(folder.path(), &list, repository).map_err(|fault| fault.advised(repository))?;
    let said = String::from_utf8_lossy(&said);
    let branch = said.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.split('\t').next());
    branch.map(str::to_owned).ok_or_else(|| {
        let message = format!("`{}` has no default branch", repository.url);
        Diagnostic::error("git-no-branch", message).help("name a branch, a tag or a commit after `@`")
    })
}

/// Why git gave nothing.
pub(super) enum GitFault {
    /// It ran, and failed.
    Failed(Diagnostic),
    /// It could not be started, or took too long.
    Other(Diagnostic),
}

impl From<Diagnostic> for GitFault {
    fn from(error: Diagnostic) -> Self {
        Self::Other(error)
    }
}

impl GitFault {
    /// The error, with the advice to try the address by hand.
    pub(super) fn advised(self, repository: &Repository) -> Diagnostic {
        match self {
            GitFault::Failed(error) => {
                error.help(format!("check that `git ls-remote {}` works", repository.url))
            }
            GitFault::Other(error) => error,
        }
    }
}

/// Runs git and gives what it prints.
pub(super) fn git(folder: &Path, args: &[&str], repository: &Repository) -> Result<Vec<u8>, GitFault> {
    git_with_input(folder, args, Vec::new(), repository)
}

/// The same with something on its standard input.
pub(super) fn git_with_input(
    folder: &Path,
    args: &[&str],
    input: Vec<u8>,
    repository: &Repository,
) -> Result<Vec<u8>, GitFault> {
    let address = &repository.address;
    // Messages are for our reports, whatever language the user prefers.
    let mut env = vec![("LC_ALL".to_owned(), Some("C".to_owned()))];
    if std::env::var_os("GIT_TERMINAL_PROMPT").is_none() {
        // Nobody would see the question, or everybody at once: better an error that says what is missing.
        env.push(("GIT_TERMINAL_PROMPT".to_owned(), Some("0".to_owned())));
    }
    // A repository around us, as in a git hook, is none of git's business here.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        env.push((name.to_owned(), None));
    }
    // A repository may hold more than a program would print.
    let limits = Limits { output: MOST as usize, ..Limits::default() };
    let tool = Tool {
        program: "git".to_owned(),
        args: args.iter().map(|arg| Argument::from(*arg)).collect(),
        env,
        dir: Some(folder.to_owned()),
        files: Vec::new(),
        needs: Permission::Given,
        timeout: Some(repository.timeout),
    };
    let output = run_tool(&tool, input, &limits, supervisor().as_deref())?.map_err(|error| {
        Diagnostic::error(
            "git-not-started",
            format!("`{address}` is a repository, but git cannot be started: {error}"),
        )
        .failing(Failure::NoSuchProgram)
        .help("install git; it must be in PATH")
    })?;
    // It may have ended on its own just when its time was over: late is late.
    if matches!(output.status, Status::TimedOut(_)) || output.elapsed > repository.timeout {
        let limit = repository.timeout.as_secs_f64();
        let message = format!("`{address}` could not be fetched within {limit} s");
        let help = match address.split_once('?') {
            Some((_, query)) if query.contains("timeout=") => "raise the `timeout` in the address",
            Some(_) => "give it more time by adding `&timeout=120s` to the address",
            None => "give it more time by adding `?timeout=120s` to the address",
        };
        return Err(GitFault::Other(
            Diagnostic::error("git-timeout", message).failing(Failure::ProgramFailed).help(help),
        ));
    }
    if output.status.is_success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let said = if lines.is_empty() { output.status.to_string() } else { lines.join("\n  ") };
    // Settings come before the command.
    let command = args.iter().find(|arg| **arg != "-c" && !arg.contains('=')).copied().unwrap_or_default();
    let message = format!("`{address}` could not be fetched: git {command} failed");
    let error = Diagnostic::error("git-failed", message)
        .failing(Failure::ProgramFailed)
        .note(format!("git says: {said}"), krm_engine::Span::NONE);
    Err(GitFault::Failed(error))
}

/// More than any resource file has.
const MOST: u64 = 1 << 30;
/// How long a file may take from beginning to end, however slowly it comes.
const LONGEST: Duration = Duration::from_secs(120);

fn download(address: &str, within: Duration) -> Result<Vec<u8>> {
    let failed = |error: ureq::Error| {
        let why = super::http::explained(&error);
        Diagnostic::error("http-failed", format!("`{address}` could not be fetched: {why}"))
            .failing(Failure::NotFetched)
            .help("check the address, and that this machine can reach it")
    };
    let mut response = super::http::agent(within).get(address).call().map_err(failed)?;
    let status = response.status();
    if !status.is_success() {
        let message = format!("`{address}` could not be fetched: the server says {status}");
        return Err(Diagnostic::error("http-status", message)
            .failing(Failure::NotFetched)
            .help("check that the address opens in a browser"));
    }
    response.body_mut().with_config().limit(MOST).read_to_vec().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_file_that_comes_in_drops_is_given_up() {
        let address = format!("http://{}/a.yaml", crate::os::http::dripping_server());
        let start = Instant::now();
        let error = download(&address, Duration::from_millis(300)).unwrap_err();
        assert_eq!(error.code(), "http-failed");
        assert!(error.to_string().contains("the server takes too long"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
