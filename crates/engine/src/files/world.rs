//! All the engine knows of the outside.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Result, Source, Span};
use sha2::{Digest, Sha256};

use crate::files::repository::Repository;

/// Files, repositories, the network. The engine touches none of them except through this.
pub trait World: Send + Sync {
    /// The bytes of a file.
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>>;
    /// Whether there is a folder, including through a link.
    fn is_dir(&self, path: &Path) -> bool;
    /// Whether there is a file, including through a link.
    fn is_file(&self, path: &Path) -> bool;
    /// What is in a folder, sorted by name.
    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>>;
    /// The real path, links resolved.
    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf>;

    /// The world this one is a view of. It answers what this one has no answer of its own for, and is never asked to fetch.
    fn below(&self) -> Option<&dyn World> {
        None
    }

    /// Makes sure that a program finds a file or folder of this world on the disk, at the same path. What is on the disk
    /// already needs nothing.
    fn provide(&self, path: &Path) -> std::io::Result<()> {
        self.below().map_or(Ok(()), |world| world.provide(path))
    }

    /// A repository; fetched when first asked for, then kept to the end of the run.
    fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        self.kept(repository)?.ok_or_else(|| no_network(&repository.address))
    }

    /// What is at an `https://` address; fetched when first asked for, then kept to the end of the run.
    fn get(&self, address: &str) -> Result<Download> {
        self.kept_file(address)?.ok_or_else(|| no_network(address))
    }

    /// A repository of which a copy is kept here, without asking the network; `None` if it would have to be fetched.
    fn kept(&self, repository: &Repository) -> Result<Option<Fetched>> {
        self.below().map_or(Ok(None), |world| world.kept(repository))
    }

    /// The same for what is at an `https://` address.
    fn kept_file(&self, address: &str) -> Result<Option<Download>> {
        self.below().map_or(Ok(None), |world| world.kept_file(address))
    }

    /// What an address that could be both is, if that is known without asking the network.
    fn known_kind(&self, repository: &Repository) -> Option<AddressKind> {
        self.below()?.known_kind(repository)
    }

    /// The folder of a chart that need not be pulled because a copy of it is kept; `None` for any other.
    fn chart(&self, chart: &ChartAddress) -> Result<Option<PathBuf>> {
        self.below().map_or(Ok(None), |world| world.chart(chart))
    }

    /// The folder to pull charts into, given the one that the configuration names. Content that is kept must not change.
    fn chart_home(&self, home: &Path) -> Result<PathBuf> {
        self.below().map_or_else(|| Ok(home.to_owned()), |world| world.chart_home(home))
    }

    /// Checks a chart that was pulled, or that was in the tree.
    fn check_chart(&self, chart: &ChartAddress, folder: &Path) -> Result<()> {
        self.below().map_or(Ok(()), |world| world.check_chart(chart, folder))
    }
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// One file, which is downloaded.
    File,
    /// A git repository.
    Repository,
}

/// What a configuration says about a chart that has to be pulled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartAddress {
    /// The chart's name in that repository.
    pub name: String,
    /// An `https://` or `oci://` address.
    pub repository: String,
    /// Empty for the newest.
    pub version: String,
}

/// The files of another world, and copies that it keeps of what was fetched before: nothing is fetched.
pub struct Offline(pub Arc<dyn World>);

impl World for Offline {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.0.is_dir(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.is_file(path)
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        self.0.list(dir)
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        self.0.real_path(path)
    }

    fn below(&self) -> Option<&dyn World> {
        Some(&*self.0)
    }

    fn fetch(&self, repository: &Repository) -> Result<Fetched> {
        self.kept(repository)?.ok_or_else(|| would_be_fetched(&repository.address))
    }

    fn get(&self, address: &str) -> Result<Download> {
        self.kept_file(address)?.ok_or_else(|| would_be_fetched(address))
    }
}

/// One entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// As the file system has it: it need not be UTF-8.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry of a folder is, before any link is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, whatever it leads to.
    Link,
    /// A device, a pipe, a socket: something that is not read.
    Other,
}

/// A repository that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The folder that holds its files.
    pub folder: PathBuf,
    /// The commit that was checked out, in full.
    pub revision: String,
}

/// What an address gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The content.
    pub bytes: Arc<[u8]>,
    /// `sha256:` and the digest of the bytes.
    pub digest: String,
}

impl Download {
    /// Computes the digest of what was downloaded.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let digest = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
        Self { bytes, digest }
    }
}

/// Bytes as text.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Makes sure that a program finds a file or folder, as far as this world has it.
pub(crate) fn provide(world: &dyn World, path: &Path) -> Result<()> {
    world.provide(path).map_err(|error| {
        let message = format!("`{}` cannot be given to a program: {error}", path.display());
        Diagnostic::error("file-not-provided", message)
    })
}

/// The error for something that is not on this machine while nothing may be fetched.
pub(crate) fn would_be_fetched(address: &str) -> Diagnostic {
    Diagnostic::error("still-remote", format!("`{address}` would have to be fetched"))
        .failing(Failure::Offline)
}

fn no_network(address: &str) -> Diagnostic {
    Diagnostic::error("no-network", format!("`{address}` cannot be fetched: there is no network here"))
        .failing(Failure::Offline)
}

/// Reads the files a configuration names, relative to its folder and within the load restrictions.
pub(crate) trait Loader: Send + Sync {
    /// The text of a file or an `https://` address named at `place`.
    fn load(&self, path: &str, place: Span) -> Result<Arc<Source>>;
    /// The same as bytes: what generators take.
    fn load_bytes(&self, path: &str, place: Span) -> Result<Vec<u8>>;
    /// The folder paths are relative to.
    fn root(&self) -> &Path;
    /// The file a place is in, if it is known: for showing what is wrong with a text inside a text.
    fn source(&self, place: Span) -> Option<Arc<Source>> {
        let _ = place;
        None
    }
}

pub use super::paths::clean;
