//! Where packages come from: git repositories.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use krm_engine::files::{Repository, is_lfs_pointer};
use krm_engine::kpt::{self, Files, Kptfile};
use krm_engine::{Diagnostic, Result, Span, World};
use rayon::prelude::*;

use crate::os::Disk;

/// The advice for a folder without a Kptfile.
pub const NO_PACKAGE: &str = "change to the folder of a package, or name it; `krm pkg get` fetches a package, and `krm pkg init` makes one";

/// A package at an address.
#[derive(Clone)]
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

/// Reads `FOLDER@REF`: the folder of a package, and a version of its upstream, which may be empty. The name of the folder may
/// hold an `@` itself.
pub fn folder_and_reference(package: &str) -> (&Path, &str) {
    let (dir, reference) = match package.rsplit_once('@') {
        Some((dir, _)) if !dir.is_empty() && !Path::new(dir).is_dir() && Path::new(package).is_dir() => {
            (package, "")
        }
        Some((dir, reference)) => (dir, reference),
        None => (package, ""),
    };
    (Path::new(if dir.is_empty() { "." } else { dir }), reference)
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

    /// Fetches the package; without a branch, tag or commit, from the default branch, whose name it then notes.
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
        let tagged = match candidates.is_empty() {
            true => None,
            false => disk.first_tag(&self.repository(&reference), &candidates)?,
        };
        let fetched = match tagged.map(|at| candidates.swap_remove(at)) {
            Some(found) => self.fetch_at(&format!("refs/tags/{found}"), found.clone(), disk)?,
            None => self.fetch_at(&reference, reference.clone(), disk)?,
        };
        warn_of_pointers(&fetched.files);
        Ok(fetched)
    }

    /// Fetches the package as it was at a commit.
    pub fn at(&self, commit: &str, disk: &Disk) -> Result<Fetched> {
        self.fetch_at(commit, commit.to_owned(), disk)
    }

    fn fetch_at(&self, reference: &str, found: String, disk: &Disk) -> Result<Fetched> {
        let repository = self.repository(reference);
        if self.directory.split('/').any(|part| part == ".." || part.eq_ignore_ascii_case(".git")) {
            return Err(self.no_folder(&found));
        }
        let Some(got) = disk.repository_files(&repository, &self.directory)? else {
            let fetched = disk.fetch(&repository)?;
            return self.read(&fetched.folder, found, fetched.revision, disk);
        };
        if got.files.is_empty() && got.links.is_empty() {
            return Err(self.no_folder(&found));
        }
        warn_of_links(&got.links);
        Ok(Fetched { files: got.files, executable: got.executable, found, commit: got.revision })
    }

    fn no_folder(&self, found: &str) -> Diagnostic {
        let message = format!("there is no folder `{}` in `{}` at `{found}`", self.directory, self.repo);
        Diagnostic::error("upstream-path", message).help("correct the path after `.git`")
    }

    fn read(&self, checkout: &Path, found: String, commit: String, disk: &Disk) -> Result<Fetched> {
        let Some(folder) = folder_in(checkout, self.directory.trim_matches('/')) else {
            return Err(self.no_folder(&found));
        };
        let FolderFiles { files, executable, .. } = read_files(&folder, disk)?;
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

fn warn_of_links(links: &[String]) {
    links.iter().for_each(|link| eprintln!("[WARN] the link `{link}` is left out"));
}

fn warn_of_pointers(files: &Files) {
    for (path, _) in files.iter().filter(|(_, bytes)| is_lfs_pointer(bytes)) {
        eprintln!("[WARN] `{path}` is a Git LFS pointer: install Git LFS, and git fetches the content too");
    }
}

/// The files of a folder.
pub struct FolderFiles {
    pub files: Files,
    /// Those that may be run.
    pub executable: Vec<String>,
    /// What is a link, and not among the files.
    pub links: Vec<String>,
}

/// Reads the files of a folder. Links are left out, with a warning.
pub fn read_files(folder: &Path, disk: &Disk) -> Result<FolderFiles> {
    let (paths, links) = kpt::files::all(disk, folder)?;
    warn_of_links(&links);
    let read = |path: String| {
        let file = folder.join(&path);
        let bytes = disk.read(&file).map_err(|error| {
            let message = format!("cannot read `{}`: {error}", file.display());
            Diagnostic::error("upstream-file-unreadable", message)
        })?;
        Ok((path, bytes, crate::os::is_executable(&file)))
    };
    let all: Vec<Result<_>> = paths.into_par_iter().map(read).collect();
    let mut files = Files::new();
    let mut executable = Vec::new();
    for file in all {
        let (path, bytes, may_run) = file?;
        if may_run {
            executable.push(path.clone());
        }
        files.insert(path, bytes);
    }
    Ok(FolderFiles { files, executable, links })
}
