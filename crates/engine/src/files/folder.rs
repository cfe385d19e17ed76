//! One kustomization's view of the files: its own folder, and what it may reach from there.

mod checkout;
mod not_found;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, FileId, Result, Source, Span};

use self::checkout::Checkout;
use self::not_found::no_target;
use crate::files::KUSTOMIZATION_FILES;
use crate::files::dependencies::{Dependencies, Found, Watched};
use crate::files::near::folders_below_with;
use crate::files::repository::{self, Repository};
use crate::files::texts::Files;
use crate::files::world::{AddressKind, DirEntry, Loader, World, clean};

/// A folder, opened: reads the files a kustomization names, and opens the folders of its bases.
pub(crate) struct Folder {
    files: Arc<Files>,
    /// The real path, links resolved.
    root: PathBuf,
    /// The path as a person at the command line would write it.
    shown: PathBuf,
    /// Files must be in or below the root.
    reach: Reach,
    parent: Option<Arc<Folder>>,
    /// The file that was named, if it was a Composition's and not the folder itself.
    named_file: Option<PathBuf>,
    /// The clone this folder is in, if any.
    checkout: Option<Arc<Checkout>>,
    /// The folders that paths in these files are relative to, if not this one: an override keeps its own.
    elsewhere: Vec<(FileId, Arc<Folder>)>,
    /// Records everything that is looked at from here.
    dependencies: Arc<Dependencies>,
}

/// How many folders may lead from the target to a base. Each takes room on the stack, and some time for each resource;
/// in practice five are enough.
pub(crate) const DEEPEST: usize = 200;

/// The diagnostic for a base that is too far from the target.
pub(crate) fn too_deep(place: Span) -> Diagnostic {
    Diagnostic::error("bases-too-deep", format!("more than {DEEPEST} folders lead to each other here"))
        .at(place)
        .help("let some of them name what they need directly")
}

/// Whether to stop looking for more. An error in a base is reported for each path that leads to it, and there may be more
/// paths than can be walked.
pub(crate) fn more_than_anyone_reads(errors: &[Diagnostic]) -> bool {
    fn count(errors: &[Diagnostic]) -> usize {
        errors.iter().map(|error| 1 + count(error.others())).sum()
    }
    count(errors) >= 1000 || errors.last().is_some_and(|error| error.failure() == Some(Failure::TooMuch))
}

/// Which files a kustomization may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those in its folder and below.
    WithinRoot,
    Anywhere,
}

/// What a path leads to.
pub(crate) enum Resolved {
    /// A folder, here or in a repository.
    Folder,
    File,
    /// An address that may be either: only trying both tells.
    FileOrRepository(Repository),
}

impl Folder {
    /// Opens the folder a user named. What is looked at from there, this included, is noted.
    pub(crate) fn open(
        files: &Arc<Files>,
        target: &str,
        reach: Reach,
        dependencies: &Arc<Dependencies>,
    ) -> Result<Arc<Self>> {
        if let Some(repository) = Repository::parse(target) {
            return Self::cloned_folder(files, repository, None, Span::NONE, dependencies);
        }
        let world = Watched { world: &*files.world, dependencies };
        let shown = clean(Path::new(target));
        let root = match target.trim() {
            // Most likely an unset variable in a script: it must not mean the current folder.
            "" => return Err(no_target(&world, target)),
            _ => world.real_path(&shown).map_err(|_| {
                // What waits for it knows it by its whole path.
                if let Ok(here) = files.world.real_path(Path::new(".")) {
                    dependencies.looked(&clean(&here.join(&shown)), Found::Nothing);
                }
                no_target(&world, target)
            })?,
        };
        if !world.is_dir(&root) {
            return Err(target_is_file(target));
        }
        Ok(Arc::new(Self {
            files: files.clone(),
            root,
            shown,
            reach,
            parent: None,
            named_file: None,
            checkout: None,
            elsewhere: Vec::new(),
            dependencies: dependencies.clone(),
        }))
    }

    /// Opens the folder of a base or component, named at `place`.
    pub(crate) fn base(self: &Arc<Self>, path: &str, place: Span) -> Result<Arc<Self>> {
        if let Some(folder) = self.elsewhere(place) {
            return folder.base(path, place);
        }
        self.refuse_depth(place)?;
        if let Some(repository) = Repository::parse(path) {
            self.refuse_repository_cycle(&repository, place)?;
            let parent = Some(self.clone());
            return Self::cloned_folder(&self.files, repository, parent, place, &self.dependencies);
        }
        if Path::new(path).is_absolute() {
            return Err(absolute("a base", path, place));
        }
        if let Some(part) = path.split('/').find(|part| part.contains("..") && *part != "..") {
            // Two list items with wrong indentation become one such path, and cleaning it would hide that.
            return Err(self.joined(path, place).unwrap_or_else(|| {
                let message = format!("the path `{path}` is ambiguous: what does `{part}` mean?");
                Diagnostic::error("path-ambiguous", message)
                    .at(place)
                    .help("`..` is the folder above, and must be a complete path segment")
            }));
        }
        let root = self.world().real_path(&clean(&self.root.join(path)));
        let root = root.map_err(|_| self.missing(path, place))?;
        if !self.world().is_dir(&root) {
            let message = format!("`{path}` is a file; a folder is expected");
            let error = Diagnostic::error("base-not-a-folder", message).at(place);
            return Err(match folder_of_kustomization(path) {
                Some(folder) => error.help(format!("name the folder: `{folder}`")),
                None => error.help("name the folder that holds its kustomization"),
            });
        }
        self.refuse_leaving(&root, path, place)?;
        self.refuse_cycle(&root, place)?;
        Ok(Arc::new(Self {
            files: self.files.clone(),
            shown: self.shown_below(path, &root),
            root,
            reach: self.reach,
            parent: Some(self.clone()),
            named_file: None,
            checkout: self.checkout.clone(),
            elsewhere: Vec::new(),
            dependencies: self.dependencies.clone(),
        }))
    }

    /// The same folder, with a separate record of what is looked at from it.
    pub(crate) fn recorded(&self, dependencies: &Arc<Dependencies>) -> Arc<Self> {
        Arc::new(Self { dependencies: dependencies.clone(), ..self.copied() })
    }

    fn copied(&self) -> Self {
        Self {
            files: self.files.clone(),
            root: self.root.clone(),
            shown: self.shown.clone(),
            reach: self.reach,
            parent: self.parent.clone(),
            named_file: self.named_file.clone(),
            checkout: self.checkout.clone(),
            elsewhere: self.elsewhere.clone(),
            dependencies: self.dependencies.clone(),
        }
    }

    /// The world as seen from here: what is asked of it is noted.
    fn world(&self) -> Watched<'_> {
        Watched { world: &*self.files.world, dependencies: &self.dependencies }
    }

    /// What was looked at from here.
    pub(crate) fn dependencies(&self) -> &Arc<Dependencies> {
        &self.dependencies
    }

    /// Opens the folder of a base; or, if the path leads to a file, which must be a Composition then, the folder of that,
    /// and gives its name.
    pub(crate) fn base_or_composition(
        self: &Arc<Self>,
        path: &str,
        place: Span,
    ) -> Result<(Arc<Self>, Option<String>)> {
        if let Some(folder) = self.elsewhere(place) {
            return folder.base_or_composition(path, place);
        }
        let names_file = match Repository::parse(path) {
            Some(repository) => repository.names_yaml(),
            None if repository::is_http(path) => names_yaml(path),
            None => !self.is_dir(path) && self.world().is_file(&clean(&self.root.join(path))),
        };
        match names_file {
            true => {
                let (folder, file) = self.composition(path, place)?;
                let above =
                    std::iter::successors(folder.parent.as_deref(), |folder| folder.parent.as_deref());
                if folder.named_file.is_some() && above.into_iter().any(|f| f.named_file == folder.named_file)
                {
                    let message = format!("`{path}` includes itself");
                    return Err(Diagnostic::error("base-cycle", message).at(place).help("remove this entry"));
                }
                Ok((folder, file))
            }
            false => self.base(path, place).map(|folder| (folder, None)),
        }
    }

    /// The same folder, for a configuration with parts from files in other folders.
    pub(crate) fn with(&self, elsewhere: Vec<(FileId, Arc<Folder>)>) -> Arc<Self> {
        Arc::new(Self { elsewhere, ..self.copied() })
    }

    /// The folder a path written at `place` is relative to, if it is another one.
    pub(crate) fn elsewhere(&self, place: Span) -> Option<&Arc<Self>> {
        self.elsewhere.iter().find(|(file, _)| *file == place.file).map(|(_, folder)| folder)
    }

    /// Opens the folder of a Composition an import names, and gives the file if it is the file that is named. Unlike a
    /// base it may lie above: cycles are found by the files that lead to each other.
    pub(crate) fn composition(
        self: &Arc<Self>,
        path: &str,
        place: Span,
    ) -> Result<(Arc<Self>, Option<String>)> {
        self.refuse_depth(place)?;
        let repository = Repository::parse(path);
        if repository::is_http(path) && names_yaml(path) {
            match (self.load(path, place), &repository) {
                (Ok(_), _) => return Ok((self.remote(path), Some(path.to_owned()))),
                (Err(error), None) => return Err(error),
                (Err(_), Some(_)) => {}
            }
        }
        if let Some(repository) = repository {
            self.refuse_repository_cycle(&repository, place)?;
            let parent = Some(self.clone());
            return Self::cloned(&self.files, repository, parent, place, &self.dependencies);
        }
        if Path::new(path).is_absolute() {
            return Err(absolute("an import", path, place));
        }
        let world = self.world();
        let real = world.real_path(&clean(&self.root.join(path))).map_err(|_| self.missing(path, place))?;
        // Errors quote lines of a file, so nothing but a file may be read.
        let is_yaml = names_yaml(&real.to_string_lossy());
        let may_be_one = world.is_dir(&real) || (is_yaml && world.is_file(&real));
        if !may_be_one {
            let message = format!("`{path}` is neither a folder nor a file of YAML");
            return Err(Diagnostic::error("import-not-a-composition", message)
                .at(place)
                .help("name a folder that holds a `composition.yaml`, or such a file"));
        }
        let (root, shown, file) = match world.is_dir(&real) {
            true => (real, clean(&self.shown.join(path)), None),
            false => {
                let (root, name) =
                    (real.parent().unwrap_or(&self.root), real.file_name().unwrap_or_default());
                let shown = clean(&self.shown.join(path).join(".."));
                (root.to_owned(), shown, Some(name.to_string_lossy().into_owned()))
            }
        };
        let (files, reach, parent) = (self.files.clone(), self.reach, Some(self.clone()));
        self.refuse_leaving(&root, path, place)?;
        let named_file = file.as_ref().map(|file| root.join(file));
        let checkout = self.checkout.clone();
        let (elsewhere, dependencies) = (Vec::new(), self.dependencies.clone());
        let folder =
            Self { files, shown, root, reach, parent, named_file, checkout, elsewhere, dependencies };
        Ok((Arc::new(folder), file))
    }

    /// Bases of bases cannot be nested without end.
    fn refuse_depth(&self, place: Span) -> Result<()> {
        let above = std::iter::successors(self.parent.as_deref(), |folder| folder.parent.as_deref());
        if above.count() < DEEPEST { Ok(()) } else { Err(too_deep(place)) }
    }

    /// A base may not be, nor hold, a folder that led to it.
    pub(crate) fn refuse_cycle(&self, base: &Path, place: Span) -> Result<()> {
        let mut folder = Some(self);
        while let Some(visited) = folder {
            if visited.root.starts_with(base) {
                let message = match visited.root == base {
                    true => format!("`{}` includes itself", visited.shown.display()),
                    false => format!(
                        "a base cannot be a folder above: this one holds `{}`, which leads to it",
                        visited.shown.display()
                    ),
                };
                let advice = match self.root == base {
                    true => "remove this entry",
                    false => "move what both need into a folder of its own, next to them",
                };
                return Err(Diagnostic::error("base-cycle", message).at(place).help(advice));
            }
            folder = visited.parent.as_deref();
        }
        Ok(())
    }

    /// The same for a folder further down in a base that was planned before, from elsewhere.
    pub(crate) fn refuse_cycle_above(&self, inside: &Path, place: Span) -> Result<()> {
        self.parent.as_ref().map_or(Ok(()), |parent| parent.refuse_cycle(inside, place))
    }

    /// Whether the path leads to a folder.
    pub(crate) fn is_dir(&self, path: &str) -> bool {
        self.world().is_dir(&clean(&self.root.join(path)))
    }

    /// What a path under `resources:` leads to. What can only be a repository is fetched.
    pub(crate) fn resolve(&self, path: &str) -> Result<Resolved> {
        let Some(repository) = Repository::parse(path) else {
            return Ok(if self.is_dir(path) { Resolved::Folder } else { Resolved::File });
        };
        let known = self.files.world.known_kind(&repository);
        let may_be_file = match repository::is_http(path) {
            true => !repository.is_surely_one() && known != Some(AddressKind::Repository),
            false => self.world().is_file(&self.root.join(path)),
        };
        match known {
            _ if !may_be_file => self.world().fetch(&repository).map(|_| Resolved::Folder),
            Some(AddressKind::File) => Ok(Resolved::File),
            _ => Ok(Resolved::FileOrRepository(repository)),
        }
    }

    /// Fetches the repository of an address at which there is no good file. If there is no repository either, says what
    /// is wrong with the one that is meant.
    pub(crate) fn fetch_instead(
        &self,
        path: &str,
        repository: &Repository,
        no_file: Diagnostic,
    ) -> Result<()> {
        let Err(no_repository) = self.world().fetch(repository) else { return Ok(()) };
        // If its name says that it is a file, git is not needed.
        Err(match no_file.failure() {
            Some(Failure::NotFetched) if !names_yaml(path) => {
                no_repository.note(format!("it is not a file either: {no_file}"), Span::NONE)
            }
            _ => no_file,
        })
    }

    /// Whether a file of this name lies in the folder itself.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.world().is_file(&self.root.join(name))
    }

    /// What is in the folder, sorted by name; nothing if it cannot be listed.
    pub(crate) fn entries(&self) -> Vec<DirEntry> {
        self.world().list(&self.root).unwrap_or_default()
    }

    /// The first folders below that have one of these files, as seen from here.
    pub(crate) fn folders_below_with(&self, names: &[&str], most: usize) -> Vec<String> {
        folders_below_with(&*self.files.world, &self.root, names, most)
    }

    /// The path as a person at the command line would write it.
    pub(crate) fn shown(&self) -> &Path {
        &self.shown
    }

    pub(crate) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// The real path of a file, if it may be read.
    fn locate(&self, path: &str, place: Span) -> Result<PathBuf> {
        let world = self.world();
        let wanted = clean(&self.root.join(path));
        let real = world.real_path(&wanted).map_err(|_| self.missing(path, place))?;
        if world.is_dir(&real) {
            let message = format!("`{path}` is a folder; a file is expected");
            return Err(Diagnostic::error("file-is-a-folder", message)
                .at(place)
                .help("name the files in it one by one"));
        }
        if self.reach == Reach::WithinRoot && !real.starts_with(&self.root) {
            let message = format!("`{path}` is not in or below `{}`", self.shown.display());
            let error = Diagnostic::error("file-outside-root", message).at(place);
            return Err(match folder_of_kustomization(path) {
                Some(folder) => error.help(format!("name the folder: `{folder}`")),
                None => error.help(
                    "move the file into the folder, make a base of its folder, or allow it with \
                     `--load-restrictor LoadRestrictionsNone`",
                ),
            });
        }
        Ok(real)
    }
}

/// The folder to name in place of the kustomization file in it.
pub(crate) fn folder_of_kustomization(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/')?;
    KUSTOMIZATION_FILES.contains(&name).then_some(folder)
}

/// Endings of files that may hold a Composition.
const ENDINGS: [&str; 3] = [".yaml", ".yml", ".json"];

/// Whether a path or an address is that of a YAML file, by its name.
fn names_yaml(path: &str) -> bool {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    ENDINGS.iter().any(|ending| path.ends_with(ending))
}

fn absolute(what: &str, path: &str, place: Span) -> Diagnostic {
    let message = format!("the path of {what} must be relative, not `{path}`");
    Diagnostic::error("base-absolute", message)
        .at(place)
        .help("write it relative to the folder of this file, so that both can be moved together")
}

fn target_is_file(target: &str) -> Diagnostic {
    Diagnostic::error("target-not-a-folder", format!("`{target}` is a file, not a folder"))
        .help("name the folder that holds the kustomization")
}

/// The real path of a folder that a user named.
pub fn target_folder(world: &dyn World, target: &str) -> Result<PathBuf> {
    if target.trim().is_empty() {
        return Err(no_target(world, target));
    }
    let real = world.real_path(&clean(Path::new(target))).map_err(|_| no_target(world, target))?;
    if world.is_dir(&real) { Ok(real) } else { Err(target_is_file(target)) }
}

impl Loader for Folder {
    fn load(&self, path: &str, place: Span) -> Result<Arc<Source>> {
        if let Some(folder) = self.elsewhere(place) {
            return folder.load(path, place);
        }
        let real = match repository::is_http(path) {
            true => PathBuf::from(path),
            false => self.locate(path, place)?,
        };
        let texts = || self.files.texts.lock().expect("no one panics while holding the texts");
        if let Some(source) = texts().get(&real) {
            match repository::is_http(path) {
                true => self.dependencies.fetched(path),
                false => self.dependencies.looked(&real, Found::Something),
            }
            return Ok(source.clone());
        }
        let bytes = self.read(&real, path, place)?;
        let name = match repository::is_http(path) {
            true => path.to_owned(),
            false => self.shown_below(path, &real).display().to_string(),
        };
        let source = self.files.sources.add_bytes(name, bytes).map_err(|d| d.included(place))?;
        // Two threads may have read it at once; the first one wins.
        Ok(texts().entry(real).or_insert(source).clone())
    }

    fn load_bytes(&self, path: &str, place: Span) -> Result<Vec<u8>> {
        if let Some(folder) = self.elsewhere(place) {
            return folder.load_bytes(path, place);
        }
        let real = match repository::is_http(path) {
            true => PathBuf::new(),
            false => self.locate(path, place)?,
        };
        self.read(&real, path, place)
    }

    fn root(&self) -> &Path {
        &self.root
    }

    fn source(&self, place: Span) -> Option<Arc<Source>> {
        self.files.sources.get(place.file)
    }
}

impl Folder {
    fn read(&self, real: &Path, path: &str, place: Span) -> Result<Vec<u8>> {
        let bytes = match repository::is_http(path) {
            true => self.world().get(path).map_err(|d| d.at(place))?.bytes.to_vec(),
            false => self.world().read(real).map_err(|error| {
                Diagnostic::error("file-unreadable", format!("cannot read `{path}`: {error}")).at(place)
            })?,
        };
        if let Some(warning) = repository::lfs_pointer(&bytes, path, self.checkout.is_some()) {
            self.dependencies.warn([warning.at(place)]);
        }
        Ok(bytes)
    }
}
