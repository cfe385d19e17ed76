//! `localize`: a copy of a kustomization in which everything that had to be fetched is a file of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, FileId, Node, Result, Sources, Span};

use super::moves::{refused, replaced};
use crate::files::relative;
use crate::files::repository::{Repository, is_http, without_secrets};
use crate::files::world::{AddressKind, ChartAddress, EntryKind, World, clean};
use crate::transformers::home_of_chart;
use crate::workspace::{Layer, ReferenceTarget, Workspace};

/// The folder of the copy that holds what was fetched, each repository and file once.
const FETCHED: &str = "localized-files";

/// The files of the copy.
#[derive(Debug, Default)]
pub struct Localized {
    /// By their paths in the copy.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// The files that they are copies of, by the same paths.
    pub originals: BTreeMap<PathBuf, PathBuf>,
    /// The folder in the copy that builds to what the original builds to.
    pub target: PathBuf,
    /// What is still fetched by a build of the copy.
    pub notes: Vec<String>,
}

/// Plans a copy of a folder or of an address. Files outside the scope cannot be copied; the scope of a folder is itself, if
/// no other is given, that of an address its repository.
pub fn plan(world: &dyn World, sources: &Sources, target: &str, scope: Option<&Path>) -> Result<Localized> {
    let mut localizer = Localizer {
        world,
        sources,
        trees: Vec::new(),
        revisions: BTreeMap::new(),
        edits: BTreeMap::new(),
        done: BTreeSet::new(),
        result: Localized::default(),
    };
    let (folder, scope) = match Repository::parse(target) {
        Some(repository) => {
            let fetched = world.fetch(&repository)?.folder;
            (clean(&fetched.join(&repository.path)), fetched)
        }
        None => {
            let missing = |_| refused(format!("`{target}` does not exist"));
            let folder = world.real_path(Path::new(target)).map_err(missing)?;
            let scope = scope.map_or(Ok(folder.clone()), |scope| {
                world.real_path(scope).map_err(|_| refused(format!("`{}` does not exist", scope.display())))
            })?;
            (folder, scope)
        }
    };
    localizer.trees.push((scope.clone(), PathBuf::new()));
    localizer.result.target = folder
        .strip_prefix(&scope)
        .map(Path::to_owned)
        .map_err(|_| refused(format!("`{target}` is not in the scope `{}`", scope.display())))?;
    localizer.layers(folder)?;
    Ok(localizer.result)
}

struct Localizer<'l> {
    world: &'l dyn World,
    sources: &'l Sources,
    /// Real folders, and where they are in the copy.
    trees: Vec<(PathBuf, PathBuf)>,
    /// The commits of repositories, by where they are in the copy.
    revisions: BTreeMap<PathBuf, String>,
    edits: BTreeMap<FileId, Vec<(Span, String)>>,
    done: BTreeSet<PathBuf>,
    result: Localized,
}

impl Localizer<'_> {
    /// Copies a layer and everything it is made of.
    fn layers(&mut self, folder: PathBuf) -> Result<()> {
        let mut open = vec![folder];
        let mut copied: BTreeMap<PathBuf, FileId> = BTreeMap::new();
        while let Some(folder) = open.pop() {
            let workspace = Workspace::of(self.world, self.sources, vec![folder.clone()]);
            if workspace.layer(&folder).is_none() {
                let message = format!("there is no kustomization in `{}`", folder.display());
                return Err(refused(message));
            }
            for layer in workspace.layers() {
                if !self.done.insert(layer.folder.clone()) {
                    continue;
                }
                if let Some(error) = &layer.error {
                    return Err(error.clone());
                }
                open.extend(self.layer(layer)?);
                if let Some(source) = &layer.source {
                    copied.insert(layer.file.clone(), source.id());
                }
            }
        }
        self.finish(&copied)
    }

    /// Copies what a layer names; gives the layers that were fetched for it.
    fn layer(&mut self, layer: &Layer) -> Result<Vec<PathBuf>> {
        let mut fetched = Vec::new();
        self.copy(&layer.file, Span::NONE)?;
        let here = self.place(&layer.folder, Span::NONE)?;
        for reference in &layer.references {
            let place = match &reference.target {
                ReferenceTarget::File(path) => {
                    self.copy(path, reference.span)?;
                    continue;
                }
                ReferenceTarget::Folder(path) => {
                    self.copy_folder(path, reference.span)?;
                    continue;
                }
                ReferenceTarget::Layer(path) => {
                    self.place(path, reference.span)?;
                    continue;
                }
                ReferenceTarget::Missing(_) => continue,
                ReferenceTarget::Remote(address) => match self.fetch(address, reference.span)? {
                    Fetched::File(place) => place,
                    Fetched::Layer(folder) => {
                        let place = self.place(&folder, reference.span)?;
                        fetched.push(folder);
                        place
                    }
                },
            };
            let text = replaced(self.sources, reference, &relative(&place, &here))?;
            self.edits.entry(reference.span.file).or_default().push((reference.span, text));
        }
        self.charts(layer)?;
        Ok(fetched)
    }

    /// Charts that were pulled and are kept elsewhere join the copy. Those in the tree are folders that the layer names.
    fn charts(&mut self, layer: &Layer) -> Result<()> {
        let Some(root) = &layer.root else { return Ok(()) };
        let text = |node: Option<&Node>| node.and_then(Node::text).unwrap_or_default().to_owned();
        let home = text(root.at(["helmGlobals", "chartHome"]));
        for chart in root.get("helmCharts").map(Node::items).unwrap_or_default() {
            let [name, repository, version] = ["name", "repo", "version"].map(|key| text(chart.get(key)));
            let folder = home_of_chart(&layer.folder, &home, &name, &version, &repository).join(&name);
            if repository.is_empty() || self.world.is_dir(&folder) {
                continue;
            }
            let span = chart.get("name").map_or(Span::NONE, Node::span);
            let address = ChartAddress { name, repository, version };
            // One that may not be fetched is as good as one that was not.
            match self.world.chart(&address).unwrap_or_default() {
                Some(kept) => {
                    let place = self.place(&folder, span)?;
                    self.trees.push((kept.clone(), place));
                    self.copy_folder(&kept, span)?;
                }
                None => {
                    let ChartAddress { name, repository, .. } = address;
                    self.result.notes.push(format!("chart `{name}` is still pulled from {repository}"));
                }
            }
        }
        Ok(())
    }

    fn fetch(&mut self, address: &str, place: Span) -> Result<Fetched> {
        let repository = Repository::parse(address);
        let is_surely_one = |repository: &Repository| {
            repository.is_surely_one() || self.world.known_kind(repository) == Some(AddressKind::Repository)
        };
        let as_file = is_http(address) && !repository.as_ref().is_some_and(is_surely_one);
        if as_file {
            match (self.world.get(address), &repository) {
                (Ok(download), _) => {
                    let place = Path::new(FETCHED).join(slug(&without_secrets(address)));
                    let is_free = |place: &Path| {
                        let there = self.result.files.get(place);
                        there.is_none_or(|bytes| **bytes == *download.bytes)
                    };
                    let place = first_free(place, is_free);
                    self.result.files.insert(place.clone(), download.bytes.to_vec());
                    return Ok(Fetched::File(place));
                }
                (Err(error), None) => return Err(error.at(place)),
                (Err(_), Some(_)) => {}
            }
        }
        let repository =
            repository.ok_or_else(|| refused(format!("`{address}` cannot be fetched")).at(place))?;
        let fetched = self.world.fetch(&repository).map_err(|error| error.at(place))?;
        let reference =
            if repository.reference.is_empty() { &fetched.revision } else { &repository.reference };
        let tree = Path::new(FETCHED).join(slug(&repository.url)).join(slug(reference));
        if !self.trees.iter().any(|(root, _)| *root == fetched.folder) {
            let tree = first_free(tree, |tree| {
                self.revisions.get(tree).is_none_or(|revision| *revision == fetched.revision)
            });
            self.revisions.insert(tree.clone(), fetched.revision.clone());
            self.trees.push((fetched.folder.clone(), tree));
        }
        let folder = clean(&fetched.folder.join(&repository.path));
        Ok(Fetched::Layer(self.world.real_path(&folder).unwrap_or(folder)))
    }

    /// Where a path is in the copy.
    fn place(&self, path: &Path, named: Span) -> Result<PathBuf> {
        let tree =
            self.trees.iter().find_map(|(root, place)| Some(place.join(path.strip_prefix(root).ok()?)));
        tree.ok_or_else(|| {
            Diagnostic::error("localize-outside-scope", format!("`{}` is outside the scope", path.display()))
                .at(named)
                .help("pass `--scope DIR`, with a folder that holds everything")
        })
    }

    fn copy(&mut self, path: &Path, named: Span) -> Result<()> {
        let place = self.place(path, named)?;
        if !self.result.files.contains_key(&place) {
            let bytes = self
                .world
                .read(path)
                .map_err(|error| refused(format!("cannot read `{}`: {error}", path.display())).at(named))?;
            self.result.originals.insert(place.clone(), path.to_owned());
            self.result.files.insert(place, bytes);
        }
        Ok(())
    }

    fn copy_folder(&mut self, path: &Path, named: Span) -> Result<()> {
        for entry in self.world.list(path).unwrap_or_default() {
            let inside = path.join(&entry.name);
            match entry.kind {
                EntryKind::Folder => self.copy_folder(&inside, named)?,
                EntryKind::File | EntryKind::Link if self.world.is_file(&inside) => {
                    self.copy(&inside, named)?
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts the new paths into the copied texts.
    fn finish(&mut self, layers: &BTreeMap<PathBuf, FileId>) -> Result<()> {
        for (file, mut changes) in std::mem::take(&mut self.edits) {
            let Some(source) = self.sources.get(file) else { continue };
            let own = layers.iter().find(|(_, id)| **id == file).map(|(path, _)| path.clone());
            let path = own.unwrap_or_else(|| PathBuf::from(source.name()));
            let place = self.place(&path, Span::NONE)?;
            changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
            let mut text = source.text().to_owned();
            for (span, new) in changes {
                text.replace_range(span.range(), &new);
            }
            krm_yaml::parse_str(&text)?;
            self.result.files.insert(place, text.into_bytes());
        }
        Ok(())
    }
}

enum Fetched {
    /// By its path in the copy.
    File(PathBuf),
    /// By its path on this machine.
    Layer(PathBuf),
}

/// A path if it is free, or the first of `2-NAME`, `3-NAME` and so on that is: addresses that differ only in their user or
/// token have the same path, and may lead to different content.
fn first_free(path: PathBuf, is_free: impl Fn(&Path) -> bool) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let others = (2..).map(|number| path.with_file_name(format!("{number}-{name}")));
    let mut all = std::iter::once(path.clone()).chain(others);
    all.find(|path| is_free(path)).expect("numbers do not end")
}

/// An address as a path: `github.com/org/repo`.
fn slug(address: &str) -> PathBuf {
    let bare = address.split_once("://").map_or(address, |(_, rest)| rest);
    let bare = bare.split_once('@').map_or(bare, |(user, rest)| if user.contains('/') { bare } else { rest });
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/') { c } else { '-' };
    let path: String = bare.chars().map(plain).collect();
    let parts = path.split('/').filter(|part| !part.is_empty() && !part.trim_matches('.').is_empty());
    parts.map(|part| part.trim_end_matches(".git")).collect()
}
