//! What a tree of kustomizations needs from elsewhere: addresses, charts and images.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, Node, Result, Sources, Span};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{ReferenceTarget, Workspace, references};
use crate::composition;
use crate::files::repository::{Repository, is_http, without_secrets};
use crate::files::world::{AddressKind, ChartAddress, Download, Fetched, World, clean};
use crate::functions::{Folders, FunctionSpec};
use crate::runtime::Program;

/// Everything that some layers need from elsewhere, and everything that this needs in turn.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Elsewhere {
    /// By what git is asked for, such as `https://github.com/org/repo?ref=v1`; each with a place that names it, as all of
    /// these.
    pub repositories: BTreeMap<String, (Repository, Fetched, Span)>,
    /// By address.
    pub files: BTreeMap<String, (Download, Span)>,
    /// Charts that are pulled, each with a place that names it.
    pub charts: BTreeMap<ChartAddress, Span>,
    /// Images by name, each with a place that names it.
    pub images: BTreeMap<String, Span>,
}

/// A repository as git is asked for it, without the folder in it: `https://github.com/org/repo?ref=v1`.
fn repository_key(repository: &Repository) -> String {
    let mut query = Vec::new();
    if !repository.reference.is_empty() {
        query.push(format!("ref={}", encoded(&repository.reference)));
    }
    if !repository.submodules {
        query.push("submodules=false".to_owned());
    }
    // What is cut off an address by the number of its parts must not be cut off again.
    let is_whole = Repository::parse(&repository.url).is_some_and(|read| read.url == repository.url);
    let url = if is_whole { repository.url.clone() } else { format!("{}//", repository.url) };
    match query.is_empty() {
        true => url,
        false => format!("{url}?{}", query.join("&")),
    }
}

/// What the entry of a repository is called in a lock file: the same for all addresses that lead to it.
pub fn repository_address(repository: &Repository) -> String {
    without_secrets(&repository_key(repository))
}

/// What is written as `%20` in the query of an address.
const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A reference as part of a query.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

impl Elsewhere {
    /// What these folders need. Everything that can be fetched is fetched, and all that cannot is reported at once.
    pub fn of(world: &dyn World, sources: &Sources, folders: Vec<PathBuf>) -> Result<Self> {
        let mut search = Search { world, sources, found: Self::default(), open: folders, errors: Vec::new() };
        let mut done = BTreeSet::new();
        while !search.open.is_empty() {
            let workspace = Workspace::of(world, sources, std::mem::take(&mut search.open));
            for layer in workspace.layers().filter(|layer| done.insert(layer.folder.clone())) {
                if let Some(error) = &layer.error {
                    search.errors.push(error.clone());
                }
                if let Some(root) = &layer.root {
                    search.configuration(root);
                }
                layer.configurations.iter().for_each(|config| search.configuration(config));
                for reference in &layer.references {
                    if let ReferenceTarget::Remote(address) = &reference.target {
                        search.address(address, reference.span);
                    }
                }
            }
            search.open.retain(|folder| !done.contains(folder));
        }
        match Diagnostic::join(search.errors) {
            Some(errors) => Err(errors.located(sources)),
            None => Ok(search.found),
        }
    }

    /// Adds the images of functions that a configuration declares.
    pub fn add_images(&mut self, config: &Node) -> Result<()> {
        let here = Path::new(".");
        if let Some((spec, span)) = FunctionSpec::of(config)?
            && let Ok(Program::Image(image)) =
                spec.program(Folders { dir: here, local: None, bounds: Some(here) }, span)
        {
            self.images.entry(image.image).or_insert(span);
        }
        Ok(())
    }
}

struct Search<'s> {
    world: &'s dyn World,
    sources: &'s Sources,
    found: Elsewhere,
    /// Folders that were fetched, and have to be looked at.
    open: Vec<PathBuf>,
    errors: Vec<Diagnostic>,
}

impl Search<'_> {
    fn address(&mut self, address: &str, place: Span) {
        if let Err(error) = self.fetch(address, place) {
            self.errors.push(error.at(place));
        }
    }

    /// The order in which a build tries what an address is: a file first, unless it cannot be one.
    fn fetch(&mut self, address: &str, place: Span) -> Result<()> {
        let repository = Repository::parse(address);
        let Some(repository) = repository else {
            self.found.files.insert(address.to_owned(), (self.world.get(address)?, place));
            return Ok(());
        };
        let known = self.world.known_kind(&repository);
        let may_be_a_file =
            is_http(address) && !repository.is_surely_one() && known != Some(AddressKind::Repository);
        let no_file = match may_be_a_file.then(|| self.world.get(address)) {
            Some(Ok(download)) if is_configuration(&download.bytes) => {
                self.composition(address, &download, place);
                self.found.files.insert(address.to_owned(), (download, place));
                return Ok(());
            }
            Some(file) if known == Some(AddressKind::File) => {
                self.found.files.insert(address.to_owned(), (file?, place));
                return Ok(());
            }
            Some(Ok(download)) => Some(Ok(download)),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        };
        match (self.world.fetch(&repository), no_file) {
            (Ok(fetched), _) => {
                let inside = clean(&fetched.folder.join(&repository.path));
                let folder = match self.world.is_file(&inside) {
                    true => inside.parent().map_or(fetched.folder.clone(), Path::to_owned),
                    false => inside,
                };
                let real = self.world.real_path(&folder).unwrap_or(folder);
                if real.starts_with(&fetched.folder) {
                    self.open.push(real);
                }
                self.found.repositories.insert(repository_key(&repository), (repository, fetched, place));
                Ok(())
            }
            // A file that generators take need not be configuration.
            (Err(_), Some(Ok(download))) => {
                self.found.files.insert(address.to_owned(), (download, place));
                Ok(())
            }
            (Err(no_repository), Some(Err(no_file))) => {
                Err(no_repository.note(format!("it is not a file either: {no_file}"), Span::NONE))
            }
            (Err(no_repository), None) => Err(no_repository),
        }
    }

    /// A Composition that is a file on the network: its relative paths lead nowhere, its addresses count.
    fn composition(&mut self, address: &str, download: &Download, place: Span) {
        if self.found.files.contains_key(address) {
            return;
        }
        let Ok(source) = self.sources.add_bytes(address.to_owned(), download.bytes.to_vec()) else { return };
        for document in krm_yaml::parse(&source).unwrap_or_default() {
            if !composition::is_composition(&document.root) {
                continue;
            }
            let (named, configurations) =
                references::of(self.world, self.sources, Path::new(""), Path::new(address), &document.root);
            configurations.iter().for_each(|config| self.configuration(config));
            for reference in named {
                if let ReferenceTarget::Remote(inner) = &reference.target
                    && inner != address
                {
                    // Before it is followed: Compositions may name each other.
                    self.found.files.insert(address.to_owned(), (download.clone(), place));
                    self.address(inner, place);
                }
            }
        }
    }

    fn configuration(&mut self, config: &Node) {
        if let Err(error) = self.found.add_images(config) {
            self.errors.push(error);
        }
        let kind = config.get("kind").and_then(Node::as_str);
        let charts = match kind {
            Some("HelmChartInflationGenerator") => std::slice::from_ref(config),
            _ => config.get("helmCharts").map(Node::items).unwrap_or_default(),
        };
        for chart in charts {
            let text = |key| chart.get(key).and_then(Node::text).unwrap_or_default().to_owned();
            let (name, repository, version) = (text("name"), text("repo"), text("version"));
            if !name.is_empty() && !repository.is_empty() {
                let address = ChartAddress { name, repository, version };
                self.found.charts.entry(address).or_insert(chart.span());
            }
        }
    }
}

/// Whether a text may be resources or a Composition, and not a page about a repository.
fn is_configuration(bytes: &[u8]) -> bool {
    let Ok(text) = krm_yaml::decode(bytes.to_vec()) else { return false };
    let Ok(documents) = krm_yaml::parse_str(&text) else { return false };
    documents.iter().all(|document| document.root.is_null() || document.root.is_map())
}
