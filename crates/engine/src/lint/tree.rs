//! All files of a tree, as far as lint must know them: which look like resources, which paths Flux and Argo CD deploy,
//! custom types, comments that silence findings, and settings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use krm_function::annotations::LOCAL_CONFIG;
use krm_yaml::{Node, decode};
use rayon::prelude::*;

use super::stated::{self, Stated};
use crate::files::world::{EntryKind, World};

/// Folders that hold none of our configuration, however many files they have.
const PASSED_OVER: [&str; 3] = [".git", "node_modules", ".krm-changes"];
/// A file by which tools mark their caches for backups and searches.
const CACHE_MARK: &str = "CACHEDIR.TAG";
/// Larger files are data, not configuration.
const LARGEST: usize = 4 << 20;

/// What is in a folder and those below it.
#[derive(Debug, Default)]
pub struct Tree {
    pub(crate) root: PathBuf,
    /// Every file with something worth knowing, by its real path.
    pub(crate) files: BTreeMap<PathBuf, Facts>,
    /// Every other text file in which a path may be written: scripts, documents, workflows.
    pub(crate) texts: Vec<PathBuf>,
}

/// What is known of one file.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Its first document has an `apiVersion` and a `kind`.
    pub api_version: Option<String>,
    pub is_local_config: bool,
    /// Folders that a Flux Kustomization or an Argo CD Application in it deploys.
    pub stated: Vec<Stated>,
    /// CustomResourceDefinitions in it.
    pub types: Vec<Node>,
    /// It has a comment that silences a finding.
    pub has_silence: bool,
}

impl Tree {
    /// Reads every file below a folder. Links are not followed: they may lead anywhere.
    pub fn read(world: &dyn World, root: &Path) -> Self {
        let root = world.real_path(root).unwrap_or_else(|_| root.to_owned());
        let (mut yaml, mut texts, mut open) = (Vec::new(), Vec::new(), vec![root.clone()]);
        while let Some(folder) = open.pop() {
            let entries = world.list(&folder).unwrap_or_default();
            // What compilers and other tools leave, by their own mark: gigabytes, and nothing anyone wrote.
            if entries.iter().any(|entry| *entry.name == *CACHE_MARK) {
                continue;
            }
            for entry in entries {
                let path = folder.join(&entry.name);
                match entry.kind {
                    EntryKind::Folder if !PASSED_OVER.iter().any(|name| *entry.name == **name) => {
                        open.push(path);
                    }
                    EntryKind::File if is_yaml(&path) || is_settings(&path) => yaml.push(path),
                    EntryKind::File if may_name_files(&path) => texts.push(path),
                    _ => {}
                }
            }
        }
        let files = yaml.into_par_iter().map(|path| {
            let facts = world.read(&path).map(Facts::of).unwrap_or_default();
            (path, facts)
        });
        Self { files: files.collect(), texts, root }
    }

    /// Reads a file again, after it changed.
    pub(crate) fn update(&mut self, world: &dyn World, path: &Path) {
        match world.read(path) {
            Ok(bytes) if is_yaml(path) || is_settings(path) => {
                self.files.insert(path.to_owned(), Facts::of(bytes));
            }
            _ => drop(self.files.remove(path)),
        }
    }

    /// Folders that Flux or Argo CD deploy.
    pub fn stated(&self) -> impl Iterator<Item = &Stated> {
        self.files.values().flat_map(|facts| &facts.stated)
    }

    /// The files of settings, outermost first.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().filter(|path| is_settings(path)).map(|path| &**path)
    }
}

pub(crate) fn is_yaml(path: &Path) -> bool {
    matches!(path.extension().and_then(OsStr::to_str), Some("yaml" | "yml"))
}

fn is_settings(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(super::settings::FILE))
}

/// Whether a file may be a script, a document or a workflow that names others.
fn may_name_files(path: &Path) -> bool {
    match path.extension().and_then(OsStr::to_str) {
        None => true,
        Some(ending) => matches!(
            ending,
            "sh" | "bash"
                | "mk"
                | "md"
                | "py"
                | "go"
                | "js"
                | "ts"
                | "tf"
                | "txt"
                | "json"
                | "toml"
                | "rb"
                | "hcl"
        ),
    }
}

impl Facts {
    fn of(bytes: Vec<u8>) -> Self {
        let mut facts = Self::default();
        let Some(text) = decode(bytes).ok().filter(|text| text.len() <= LARGEST) else { return facts };
        facts.has_silence = text.contains(super::silence::MARK);
        let has = |field: &str| text.starts_with(field) || text.contains(&format!("\n{field}"));
        if !has("apiVersion:") || !has("kind:") {
            return facts;
        }
        // Most files need not be read any further than their first lines.
        facts.api_version = first_value(&text, "apiVersion:").map(str::to_owned);
        facts.is_local_config = text.contains(LOCAL_CONFIG);
        let is_type = text.contains("\nkind: CustomResourceDefinition");
        let is_stated = text.contains("kustomize.toolkit.fluxcd.io/") || text.contains("argoproj.io/");
        if is_type || is_stated {
            for document in krm_yaml::parse_str(&text).unwrap_or_default() {
                facts.stated.extend(stated::in_resource(&document.root));
                if document.root.get("kind").and_then(Node::as_str) == Some("CustomResourceDefinition") {
                    facts.types.push(document.root);
                }
            }
        }
        facts
    }
}

/// The value of a field at the top of the first document.
fn first_value<'t>(text: &'t str, field: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.starts_with(field))?;
    let value = line[field.len()..].split(" #").next().unwrap_or_default();
    Some(value.trim().trim_matches(['"', '\'']))
}
