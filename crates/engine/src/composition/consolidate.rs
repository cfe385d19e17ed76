//! Many Compositions, one list: imports, then overrides, then order, from the innermost outwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_function::annotations::RELATIVE_TO;
use krm_yaml::{Diagnostic, Failure, Node, Result, Span, nearest};
use rustc_hash::FxHashMap;

use super::directives;
use super::identity::Identity;
use super::{Composition, Import, ImportMode, Ordered};
use crate::files::folder::{Folder, more_than_anyone_reads};
use crate::files::world::Loader;
use crate::functions::FunctionSpec;
use crate::merge::{self, Merged, two_way};
use crate::schema::Schema;

/// A transformer of the consolidated list.
#[derive(Clone)]
pub(crate) struct Listed {
    pub identity: Identity,
    /// The whole object, overrides applied. Every scalar knows the file it was written in.
    pub config: Node,
    /// Where it was first written.
    pub place: Span,
    /// The folder of the Composition that wrote it: what its relative paths mean.
    pub folder: Arc<Folder>,
    /// The file of that Composition.
    pub file: Arc<str>,
    /// The overrides that changed it, innermost first.
    pub overrides: Vec<Override>,
    /// The `path` of every `transformersFrom` that brought it here, innermost first.
    pub imported_at: Vec<Span>,
}

/// An override that touched a transformer.
#[derive(Clone)]
pub(crate) struct Override {
    pub place: Span,
    pub folder: Arc<Folder>,
}

/// What consolidation asks of the planner.
pub(crate) trait Planner {
    fn schema(&self) -> &Schema;
    /// The transformers in what an entry of `transformers:` names: a file, or a folder whose build gives them.
    fn named(&self, folder: &Arc<Folder>, path: &Node) -> Result<Vec<Node>>;
    fn warn(&self, warning: Diagnostic);
}

/// Makes one list of a Composition and all it imports. `file` names it within its folder.
pub(crate) fn consolidate(
    folder: &Arc<Folder>,
    file: &str,
    place: Span,
    planner: &dyn Planner,
) -> Result<Vec<Listed>> {
    Consolidation { planner, open: Vec::new(), read: 0 }.read(folder, file, place, Reading::Target)
}

/// Imports that import the same ones twice double with each step.
const MOST_IMPORTS: usize = 10_000;

struct Consolidation<'a> {
    planner: &'a dyn Planner,
    /// The files that lead here, by path and by name, to tell cycles.
    open: Vec<(PathBuf, String)>,
    /// How many were read so far, each as often as it is imported.
    read: usize,
}

/// Why a Composition is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// It is to be built.
    Target,
    /// Another one imports it.
    Import,
}

impl Consolidation<'_> {
    fn read(
        &mut self,
        folder: &Arc<Folder>,
        file: &str,
        place: Span,
        reading: Reading,
    ) -> Result<Vec<Listed>> {
        let path = folder.root().join(file);
        self.refuse_cycle(&path, place)?;
        self.read += 1;
        if self.read > MOST_IMPORTS {
            let message = format!("imports come to more than {MOST_IMPORTS} Compositions here");
            return Err(Diagnostic::error("imports-too-many", message)
                .at(place)
                .help("one that is reached in several ways counts as often: import it once"));
        }
        let (composition, source, warnings) = Composition::load(folder, file, place)?;
        warnings.into_iter().for_each(|warning| self.planner.warn(warning));
        if reading == Reading::Target && composition.is_empty() {
            return Err(Diagnostic::error(
                "composition-empty",
                format!("`{}` lists no transformers", source.name()),
            )
            .at(source.span(0, 0))
            .help("list them under `transformers:`, or import some under `transformersFrom:`"));
        }
        self.open.push((path, source.name().to_owned()));
        let list = self.list(folder, file, &composition);
        self.open.pop();
        list
    }

    fn list(&mut self, folder: &Arc<Folder>, file: &str, composition: &Composition) -> Result<Vec<Listed>> {
        let (mut before, mut after, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for import in &composition.transformers_from {
            match self.import(folder, import) {
                Ok((ImportMode::Prepend, entries)) => before.extend(entries),
                Ok((ImportMode::Append, entries)) => after.extend(entries),
                Err(error) => errors.push(error),
            }
            if more_than_anyone_reads(&errors) {
                break;
            }
        }
        let own = self.own(folder, file, composition, &mut errors);
        Diagnostic::join(errors).map_or(Ok(()), Err)?;

        // The overrides see the imports of this file as one list, whichever of them an entry came from.
        let (split, mut imported) = (before.len(), before);
        imported.extend(after);
        let removed = self.apply_overrides(folder, composition, &mut imported, &own)?;
        let mut list = Vec::with_capacity(imported.len() + own.len());
        let mut after = Vec::new();
        for (at, entry) in imported.into_iter().enumerate().filter(|(at, _)| !removed.contains(at)) {
            if at < split { list.push(entry) } else { after.push(entry) }
        }
        list.extend(own);
        list.extend(after);
        refuse_duplicates(&list)?;
        order(list, &composition.transformer_order)
    }

    /// The notes of the imports on the way back show the whole circle.
    fn refuse_cycle(&self, path: &Path, place: Span) -> Result<()> {
        match self.open.iter().find(|(open, _)| open == path) {
            None => Ok(()),
            Some((_, name)) => {
                let message = format!("`{name}` imports itself");
                Err(Diagnostic::error("import-cycle", message).at(place).help("take one of the imports out"))
            }
        }
    }

    fn import(&mut self, folder: &Arc<Folder>, import: &Import) -> Result<(ImportMode, Vec<Listed>)> {
        let (mode, place) = (import.mode()?, import.path.span());
        if import.path.is_empty() {
            return Err(Diagnostic::error("import-no-path", "an import needs the path of a Composition")
                .at(place)
                .help("name its file or its folder, as `path: ../app`"));
        }
        let (folder, file) = folder.composition(&import.path, place)?;
        let file = match file {
            Some(file) => file,
            None => super::find_in(&folder, place)?.to_owned(),
        };
        let mut entries =
            self.read(&folder, &file, place, Reading::Import).map_err(|d| d.note("imported here", place))?;
        entries.iter_mut().for_each(|entry| entry.imported_at.push(place));
        Ok((mode, entries))
    }

    /// The transformers written here: objects, and those in files that are named.
    fn own(
        &self,
        folder: &Arc<Folder>,
        file: &str,
        composition: &Composition,
        errors: &mut Vec<Diagnostic>,
    ) -> Vec<Listed> {
        let mut own = Vec::new();
        let file: Arc<str> = file.into();
        for written in &composition.transformers {
            let objects = match written.is_map() {
                true => Ok(vec![written.clone()]),
                false => self.planner.named(folder, written),
            };
            let entries = objects.and_then(|objects| {
                let entries = objects.into_iter().map(|mut config| {
                    let identity = Identity::complete(&mut config, written.span())?;
                    self.recommend_name(&identity, &config);
                    let place = config.span();
                    let (folder, file) = match take_relative_to(&mut config) {
                        Some(path) => elsewhere(folder, &path)?,
                        None => (folder.clone(), file.clone()),
                    };
                    let (overrides, imported_at) = (Vec::new(), Vec::new());
                    Ok(Listed { identity, config, place, folder, file, overrides, imported_at })
                });
                entries.collect::<Result<Vec<_>>>()
            });
            match entries {
                Ok(entries) => own.extend(entries),
                Err(error) => errors.push(error),
            }
        }
        own
    }

    fn recommend_name(&self, identity: &Identity, config: &Node) {
        let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        if !identity.name.chars().all(is_good) {
            let place = config.at(["metadata", "name"]).map(Node::span).unwrap_or_default();
            let message = format!("`{}` is an unusual name for a transformer", identity.name);
            self.planner.warn(
                Diagnostic::warning("transformer-name", message)
                    .at(place)
                    .help("lower-case letters, digits, `-` and `.` are safe everywhere"),
            );
        }
    }

    /// Changes what was imported; gives back the positions of what is to be removed.
    fn apply_overrides(
        &self,
        folder: &Arc<Folder>,
        composition: &Composition,
        imported: &mut [Listed],
        own: &[Listed],
    ) -> Result<Vec<usize>> {
        let mut removed: Vec<(usize, Span)> = Vec::new();
        let mut errors = Vec::new();
        for written in &composition.transformer_overrides {
            let mut patch = written.clone();
            let target = Identity::complete(&mut patch, written.span())
                .and_then(|identity| find_target(&identity, written.span(), imported, own, &removed));
            match target {
                Err(error) => errors.push(error),
                Ok(at) if patch.get("$patch").and_then(Node::text) == Some("delete") => {
                    removed.push((at, written.span()));
                }
                Ok(at) => match self.apply_override(&mut patch, &mut imported[at]) {
                    Err(error) => errors.push(error.at(written.span())),
                    Ok(Change::Removed) => removed.push((at, written.span())),
                    Ok(Change::Kept) => {
                        let change = Override { place: written.span(), folder: folder.clone() };
                        imported[at].overrides.push(change);
                    }
                },
            }
        }
        let removed = removed.into_iter().map(|(at, _)| at).collect();
        Diagnostic::join(errors).map_or(Ok(removed), Err)
    }

    /// Merges one override into the transformer it is for.
    fn apply_override(&self, patch: &mut Node, entry: &mut Listed) -> Result<Change> {
        one_declaration(patch, &mut entry.config)?;
        replace_other_runtime(&mut entry.config, patch);
        let orders = directives::apply(patch, &mut entry.config)?;
        match two_way(patch, &entry.config, self.planner.schema(), merge::Options::default())? {
            Merged::Changed(config) => entry.config = config,
            Merged::Same => {}
            Merged::Deleted => return Ok(Change::Removed),
        }
        orders.apply(&mut entry.config);
        adopt_places(&mut entry.config, patch);
        Ok(Change::Kept)
    }
}

/// What an override did to its transformer.
enum Change {
    Kept,
    Removed,
}

/// The program may be named by an annotation on one side and by `runtime` on the other: that is one declaration, which
/// `runtime` then holds.
fn one_declaration(patch: &mut Node, config: &mut Node) -> Result<()> {
    let in_field = |node: &Node| node.get("runtime").is_some_and(Node::is_map);
    if FunctionSpec::names_program(patch) && (in_field(patch) != in_field(config)) {
        FunctionSpec::move_to_runtime(patch)?;
        FunctionSpec::move_to_runtime(config)?;
    }
    Ok(())
}

/// Takes out the annotation that says where relative paths start.
fn take_relative_to(config: &mut Node) -> Option<Node> {
    config.at(["metadata", "annotations", RELATIVE_TO])?;
    let metadata = config.get_mut("metadata")?;
    let annotations = metadata.get_mut("annotations")?;
    let path = annotations.remove(RELATIVE_TO);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    path
}

/// The Composition whose reach a transformer has. It must be one: a folder without a Composition gave nobody leave to read
/// its files.
fn elsewhere(folder: &Arc<Folder>, path: &Node) -> Result<(Arc<Folder>, Arc<str>)> {
    let place = path.span();
    let (folder, file) = folder.composition(path.text().unwrap_or_default(), place)?;
    let file = match file {
        Some(file) => file,
        None => super::find_in(&folder, place)?.to_owned(),
    };
    Composition::load(&folder, &file, place).map_err(|d| d.included(place))?;
    Ok((folder, file.into()))
}

/// What an override says was written by the override, also where it says what was there before: a relative path with the
/// same letters means another file.
fn adopt_places(config: &mut Node, patch: &Node) {
    if let Some(fields) = patch.as_map() {
        for entry in fields {
            if let Some(field) = entry.key.text().and_then(|key| config.get_mut(key)) {
                adopt_places(field, &entry.value);
            }
        }
    } else if config == patch {
        *config = patch.clone();
    }
}

/// Another kind of runtime replaces the one there was: half a container is of no use to a program.
fn replace_other_runtime(config: &mut Node, patch: &Node) {
    let kinds = |node: &Node| -> Vec<String> {
        let runtime = node.get("runtime").and_then(Node::as_map);
        let kinds = runtime.into_iter().flatten().filter_map(|e| e.key.text());
        kinds.filter(|kind| matches!(*kind, "container" | "exec" | "wasm")).map(str::to_owned).collect()
    };
    let (old, new) = (kinds(config), kinds(patch));
    if !new.is_empty()
        && let Some(runtime) = config.get_mut("runtime")
    {
        old.iter().filter(|kind| !new.contains(kind)).for_each(|kind| {
            runtime.remove(kind);
        });
    }
}

fn find_target(
    wanted: &Identity,
    place: Span,
    imported: &[Listed],
    own: &[Listed],
    removed: &[(usize, Span)],
) -> Result<usize> {
    let mut fitting = imported.iter().enumerate().filter(|(_, entry)| entry.identity == *wanted);
    match (fitting.next(), fitting.next()) {
        (Some((at, _)), None) if removed.iter().any(|(gone, _)| *gone == at) => {
            let by = removed.iter().find(|(gone, _)| *gone == at).map_or(Span::NONE, |(_, by)| *by);
            Err(Diagnostic::error("override-removed", format!("an earlier override removes {wanted}"))
                .at(place)
                .note("removed here", by)
                .help("keep one of the two overrides"))
        }
        (Some((at, _)), None) => Ok(at),
        (Some((_, first)), Some((_, second))) => {
            Err(Diagnostic::error("override-ambiguous", format!("two imports have a {wanted}"))
                .at(place)
                .note("one is here", first.place)
                .note("another is here", second.place)
                .help("give them different names where they are written"))
        }
        (None, _) => {
            let diagnostic = Diagnostic::error("override-no-match", format!("no import has a {wanted}"))
                .failing(Failure::NoMatch)
                .at(place);
            if let Some(mine) = own.iter().find(|entry| entry.identity == *wanted) {
                return Err(diagnostic
                    .note("it is written in this very file", mine.place)
                    .help("overrides change what is imported; change this one where it is written"));
            }
            if imported.is_empty() {
                return Err(diagnostic.help("nothing is imported: add `transformersFrom:`"));
            }
            Err(suggest(diagnostic, wanted, imported))
        }
    }
}

/// Adds what may have been meant: the same name under another version or kind, or a name nearly the same.
fn suggest(diagnostic: Diagnostic, wanted: &Identity, imported: &[Listed]) -> Diagnostic {
    let same_name = imported.iter().find(|entry| entry.identity.name == wanted.name);
    if let Some(Listed { identity, place, .. }) = same_name {
        let message = format!("there is {identity} with apiVersion `{}`", identity.api_version);
        return diagnostic.note(message, *place).help("apiVersion, kind and name must all be the same");
    }
    match nearest(&wanted.name, imported.iter().map(|entry| entry.identity.name.as_str())) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => {
            let names: Vec<String> =
                imported.iter().take(8).map(|entry| entry.identity.to_string()).collect();
            diagnostic.help(format!("what is imported: {}", names.join(", ")))
        }
    }
}

fn refuse_duplicates(list: &[Listed]) -> Result<()> {
    let mut seen: FxHashMap<&Identity, &Listed> = FxHashMap::default();
    let mut errors = Vec::new();
    for entry in list {
        let Some(first) = seen.insert(&entry.identity, entry) else { continue };
        let message = format!("the list has two transformers called {}", entry.identity);
        let mut diagnostic = Diagnostic::error("transformer-twice", message).at(entry.place);
        diagnostic = entry.imported_at.iter().fold(diagnostic, |d, place| d.note("imported here", *place));
        diagnostic = diagnostic.note("the other one", first.place);
        diagnostic = first.imported_at.iter().fold(diagnostic, |d, place| d.note("imported here", *place));
        errors.push(match entry.place == first.place {
            true => diagnostic.help(
                "it is imported on two ways; to build a part once and use it in several, let a \
                 `ResourceAccumulator` name its Composition",
            ),
            false => diagnostic.help("give one of them another `metadata.name`"),
        });
    }
    Diagnostic::join(errors).map_or(Ok(()), Err)
}

/// Puts the list into the order that was written, which must name every transformer exactly once.
fn order(list: Vec<Listed>, wanted: &[krm_yaml::Spanned<Ordered>]) -> Result<Vec<Listed>> {
    if wanted.is_empty() {
        return Ok(list);
    }
    let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    list.iter().enumerate().for_each(|(at, e)| by_name.entry(e.identity.name.as_str()).or_default().push(at));
    let mut places: Vec<Option<usize>> = vec![None; list.len()];
    let mut errors = Vec::new();
    for (rank, ordered) in wanted.iter().enumerate() {
        let fits = |at: &&usize| {
            let identity = &list[**at].identity;
            (ordered.kind.is_empty() || ordered.kind == identity.kind)
                && (ordered.api_version.is_empty() || ordered.api_version == identity.api_version)
        };
        let named = by_name.get(ordered.name.as_str()).map_or(&[][..], Vec::as_slice);
        let fitting: Vec<usize> = named.iter().filter(fits).copied().collect();
        let error = |code, message| Diagnostic::error(code, message).at(ordered.span());
        match fitting[..] {
            _ if ordered.name.is_empty() => {
                let error = error("order-no-name", "an entry of the order needs a `name`".into());
                errors.push(error.help("add the `metadata.name` of a transformer as `name`"))
            }
            [] => {
                let diagnostic =
                    error("order-unknown", format!("there is no transformer `{}`", ordered.name));
                errors.push(match nearest(&ordered.name, by_name.keys().copied()) {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                });
            }
            [at] => match places[at] {
                None => places[at] = Some(rank),
                Some(first) => errors.push(
                    error("order-twice", format!("`{}` is named twice in the order", ordered.name))
                        .note("first named here", wanted[first].span())
                        .help("remove one of the two entries"),
                ),
            },
            [first, second, ..] => errors.push(
                error("order-ambiguous", format!("several transformers are called `{}`", ordered.name))
                    .note("one is here", list[first].place)
                    .note("another is here", list[second].place)
                    .help("add `kind` or `apiVersion` to say which one"),
            ),
        }
    }
    let missing: Vec<&Listed> =
        list.iter().zip(&places).filter(|(_, p)| p.is_none()).map(|(e, _)| e).collect();
    if errors.is_empty() && !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|entry| format!("`{}`", entry.identity.name)).collect();
        let message = format!("the order leaves out {}", names.join(", "));
        let diagnostic = Diagnostic::error("order-incomplete", message)
            .at(wanted[0].span().to(wanted[wanted.len() - 1].span()))
            .help("name every transformer in `transformerOrder`, or remove the field");
        errors
            .push(missing.iter().fold(diagnostic, |d, e| d.note(format!("{} is here", e.identity), e.place)));
    }
    Diagnostic::join(errors).map_or(Ok(()), Err)?;
    let mut ranked: Vec<(Option<usize>, Listed)> = places.into_iter().zip(list).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked.into_iter().map(|(_, entry)| entry).collect())
}
