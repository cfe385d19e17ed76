//! `remote-moves`: remote bases and files whose content may change from one build to the next.

use std::path::Path;

use krm_yaml::{Diagnostic, Fix, Node, Span, decode};

use super::Check;
use crate::files::repository::{Repository, is_http, without_secrets};
use crate::workspace::{ReferenceTarget, repository_address};

pub(super) fn findings(cx: &Check) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for layer in cx.lint.workspace.layers() {
        for reference in &layer.references {
            let ReferenceTarget::Remote(address) = &reference.target else { continue };
            let Some(why) = why_it_moves(address).filter(|_| !is_locked(cx, &layer.folder, address)) else {
                continue;
            };
            let message = format!("what `{}` leads to may change: {}", shown(address), why.0);
            let finding = Diagnostic::warning("remote-moves", message)
                .at(reference.span)
                .help(why.1)
                .help("or run `krm lock`: builds then take what krm.lock names");
            found.push(match pinned(cx, reference.span, address) {
                Some(fix) => finding.fix(fix),
                None => finding,
            });
        }
    }
    found
}

/// The fix that names the commit which is there now, if things may be fetched.
fn pinned(cx: &Check, span: Span, address: &str) -> Option<Fix> {
    let repository = Repository::parse(address).filter(|_| !is_file(address))?;
    let revision = cx.lint.world.fetch(&repository).ok()?.revision;
    let written = cx.lint.sources.get(span.file)?.text().get(span.range())?.to_owned();
    if revision.len() != 40 || !written.contains(address) {
        return None;
    }
    let new = with_revision(address, &revision);
    Some(Fix::needs_review(format!("pin it to `{revision}`")).replace(span, written.replace(address, &new)))
}

/// An address with another revision.
fn with_revision(address: &str, revision: &str) -> String {
    let Some((before, query)) = address.split_once('?') else { return format!("{address}?ref={revision}") };
    let is_revision = |part: &&str| part.starts_with("ref=") || part.starts_with("version=");
    let others = query.split('&').filter(|part| !is_revision(part) && !part.is_empty());
    let all: Vec<String> = others.map(str::to_owned).chain([format!("ref={revision}")]).collect();
    format!("{before}?{}", all.join("&"))
}

/// Whether a `krm.lock` of the folder, or of one around it, names the address: then builds get what it says.
fn is_locked(cx: &Check, folder: &Path, address: &str) -> bool {
    let repository = Repository::parse(address).map(|repository| repository_address(&repository));
    let entries: Vec<String> = repository.into_iter().chain([without_secrets(address)]).collect();
    let is_entry = |remote: &Node| {
        let address = remote.get("address").and_then(Node::as_str);
        address.is_some_and(|address| entries.iter().any(|entry| entry == address))
    };
    let mut above = folder.ancestors().take_while(|above| above.starts_with(&cx.lint.tree.root));
    above.any(|above| {
        let lock = cx.lint.world.read(&above.join("krm.lock")).ok().and_then(|bytes| decode(bytes).ok());
        let documents = lock.and_then(|text| krm_yaml::parse_str(&text).ok()).unwrap_or_default();
        let mut remotes = documents.iter().filter_map(|document| document.root.get("remotes"));
        remotes.any(|remotes| remotes.items().iter().any(is_entry))
    })
}

/// An address without what may be a password.
fn shown(address: &str) -> &str {
    let without =
        address.rsplit_once('@').filter(|(before, _)| before.contains("://") && before.contains(':'));
    without.map_or(address, |(_, rest)| rest)
}

const PIN: &str = "pin it to a release or a commit";

/// Why the content of an address may change, and what to do. An address of which nobody can tell is not blamed.
fn why_it_moves(address: &str) -> Option<(String, String)> {
    if let Some(revision) = revision_of_file(address) {
        return of_revision(revision, |new| format!("{PIN}: replace `{revision}` with {new}"));
    }
    if is_file(address) {
        return None;
    }
    let repository = Repository::parse(address)?;
    if repository.is_local() {
        return None;
    }
    match repository.reference.as_str() {
        "" | "HEAD" => Some((
            "it names no revision, so the default branch is taken".into(),
            format!(
                "{PIN}: append `{}ref=` and a tag or a commit",
                if address.contains('?') { "&" } else { "?" }
            ),
        )),
        revision => of_revision(revision, |new| format!("{PIN}: replace `{revision}` with {new}")),
    }
}

fn of_revision(revision: &str, help: impl Fn(&str) -> String) -> Option<(String, String)> {
    let is_hex = revision.chars().all(|c| c.is_ascii_hexdigit());
    let has = |test: fn(&char) -> bool| revision.chars().any(|c| test(&c));
    if is_hex
        && (7..40).contains(&revision.len())
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
    {
        let why = format!("`{revision}` is part of a commit, and other commits may begin with it");
        return Some((why, help("the whole commit")));
    }
    const BRANCHES: [&str; 9] =
        ["main", "master", "HEAD", "develop", "development", "dev", "trunk", "latest", "stable"];
    let name = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let is_branch =
        name.len() < revision.len() || BRANCHES.iter().any(|branch| branch.eq_ignore_ascii_case(name));
    is_branch.then(|| (format!("`{revision}` is a branch"), help("a tag or a commit")))
}

fn is_file(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    is_http(address) && [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}

/// The revision in the address of one file of a repository, by the forms that hosts have for these.
fn revision_of_file(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let parts: Vec<&str> = rest.split('/').collect();
    match parts[..] {
        ["raw.githubusercontent.com", _, _, "refs", "heads", branch, _, ..] => Some(branch).map(|branch| {
            let start = rest.find("refs/heads/").unwrap_or_default();
            &rest[start..start + "refs/heads/".len() + branch.len()]
        }),
        ["raw.githubusercontent.com", _, _, revision, _, ..] if revision != "refs" => Some(revision),
        ["github.com", _, _, "raw" | "blob", revision, _, ..] if revision != "refs" => Some(revision),
        ["github.com", _, _, "releases", "latest", "download", ..] => Some("latest"),
        _ => {
            let at = parts.windows(2).position(|pair| pair[0] == "-" && matches!(pair[1], "raw" | "blob"))?;
            parts.get(at + 2).copied()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{why_it_moves, with_revision};

    #[test]
    fn an_address_gets_another_revision() {
        for (old, new) in [
            ("https://h/o/r", "https://h/o/r?ref=abc"),
            ("https://h/o/r?ref=main", "https://h/o/r?ref=abc"),
            ("https://h/o/r//p?ref=main&timeout=2m", "https://h/o/r//p?timeout=2m&ref=abc"),
            ("https://h/o/r?submodules=false", "https://h/o/r?submodules=false&ref=abc"),
        ] {
            assert_eq!(with_revision(old, "abc"), new);
        }
    }

    #[test]
    fn pinned_addresses_are_distinguished_from_moving_ones() {
        for moving in [
            "https://github.com/org/repo/path",
            "https://github.com/org/repo//path?ref=main",
            "github.com/org/repo?ref=a1b2c3d",
            "git@github.com:org/repo.git",
            "https://raw.githubusercontent.com/org/repo/master/a.yaml",
            "https://raw.githubusercontent.com/org/repo/refs/heads/x1/a.yaml",
            "https://github.com/org/repo/releases/latest/download/a.yaml",
            "https://gitlab.com/org/repo/-/raw/main/a.yaml",
        ] {
            assert!(why_it_moves(moving).is_some(), "{moving}");
        }
        for pinned in [
            "https://github.com/org/repo//path?ref=v1.2.3",
            "https://github.com/org/repo?ref=0123456789012345678901234567890123456789",
            "https://raw.githubusercontent.com/org/repo/v1.0.0/a.yaml",
            "https://raw.githubusercontent.com/org/repo/refs/tags/v1/a.yaml",
            "https://github.com/org/repo/releases/download/v1.0/a.yaml",
            "https://example.com/a.yaml",
            "https://github.com/org/repo?ref=release-1.2",
            "https://github.com/org/repo?ref=20210101",
        ] {
            assert_eq!(why_it_moves(pinned), None, "{pinned}");
        }
    }
}
