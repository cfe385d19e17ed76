//! A folder of configuration: reading it, planning what functions run on it, writing it back in place.
//!
//! Reading keeps the text of every file, so that writing can change the lines a function changed and no others. Nothing
//! is written here: [`Package::changes`] says what is to be written, for the caller to do all of it or nothing.

mod chart;
mod ignore;
mod plan;
mod read;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Document, Source};

use crate::resource::wrapper::{ItemPath, resource_at};
use crate::resource::{Home, Resource};
use crate::schema::Schema;

pub use chart::is_chart_template;
pub use plan::{Limits, Outcome, Planned, Surroundings, give_homes, pipeline, run};
pub(crate) use plan::{emptied, ignored_input};
pub(crate) use read::Ignored;
pub use read::{IGNORE, PACKAGE_FILES, files, is_configuration, leaves_out, may_be_read};
pub use write::Change;

/// A folder, as it was read.
#[derive(Debug)]
pub struct Package {
    root: PathBuf,
    /// In the order of their names.
    files: Vec<File>,
    /// The resources by number, file by file.
    resources: Vec<Spot>,
    /// How many templates of Helm charts were passed over.
    templates: usize,
}

/// Where a resource was read: its file, the document there and, for an item of a list, its path in that.
#[derive(Debug)]
struct Spot {
    file: usize,
    document: usize,
    items: ItemPath,
}

/// A file of the package.
#[derive(Debug)]
struct File {
    /// Relative to the root, with slashes.
    path: String,
    documents: Vec<Document>,
}

impl Package {
    /// A folder with nothing in it yet.
    pub fn empty(root: &Path) -> Self {
        Self { root: root.to_path_buf(), files: Vec::new(), resources: Vec::new(), templates: 0 }
    }

    /// The folder it was read from.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many templates of Helm charts it holds, which are not read: they are not configuration yet.
    pub fn templates(&self) -> usize {
        self.templates
    }

    /// How many resources it was read with.
    fn count(&self) -> usize {
        self.resources.len()
    }

    /// The files it was read from.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    /// Whether it was read from a file.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.file(path).is_some()
    }

    /// The text of one of its files.
    pub(crate) fn source(&self, path: &str) -> Option<Arc<Source>> {
        self.file(path)?.documents.first().map(|document| document.source().clone())
    }

    fn file(&self, path: &str) -> Option<&File> {
        let at = self.files.binary_search_by(|file| file.path.split('/').cmp(path.split('/'))).ok()?;
        Some(&self.files[at])
    }

    /// The document that a resource is; `None` for an item of a list.
    pub(crate) fn document(&self, number: usize) -> Option<&Document> {
        let spot = self.resources.get(number).filter(|spot| spot.items.is_empty())?;
        self.files[spot.file].documents.get(spot.document)
    }

    /// Its resources, file by file. Items of lists are resources, their lists are not.
    pub fn resources(&self) -> Vec<Resource> {
        let schema = Schema::builtin();
        let resource = |(number, spot): (usize, &Spot)| {
            let first = self.resources.partition_point(|other| other.file < spot.file);
            let file = &self.files[spot.file];
            let node = resource_at(&file.documents[spot.document].root, &spot.items).clone();
            let mut resource = Resource::new(node, &schema);
            let home = Home::new(file.path.clone(), number - first);
            resource.home = Some(Box::new(Home { number: Some(number), ..home }));
            resource
        };
        self.resources.iter().enumerate().map(resource).collect()
    }
}
