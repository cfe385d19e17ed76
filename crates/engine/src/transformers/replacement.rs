//! `replacements:` copies a value from one resource into fields of others.

mod embedded;
mod field;

use krm_yaml::de::{from_node_with, strict};
use krm_yaml::path::{self, Path, Rules, Segment};
use krm_yaml::{Diagnostic, Failure, Node, Result, Span, Spanned, Style, Text, resolve};
use serde::Deserialize;

use self::embedded::Outcome;
use self::field::{Edit, FieldPath};
use super::Setup;
use crate::files::world::Loader;
use crate::limits;
use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::list::{Names, Resources};
use crate::resource::{Resource, ResourceId, lenient};
use crate::select::near_miss::{NearMiss, Part};
use crate::select::resources::{Matcher, Selector};

/// Copies values from a source into fields of targets.
///
/// ```yaml
/// replacements:
/// - source: {kind: ConfigMap, name: settings, fieldPath: data.host}
///   targets:
///   - select: {kind: Deployment}
///     fieldPaths: ["spec.template.spec.containers.[name=web].env.[name=HOST].value"]
/// - path: more-replacements.yaml
/// ```
///
/// A path leads through maps by name, through lists by index, `[name=value]` or `*`, and on into JSON or YAML held in a
/// string. `options` cut a value at a `delimiter` and choose the part at `index`; `create` makes what is missing. The type
/// of a field that is there stays: a number written into a string remains a string.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replacements(Vec<Rule>);

/// One entry of `replacements:`, or of a file that `path` names.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Replacement {
    pub path: Option<Spanned<Text>>,
    pub source: Option<Spanned<Source>>,
    pub source_value: Option<Spanned<Text>>,
    pub targets: Option<Vec<Spanned<ReplacementTarget>>>,
}

/// Where a value comes from. Empty fields match anything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Source {
    #[serde(deserialize_with = "strict")]
    pub group: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub version: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub kind: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub name: Spanned<Text>,
    #[serde(deserialize_with = "strict")]
    pub namespace: Spanned<Text>,
    pub field_path: Option<Spanned<Text>>,
    pub options: FieldOptions,
}

/// Where a value goes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ReplacementTarget {
    pub select: Option<Selector>,
    pub reject: Vec<Selector>,
    pub field_paths: Vec<Spanned<Text>>,
    pub options: FieldOptions,
}

/// What part of a field is meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct FieldOptions {
    pub delimiter: Text,
    pub index: i64,
    // quirk(replacement-encoding-has-no-effect): `options.encoding` of a replacement is accepted and changes nothing.
    // (`types.FieldOptions`; `replacement.setFieldValue` does not read it)
    pub encoding: Text,
    pub create: bool,
}

impl Replacements {
    /// Takes the entries of a kustomization's `replacements:`, reading the files they name.
    pub(crate) fn new(entries: Vec<Spanned<Replacement>>, loader: &dyn Loader) -> Result<Self> {
        let mut rules = Vec::new();
        for Spanned { value: mut entry, span } in entries {
            // quirk(replacement-without-targets): `targets: []` in a kustomization is lost on its way to the
            // transformer, and counts as missing. (`types.Replacement.Targets` is `omitempty`)
            entry.targets = entry.targets.filter(|targets| !targets.is_empty());
            Self::add(entry, span, loader, &mut rules)?;
        }
        Ok(Self(rules))
    }

    fn add(entry: Replacement, span: Span, loader: &dyn Loader, rules: &mut Vec<Rule>) -> Result<()> {
        let Some(path) = entry.path.filter(|path| !path.is_empty()) else {
            let Replacement { source, source_value, targets, .. } = entry;
            rules.push(Rule::new(source, source_value, targets, span)?);
            return Ok(());
        };
        if entry.source.is_some() || entry.targets.is_some_and(|targets| !targets.is_empty()) {
            let message = "a replacement has both a path and its own source or targets";
            return Err(Diagnostic::error("replacement-path-and-inline", message)
                .at(path.span)
                .help("move what is written here into the file, or add a separate entry for it"));
        }
        let source = loader.load(&path, path.span)?;
        let Some(document) = krm_yaml::parse(&source)?.into_iter().next() else {
            return Err(not_replacements(&path, source.span(0, 0), "nothing"));
        };
        let root = &document.root;
        let items = match root {
            root if root.is_map() => std::slice::from_ref(root),
            root if root.is_seq() => root.items(),
            root => return Err(not_replacements(&path, root.span(), root.kind_name())),
        };
        for item in items {
            let entry: Replacement = from_node_with(item, lenient::NAMED_FILE.unknown_fields())?;
            rules.push(Rule::new(entry.source, entry.source_value, entry.targets, item.span())?);
        }
        Ok(())
    }

    /// Makes the built-in `ReplacementTransformer` from its configuration.
    pub(crate) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Config {
            replacements: Vec<Spanned<Replacement>>,
        }
        let config: Config = from_node_with(config, lenient::INLINED_CONFIGURATION)?;
        let mut rules = Vec::new();
        for Spanned { value, span } in config.replacements {
            Self::add(value, span, &**setup.loader, &mut rules)?;
        }
        Ok(Box::new(Self(rules)))
    }
}

/// Adds what is probably wrong with a path that leads nowhere: slashes for dots, brackets after a name, or a name that
/// differs by a letter.
fn path_advice(error: Diagnostic, path: &str, root: &Node) -> Diagnostic {
    if path.contains('/') && !path.contains(['.', '[']) {
        return error.help(format!("write `{}`: fields are separated by dots", path.replace('/', ".")));
    }
    if let Some(meant) = field::without_brackets(path) {
        return error.help(format!("write `{meant}`"));
    }
    let Ok(mut meant) = Path::dotted(path) else { return error };
    let mut node = root;
    for at in 0..meant.segments().len() {
        let segment = &meant.segments()[at];
        if let Ok(Some(below)) = path::first(&Spelling, std::slice::from_ref(segment), node) {
            node = below;
            continue;
        }
        match segment {
            Segment::Match(select) => {
                let values = node.items().iter().filter_map(|item| item.get(&select.key)?.text());
                if let Some(near) = krm_yaml::nearest(&select.value, values) {
                    return error.help(format!("did you mean `[{}={near}]`?", select.key));
                }
            }
            Segment::Key(name) => {
                let keys = node.as_map().into_iter().flatten().filter_map(|entry| entry.key.text());
                if let Some(near) = krm_yaml::nearest(name, keys) {
                    meant.0[at] = Segment::Key(near.into());
                    return error.help(format!("did you mean `{meant}`?"));
                }
            }
            _ => {}
        }
        return error;
    }
    error
}

/// How the start of a path is followed, to find out where it strays.
struct Spelling;

impl Rules for Spelling {
    const KEYS_INDEX: bool = true;
}

fn not_replacements(path: &Spanned<Text>, place: Span, found: &str) -> Diagnostic {
    Diagnostic::error("replacement-file", format!("`{path}` holds {found}, not replacements"))
        .at(place)
        .note("named here", path.span)
        .help("write one replacement, or a list of them")
}

impl Transformer for Replacements {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        for (at, rule) in self.0.iter().enumerate() {
            let entry = (self.0.len() > 1).then_some(at);
            rule.apply(entry, items, cx).map_err(|d| d.at(rule.span))?;
        }
        Ok(())
    }
}

/// A replacement, ready for use.
#[derive(Clone, Debug)]
struct Rule {
    from: From,
    targets: Vec<Place>,
    span: Span,
}

#[derive(Clone, Debug)]
enum From {
    Value(Node),
    Field(Box<Field>),
}

/// A field of another resource.
#[derive(Clone, Debug)]
struct Field {
    source: Spanned<Source>,
    path: FieldPath,
}

/// A target, ready for use.
#[derive(Clone, Debug)]
struct Place {
    select: Matcher,
    reject: Vec<Reject>,
    paths: Vec<FieldPath>,
    options: FieldOptions,
    span: Span,
}

#[derive(Clone, Debug)]
struct Reject {
    matcher: Matcher,
    by_id: bool,
    by_labels: bool,
}

const DEFAULT_PATH: &str = "metadata.name";

impl Rule {
    fn new(
        source: Option<Spanned<Source>>,
        value: Option<Spanned<Text>>,
        targets: Option<Vec<Spanned<ReplacementTarget>>>,
        span: Span,
    ) -> Result<Self> {
        let incomplete = || {
            let message = "a replacement needs a source and at least one target";
            Diagnostic::error("replacement-incomplete", message)
                .at(span)
                .help("write `source: {kind: ..., name: ..., fieldPath: ...}` and `targets:`")
        };
        let targets = targets.ok_or_else(incomplete)?;
        let from = match (source, value) {
            (None, None) => return Err(incomplete()),
            (Some(_), Some(_)) => {
                let message = "a replacement has both a `source` and a `sourceValue`";
                return Err(Diagnostic::error("replacement-two-sources", message)
                    .at(span)
                    .help("remove one of them"));
            }
            (None, Some(text)) => {
                let tag = resolve::plain(&text);
                From::Value(Node::scalar(text.value, tag, Style::Any, text.span))
            }
            (Some(source), None) => {
                let path = source.field_path.clone().filter(|path| !path.is_empty());
                let path = path.unwrap_or_else(|| Spanned::new(DEFAULT_PATH.into(), source.span));
                From::Field(Box::new(Field { source, path: FieldPath::new(path) }))
            }
        };
        let targets = targets.into_iter().map(Place::new).collect::<Result<_>>()?;
        Ok(Self { from, targets, span })
    }

    /// Copies the value. `entry` says which of several it is.
    fn apply(&self, entry: Option<usize>, items: &mut Resources, cx: &Context) -> Result<()> {
        let (mut value, source_at) = match &self.from {
            From::Value(node) => (node.clone(), None),
            From::Field(field) => {
                let at = field.find(items)?;
                (field.value(&items.as_slice()[at])?, Some(at))
            }
        };
        let mut copies = limits::Copies::default();
        for place in &self.targets {
            let targets = place.choose(items)?;
            if cx.trace.is_some() && !place.reject.is_empty() {
                place.note_rejected(items, cx)?;
            }
            if targets.is_empty() {
                let miss = place.select.miss(
                    "no resource matches the target of a replacement",
                    "kind, name and namespace are regular expressions that must match the whole text",
                    items,
                );
                let warning =
                    Diagnostic::warning("replacement-no-target", miss.message).failing(Failure::NoMatch);
                let warning = warning.at(miss.place).at(place.span).help(miss.help);
                cx.warn(miss.fix.into_iter().fold(warning, Diagnostic::fix));
            }
            for at in targets {
                for path in &place.paths {
                    copies.add(&value)?;
                    items.edit_at(at, |r| place.write(r, path, &value, cx))?;
                    let (track, met) = (items.as_slice()[at].track, items.as_slice()[at].span());
                    cx.note(track, path.span(), || Cause::Matched { asked: place.span, met });
                    cx.note(track, path.span(), || {
                        let source = match (&self.from, source_at) {
                            (From::Field(field), Some(from)) => {
                                Some((items.as_slice()[from].track, field.path.text().into()))
                            }
                            _ => None,
                        };
                        Cause::Copied { entry: self.span, source, path: path.span() }
                    });
                    // A source that is a target too passes on what it has become; one that was cut off, or a part of one,
                    // what it was.
                    if let (From::Field(field), true) = (&self.from, source_at == Some(at))
                        && field.source.options.delimiter.is_empty()
                        && let Ok(now) = field.value(&items.as_slice()[at])
                    {
                        value = now;
                    }
                }
                if let Some(entry) = entry {
                    cx.part(entry, &items.as_slice()[at]);
                }
            }
        }
        Ok(())
    }
}

fn fits(wanted: &Text, has: &Text) -> bool {
    wanted.is_empty() || wanted == has
}

/// Whether a kind has namespaces at all does not count here: `default` also finds what has none.
fn fits_namespace(wanted: &Text, has: &Text) -> bool {
    let default = |namespace: &Text| if namespace.is_empty() { "default".into() } else { namespace.clone() };
    wanted.is_empty() || default(wanted) == default(has)
}

impl Field {
    /// The one resource that is meant.
    fn find(&self, items: &Resources) -> Result<usize> {
        let names = if self.source.name.is_empty() { Names::All } else { Names::Exact(&self.source.name) };
        let candidates = items.candidates(names).into_iter();
        let mut fitting = candidates.filter(|at| items.as_slice()[*at].all_ids().any(|id| self.fits(id)));
        let Some(found) = fitting.next() else {
            let mut miss = self.miss(items);
            if items.is_empty() {
                miss.message = "this replacement has no source: there are no resources here".into();
                miss.help = "list the source under `resources:` of this kustomization, not only of those that include it".into();
            }
            return Err(Diagnostic::error("replacement-no-source", miss.message)
                .at(miss.place)
                .at(self.source.span)
                .help(miss.help));
        };
        match fitting.next() {
            None => Ok(found),
            Some(other) => {
                let (first, second) = (&items.as_slice()[found], &items.as_slice()[other]);
                Err(Diagnostic::error(
                    "replacement-many-sources",
                    "several resources match the source of a replacement",
                )
                .at(self.source.span)
                .note(format!("{} is one", first.id()), first.span())
                .note(format!("{} is another", second.id()), second.span())
                .help("add a kind, name or namespace that only one of them has"))
            }
        }
    }

    fn fits(&self, id: &ResourceId) -> bool {
        let Source { group, version, kind, name, namespace, .. } = &self.source.value;
        fits(name, &id.name)
            && fits_namespace(namespace, &id.namespace)
            && fits(kind, &id.gvk.kind)
            && fits(group, &id.gvk.group)
            && fits(version, &id.gvk.version)
    }

    /// Why no resource is the source.
    fn miss(&self, items: &Resources) -> NearMiss {
        let Source { group, version, kind, name, namespace, .. } = &self.source.value;
        let fits_id = |part: Part, id: &ResourceId| match part {
            Part::Kind => fits(kind, &id.gvk.kind),
            Part::Group => fits(group, &id.gvk.group),
            Part::Version => fits(version, &id.gvk.version),
            Part::Name => fits(name, &id.name),
            Part::Namespace => fits_namespace(namespace, &id.namespace),
            Part::ApiVersion | Part::Labels | Part::Annotations => true,
        };
        let parts = [
            (Part::Kind, kind),
            (Part::Group, group),
            (Part::Version, version),
            (Part::Name, name),
            (Part::Namespace, namespace),
        ];
        let fits = |part, r: &Resource| r.all_ids().any(|id| fits_id(part, id));
        let headline = "no resource is the source of this replacement";
        let advice = "names, kinds and namespaces of a source must be equal; no patterns here";
        NearMiss::new(headline, advice, &parts, &fits, items)
    }

    fn value(&self, r: &Resource) -> Result<Node> {
        let Some(node) = self.path.get(r.node())?.filter(|node| !node.is_empty()) else {
            let message = format!("{} has no field `{}`", r.id(), self.path.text());
            let diagnostic = Diagnostic::error("replacement-source-field", message)
                .at(self.path.span())
                .note("the source is defined here", r.span());
            return Err(path_advice(diagnostic, self.path.text(), r.node()));
        };
        let FieldOptions { delimiter, index, .. } = &self.source.options;
        if delimiter.is_empty() {
            return Ok(node.clone());
        }
        let Some(text) = node.text() else { return Err(not_a_scalar(self.path.span())) };
        let text = if node.is_null() { "" } else { text };
        let part = usize::try_from(*index).ok().and_then(|index| text.split(delimiter.as_str()).nth(index));
        let Some(part) = part else {
            let message = format!("`{text}` has no part {index} between `{delimiter}`");
            return Err(Diagnostic::error("replacement-index", message)
                .at(self.path.span())
                .help("parts are counted from 0"));
        };
        let mut node = node.clone();
        field::set_text(&mut node, part);
        Ok(node)
    }
}

fn not_a_scalar(place: Span) -> Diagnostic {
    Diagnostic::error("replacement-delimiter", "a map or a list cannot be cut with a `delimiter`").at(place)
}

impl Place {
    fn new(Spanned { value: target, span }: Spanned<ReplacementTarget>) -> Result<Self> {
        let Some(select) = target.select else {
            return Err(Diagnostic::error(
                "replacement-no-select",
                "a target does not say which resources are meant",
            )
            .at(span)
            .help("add `select: {kind: ..., name: ...}`; `select: {}` means all"));
        };
        let reject = |selector: Selector| {
            let by_labels = !selector.label_selector.is_empty() || !selector.annotation_selector.is_empty();
            Ok(Reject { matcher: selector.compile()?, by_id: !selector.has_no_id(), by_labels })
        };
        let mut paths = target.field_paths;
        if paths.is_empty() {
            paths.push(Spanned::new(DEFAULT_PATH.into(), span));
        }
        Ok(Self {
            select: select.compile().map_err(|d| d.at(span))?,
            reject: target.reject.into_iter().map(reject).collect::<Result<_>>()?,
            paths: paths.into_iter().map(FieldPath::new).collect(),
            options: target.options,
            span,
        })
    }

    /// Where the resources are that are meant. Any id they ever had may be.
    fn choose(&self, items: &Resources) -> Result<Vec<usize>> {
        let mut chosen = Vec::new();
        for at in items.candidates(self.select.names()) {
            let r = &items.as_slice()[at];
            if self.select.fits_labels(r)?
                && r.all_ids().any(|id| self.select.fits_id(id))
                && !self.rejects(r)?
            {
                chosen.push(at);
            }
        }
        Ok(chosen)
    }

    /// Says which resources would be meant if they were not rejected.
    fn note_rejected(&self, items: &Resources, cx: &Context) -> Result<()> {
        for at in items.candidates(self.select.names()) {
            let r = &items.as_slice()[at];
            if r.all_ids().any(|id| self.select.fits_id(id)) && self.rejects(r)? {
                cx.note(r.track, Span::NONE, || Cause::Rejected {
                    asked: self.span,
                    paths: self.paths.iter().map(|path| (path.span(), path.text().into())).collect(),
                });
            }
        }
        Ok(())
    }

    /// Whether a target is left out.
    // quirk(replacement-rejects-by-labels-or-id): A `reject` with a name and labels rejects what has either, not only
    // what has both. (`replacement.selectByAnnoAndLabel`, `TargetSelectorRegex.RejectsAny`)
    fn rejects(&self, r: &Resource) -> Result<bool> {
        for Reject { matcher, by_id, by_labels } in &self.reject {
            if *by_labels && matcher.fits_labels(r)? || *by_id && r.all_ids().any(|id| matcher.fits_id(id)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write(&self, r: &mut Resource, path: &FieldPath, value: &Node, cx: &Context) -> Result<()> {
        let id = r.id().clone();
        let place = r.span();
        let create = self.options.create.then(|| field::leaf_for(value));
        let brackets = create.and_then(|_| field::without_brackets(path.text()));
        let brackets = brackets.filter(|_| !matches!(path.get(r.node()), Ok(Some(_))));
        let mut set = |node: &mut Node| {
            self.warn_of_index(node, path.span(), cx);
            self.set(node, value, path.span())
        };
        let (found, misfit, lost) = r
            .edit(cx.schema, |root| {
                if let Outcome::Written { lost } = embedded::set(root, path, create, &mut set)? {
                    return Ok((1, false, lost));
                }
                let mut edit = Edit::new(create, path.span(), &mut set);
                let found = edit.walk(root, path.ways()?.edit.segments())?;
                Ok::<_, Diagnostic>((found, edit.misfit, edit.lost))
            })
            .map_err(|d| d.at(path.span()).note(format!("the target is {id}"), place))?;
        r.follow_shared();
        if found == 0 {
            let verb = if create.is_some() { "has and can get no" } else { "has no" };
            let error =
                Diagnostic::error("replacement-field", format!("{id} {verb} field `{}`", path.text()));
            let error = error.at(path.span()).note("the target is defined here", place);
            let error = path_advice(error, path.text(), r.node());
            return Err(match create.is_some() || !error.advice().is_empty() {
                true => error,
                false => error.help("`options: {create: true}` makes it"),
            });
        }
        if let Some(meant) = brackets {
            let message = format!("`{}` creates a field with brackets in its name", path.text());
            let warning = Diagnostic::warning("replacement-brackets", message).at(path.span());
            cx.warn(warning.note(format!("in {id}"), place).help(format!("write `{meant}`")));
        }
        if misfit {
            let message = format!(
                "`{}` is not of the type of field `{}`",
                value.text().unwrap_or_default(),
                path.text()
            );
            return Err(Diagnostic::error("replacement-type", message)
                .at(path.span())
                .note(format!("the field is one of {id}"), place)
                .help(
                    "a replacement changes a value, never its type: put the value in the target in quotes",
                ));
        }
        if lost {
            let message = format!(
                "nothing can be written to `{}` of {id}: it is under a null or in a text",
                path.text()
            );
            let warning = Diagnostic::warning("replacement-lost", message).at(path.span());
            cx.warn(warning.help("make the value above it a map in the target, or change the path"));
        }
        Ok(())
    }

    /// An index past the end of the parts adds one, wherever it points. The next one of a field that is created part by part
    /// is meant so.
    fn warn_of_index(&self, node: &Node, place: Span, cx: &Context) {
        let FieldOptions { delimiter, index, create, .. } = &self.options;
        let Some(old) = node.text().filter(|_| !delimiter.is_empty() && *index > 0) else { return };
        let parts = old.split(delimiter.as_str()).count();
        if usize::try_from(*index).is_ok_and(|index| index > parts || index == parts && !*create) {
            let message =
                format!("`{old}` has {parts} parts between `{delimiter}`, so index {index} adds one");
            let last = parts - 1;
            cx.warn(
                Diagnostic::warning("replacement-index-past-end", message)
                    .at(place)
                    .help(format!("the parts are counted from 0: the last one is {last}")),
            );
        }
    }

    /// Writes the value into a field; `false` if the field is of another type.
    fn set(&self, node: &mut Node, value: &Node, place: Span) -> Result<bool> {
        let FieldOptions { delimiter, index, .. } = &self.options;
        let mut text = value.text().unwrap_or_default().to_owned();
        if !delimiter.is_empty() {
            let Some(old) = node.text() else { return Err(not_a_scalar(place)) };
            let mut parts: Vec<&str> = old.split(delimiter.as_str()).collect();
            match usize::try_from(*index) {
                Err(_) => parts.insert(0, &text),
                Ok(index) if index >= parts.len() => parts.push(&text),
                Ok(index) => parts[index] = &text,
            }
            text = parts.join(delimiter);
        }
        if node.is_scalar() {
            node.set_span(place);
            return Ok(field::set_text(node, &text));
        }
        *node = value.clone().with_span(place);
        Ok(true)
    }
}
