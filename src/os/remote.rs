//! Repositories by the `git` program, files by HTTP: each fetched once in a run, and gone at its end.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use krm_engine::files::repository::Repository;
use krm_engine::files::world::{Download, Fetched};
use krm_engine::pipeline::policy::Limits;
use krm_engine::runtime::{Argument, Permission, Scratch, Status, Tool, run_tool};
use krm_engine::{Diagnostic, Result};

use super::supervisor;

/// What was fetched so far.
#[derive(Default)]
pub struct Remote {
    repositories: Once<(String, String, bool), Arc<Checkout>>,
    files: Once<String, Download>,
}

impl Remote {
    /// The folder a repository is cloned to, and the commit that is checked out there.
    pub fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        let key = (repository.url.clone(), repository.reference.clone(), repository.submodules);
        let checkout = self.repositories.get(key, || Checkout::of(repository).map(Arc::new))?;
        Ok(Fetched { folder: checkout.folder.path().to_owned(), revision: checkout.revision.clone() })
    }

    /// What is at an address.
    pub fn get(&self, address: &str) -> Result<Download> {
        self.files.get(address.to_owned(), || download(address, LONGEST).map(Download::new))
    }
}

/// A repository on this machine, gone at the end of the run.
struct Checkout {
    folder: Scratch,
    revision: String,
}

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
    /// Fetches what is needed of a repository, and no more: one commit, without its history.
    fn of(repository: &Repository) -> Result<Self> {
        let Repository { url, reference, .. } = repository;
        let folder = Scratch::new("krm-git")?;
        let git = |args: &[&str]| git(folder.path(), args, repository);
        git(&["init", "--quiet"])?;
        // Relative addresses of submodules need an origin.
        git(&["remote", "add", "origin", url])?;
        let reference = if reference.is_empty() { "HEAD" } else { reference };
        // Behind `--` nothing is an option, whatever it looks like.
        git(&["fetch", "--quiet", "--depth=1", "--", url, reference])?;
        git(&["checkout", "--quiet", "FETCH_HEAD"])?;
        if repository.submodules && folder.path().join(".gitmodules").exists() {
            git(&["submodule", "--quiet", "update", "--init", "--recursive"])?;
        }
        let revision = String::from_utf8_lossy(&git(&["rev-parse", "HEAD"])?).trim().to_owned();
        Ok(Self { folder, revision })
    }
}

/// The branch that a repository's `HEAD` is.
pub fn default_branch(repository: &Repository) -> Result<String> {
    let folder = Scratch::new("krm-git")?;
    let said = git(folder.path(), &["ls-remote", "--symref", "--", &repository.url, "HEAD"], repository)?;
    let said = String::from_utf8_lossy(&said);
    let branch = said.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.split('\t').next());
    branch.map(str::to_owned).ok_or_else(|| {
        let message = format!("`{}` has no default branch", repository.url);
        Diagnostic::error("git-no-branch", message).help("name a branch, a tag or a commit after `@`")
    })
}

/// Runs git and gives what it prints.
fn git(folder: &Path, args: &[&str], repository: &Repository) -> Result<Vec<u8>> {
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
    let tool = Tool {
        program: "git".to_owned(),
        args: args.iter().map(|arg| Argument::from(*arg)).collect(),
        env,
        dir: Some(folder.to_owned()),
        files: Vec::new(),
        needs: Permission::Given,
        timeout: Some(repository.timeout),
    };
    let output =
        run_tool(&tool, Vec::new(), &Limits::default(), supervisor().as_deref())?.map_err(|error| {
            Diagnostic::error(
                "git-not-started",
                format!("`{address}` is a repository, but git cannot be started: {error}"),
            )
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
        return Err(Diagnostic::error("git-timeout", message).help(help));
    }
    if output.status.is_success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let said = if lines.is_empty() { output.status.to_string() } else { lines.join("\n  ") };
    let message = format!("`{address}` could not be fetched: git {} failed", args[0]);
    Err(Diagnostic::error("git-failed", message)
        .note(format!("git says: {said}"), krm_engine::Span::NONE)
        .help(format!("see whether `git ls-remote {}` works", repository.url)))
}

/// More than any resource file has.
const MOST: u64 = 1 << 30;
/// How long a file may take from beginning to end, however slowly it comes.
const LONGEST: Duration = Duration::from_secs(120);

fn download(address: &str, within: Duration) -> Result<Vec<u8>> {
    let failed = |error: ureq::Error| {
        Diagnostic::error("http-failed", format!("`{address}` could not be fetched: {error}"))
    };
    let tls = ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::PlatformVerifier).build();
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .user_agent(concat!("krm/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(Duration::from_secs(27)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .timeout_global(Some(within))
        .build()
        .into();
    let mut response = agent.get(address).call().map_err(failed)?;
    let status = response.status();
    if !status.is_success() {
        let message = format!("`{address}` could not be fetched: the server says {status}");
        return Err(
            Diagnostic::error("http-status", message).help("see whether the address opens in a browser")
        );
    }
    response.body_mut().with_config().limit(MOST).read_to_vec().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_file_that_comes_in_drops_is_given_up() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/a.yaml", server.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut client, _) = server.accept().unwrap();
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
            while client.write_all(b"#").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let start = Instant::now();
        let error = download(&address, Duration::from_millis(300)).unwrap_err();
        assert_eq!(error.code(), "http-failed");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
