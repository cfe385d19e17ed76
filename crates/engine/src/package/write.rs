//! From package to the files that have to change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::emit::preserve;
use krm_yaml::{Diagnostic, Document, Result, Source};

use super::{File, IGNORE, Package};
use crate::files::world::World;
use crate::resource::Resource;

/// What is to be done to one file.
#[derive(Clone, Debug)]
pub struct Change {
    /// Relative to the package, with slashes.
    pub path: String,
    /// What it is to hold; `None` where it is to go.
    pub text: Option<String>,
    /// What it held when it was read; `None` of a new one.
    pub before: Option<Arc<Source>>,
}

impl Package {
    /// What has to change for the package to hold exactly these resources. Files in which nothing changed are not
    /// mentioned; in others, only what changed differs.
    pub fn changes(&self, items: &[Resource], world: &dyn World) -> Result<Vec<Change>> {
        let mut files: BTreeMap<&str, Vec<&Resource>> = BTreeMap::new();
        for item in items {
            let home = item.home.as_ref().expect("every resource of a package has a place");
            files.entry(&home.path).or_default().push(item);
        }
        let mut changes = Vec::new();
        for (at, file) in self.files.iter().enumerate() {
            let wanted = files.remove(file.path.as_str()).unwrap_or_default();
            let text = self.text_of(at, file, wanted)?;
            let before = file.documents.first().map(|doc| doc.source().clone());
            if text.as_deref() != Some(before.as_ref().map_or("", |source| source.text())) {
                self.lies_inside(&file.path, world)?;
                changes.push(Change { path: file.path.clone(), text, before });
            }
        }
        for (path, mut wanted) in files {
            self.may_be_made(path, world)?;
            wanted.sort_by_key(|item| item.home.as_ref().map(|home| home.index));
            let documents = wanted.into_iter().map(|item| self.written(item)).collect::<Result<Vec<_>>>()?;
            let text = match path.ends_with(".json") && documents.len() == 1 {
                true => krm_yaml::json::pretty(&documents[0].root) + "\n",
                false => {
                    let text = preserve::stream(&documents);
                    // What stood between it and the one before has no meaning here.
                    text.strip_prefix("---\n").map(str::to_owned).unwrap_or(text)
                }
            };
            changes.push(Change { path: path.to_owned(), text: Some(text), before: None });
        }
        Ok(changes)
    }

    /// What a file is to hold; `None` where no resource is left in it.
    fn text_of(&self, at: usize, file: &File, mut wanted: Vec<&Resource>) -> Result<Option<String>> {
        let resources = self.resources.partition_point(|(f, _)| *f < at)
            ..self.resources.partition_point(|(f, _)| *f <= at);
        if resources.is_empty() && wanted.is_empty() {
            // It never held any: it is none of our business.
            return Ok(Some(file.documents.first().map_or("", |doc| doc.source().text()).to_owned()));
        }
        wanted.sort_by_key(|item| item.home.as_ref().map(|home| home.index));
        let mut wanted = wanted.into_iter().peekable();
        let mut resources = self.resources[resources].iter().enumerate().peekable();
        let mut documents = Vec::new();
        let mut left = false;
        for (number, document) in file.documents.iter().enumerate() {
            // Both go on in the order of the file.
            let Some((resource, _)) = resources.next_if(|(_, (_, document))| *document == number) else {
                // What is no resource stays where it is, between the same ones as far as they are there.
                left |= !document.root.is_null();
                documents.push(document.clone());
                continue;
            };
            // As many as stood up to here, in their new order.
            while let Some(item) =
                wanted.next_if(|item| item.home.as_ref().is_some_and(|home| home.index <= resource))
            {
                documents.push(self.written(item)?);
                left = true;
            }
        }
        for item in wanted {
            documents.push(self.written(item)?);
            left = true;
        }
        Ok(left.then(|| preserve::stream(&documents)))
    }

    /// A resource as a document: the one it was read from with its changes, or a new one.
    fn written(&self, item: &Resource) -> Result<Document> {
        let number = item.home.as_ref().and_then(|home| home.number);
        if let Some((file, document)) = number.and_then(|number| self.resources.get(number)) {
            let mut document = self.files[*file].documents[*document].clone();
            document.root = item.node().clone();
            return Ok(document);
        }
        let mut documents = krm_yaml::parse_str(&preserve::fresh(item.node()))?;
        Ok(documents.swap_remove(0))
    }

    /// Refuses to change a file outside the package that a link leads to.
    fn lies_inside(&self, path: &str, world: &dyn World) -> Result<()> {
        let real = |path: &Path| world.real_path(path).ok();
        match (real(&self.root.join(path)), real(&self.root)) {
            (Some(file), Some(root)) if !file.starts_with(&root) => {
                let message =
                    format!("`{path}` is a link to a file outside the package, which would have to change");
                Err(Diagnostic::error("package-link-outside", message)
                    .help("put the file itself there, or name the link in .krmignore"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses to make a file where something else is, or outside the package by way of a link.
    pub(super) fn may_be_made(&self, path: &str, world: &dyn World) -> Result<()> {
        let refused = |why: &str| {
            Err(Diagnostic::error(
                "package-place-taken",
                format!("a resource cannot be written to `{path}`: {why}"),
            )
            .help("give it another path"))
        };
        let place = self.root.join(path);
        if place.file_name().is_some_and(|name| name == IGNORE) {
            return refused("that file says what is not of the package");
        }
        if world.is_dir(&place) {
            return refused("it is a folder");
        }
        if world.is_file(&place) {
            return refused("there is a file that is not part of the package");
        }
        let mut above: PathBuf = place;
        while above.pop() && above.starts_with(&self.root) {
            if world.is_file(&above) {
                return refused("a folder on the way is a file");
            }
            if world.is_dir(&above) {
                let real = |path: &Path| world.real_path(path).ok();
                return match (real(&above), real(&self.root)) {
                    (Some(above), Some(root)) if !above.starts_with(&root) => {
                        refused("a link leads out of the package")
                    }
                    _ => Ok(()),
                };
            }
        }
        Ok(())
    }
}
