//! `patches:` changes resources by strategic merge or by JSON patch, whichever the patch turns out to be.

use krm_yaml::{Diagnostic, Failure, Map, Node, Result, Seq, Span, Style, Tag, embedded};
use serde::Deserialize;

use super::patch_strategic_merge::{Changes, apply, find_target, warn_of_oddities};
use super::{Setup, read_config};
use crate::files::world::Loader;
use crate::patch::{Done, JsonPatch};
use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::resource::read;
use crate::resource::string_map::{set_strings, string_map};
use crate::schema::Schema;
use crate::select::resources::{Matcher, Selector};

/// Applies a patch, written here or in a file, to the resources that `target` chooses, or, of a strategic merge patch
/// without a target, to the resource it names.
///
/// ```yaml
/// patches:
/// - path: more-memory.yaml
/// - target: {kind: Deployment, labelSelector: tier=front}
///   patch: |-
///     - {op: replace, path: /spec/replicas, value: 3}
/// - patch: |-
///     $patch: delete
///     apiVersion: v1
///     kind: Service
///     metadata: {name: old}
/// ```
///
/// A list of operations is a [JSON patch](JsonPatch), anything else a partial resource that is merged: see
/// [`PatchStrategicMerge`](super::PatchStrategicMerge). A target that matches nothing is a warning. With `options:
/// {allowNameChange: true}` (or `allowKindChange`) a strategic merge patch may rename what it changes.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    patch: PatchForm,
    target: Option<Chosen>,
    may_change: Changes,
    place: Span,
}

#[derive(Clone, Debug)]
enum PatchForm {
    Merge(Vec<Resource>),
    Json(JsonPatch),
    /// Where nothing is.
    Empty(Span),
}

/// An entry of `patches:` or `patchesJson6902:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PatchSpec {
    pub path: Option<Node>,
    pub patch: Option<Node>,
    pub target: Option<Selector>,
    pub options: Option<Changes>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    path: Option<Node>,
    patch: Option<Node>,
    target: Option<Selector>,
    options: Option<Changes>,
}

impl Patch {
    /// Reads an entry of `patches:`.
    pub(crate) fn new(entry: &PatchSpec, place: Span, loader: &dyn Loader) -> Result<Self> {
        let PatchSpec { path, patch, target, options } = entry;
        let text = Text::new(path.as_ref(), patch.as_ref(), place)?;
        let patch = match classify(text.parse(loader)?).map_err(|d| text.noted(d))? {
            PatchForm::Merge(patches) if patches.is_empty() => {
                PatchForm::Empty(path.as_ref().or(patch.as_ref()).map_or(place, Node::span))
            }
            patch => patch,
        };
        let target = target.as_ref().map(|target| Chosen::new(target, place)).transpose()?;
        match &patch {
            PatchForm::Json(_) if target.is_none() => {
                Err(Diagnostic::error("json-patch-no-target", "a JSON patch does not say what it is for")
                    .at(place)
                    .help("add a `target:` with kind and name"))
            }
            PatchForm::Merge(patches) if target.is_some() && patches.len() > 1 => {
                let message = "several patches in one entry cannot share a target";
                Err(Diagnostic::error("patch-several", message)
                    .at(patches[1].span())
                    .help("split it into one entry each, or leave out the target: each names its resource"))
            }
            _ => Ok(Self { patch, target, may_change: options.unwrap_or_default(), place }),
        }
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { path, patch, target, options } = read_config(config)?;
        let entry = PatchSpec { path, patch, target, options };
        Ok(Box::new(Self::new(&entry, config.span(), &**setup.loader)?))
    }
}

/// A list is a JSON patch, unless there is nothing in it; all else must be resources.
fn classify(trees: Vec<Node>) -> Result<PatchForm> {
    match trees.first() {
        Some(first) if first.is_seq() && !first.is_empty() => JsonPatch::read(first).map(PatchForm::Json),
        _ => {
            let is_operation =
                trees.first().is_some_and(|tree| tree.get("op").or(tree.get("path")).is_some());
            let trees = trees.into_iter().filter(|tree| !tree.is_empty()).collect();
            let patches = read::of_trees(trees, &Schema::builtin());
            patches.map(PatchForm::Merge).map_err(|error| match error.failure() {
                Some(Failure::Incomplete) => no_kind(error.place(), is_operation),
                _ => error,
            })
        }
    }
}

fn no_kind(place: Span, is_operation: bool) -> Diagnostic {
    let error = Diagnostic::error("patch-no-kind", "this patch has no `kind`").at(place);
    match is_operation {
        true => error.help("a JSON patch is a list: put `- ` in front of each operation"),
        false => error.help("a patch has `apiVersion`, `kind` and `metadata.name`, with a `target` too"),
    }
}

impl Transformer for Patch {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        if let PatchForm::Merge(patches) = &self.patch {
            patches.iter().for_each(|patch| warn_of_oddities(patch.node(), cx));
        }
        match (&self.patch, &self.target) {
            (PatchForm::Empty(place), _) => {
                cx.warn(empty(*place));
                Ok(())
            }
            (PatchForm::Json(patch), Some(target)) => {
                patch.paths_without_slash().for_each(|warning| cx.warn(warning));
                let chosen = target.find(items, cx)?;
                items.edit_some(&chosen, |r| {
                    r.remember_id();
                    apply_json(patch, r, target, cx)
                })?;
                drop_deleted(items, &chosen);
                Ok(())
            }
            (PatchForm::Json(_), None) => {
                unreachable!("a JSON patch without a target is refused when it is read")
            }
            (PatchForm::Merge(patches), None) => {
                patches.iter().enumerate().try_for_each(|(number, patch)| {
                    let at = find_target(items, patch, cx)?;
                    // What it may change is noted in the patch's annotations.
                    // See quirk(patch-with-a-target-makes-null-text).
                    let annotated = self.may_change.name || self.may_change.kind;
                    let patch = as_text(patch.node(), if annotated { &["annotations"] } else { &[] }, cx);
                    items.edit_at(at, |r| apply(&patch, r, self.may_change, cx))?;
                    if patches.len() > 1 && !items.as_slice()[at].node().is_empty() {
                        cx.part(number, &items.as_slice()[at]);
                    }
                    drop_deleted(items, &[at]);
                    Ok(())
                })
            }
            (PatchForm::Merge(patches), Some(target)) => {
                let patch = patches.first().expect("one without any is `Empty`");
                let chosen = target.find(items, cx)?;
                let patch = as_text(patch.node(), &["labels", "annotations"], cx);
                items.edit_some(&chosen, |r| {
                    target.note(r, cx);
                    apply(&aimed(&patch, r), r, self.may_change, cx)
                })?;
                drop_deleted(items, &chosen);
                match self.may_change.name || self.may_change.kind {
                    true => {
                        items.refuse_duplicates().map_err(|d| d.note("renamed by this patch", self.place))
                    }
                    false => Ok(()),
                }
            }
        }
    }
}

/// The warning about a patch that has nothing in it, or nothing but comments.
pub(super) fn empty(place: Span) -> Diagnostic {
    Diagnostic::warning("patch-empty", "there is no patch in here")
        .at(place)
        .help("write the patch, or remove this entry")
}

/// Drops resources that a patch deleted, before anyone looks for them.
pub(super) fn drop_deleted(items: &mut Resources, changed: &[usize]) {
    if changed.iter().any(|at| items.as_slice()[*at].node().is_empty()) {
        items.drop_empty();
    }
}

/// The patch with all values of these maps made text.
// quirk(patch-with-a-target-makes-null-text): In a patch with a `target`, all labels and annotations become texts, and
// in one with `options` all annotations: a null there removes nothing, and is the text `null`.
// (`resource.Resource.CopyMergeMetaDataFieldsFrom`, kyaml `RNode.SetAnnotations`)
pub(super) fn as_text(patch: &Node, maps: &[&str], cx: &Context) -> Node {
    let mut patch = patch.clone();
    let Some(meta) = patch.get_mut("metadata").filter(|_| !maps.is_empty()) else { return patch };
    for key in maps {
        for entry in meta.get(key).and_then(Node::as_map).into_iter().flatten().filter(|e| e.value.is_null())
        {
            let name = entry.key.text().unwrap_or_default();
            let message = format!("`{name}` is not removed: this null becomes a text in {key}");
            cx.warn(
                Diagnostic::warning("patch-null-as-text", message)
                    .at(entry.value.span())
                    .help("to remove it, use a JSON patch, or `patches:` without `target` and `options`"),
            );
        }
        let map = string_map(meta, key);
        set_strings(meta, key, map);
    }
    patch
}

/// The patch with the version of the resource a target chose for it: only the kind may be another.
fn aimed(patch: &Node, r: &Resource) -> Node {
    let mut patch = patch.clone();
    if let Some(version) = r.node().get("apiVersion")
        && patch.get("apiVersion").map(Node::text) != Some(version.text())
    {
        patch.set("apiVersion", version.clone());
    }
    patch
}

/// Applies a JSON patch to a resource.
pub(super) fn apply_json(patch: &JsonPatch, r: &mut Resource, chosen: &Chosen, cx: &Context) -> Result<()> {
    let (id, span, track) = (r.id().clone(), r.span(), r.track);
    // quirk(json-patch-finds-annotations): While it is built, a resource has annotations that say what it was called. A
    // JSON patch can therefore add to `/metadata/annotations` even if the resource has none of its own.
    // (`resource.Resource.StorePreviousId`)
    let has_some = r.is_remembered();
    let patched = r.edit(cx.schema, |root| {
        let made = has_some && make_annotations(root);
        let mut done = |number: usize, root: &Node| {
            cx.note(track, Span::NONE, || Cause::Matched { asked: chosen.place, met: span });
            cx.note(track, Span::NONE, || Cause::Patched { operation: patch.applied(number, root) });
            // What the last one left is what the step left.
            if number + 1 < patch.len() {
                let mut root = root.clone();
                if made {
                    without_empty_annotations(&mut root);
                }
                cx.part_of(number, track, &root, &id);
            }
        };
        let done: Option<Done> = if cx.trace.is_some() { Some(&mut done) } else { None };
        patch.apply(root, &mut |warning| cx.warn(warning.note(format!("patching {id}"), span)), done)?;
        if made {
            without_empty_annotations(root);
        }
        Ok(())
    });
    patched.map_err(|d: Diagnostic| d.note(format!("patching {id}"), span))?;
    r.shared.clear();
    if patch.sweeps_annotations() {
        // quirk(json-patch-drops-origins): Where a resource came from is an annotation while it is built. A patch that
        // removes all annotations removes that too. (`resource.Resource.SetOrigin`)
        (r.origin, r.transformations) = (None, Vec::new());
    }
    match r.name().is_empty() || r.kind().is_empty() {
        false => Ok(()),
        true => Err(Diagnostic::error(
            "json-patch-identity",
            format!("the patch leaves {id} without a kind or a name"),
        )
        .at(chosen.place)
        .note("it is this one", span)
        .help("to remove a resource, use a strategic merge patch with `$patch: delete`")),
    }
}

/// Gives a resource annotations if it has none; says whether it did.
fn make_annotations(root: &mut Node) -> bool {
    let Some(meta) = root.get("metadata").filter(|meta| meta.is_map()) else { return false };
    let missing = meta.get("annotations").is_none_or(Node::is_null);
    if missing && let Some(meta) = root.get_mut("metadata") {
        meta.map_at("annotations");
    }
    missing
}

fn without_empty_annotations(root: &mut Node) {
    if root.at(["metadata", "annotations"]).is_some_and(Node::is_empty) {
        root.get_mut("metadata").and_then(|meta| meta.remove("annotations"));
    }
}

/// A target, ready for use.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    matcher: Matcher,
    pub place: Span,
}

impl Chosen {
    pub(crate) fn new(target: &Selector, place: Span) -> Result<Self> {
        Ok(Self { matcher: target.compile().map_err(|d| d.at(place))?, place })
    }

    /// Says that a resource was chosen.
    pub(crate) fn note(&self, r: &Resource, cx: &Context) {
        cx.note(r.track, Span::NONE, || Cause::Matched { asked: self.place, met: r.span() });
    }

    /// Where the chosen resources are; a warning if there are none.
    pub(crate) fn find(&self, items: &Resources, cx: &Context) -> Result<Vec<usize>> {
        let found = self.matcher.select(items).map_err(|d| d.at(self.place))?;
        if found.is_empty() {
            let miss = self.matcher.miss(
                "the target of this patch matches no resource",
                "use names as they are written in the base, before any prefix or suffix",
                items,
            );
            let warning =
                Diagnostic::warning("patch-target-no-match", miss.message).failing(Failure::NoMatch);
            let warning = warning.at(miss.place).at(self.place).help(miss.help);
            cx.warn(miss.fix.into_iter().fold(warning, Diagnostic::fix));
        }
        Ok(found)
    }
}

/// The text of a patch: written here, or in a file.
pub(super) enum Text<'n> {
    Inline(&'n Node),
    File(&'n Node),
}

impl<'n> Text<'n> {
    /// One of the two must be given, and not both.
    pub(crate) fn new(path: Option<&'n Node>, inline: Option<&'n Node>, place: Span) -> Result<Self> {
        let mut given = [path, inline].into_iter().flatten();
        if let Some(other) = given.find(|node| node.as_str().is_none() && !node.is_null()) {
            let message = format!("expected a text, found {}", other.kind_name());
            return Err(Diagnostic::error("patch-not-a-text", message)
                .at(other.span())
                .help("write the patch as a text: put `|-` after `patch:` and indent what follows"));
        }
        let given =
            |node: Option<&'n Node>| node.filter(|node| !node.text().unwrap_or_default().trim().is_empty());
        match (given(path), given(inline)) {
            (Some(path), None) => Ok(Text::File(path)),
            (None, Some(inline)) => Ok(Text::Inline(inline)),
            (Some(path), Some(_)) => {
                Err(Diagnostic::error("patch-twice", "a patch is given both as a file and as a text")
                    .at(path.span())
                    .help("split it into two entries"))
            }
            (None, None) => Err(Diagnostic::error("patch-missing", "there is no patch in this entry")
                .at(place)
                .help("name a file with `path`, or write the patch after `patch: |-`")),
        }
    }

    /// The documents of the patch.
    // quirk(patch-is-trimmed): White space around an inline patch is left out before anything is made of it.
    // (`PatchTransformerPlugin.Config`)
    pub(crate) fn parse(&self, loader: &dyn Loader) -> Result<Vec<Node>> {
        match self {
            Text::Inline(text) => {
                let written = text.text().unwrap_or_default().trim();
                embedded::parse_trimmed(text, loader.source(text.span()).as_ref())
                    .or_else(|error| read_as_json(written, text.span(), error))
            }
            Text::File(_) => self.parse_whole(loader),
        }
    }

    /// The same, with all white space.
    pub(crate) fn parse_whole(&self, loader: &dyn Loader) -> Result<Vec<Node>> {
        match self {
            Text::Inline(text) => {
                let written = text.text().unwrap_or_default();
                embedded::parse(text, loader.source(text.span()).as_ref())
                    .or_else(|error| read_as_json(written, text.span(), error))
            }
            Text::File(path) => {
                let source = loader.load(path.text().unwrap_or_default(), path.span())?;
                match krm_yaml::parse(&source) {
                    Ok(documents) => Ok(documents.into_iter().map(|document| document.root).collect()),
                    Err(error) => read_as_json(source.text(), path.span(), self.noted(error)),
                }
            }
        }
    }

    /// A mistake in a file, with the place that names the file.
    pub(crate) fn noted(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self {
            Text::Inline(text) => diagnostic.at(text.span()),
            Text::File(path) => diagnostic.note("included here", path.span()),
        }
    }
}

/// Reads a text in brackets that is not YAML.
// quirk(json-patch-as-json): A JSON patch that begins with a bracket is read as JSON, others as YAML. JSON may escape
// slashes and write a character as a pair of surrogates. (`PatchTransformer.jsonPatchFromBytes`)
fn read_as_json(text: &str, place: Span, error: Diagnostic) -> Result<Vec<Node>> {
    let read = || serde_json::from_str(text).ok().filter(|_| text.starts_with('['));
    read().map(|value| vec![tree_of(value, place)]).ok_or(error)
}

fn tree_of(value: serde_json::Value, place: Span) -> Node {
    use serde_json::Value;
    let node = match value {
        Value::Null => Node::null(),
        Value::Bool(value) => Node::from(value),
        Value::Number(number) => {
            let tag = if number.is_f64() { Tag::Float } else { Tag::Int };
            Node::scalar(number.to_string(), tag, Style::Any, place)
        }
        Value::String(text) => Node::string(text),
        Value::Array(items) => {
            Node::from(items.into_iter().map(|item| tree_of(item, place)).collect::<Seq>())
        }
        Value::Object(fields) => {
            let mut map = Map::new();
            fields.into_iter().for_each(|(key, value)| map.push(Node::from(key), tree_of(value, place)));
            Node::from(map)
        }
    };
    node.with_span(place)
}
