//! `krm.lock`: what was asked for, what it was, and the digest of its content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::files::Repository;
pub use krm_engine::files::without_secrets;
use krm_engine::files::{ChartAddress, hex};
pub use krm_engine::workspace::repository_address;
use krm_engine::{Diagnostic, Node, Result, Source, Span, Spanned};
use krm_yaml::Failure;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::content::{ContentKind, is_sha256};

/// The name of the file, at the top of a repository.
pub const NAME: &str = "krm.lock";

const HEADING: &str =
    "# Written by `krm lock`. Commit it: builds take from elsewhere what it says, and nothing else.\n";

/// What is locked, by what was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockFile {
    pub remotes: BTreeMap<String, Remote>,
    pub charts: BTreeMap<ChartAddress, Chart>,
    /// Digests of images, `sha256:...`, by their names as written.
    pub images: BTreeMap<String, String>,
}

/// A repository or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Of a repository, in full; a file has none.
    pub commit: Option<String>,
    /// `sha256:` and the digest of the bytes, or of the list of files.
    pub content: String,
}

impl Remote {
    pub fn kind(&self) -> ContentKind {
        if self.commit.is_some() { ContentKind::Folder } else { ContentKind::File }
    }

    /// The commit, or the digest of a file.
    pub fn version(&self) -> &str {
        self.commit.as_deref().unwrap_or(&self.content)
    }
}

/// A chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The version it turned out to be.
    pub resolved: String,
    pub content: String,
}

impl Chart {
    /// What messages say of it.
    pub fn shown(&self) -> String {
        format!("{} {}", self.resolved, short(&self.content))
    }
}

/// The file as it is written.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remotes: Vec<WrittenRemote>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    charts: Vec<WrittenChart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    functions: Vec<WrittenFunction>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenRemote {
    address: Spanned<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    content: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenChart {
    name: Spanned<String>,
    repository: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    version: String,
    resolved: String,
    content: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenFunction {
    image: Spanned<String>,
    digest: String,
}

/// Only the version: it says whether the rest can be understood.
#[derive(Deserialize)]
struct Version {
    version: Spanned<u64>,
}

impl LockFile {
    /// Reads the file.
    pub fn parse(source: &Arc<Source>) -> Result<Self> {
        if is_in_conflict(source.text()) {
            let message = format!("`{}` has conflicts that git could not resolve", source.name());
            let error = Diagnostic::error("lock-in-conflict", message).failing(Failure::InConflict);
            return Err(error.help("run `krm lock`: it resolves them"));
        }
        let bad = |what: &str, span| unusable(source.name(), what, span);
        let documents = krm_yaml::parse(source).map_err(|error| bad(&error.to_string(), error.place()))?;
        if let Some(second) = documents.get(1) {
            return Err(bad("it has more than one document", second.root.span()));
        }
        let root = documents.into_iter().next().map_or_else(Node::null, |document| document.root);
        let Version { version } = krm_yaml::from_node(&root).map_err(|error| malformed(source, &error))?;
        if version.value != 1 {
            let message =
                format!("`{}` is of version {}, and this krm knows version 1", source.name(), version.value);
            return Err(Diagnostic::error("lock-version", message).at(version.span).help("update krm"));
        }
        let written: Written = krm_yaml::from_node(&root).map_err(|error| malformed(source, &error))?;
        let mut lock = Self::default();
        let is_digest = |text: &str| text.strip_prefix("sha256:").is_some_and(is_sha256);
        for WrittenRemote { address, commit, content } in written.remotes {
            if commit.as_deref().is_some_and(|commit| !is_commit(commit)) {
                return Err(bad("a commit is 40 or 64 hexadecimal digits", address.span));
            }
            if !is_digest(&content) {
                return Err(bad("a content is `sha256:` and 64 hexadecimal digits", address.span));
            }
            let remote = Remote { commit, content };
            // Older versions wrote other masks: two of their addresses may be one here.
            let other = lock.remotes.insert(without_secrets(&address.value), remote.clone());
            if other.is_some_and(|other| other != remote) {
                return Err(bad("this address appears twice", address.span));
            }
        }
        for WrittenChart { name, repository, version, resolved, content } in written.charts {
            if !is_digest(&content) {
                return Err(bad("a content is `sha256:` and 64 hexadecimal digits", name.span));
            }
            let address = chart_address(&ChartAddress { name: name.value, repository, version });
            let chart = Chart { resolved, content };
            let other = lock.charts.insert(address, chart.clone());
            if other.is_some_and(|other| other != chart) {
                return Err(bad("this chart appears twice", name.span));
            }
        }
        for WrittenFunction { image, digest } in written.functions {
            if !is_digest(&digest) {
                return Err(bad("a digest is `sha256:` and 64 hexadecimal digits", image.span));
            }
            if lock.images.insert(image.value, digest).is_some() {
                return Err(bad("this image appears twice", image.span));
            }
        }
        Ok(lock)
    }

    /// The file as text: sorted, a block for each entry, so that git merges most changes by itself.
    pub fn text(&self) -> Result<String> {
        let spanned = |text: &String| Spanned::new(text.clone(), Span::NONE);
        let remotes = self.remotes.iter().map(|(address, remote)| WrittenRemote {
            address: spanned(address),
            commit: remote.commit.clone(),
            content: remote.content.clone(),
        });
        let charts = self.charts.iter().map(|(address, chart)| WrittenChart {
            name: spanned(&address.name),
            repository: address.repository.clone(),
            version: address.version.clone(),
            resolved: chart.resolved.clone(),
            content: chart.content.clone(),
        });
        let functions = self
            .images
            .iter()
            .map(|(image, digest)| WrittenFunction { image: spanned(image), digest: digest.clone() });
        let written = Written {
            version: 1,
            remotes: remotes.collect(),
            charts: charts.collect(),
            functions: functions.collect(),
        };
        Ok(format!("{HEADING}{}", krm_yaml::to_node(&written)?))
    }

    pub fn is_empty(&self) -> bool {
        self.remotes.is_empty() && self.charts.is_empty() && self.images.is_empty()
    }

    /// The entry of a repository.
    pub fn repository(&self, repository: &Repository) -> Option<(&str, &Remote)> {
        let (address, remote) = self.remotes.get_key_value(&repository_address(repository))?;
        remote.commit.is_some().then_some((address.as_str(), remote))
    }

    /// The entry of a chart.
    pub fn chart(&self, chart: &ChartAddress) -> Option<&Chart> {
        self.charts.get(&chart_address(chart))
    }

    /// The entry of a file.
    pub fn file(&self, address: &str) -> Option<&Remote> {
        self.remotes.get(&without_secrets(address)).filter(|remote| remote.commit.is_none())
    }
}

/// The name of an entry's folder or file in `vendor/krm`: readable, and no other's.
pub fn vendor_name(address: &str) -> String {
    let bare = address.split_once("://").map_or(address, |(_, rest)| rest);
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = bare.chars().map(plain).collect();
    let name: String = name.trim_matches(['.', '-']).chars().take(80).collect();
    format!("{name}-{}", &hex(&Sha256::digest(address))[..8])
}

/// Whether a name may be one that [`vendor_name`] gave, of whatever address.
pub fn is_vendor_name(name: &str) -> bool {
    name.rsplit_once('-')
        .is_some_and(|(_, hash)| hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// What the entry of a chart has for its address: no passwords.
pub fn chart_address(chart: &ChartAddress) -> ChartAddress {
    ChartAddress { repository: without_secrets(&chart.repository), ..chart.clone() }
}

/// What a chart is called in messages and in `vendor/krm`.
pub fn chart_name(chart: &ChartAddress) -> String {
    let ChartAddress { name, repository, version } = chart;
    let version = if version.is_empty() { String::new() } else { format!(":{version}") };
    format!("{}/{name}{version}", without_secrets(repository).trim_end_matches('/'))
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn is_in_conflict(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
}

/// Whose lines these are, in a file that git left in conflict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Ours,
    /// What both sides started from, which git writes if `merge.conflictStyle` is `diff3` or `zdiff3`.
    Base,
    Theirs,
}

/// A file that git left in conflict, without the conflict.
#[derive(Debug)]
pub struct Resolved {
    pub lock: LockFile,
    /// What had to be decided, a line each.
    pub decisions: Vec<String>,
}

/// Takes what either side says. If they disagree about an entry, the side that changed it counts if git says what both
/// started from, and otherwise ours.
pub fn resolve_conflicts(text: &str) -> Resolved {
    let mut decisions = Vec::new();
    let mut side = |wanted: Side, name: &str| {
        let source = krm_engine::Sources::new().add(NAME.to_owned(), side(text, wanted));
        LockFile::parse(&source).unwrap_or_else(|error| {
            decisions.push(format!("cannot read the side of `{name}`: {error}"));
            LockFile::default()
        })
    };
    let (our_name, their_name) = (label(text, "<<<<<<<"), label(text, ">>>>>>>"));
    let (ours, theirs) = (side(Side::Ours, our_name), side(Side::Theirs, their_name));
    let base = match text.lines().any(|line| line.starts_with("|||||||")) {
        true => side(Side::Base, label(text, "|||||||")),
        false => LockFile::default(),
    };
    let mut kept = |name: &str, [ours, theirs]: [String; 2]| {
        decisions.push(format!("kept {name}: {ours} of `{our_name}`, not {theirs} of `{their_name}`"));
    };
    let lock = LockFile {
        remotes: merged(ours.remotes, theirs.remotes, &base.remotes, |address, ours, theirs| {
            kept(
                address,
                match ours.version() == theirs.version() {
                    true => [ours, theirs].map(|remote| format!("content {}", short(&remote.content))),
                    false => [ours, theirs].map(|remote| short(remote.version()).to_owned()),
                },
            );
        }),
        charts: merged(ours.charts, theirs.charts, &base.charts, |chart, ours, theirs| {
            kept(&chart_name(chart), [ours, theirs].map(Chart::shown));
        }),
        images: merged(ours.images, theirs.images, &base.images, |image, ours, theirs| {
            kept(image, [ours, theirs].map(|digest| short(digest).to_owned()));
        }),
    };
    Resolved { lock, decisions }
}

/// The lines of one side.
fn side(text: &str, wanted: Side) -> String {
    let (mut taken, mut side) = (String::new(), Side::Both);
    for line in text.lines() {
        match line.get(..7) {
            Some("<<<<<<<") => side = Side::Ours,
            Some("|||||||") => side = Side::Base,
            Some("=======") => side = Side::Theirs,
            Some(">>>>>>>") => side = Side::Both,
            _ if side == Side::Both || side == wanted => taken += &format!("{line}\n"),
            _ => {}
        }
    }
    taken
}

/// What git calls a side: a branch or a commit.
fn label<'t>(text: &'t str, marker: &str) -> &'t str {
    text.lines().find_map(|line| line.strip_prefix(marker)).unwrap_or_default().trim()
}

/// The entries of both sides; `conflict` hears of those that both changed, each in its own way.
fn merged<K: Ord, V: PartialEq>(
    mut ours: BTreeMap<K, V>,
    theirs: BTreeMap<K, V>,
    base: &BTreeMap<K, V>,
    mut conflict: impl FnMut(&K, &V, &V),
) -> BTreeMap<K, V> {
    for (name, their) in theirs {
        match ours.get(&name) {
            Some(our) if *our == their || base.get(&name) == Some(&their) => {}
            Some(our) if base.get(&name) != Some(our) => conflict(&name, our, &their),
            _ => drop(ours.insert(name, their)),
        }
    }
    ours
}

/// The beginning of a commit or digest.
pub fn short(digest: &str) -> &str {
    let digest = digest.strip_prefix("sha256:").unwrap_or(digest);
    digest.get(..12).unwrap_or(digest)
}

/// The diagnostic for a text that is not a lock file.
pub fn unusable(file: &str, why: &str, span: Span) -> Diagnostic {
    Diagnostic::error("lock-malformed", format!("`{file}` cannot be used: {why}"))
        .failing(Failure::Malformed)
        .at(span)
        .help("run `krm lock` to rewrite it")
}

fn malformed(source: &Source, error: &Diagnostic) -> Diagnostic {
    Diagnostic::error("lock-unreadable", format!("`{}` cannot be read: {error}", source.name()))
        .failing(Failure::Malformed)
        .at(error.place())
        .help("run `krm lock` to rewrite it")
}

/// The lock file that counts for a folder: the nearest upwards, in the same repository.
pub fn find(folder: &Path) -> Option<PathBuf> {
    nearest(&folder.canonicalize().ok()?, &mut FxHashMap::default())
}

/// The lock files that count for some folders, each once.
pub fn find_all<'a>(folders: impl Iterator<Item = &'a Path>) -> BTreeSet<PathBuf> {
    let mut known = FxHashMap::default();
    folders.filter_map(|folder| nearest(&folder.canonicalize().ok()?, &mut known)).collect()
}

/// The nearest lock file upwards, by what is known of folders above.
fn nearest(folder: &Path, known: &mut FxHashMap<PathBuf, Option<PathBuf>>) -> Option<PathBuf> {
    if let Some(found) = known.get(folder) {
        return found.clone();
    }
    let file = folder.join(NAME);
    // Also one that cannot be read, such as a link to nowhere: to build as if there were none would be wrong.
    let found = match file.symlink_metadata().is_ok() {
        true => Some(file),
        false if folder.join(".git").exists() || is_for_everyone(folder) => None,
        false => folder.parent().and_then(|above| nearest(above, known)),
    };
    known.insert(folder.to_owned(), found.clone());
    found
}

/// Where the lock file of a folder belongs, if there is none: the top of its repository, or the folder itself.
pub fn home(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder).to_owned()
}

/// Whether anyone may put a file there, as in `/tmp`: what is found in such a folder means nothing.
fn is_for_everyone(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        folder.metadata().is_ok_and(|meta| meta.mode() & 0o002 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krm_engine::Sources;

    fn lock(contents: &[(&str, char)]) -> LockFile {
        let mut lock = LockFile::default();
        for (address, content) in contents {
            let content = format!("sha256:{}", content.to_string().repeat(64));
            lock.remotes.insert((*address).into(), Remote { commit: Some("c".repeat(40)), content });
        }
        lock
    }

    fn parse(text: &str) -> Result<LockFile> {
        LockFile::parse(&Sources::new().add("krm.lock".to_owned(), text.to_owned()))
    }

    #[test]
    fn what_is_written_is_read() {
        let mut lock = lock(&[("https://example.com/a?ref=v1", 'a')]);
        let content = format!("sha256:{}", "b".repeat(64));
        lock.remotes
            .insert("https://example.com/x.yaml".into(), Remote { commit: None, content: content.clone() });
        let chart = ChartAddress {
            name: "nats".into(),
            repository: "oci://example.com".into(),
            version: String::new(),
        };
        lock.charts.insert(chart, Chart { resolved: "1.10".into(), content: content.clone() });
        lock.images.insert("example.com/f:v1".into(), content);
        let text = lock.text().unwrap();
        assert_eq!(parse(&text).unwrap(), lock, "{text}");
    }

    #[test]
    fn nothing_but_hexadecimal_reaches_git() {
        let text = lock(&[("a", 'a')]).text().unwrap().replace(&"c".repeat(40), "--upload-pack=x");
        assert_eq!(parse(&text).unwrap_err().code(), "lock-malformed");
    }

    #[test]
    fn a_conflict_keeps_our_entry_and_says_so() {
        let ours = lock(&[("a", 'a'), ("b", 'b'), ("d", 'd')]).text().unwrap();
        let mut theirs = lock(&[("a", 'a'), ("b", 'e'), ("f", 'f')]);
        theirs.remotes.get_mut("b").unwrap().commit = Some("0".repeat(40));
        let theirs = theirs.text().unwrap();
        let text = format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> feature\n");
        assert_eq!(parse(&text).unwrap_err().code(), "lock-in-conflict");
        let resolved = resolve_conflicts(&text);
        assert_eq!(resolved.lock, lock(&[("a", 'a'), ("b", 'b'), ("d", 'd'), ("f", 'f')]));
        assert_eq!(resolved.decisions, ["kept b: cccccccccccc of `HEAD`, not 000000000000 of `feature`"]);
        // Of one commit there are two contents.
        let theirs = lock(&[("b", 'e')]).text().unwrap();
        let resolved = resolve_conflicts(&format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> feature\n"));
        let wanted = "kept b: content bbbbbbbbbbbb of `HEAD`, not content eeeeeeeeeeee of `feature`";
        assert_eq!(resolved.decisions, [wanted]);
    }

    #[test]
    fn masks_of_older_versions_are_read() {
        let masked = |mask: &str| format!("https://example.com/a?key={mask}");
        let [old, marked, new] = ["*****", "***-1a2b", "***"].map(masked);
        let read = |contents: &[(&str, char)]| parse(&lock(contents).text().unwrap());
        assert_eq!(read(&[(&old, 'a')]).unwrap(), lock(&[(&new, 'a')]));
        assert_eq!(read(&[(&old, 'a'), (&marked, 'a')]).unwrap(), lock(&[(&new, 'a')]));
        // Nothing says which of them an address means.
        assert_eq!(read(&[(&old, 'a'), (&marked, 'b')]).unwrap_err().code(), "lock-malformed");
    }

    #[test]
    fn a_common_ancestor_tells_which_side_changed_an_entry() {
        let content = |of: char| format!("  content: sha256:{}\n", of.to_string().repeat(64));
        let text = lock(&[("a", 'a'), ("b", 'b')]).text().unwrap();
        let resolve = |ours: char, base: char, theirs: char| {
            let (ours, base, theirs) = (content(ours), content(base), content(theirs));
            let conflict =
                format!("<<<<<<< HEAD\n{ours}||||||| base\n{base}=======\n{theirs}>>>>>>> feature\n");
            let resolved = resolve_conflicts(&text.replace(&content('b'), &conflict));
            (resolved.lock, resolved.decisions.len())
        };
        assert_eq!(resolve('b', 'b', 'd'), (lock(&[("a", 'a'), ("b", 'd')]), 0));
        assert_eq!(resolve('c', 'b', 'b'), (lock(&[("a", 'a'), ("b", 'c')]), 0));
        assert_eq!(resolve('c', 'b', 'd'), (lock(&[("a", 'a'), ("b", 'c')]), 1));
    }

    #[test]
    fn a_side_of_a_conflict_that_cannot_be_read_is_named() {
        let ours = lock(&[("a", 'a')]).text().unwrap();
        let resolved = resolve_conflicts(&format!("<<<<<<< HEAD\n{ours}=======\n[\n>>>>>>> feature\n"));
        assert_eq!(resolved.lock, lock(&[("a", 'a')]));
        assert!(resolved.decisions[0].starts_with("cannot read the side of `feature`: "));
    }

    #[test]
    fn a_second_document_is_refused() {
        let text = lock(&[("a", 'a')]).text().unwrap();
        assert_eq!(parse(&format!("{text}---\n{text}")).unwrap_err().code(), "lock-malformed");
    }
}
