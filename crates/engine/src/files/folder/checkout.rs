//! Folders of repositories that were fetched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result, Span};

use super::{Files, Folder, Reach};
use crate::files::dependencies::{Dependencies, Watched};
use crate::files::near::near_path_in;
use crate::files::repository::Repository;
use crate::files::world::{Fetched, World, clean};

/// A repository that was fetched.
pub(super) struct Checkout {
    repository: Repository,
    dir: PathBuf,
    /// The commit that was checked out.
    revision: String,
}

impl Checkout {
    /// Temporary folders mean nothing to the user: what is in a clone is shown by its address.
    fn shown(&self, real: &Path) -> PathBuf {
        let inside = real.strip_prefix(&self.dir).unwrap_or(real).display().to_string();
        let slashes = if inside.is_empty() { "" } else { "//" };
        format!("{}{slashes}{inside}", self.repository.url).into()
    }
}

impl Folder {
    /// The folder of a single file that was fetched. There are no other files in it: its relative paths lead nowhere.
    pub(crate) fn remote(self: &Arc<Self>, address: &str) -> Arc<Self> {
        let above = address.rsplit_once('/').map_or(address, |(above, _)| above);
        Arc::new(Self {
            files: self.files.clone(),
            root: above.into(),
            shown: above.into(),
            reach: Reach::WithinRoot,
            parent: Some(self.clone()),
            named_file: None,
            checkout: None,
            elsewhere: Vec::new(),
            dependencies: self.dependencies.clone(),
        })
    }

    /// The address under which others reach this folder of a repository, with the revision that was asked for; `None` for
    /// one on this machine.
    pub(crate) fn address(&self) -> Option<String> {
        let checkout = self.checkout.as_ref()?;
        let query = checkout.repository.address.split_once('?');
        let query = query.map_or(String::new(), |(_, query)| format!("?{query}"));
        Some(format!("{}{query}", checkout.shown(&self.root).display()))
    }

    /// The branch, tag or commit that was asked for, if any was, and the commit that was checked out; `None` for a folder on
    /// this machine.
    pub(crate) fn revision(&self) -> Option<(Option<&str>, &str)> {
        let Checkout { repository, revision, .. } = &**self.checkout.as_ref()?;
        let asked = repository.reference.as_str();
        Some(((!asked.is_empty()).then_some(asked), revision))
    }

    /// Fetches a repository, and opens the folder its address names; or, if it names a file, the folder of that.
    pub(super) fn cloned(
        files: &Arc<Files>,
        repository: Repository,
        parent: Option<Arc<Self>>,
        place: Span,
        dependencies: &Arc<Dependencies>,
    ) -> Result<(Arc<Self>, Option<String>)> {
        let world = Watched { world: &*files.world, dependencies };
        let Fetched { folder: dir, revision } = world.fetch(&repository).map_err(|d| d.at(place))?;
        let address = &repository.address;
        let fault = |code, message| Err(Diagnostic::error(code, message).at(place));
        let Ok(mut root) = world.real_path(&dir.join(&repository.path)) else {
            let message =
                format!("there is no folder `{}` in the repository `{}`", repository.path, repository.url);
            let error = Diagnostic::error("repository-no-folder", message).at(place);
            return Err(match near_path_in(&world, &dir, &repository.path) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            });
        };
        if !root.starts_with(&dir) {
            return fault("base-outside-repository", format!("`{address}` leads out of its repository"));
        }
        let mut file = None;
        if !world.is_dir(&root) {
            file = root.file_name().map(|name| name.to_string_lossy().into_owned());
            root.pop();
        }
        let checkout = Checkout { repository, dir, revision };
        let shown = checkout.shown(&root);
        let checkout = Some(Arc::new(checkout));
        // What comes from elsewhere may never read files of this machine.
        let (files, reach, elsewhere) = (files.clone(), Reach::WithinRoot, Vec::new());
        let dependencies = dependencies.clone();
        let named_file = file.as_ref().map(|file| root.join(file));
        let folder =
            Self { files, root, shown, reach, parent, named_file, checkout, elsewhere, dependencies };
        Ok((Arc::new(folder), file))
    }

    /// The same for what must be a folder.
    pub(super) fn cloned_folder(
        files: &Arc<Files>,
        repository: Repository,
        parent: Option<Arc<Self>>,
        place: Span,
        dependencies: &Arc<Dependencies>,
    ) -> Result<Arc<Self>> {
        let address = repository.address.clone();
        match Self::cloned(files, repository, parent, place, dependencies)? {
            (folder, None) => Ok(folder),
            (_, Some(_)) => {
                let message = format!("`{address}` is a file; a folder is expected");
                Err(Diagnostic::error("base-not-a-folder", message).at(place))
            }
        }
    }

    /// What is in a repository may not lead out of it.
    pub(super) fn refuse_leaving(&self, root: &Path, path: &str, place: Span) -> Result<()> {
        match &self.checkout {
            Some(checkout) if !root.starts_with(&checkout.dir) => {
                let message = format!("`{path}` leads out of the repository `{}`", checkout.repository.url);
                Err(Diagnostic::error("base-outside-repository", message)
                    .at(place)
                    .help("what a repository is made of must be in it, or be a repository itself"))
            }
            _ => Ok(()),
        }
    }

    /// How a path from here is shown, given what it leads to.
    pub(super) fn shown_below(&self, path: &str, real: &Path) -> PathBuf {
        match &self.checkout {
            Some(checkout) => checkout.shown(real),
            None => clean(&self.shown.join(path)),
        }
    }

    /// An address may not be, nor begin with, one that led to it; and one that came over the network may not name what is on
    /// this machine.
    pub(super) fn refuse_repository_cycle(&self, repository: &Repository, place: Span) -> Result<()> {
        let mut folder = Some(self);
        while let Some(visited) = folder {
            if let Some(checkout) = &visited.checkout
                && repository.is_local()
                && !checkout.repository.is_local()
            {
                let message = format!("`{}` is a repository of this machine", repository.address);
                return Err(Diagnostic::error("repository-of-this-machine", message)
                    .at(place)
                    .note(format!("it is named by `{}`", checkout.repository.address), Span::NONE)
                    .help("what comes over the network may name only what is on the network"));
            }
            if let Some(checkout) = &visited.checkout
                && checkout.repository.address.starts_with(&repository.address)
            {
                let message = format!("`{}` leads to itself", repository.address);
                return Err(Diagnostic::error("repository-cycle", message)
                    .at(place)
                    .note(format!("it was reached as `{}`", checkout.repository.address), Span::NONE));
            }
            folder = visited.parent.as_deref();
        }
        Ok(())
    }
}
