//! A folder of configuration: reading it, running functions on it, writing it back in place.
//!
//! Reading keeps the text of every file, so that writing can change the lines a function changed and no others. Nothing
//! is written here: [`Package::changes`] says what is to be written, for the caller to do all of it or nothing.

mod ignore;
mod read;
mod run;
mod scope;
mod write;

use std::path::{Path, PathBuf};

use krm_yaml::Document;

use crate::functions::{Home, Item};

pub use read::{IGNORE, PACKAGE_FILES, files, leaves_out};
pub use run::{Observer, Options, Outcome, run, settle};
pub use scope::{Planned, Scope};
pub use write::Change;

/// A folder, as it was read.
#[derive(Debug)]
pub struct Package {
    root: PathBuf,
    /// In the order of their names.
    files: Vec<File>,
    /// The resources by number: their file, and which of its documents they are.
    resources: Vec<(usize, usize)>,
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
        Self { root: root.to_path_buf(), files: Vec::new(), resources: Vec::new() }
    }

    /// The folder it was read from.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files it was read from.
    fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    /// Its resources, file by file.
    pub fn items(&self) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::with_capacity(self.resources.len());
        for (number, (file, document)) in self.resources.iter().enumerate() {
            let first = self.resources.partition_point(|(f, _)| f < file);
            let home = Home { path: self.files[*file].path.clone(), index: number - first };
            let node = self.files[*file].documents[*document].root.clone();
            items.push(Item { node, home: Some(home), document: Some(number) });
        }
        items
    }
}
