//! Addresses: which are git repositories, and what they say of themselves.
//!
//! Only reading them happens here; fetching is the [`World`](crate::World)'s. The rules are kustomize's, down to what it
//! accepts by accident, since addresses of all these forms are in use:
//!
//! ```text
//! https://github.com/org/repo/path?ref=v1      github.com/org/repo     git@github.com:org/repo.git/path
//! ssh://git@host/org/repo.git//path            file:///repos/app//path user@host:group/sub/repo.git?timeout=2m
//! https://dev.azure.com/org/p/_git/repo/path   https://host/org/repo?submodules=false
//! ```

use std::path::Path;
use std::time::Duration;

use krm_yaml::{Diagnostic, sanitize};

use crate::files::paths::leaves;
use crate::limits;

/// A git repository, what of it, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// As it was written.
    pub address: String,
    /// What git is given: `https://github.com/org/repo`.
    pub url: String,
    /// The folder in it; empty for its root.
    pub path: String,
    /// A branch, a tag or a commit; empty for the default branch.
    pub reference: String,
    /// How long each git command may take.
    pub timeout: Duration,
    /// Whether its submodules are fetched too.
    pub submodules: bool,
}

/// Long enough for most; `?timeout=2m` for the others.
const TIMEOUT: Duration = Duration::from_secs(27);

/// Nobody waits longer, and the clock does not reach everything that can be written.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Whether a file is to be loaded over the network.
pub(crate) fn is_http(path: &str) -> bool {
    let scheme = path.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// Whether a file has its content elsewhere, where Git LFS keeps it, and only says so.
pub fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs.github.com/spec/v1\n")
}

/// The warning for a file that is such a pointer. `is_fetched` says that it is in a repository that was fetched.
pub(super) fn lfs_pointer(bytes: &[u8], path: &str, is_fetched: bool) -> Option<Diagnostic> {
    if !is_lfs_pointer(bytes) {
        return None;
    }
    let message = format!("`{path}` is a Git LFS pointer, not the content it refers to");
    let help = match (is_http(path), is_fetched) {
        (true, _) => "use an address that gives the content itself",
        (_, true) => "install Git LFS (`git lfs install`): git then fetches the content too",
        (_, false) => "run `git lfs pull` to get the content",
    };
    Some(Diagnostic::warning("git-lfs-pointer", message).help(help))
}

/// The diagnostic for an address that begins with something like `git://`; `None` for a path.
pub(super) fn unknown_scheme(path: &str) -> Option<Diagnostic> {
    let (scheme, rest) = path.split_once("://")?;
    let is_known = ["https", "http", "ssh", "file"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.:".contains(c));
    if is_known || !is_scheme {
        return None;
    }
    let error =
        Diagnostic::error("address-scheme-unknown", format!("`{scheme}://` addresses cannot be fetched"));
    Some(match scheme.rsplit(':').next() {
        Some("git") => error.help(format!("use the repository's `https://{rest}` or `ssh://{rest}`")),
        _ => error.help("use an address that begins with `https://`, `http://`, `ssh://` or `file://`"),
    })
}

/// An address without passwords and tokens: a user name over HTTP may be one. The same again for what it returns.
///
/// Nothing in it depends on what is hidden, not even on its length: it is in files that are published, and with anything
/// else a guess could be checked.
pub fn without_secrets(address: &str) -> String {
    let address = match address.split_once("://").filter(|_| is_http(address)) {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[host..])
        }
        None => address.to_owned(),
    };
    sanitize::with_passwords_as(&address, |_| "***".to_owned()).into_owned()
}

impl Repository {
    /// Reads an address; `None` if it is not that of a repository, and so a path.
    pub fn parse(address: &str) -> Option<Self> {
        if Path::new(address).is_absolute() {
            return None;
        }
        let (location, query) = address.split_once('?').unwrap_or((address, ""));
        let (host, rest) = split_host(location)?;
        let (repository, path) = split_path(&rest, host == "file://")?;
        if repository.is_empty() || leaves(Path::new(path.strip_prefix('/').unwrap_or(path))) {
            return None;
        }
        let Query { reference, timeout, submodules } = Query::parse(query);
        Some(Self {
            address: address.to_owned(),
            url: format!("{host}{repository}"),
            path: path.strip_prefix('/').unwrap_or(path).to_owned(),
            reference,
            timeout,
            submodules,
        })
    }

    /// Whether it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.url.starts_with("file://")
    }

    /// Whether the path within it is that of a YAML file.
    pub(crate) fn names_yaml(&self) -> bool {
        self.path.ends_with(".yaml") || self.path.ends_with(".yml")
    }

    /// Whether there is no need to ask for a file at the address: GitHub has none at addresses like these.
    pub(crate) fn is_surely_one(&self) -> bool {
        let is_file = [".yaml", ".yml", ".json"].iter().any(|ending| self.path.ends_with(ending));
        let of_github =
            ["raw/", "blob/", "releases/", "archive/"].iter().any(|start| self.path.starts_with(start));
        self.url.starts_with("https://github.com/") && !is_file && !of_github
    }
}

/// Cuts an address into scheme, user and host, and the rest.
fn split_host(address: &str) -> Option<(String, String)> {
    let address = strip_prefix_ignoring_case(address, "git::").unwrap_or(address);
    let schemes = ["ssh://", "https://", "http://", "file://"];
    let (scheme, rest) = schemes
        .iter()
        .find_map(|scheme| Some((*scheme, strip_prefix_ignoring_case(address, scheme)?)))
        .unwrap_or(("", address));
    if scheme == "file://" {
        return Some((scheme.to_owned(), rest.to_owned()));
    }
    let (user, rest) = split_user(rest);
    let is_github =
        ["github.com/", "github.com:"].iter().any(|host| strip_prefix_ignoring_case(rest, host).is_some());
    // Without a scheme it is `user@host:path`, or GitHub, or no address at all.
    let is_scp = scheme.is_empty() && (!user.is_empty() || is_github);
    if scheme.is_empty() && !is_scp {
        return None;
    }
    let slash = rest.find('/');
    let end = match (slash, rest.find(':')) {
        (None, colon) if is_scp => colon,
        (Some(slash), Some(colon)) if is_scp && colon > 0 && colon < slash => Some(colon),
        _ => slash,
    };
    let (host, rest) = end.map_or((rest, ""), |end| rest.split_at(end + 1));
    let host = match is_github {
        true if scheme == "ssh://" || !user.is_empty() => format!("{user}github.com:"),
        true => "https://github.com/".to_owned(),
        false if host.is_empty() => return None,
        false => format!("{scheme}{user}{host}"),
    };
    Some((host, rest.to_owned()))
}

/// `user@`, where it is.
fn split_user(address: &str) -> (&str, &str) {
    let Some((user, _)) = address.split_once('@') else { return ("", address) };
    let is_user = user.starts_with(|c: char| c.is_ascii_alphabetic())
        && user.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_user { address.split_at(user.len() + 1) } else { ("", address) }
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Cuts what follows the host into the repository and a path in it: at `_git/` and the name after it, at `//`, after
/// `.git`, or after two names; of a local repository nothing is cut without a sign.
fn split_path(rest: &str, is_local: bool) -> Option<(&str, &str)> {
    if let Some(at) = rest.find("_git/") {
        let name = at + "_git/".len();
        let end = rest[name..].find('/').map_or(rest.len(), |slash| name + slash);
        return Some((&rest[..end], rest[end..].strip_prefix('/').unwrap_or("")));
    }
    if let Some(halves) = rest.split_once("//") {
        return Some(halves);
    }
    if let Some(at) = rest.find(".git") {
        return Some(rest.split_at(at + ".git".len()));
    }
    if is_local {
        return Some((rest, ""));
    }
    let (first, _) = rest.split_once('/')?;
    let second = &rest[first.len() + 1..];
    match second.find('/') {
        Some(slash) => Some((&rest[..first.len() + 1 + slash], &second[slash + 1..])),
        None => Some((rest, "")),
    }
}

struct Query {
    reference: String,
    timeout: Duration,
    submodules: bool,
}

impl Query {
    /// What it does not understand it passes over.
    // quirk(options-of-addresses-are-passed-over): An option of an address that is unknown or has no valid value is
    // passed over in silence, and a semicolon among them makes all of them so: `?ref=v1;timeout=1` is the default
    // branch. (`git.parseQuery`)
    fn parse(query: &str) -> Self {
        let mut parsed = Self { reference: String::new(), timeout: TIMEOUT, submodules: true };
        let pairs: Option<Vec<(String, String)>> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (!pair.contains(';')).then_some(())?;
                Some((decode(key)?, decode(value)?))
            })
            .collect();
        let Some(pairs) = pairs else { return parsed };
        let get = |key: &str| pairs.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v.as_str());
        parsed.reference = match get("ref") {
            "" => get("version"),
            reference => reference,
        }
        .to_owned();
        if let Some(timeout) = limits::duration(get("timeout")) {
            parsed.timeout = timeout.min(LONGEST_TIMEOUT);
        }
        match get("submodules") {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => parsed.submodules = true,
            "0" | "f" | "F" | "FALSE" | "false" | "False" => parsed.submodules = false,
            _ => {}
        }
        parsed
    }
}

/// Undoes `%2F` and `+`; `None` if that cannot be done, as with Go's `url.QueryUnescape`, where a library would leave it.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        bytes.push(match b {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            b => b,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_address_is_understood() {
        for (address, url, path, reference) in [
            // GitHub, with and without a scheme, whatever its case.
            ("github.com/acme/shop", "https://github.com/acme/shop", "", ""),
            ("GitHub.com/acme/shop/base?ref=v1", "https://github.com/acme/shop", "base", "v1"),
            ("github.com:acme/shop", "https://github.com/acme/shop", "", ""),
            ("http://github.com/acme/shop/a/b", "https://github.com/acme/shop", "a/b", ""),
            ("HTTPS://github.com/acme/shop.git/a", "https://github.com/acme/shop.git", "a", ""),
            ("git@github.com:acme/shop/a", "git@github.com:acme/shop", "a", ""),
            ("git@github.com/acme/shop/a", "git@github.com:acme/shop", "a", ""),
            ("ssh://git@github.com/acme/shop//a", "git@github.com:acme/shop", "a", ""),
            ("acme-7@github.com:acme/shop", "acme-7@github.com:acme/shop", "", ""),
            ("git::https://github.com/acme/shop", "https://github.com/acme/shop", "", ""),
            // Other hosts.
            ("https://git.acme.io/team/shop/a?ref=x", "https://git.acme.io/team/shop", "a", "x"),
            ("https://git.acme.io/team/sub/shop.git/a", "https://git.acme.io/team/sub/shop.git", "a", ""),
            ("https://git.acme.io/team/sub/shop//a/b/", "https://git.acme.io/team/sub/shop", "a/b/", ""),
            ("https://git.acme.io/team/shop/?ref=a.git/b", "https://git.acme.io/team/shop", "", "a.git/b"),
            ("https://me@git.acme.io/team/shop.git//a", "https://me@git.acme.io/team/shop.git", "a", ""),
            ("ssh://git.acme.io:7999/team/shop/a", "ssh://git.acme.io:7999/team/shop", "a", ""),
            (
                "ssh://git@ssh.github.com:443/acme/shop.git",
                "ssh://git@ssh.github.com:443/acme/shop.git",
                "",
                "",
            ),
            ("git@git.acme.io:team/sub/shop.git?ref=v2", "git@git.acme.io:team/sub/shop.git", "", "v2"),
            ("git@git.acme.io/team/shop.git//a", "git@git.acme.io/team/shop.git", "a", ""),
            ("git@git.acme.io/te:am/shop.git/a", "git@git.acme.io/te:am/shop.git", "a", ""),
            ("git@gist.github.com:0123abc.git", "git@gist.github.com:0123abc.git", "", ""),
            // Azure's `_git`.
            (
                "https://dev.azure.com/o/p/_git/shop/a?version=v3",
                "https://dev.azure.com/o/p/_git/shop",
                "a",
                "v3",
            ),
            ("https://me@dev.azure.com/o/p/_git/shop//a", "https://me@dev.azure.com/o/p/_git/shop", "a", ""),
            ("https://o.visualstudio.com/p/_git/shop", "https://o.visualstudio.com/p/_git/shop", "", ""),
            // Local repositories.
            ("file:///repos/shop", "file:///repos/shop", "", ""),
            ("file:///repos/shop//a/b?ref=dev", "file:///repos/shop", "a/b", "dev"),
            ("file:///repos/shop.git/a", "file:///repos/shop.git", "a", ""),
            ("file://me@home/shop.git//a", "file://me@home/shop.git", "a", ""),
        ] {
            let found = Repository::parse(address).unwrap_or_else(|| panic!("{address} is none"));
            assert_eq!((&*found.url, &*found.path, &*found.reference), (url, path, reference), "{address}");
        }
    }

    #[test]
    fn paths_are_not_addresses() {
        for path in [
            "/tmp",
            "../base",
            "base",
            ".",
            "src/github.com/acme/shop",
            "a.git",
            "gh:acme/shop",
            "htxp://github.com/",
            "ssh://git.acme.io",
            "https://host?ref=a/b/c",
            "https://github.com/only-one.yaml",
            "git::x",
            "https://github.com/acme/shop.git//a/../../b",
            "file:////tmp//a",
            "git@ssh://github.com/acme/shop.git//a",
            "github.com!acme/shop",
            "",
        ] {
            assert_eq!(Repository::parse(path), None, "{path}");
        }
    }

    #[test]
    fn queries_say_how_to_fetch() {
        let parse =
            |query: &str| Repository::parse(&format!("github.com/a/b?{query}")).expect("it is an address");
        assert_eq!((parse("").timeout, parse("").submodules), (TIMEOUT, true));
        for (query, timeout) in [
            ("timeout=61", 61_000),
            ("timeout=1m1s", 61_000),
            ("timeout=1.5h", 5_400_000),
            ("timeout=250ms&ref=x", 250),
            ("timeout=0", 27_000),
            ("timeout=18446744073709551615", 27_000),
            ("timeout=9999999999999h", 86_400_000),
            ("timeout=-5s", 27_000),
            ("timeout=soon", 27_000),
            ("timeout=5x", 27_000),
        ] {
            assert_eq!(parse(query).timeout, Duration::from_millis(timeout), "{query}");
        }
        for (query, submodules) in
            [("submodules=false", false), ("submodules=0", false), ("submodules=no", true)]
        {
            assert_eq!(parse(query).submodules, submodules, "{query}");
        }
        assert_eq!(parse("ref=a%2Fb").reference, "a/b");
        assert_eq!(parse("version=a&ref=b").reference, "b");
        assert_eq!(parse("ref=%zz&timeout=5").reference, "");
    }

    #[test]
    fn secrets_stay_out() {
        for (address, kept) in [
            ("https://me:sesame@example.com/a?ref=v1", "https://example.com/a?ref=v1"),
            ("https://token@example.com/a", "https://example.com/a"),
            ("git@example.com:a/b@c", "git@example.com:a/b@c"),
            ("https://example.com/a@b", "https://example.com/a@b"),
        ] {
            assert_eq!(without_secrets(address), kept);
        }
    }

    #[test]
    fn masks_say_nothing_about_what_they_hide() {
        // The last ones are masks that older versions wrote.
        for value in ["web", "a-much-longer-value", "***", "*****", "***-1a2b"] {
            let address = |value: &str| format!("https://example.com/a?key={value}&ref=v1");
            assert_eq!(without_secrets(&address(value)), address("***"));
            let address = |value: &str| format!("ssh://git:{value}@example.com/a.git");
            assert_eq!(without_secrets(&address(value)), address("***"));
        }
        assert_eq!(without_secrets("https://example.com/a?key=&ref=v1"), "https://example.com/a?key=&ref=v1");
    }

    #[test]
    fn files_of_the_network_are_known_by_their_scheme() {
        assert!(is_http("https://acme.io/a.yaml") && is_http("HTTP://acme.io/a.yaml"));
        assert!(!is_http("a/b.yaml") && !is_http("file:///a") && !is_http("git@acme.io:a"));
    }
}
