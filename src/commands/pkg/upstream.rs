//! Where packages come from: git repositories.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use krm_engine::files::Repository;
use krm_engine::kpt::{self, Files, Kptfile};
use krm_engine::{Diagnostic, Result, Span, World};

use crate::os::Disk;

/// A package at an address.
pub struct Upstream {
    pub repo: String,
    /// With a slash in front.
    pub directory: String,
    /// Empty for the default branch.
    pub reference: String,
}

/// A package that was fetched.
pub struct Fetched {
    pub files: Files,
    /// Those that may be run.
    pub executable: Vec<String>,
    /// The tag, branch or commit that was found.
    pub found: String,
    pub commit: String,
}

impl Upstream {
    /// Reads `REPOSITORY.git/PATH@REF`.
    pub fn parse(address: &str) -> Result<Self> {
        let ends = address.match_indices(".git").map(|(at, _)| at);
        let end = ends.into_iter().find(|at| {
            let rest = &address[at + 4..];
            rest.is_empty() || rest.starts_with(['/', '@'])
        });
        let Some(end) = end else {
            let message =
                format!("`{address}` does not say where the repository ends and the package begins");
            return Err(Diagnostic::error("upstream-address", message).help(
                "write `.git` after the name of the repository: `https://example.com/repo.git/path@ref`",
            ));
        };
        let (path, reference) = address[end + 4..].rsplit_once('@').unwrap_or((&address[end + 4..], ""));
        let directory = format!("/{}", path.trim_matches('/'));
        Ok(Self { repo: address[..end].to_owned(), directory, reference: reference.to_owned() })
    }

    /// Where a package that is here comes from.
    pub fn of(kptfile: &Kptfile, dir: &Path, span: Span) -> Result<Self> {
        let Some(git) = kptfile.git() else {
            let message = format!("`{}` does not say where it comes from", dir.display());
            return Err(Diagnostic::error("update-no-upstream", message).at(span).help(
                "only a package with an `upstream` can be updated or compared; `krm pkg get` fetches one",
            ));
        };
        Ok(Self {
            repo: git.repo.trim_end_matches(".git").to_owned(),
            directory: git.directory.to_string(),
            reference: git.r#ref.to_string(),
        })
    }

    /// The last part of its path; of the repository, if it is all of it.
    pub fn name(&self) -> &str {
        let part = |text: &'_ str| text.rsplit('/').next().filter(|part| !part.is_empty()).map(str::len);
        match part(&self.directory) {
            Some(length) => &self.directory[self.directory.len() - length..],
            None => self.repo.rsplit('/').next().unwrap_or_default(),
        }
    }

    fn repository(&self, reference: &str) -> Repository {
        let address = format!("{}{}@{reference}", self.repo, self.directory);
        let (url, path) = (self.repo.clone(), String::new());
        let timeout = Duration::from_secs(300);
        Repository { address, url, path, reference: reference.to_owned(), timeout, submodules: false }
    }

    /// Fetches the package; without a reference, from the default branch, whose name is then the reference.
    pub fn fetch(&mut self, disk: &Disk) -> Result<Fetched> {
        if self.reference.is_empty() {
            self.reference = disk.default_branch(&self.repository("HEAD"))?;
        }
        let reference = self.reference.clone();
        // A tag of the package, or of a folder above it, is preferred.
        let mut candidates = Vec::new();
        let mut folder = self.directory.trim_matches('/');
        while !folder.is_empty() {
            candidates.push(format!("{folder}/{reference}"));
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        for found in candidates {
            if let Ok(fetched) = disk.fetch(&self.repository(&format!("refs/tags/{found}"))) {
                return self.read(&fetched.folder, found, fetched.revision, disk);
            }
        }
        let fetched = disk.fetch(&self.repository(&reference))?;
        self.read(&fetched.folder, reference, fetched.revision, disk)
    }

    /// Fetches the package as it was at a commit.
    pub fn at(&self, commit: &str, disk: &Disk) -> Result<Fetched> {
        let fetched = disk.fetch(&self.repository(commit))?;
        self.read(&fetched.folder, commit.to_owned(), fetched.revision, disk)
    }

    fn read(&self, checkout: &Path, found: String, commit: String, disk: &Disk) -> Result<Fetched> {
        let Some(folder) = folder_in(checkout, self.directory.trim_matches('/')) else {
            let message = format!("there is no folder `{}` in `{}` at `{found}`", self.directory, self.repo);
            return Err(Diagnostic::error("upstream-path", message).help("correct the path after `.git`"));
        };
        let (files, executable) = read_files(&folder, disk)?;
        Ok(Fetched { files, executable, found, commit })
    }
}

/// A folder of a repository. The path or the repository may be written by somebody else: what is outside, also by way of a
/// link, and what git keeps for itself is not there.
fn folder_in(checkout: &Path, path: &str) -> Option<PathBuf> {
    let root = checkout.canonicalize().ok()?;
    let folder = root.join(path).canonicalize().ok().filter(|folder| folder.is_dir())?;
    let mut inside = folder.strip_prefix(&root).ok()?.components();
    let is_gits = |part: Component| part.as_os_str().eq_ignore_ascii_case(".git");
    (!inside.any(is_gits) && !path.split('/').any(|part| part == "..")).then_some(folder)
}

/// The files of a folder, and those that may be run. Links are left out, with a warning.
pub fn read_files(folder: &Path, disk: &Disk) -> Result<(Files, Vec<String>)> {
    let (paths, links) = kpt::files::all(disk, folder)?;
    links.iter().for_each(|link| eprintln!("[WARN] the link `{link}` is left out"));
    let mut files = Files::new();
    let mut executable = Vec::new();
    for path in paths {
        let file = folder.join(&path);
        let bytes = disk.read(&file).map_err(|error| {
            let message = format!("cannot read `{}`: {error}", file.display());
            Diagnostic::error("upstream-file-unreadable", message)
        })?;
        if crate::os::is_executable(&file) {
            executable.push(path.clone());
        }
        files.insert(path, bytes);
    }
    Ok((files, executable))
}
