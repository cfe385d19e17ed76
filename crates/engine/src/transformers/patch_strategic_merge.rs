//! `patchesStrategicMerge:` merges partial resources into those of the same name.

use krm_yaml::{Diagnostic, Failure, Node, Result, Span, embedded, nearest};
use serde::Deserialize;

use super::patch::{as_text, drop_deleted, empty};
use super::patch_elements::warn_of_elements;
use super::{Setup, read_config};
use crate::files::world::Loader;
use crate::merge::{Alignment, Merged, Options, two_way, two_way_aligned};
use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;
use crate::resource::read;
use crate::resource::{Resource, ResourceId};
use crate::schema::Schema;

/// Merges each patch into the resource it names by apiVersion, kind, name and namespace, as they are now or once were.
///
/// ```yaml
/// patchesStrategicMerge:
/// - more-memory.yaml
/// - |-
///   apiVersion: apps/v1
///   kind: Deployment
///   metadata: {name: web}
///   spec: {replicas: 3}
/// ```
///
/// Maps are merged, lists too where the Kubernetes types say by what key; `null` removes a field, and `$patch: delete`
/// what it is in, be it the whole resource. Name, kind and namespace stay. The field is deprecated: `patches` does the
/// same, and more.
#[derive(Clone, Debug)]
pub(crate) struct PatchStrategicMerge {
    patches: Vec<Resource>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    paths: Vec<Node>,
    patches: Option<Node>,
}

impl PatchStrategicMerge {
    /// Reads the patches; each entry is one itself, or the path of a file with some.
    pub(crate) fn new(entries: &[Node], loader: &dyn Loader) -> Result<Self> {
        let mut patches = Vec::new();
        for entry in entries {
            patches.extend(read_entry(entry, loader)?);
        }
        Self::of(patches, entries.first().map_or(Span::NONE, Node::span))
    }

    fn of(patches: Vec<Resource>, place: Span) -> Result<Self> {
        match patches.is_empty() {
            true => Err(empty(place).into_error()),
            false => Ok(Self { patches }),
        }
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { paths, patches: inline } = read_config(config)?;
        if paths.is_empty() && inline.is_none() {
            return Err(Diagnostic::error("patch-nothing-given", "neither `paths` nor `patches` is given")
                .at(config.span())
                .help("list files under `paths`, or write patches under `patches: |-`"));
        }
        let mut patches = Vec::new();
        for path in &paths {
            patches.extend(read_entry(path, &**setup.loader)?);
        }
        if let Some(inline) = &inline {
            patches.extend(read_inline(inline, &**setup.loader)?);
        }
        Ok(Box::new(Self::of(patches, config.span())?))
    }
}

fn read_inline(text: &Node, loader: &dyn Loader) -> Result<Vec<Resource>> {
    let trees = embedded::parse(text, loader.source(text.span()).as_ref())?;
    read::of_trees(trees, &Schema::builtin())
}

/// A patch, or the path of a file.
// quirk(patch-or-path): An entry of `patchesStrategicMerge` is a patch, or if it cannot be read as one, the path of a
// file. (`PatchStrategicMergeTransformer.loadFromPaths`)
fn read_entry(entry: &Node, loader: &dyn Loader) -> Result<Vec<Resource>> {
    let Some(text) = entry.as_str() else {
        let message = format!("expected a path or a patch as a text, found {}", entry.kind_name());
        return Err(Diagnostic::error("patch-entry", message)
            .at(entry.span())
            .help("put `|-` in front of the patch and indent it"));
    };
    let inline = match text.contains(['\n', ':', '{']) {
        true => Some(read_inline(entry, loader)),
        false => None,
    };
    match inline {
        Some(Ok(patches)) => Ok(patches),
        // Several lines are not a path: then it is the patch that has the fault.
        Some(Err(error)) if text.trim_end().contains('\n') => Err(error),
        _ => {
            let named_here = |d: Diagnostic| d.note("included here", entry.span());
            let source = loader.load(text, entry.span())?;
            read::read(&source, &Schema::builtin()).map_err(named_here)
        }
    }
}

impl Transformer for PatchStrategicMerge {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        for (number, patch) in self.patches.iter().enumerate() {
            warn_of_oddities(patch.node(), cx);
            let at = find_target(items, patch, cx)?;
            let patch = as_text(patch.node(), &["labels", "annotations"], cx);
            items.edit_at(at, |r| apply(&patch, r, Changes::default(), cx))?;
            if self.patches.len() > 1 && !items.as_slice()[at].node().is_empty() {
                cx.part(number, &items.as_slice()[at]);
            }
            drop_deleted(items, &[at]);
        }
        Ok(())
    }
}

/// Warns of what a patch probably does not mean: directives that are none, and characters that only look like spaces.
pub(super) fn warn_of_oddities(patch: &Node, cx: &Context) {
    warn_of_directives(patch, cx);
    krm_yaml::odd_spaces_in(patch).into_iter().for_each(|warning| cx.warn(warning));
}

/// Warns of directives of strategic merge patches that have no effect.
// quirk(patch-directives-as-fields): `$setElementOrder`, `$deleteFromPrimitiveList` and `$retainKeys` are fields like
// any other, and stay in the output. (kyaml `merge2.Merge` knows `$patch` alone)
fn warn_of_directives(patch: &Node, cx: &Context) {
    for entry in patch.as_map().into_iter().flatten() {
        let key = entry.key.text().unwrap_or_default();
        if key == "$retainKeys"
            || key.starts_with("$setElementOrder/")
            || key.starts_with("$deleteFromPrimitiveList/")
        {
            cx.warn(
                Diagnostic::warning(
                    "patch-directive-ignored",
                    format!("`{key}` has no effect, and stays in the output"),
                )
                .at(entry.key.span())
                .help("use `$patch: replace` or `$patch: delete`, or a JSON patch"),
            );
        }
        warn_of_directives(&entry.value, cx);
    }
    patch.items().iter().for_each(|item| warn_of_directives(item, cx));
}

/// What of a resource's identity a patch may change.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Changes {
    #[serde(rename = "allowNameChange")]
    pub name: bool,
    #[serde(rename = "allowKindChange")]
    pub kind: bool,
}

/// The one resource a patch names.
pub(super) fn find_target(items: &Resources, patch: &Resource, cx: &Context) -> Result<usize> {
    let id = ResourceId::of(patch.node(), cx.schema);
    let found = items.find_any(&id).iter().map(|at| *at as usize);
    let mut found = found.filter(|at| !items.as_slice()[*at].node().is_empty());
    match (found.next(), found.next()) {
        (Some(at), None) => {
            let r = &items.as_slice()[at];
            cx.note(r.track, Span::NONE, || Cause::Matched { asked: patch.span(), met: r.span() });
            Ok(at)
        }
        (Some(first), Some(second)) => {
            let (first, second) = (&items.as_slice()[first], &items.as_slice()[second]);
            Err(Diagnostic::error(
                "patch-ambiguous",
                format!("this patch matches several resources called {id}"),
            )
            .at(patch.span())
            .note(format!("{} is one", first.id()), first.span())
            .note(format!("{} is another", second.id()), second.span())
            .help("name one of them with `patches` and `target`"))
        }
        (None, _) => Err(no_target(items, patch, &id)),
    }
}

/// Says what of a patch matches no resource: its kind, its name, or only its version or namespace.
fn no_target(items: &Resources, patch: &Resource, id: &ResourceId) -> Diagnostic {
    let at = |path: &[&str]| patch.node().at(path.iter().copied()).map_or(patch.span(), Node::span);
    let error = Diagnostic::error("patch-no-match", format!("no resource matches the patch of {id}"))
        .failing(Failure::NoMatch);
    let of_kind = || items.iter().filter(|r| r.kind() == id.gvk.kind);
    let same_name = |r: &&Resource| r.name() == id.name || r.original_id().name == id.name;
    if let Some(same) = of_kind().find(same_name) {
        let error = match same.gvk() == &id.gvk {
            true if id.namespace.is_empty() => error.at(at(&["metadata", "name"])),
            true => error.at(at(&["metadata", "namespace"])),
            false => error.at(at(&["apiVersion"])),
        };
        let advice = match same.gvk() == &id.gvk {
            true => format!("the resource is in namespace `{}`", same.id().effective_namespace()),
            false => format!("the resource has `apiVersion: {}`", same.gvk().api_version()),
        };
        return error.note("this one has the same kind and name", same.span()).help(advice);
    }
    if of_kind().next().is_none() {
        let error = error.at(at(&["kind"]));
        return match nearest(&id.gvk.kind, items.iter().map(Resource::kind)) {
            Some(near) => error.help(format!("did you mean `kind: {near}`?")),
            None => error.help(format!("there is no {} among the resources", id.gvk.kind)),
        };
    }
    let error = error.at(at(&["metadata", "name"]));
    match nearest(&id.name, of_kind().flat_map(|r| [r.name(), r.original_id().name.as_str()])) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(
            "a patch has the apiVersion, kind, name and namespace of its resource; to choose others, use `target`",
        ),
    }
}

/// Merges a patch into a resource, which keeps its namespace, and its name and kind where they may not change.
pub(super) fn apply(patch: &Node, r: &mut Resource, may_change: Changes, cx: &Context) -> Result<()> {
    if may_change.name || may_change.kind {
        r.remember_id();
    }
    if let Some(directive) = patch.get("$patch").filter(|directive| directive.text() == Some("replace")) {
        // quirk(replacing-a-resource-has-no-effect): A patch with `$patch: replace` at its top changes nothing: what
        // comes of it is a new tree, and the build goes on with the old one. (`resource.Resource.ApplyFilter`)
        cx.warn(
            Diagnostic::warning(
                "patch-replaces-nothing",
                "a patch cannot replace a whole resource; this one has no effect",
            )
            .at(directive.span())
            .help("put `$patch: replace` into the field it is for; to replace all, leave out the resource"),
        );
        return Ok(());
    }
    warn_of_elements(patch, r, cx);
    let merged = match cx.trace {
        None => two_way(patch, r.node(), cx.schema, Options::PATCH),
        Some(_) => {
            let mut aligned = Alignment::default();
            let merged = two_way_aligned(patch, r.node(), cx.schema, &mut aligned);
            cx.note(r.track, Span::NONE, || Cause::Merged { patch: patch.clone(), aligned: aligned.into() });
            merged
        }
    };
    let mut node = match merged {
        Ok(Merged::Same) => return Ok(()),
        Ok(Merged::Changed(node)) if !node.is_empty() => node,
        Ok(_) => Node::null(),
        Err(error) => return Err(error.at(patch.span()).note(format!("patching {}", r.id()), r.span())),
    };
    if !node.is_null() {
        let old = r.node();
        if !may_change.kind {
            restore(&mut node, old.get("kind"), "kind");
        }
        let (name, namespace) = (old.at(["metadata", "name"]), old.at(["metadata", "namespace"]));
        let moved =
            |key, old: Option<&Node>| node.at(["metadata", key]).map(Node::text) != old.map(Node::text);
        let renamed = !may_change.name && moved("name", name);
        if (renamed || moved("namespace", namespace))
            && let Some(metadata) = node.map_at("metadata")
        {
            if renamed {
                restore(metadata, name, "name");
            }
            restore(metadata, namespace, "namespace");
        }
    }
    r.edit(cx.schema, |root| *root = node);
    r.follow_shared();
    Ok(())
}

fn restore(map: &mut Node, old: Option<&Node>, key: &str) {
    match old {
        Some(old) if map.get(key).map(Node::text) == Some(old.text()) => {}
        Some(old) => map.set(key, old.clone()),
        None => drop(map.remove(key)),
    }
}
