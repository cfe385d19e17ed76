//! Choosing fields in resources; resources are chosen by a [`Selector`](crate::Selector).

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, OnceLock};

use krm_yaml::de::strict;
use krm_yaml::path::{self, Edits, Path, PathTree, Rules, Segment};
use krm_yaml::{Diagnostic, Node, Result, Span, Spanned, Text};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer};

use super::Gvk;
use crate::limits;

/// A field of some kinds of resources: `spec/template/metadata/labels` of every `Deployment`.
///
/// Sequences on the way are entered without being named; `containers[]` says that a sequence is expected.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FieldSpec {
    #[serde(deserialize_with = "strict")]
    pub group: Text,
    #[serde(deserialize_with = "strict")]
    pub version: Text,
    #[serde(deserialize_with = "strict")]
    pub kind: Text,
    pub path: FieldPath,
    pub create: bool,
}

/// What to put where a field is missing and the spec says `create`.
pub(crate) use krm_yaml::path::Leaf as Create;

impl FieldSpec {
    /// The field of every kind.
    pub(crate) fn new(path: &str) -> Self {
        Self { path: FieldPath::new(path), ..Self::default() }
    }

    /// The same, made if it is missing.
    pub(crate) fn created(path: &str) -> Self {
        Self { create: true, ..Self::new(path) }
    }

    /// Whether resources of this kind are meant.
    pub(crate) fn fits(&self, gvk: &Gvk) -> bool {
        let fits = |wanted: &Text, has: &Text| wanted.is_empty() || wanted == has;
        fits(&self.kind, &gvk.kind) && fits(&self.group, &gvk.group) && fits(&self.version, &gvk.version)
    }

    /// Whether this spec matches another one that is read as a pattern.
    fn covered_by(&self, other: &FieldSpec) -> bool {
        let fits = |wanted: &Text, has: &Text| wanted.is_empty() || wanted == has;
        self.path == other.path
            && fits(&other.kind, &self.kind)
            && fits(&other.group, &self.group)
            && fits(&other.version, &self.version)
    }

    /// Calls `edit` on every node the path leads to, whatever the tree's kind. What is missing is made if the spec says
    /// `create` and `create` says what; otherwise it is passed over.
    pub(crate) fn edit(
        &self,
        root: &mut Node,
        create: Option<Create>,
        edit: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        self.path.edit(root, create.filter(|_| self.create), edit)
    }

    /// Calls `see` on every node the path leads to, and on a null where it expects a list. Fails where [`edit`](Self::edit)
    /// would.
    pub(crate) fn visit<'n>(
        &self,
        root: &'n Node,
        see: &mut dyn FnMut(&'n Node) -> Result<()>,
    ) -> Result<()> {
        self.path.visit(root, see)
    }
}

/// A path with slashes between names, split once; `\/` is a slash within a name.
#[derive(Clone, Default)]
pub(crate) struct FieldPath {
    text: Text,
    /// Split when it is first followed: most of the built-in ones never are.
    path: OnceLock<Arc<Path>>,
    /// Where it was written; nothing for the built-in ones.
    span: Span,
}

/// How field specs are followed: a scalar on the path is an error, and so are empty names.
struct Spec;

impl Rules for Spec {
    #[cold]
    fn mismatch(&self, _: &Segment, node: &Node) -> Result<()> {
        let message = format!("expected a map or a list, found {}", node.kind_name());
        Err(Diagnostic::error("field-not-a-container", message)
            .at(node.span())
            .help("correct the value here, or the path of the field spec"))
    }

    #[inline]
    fn allow(&self, segment: &Segment) -> Result<()> {
        match segment {
            Segment::Field(name) if name.len() > 1 => Ok(()),
            Segment::Field(name) if name.is_empty() => {
                Err(empty_name("a field spec has an empty field name"))
            }
            Segment::Field(name) if name == "*" => {
                Err(Diagnostic::error("field-spec-wildcard", "a field spec cannot have `*` in its path")
                    .help("name each field; lists on the way are entered by themselves"))
            }
            _ => Ok(()),
        }
    }
}

fn empty_name(message: &str) -> Diagnostic {
    Diagnostic::error("field-spec-empty-name", message)
        .help("write the path as names with single slashes between them: `spec/template/metadata`")
}

/// An edit at the end of a field spec.
struct SpecEdit<'e> {
    create: Option<Create>,
    edit: &'e mut dyn FnMut(&mut Node) -> Result<()>,
}

impl Rules for SpecEdit<'_> {
    fn mismatch(&self, segment: &Segment, node: &Node) -> Result<()> {
        Spec.mismatch(segment, node)
    }

    #[inline]
    fn allow(&self, segment: &Segment) -> Result<()> {
        Spec.allow(segment)
    }
}

impl Edits for SpecEdit<'_> {
    const FILLS_NULL: bool = true;

    fn leaf(&mut self, node: &mut Node) -> Result<()> {
        (self.edit)(node)
    }

    fn create(&self) -> Option<Create> {
        self.create
    }
}

impl FieldPath {
    pub(crate) fn new(text: impl Into<Text>) -> Self {
        Self { text: text.into(), path: OnceLock::new(), span: Span::NONE }
    }

    /// The same path, written at a place.
    pub(crate) fn with_span(self, span: Span) -> Self {
        Self { span, ..self }
    }

    fn path(&self) -> &Path {
        self.path.get_or_init(|| Arc::new(Path::slashed_loosely(&self.text)))
    }

    fn segments(&self) -> &[Segment] {
        self.path().segments()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Where it is written; `NONE` for one that is built in.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Calls `edit` on every node the path leads to; what is missing is made if `create` says what.
    pub(crate) fn edit(
        &self,
        root: &mut Node,
        create: Option<Create>,
        edit: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        let edited = path::edit(&mut SpecEdit { create, edit }, self.segments(), root);
        edited.map(drop).map_err(|d| self.explain(d, root))
    }

    /// Calls `see` on every node the path leads to, and on a null where it expects a list. Fails where
    /// [`edit`](Self::edit) would.
    pub(crate) fn visit<'n>(
        &self,
        root: &'n Node,
        see: &mut dyn FnMut(&'n Node) -> Result<()>,
    ) -> Result<()> {
        let mut see = |node: &'n Node, (): &()| see(node).map(ControlFlow::Continue);
        path::visit(&Spec, self.segments(), root, &mut (), &mut see)
            .map(drop)
            .map_err(|d| self.explain(d, root))
    }

    /// Says what was looked for, and in which resource, when something was wrong.
    #[cold]
    fn explain(&self, d: Diagnostic, root: &Node) -> Diagnostic {
        if self.text.is_empty() {
            return empty_name("a field spec has no `path`").at(self.span);
        }
        let d = d.at(self.span);
        let place = if d.place() == self.span { Span::NONE } else { self.span };
        let kind = root.get("kind").and_then(Node::text);
        let name = root.at(["metadata", "name"]).and_then(Node::text);
        let of = match (kind, name) {
            (Some(kind), Some(name)) => format!(" of {kind} `{name}`"),
            _ => String::new(),
        };
        d.note(format!("while looking for the field `{self}`{of}"), place)
    }
}

/// Many paths, to be asked at once which of them matter.
pub(crate) struct FieldPaths(PathTree);

impl<'p> FromIterator<&'p FieldPath> for FieldPaths {
    fn from_iter<I: IntoIterator<Item = &'p FieldPath>>(paths: I) -> Self {
        Self(paths.into_iter().map(FieldPath::path).collect())
    }
}

impl FieldPaths {
    /// The numbers of the paths that lead anywhere in a tree, in order. Those that [fail](FieldPath::visit) are among them.
    pub(crate) fn reaching(&self, root: &Node) -> Vec<usize> {
        self.0.reaching(&Spec, root)
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for FieldPath {}

impl std::fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for FieldPath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Spanned::<Text>::deserialize(from)?;
        if limits::is_too_long(text.matches('/').count()) {
            return Err(serde::de::Error::custom("the path has more names than any tree is deep"));
        }
        Ok(Self { span: text.span, ..Self::new(text.value) })
    }
}

/// Field specs in order, found by kind. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FieldSpecs(Arc<List>);

struct List {
    /// Read when they are first needed: most builds need few of the built-in ones.
    specs: LazyLock<Vec<FieldSpec>, Box<dyn FnOnce() -> Vec<FieldSpec> + Send>>,
    by_kind: OnceLock<ByKind>,
    /// There are some, and no two are for the same field of the same kinds, so that merging them one by one changes
    /// nothing.
    built_in: bool,
}

/// Indices into the list, in its order.
struct ByKind {
    of: FxHashMap<Text, Vec<u32>>,
    /// For kinds that no spec names.
    others: Vec<u32>,
}

/// Lists up to this length are searched one by one: that is quicker than building an index first.
const SHORT: usize = 16;

impl FieldSpecs {
    pub(crate) fn new(specs: Vec<FieldSpec>) -> Self {
        let read = Box::new(|| specs);
        Self(Arc::new(List { specs: LazyLock::new(read), by_kind: OnceLock::new(), built_in: false }))
    }

    /// A list that is read when it is first needed. It must not be empty, and [merging](FieldSpecs::merged) it into an
    /// empty one must lose nothing.
    pub(crate) fn built_in(read: impl FnOnce() -> Vec<FieldSpec> + Send + 'static) -> Self {
        let read = Box::new(read);
        Self(Arc::new(List { specs: LazyLock::new(read), by_kind: OnceLock::new(), built_in: true }))
    }

    pub(crate) fn as_slice(&self) -> &[FieldSpec] {
        &self.0.specs
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.0.built_in && self.0.specs.is_empty()
    }

    /// Whether one of them ends in a field with one of these names.
    pub(crate) fn lead_to(&self, names: &[&str]) -> bool {
        self.0
            .specs
            .iter()
            .any(|spec| spec.path.as_str().rsplit('/').next().is_some_and(|last| names.contains(&last)))
    }

    /// Whether both are one list, and not only equal.
    pub(crate) fn same(&self, other: &FieldSpecs) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Those that are meant for a kind, in order.
    pub(crate) fn fitting<'s>(&'s self, gvk: &Gvk) -> impl Iterator<Item = &'s FieldSpec> {
        let specs = self.as_slice();
        let indexed = (specs.len() > SHORT).then(|| {
            let by_kind = self.0.by_kind.get_or_init(|| ByKind::new(specs));
            by_kind.of.get(&gvk.kind).unwrap_or(&by_kind.others)
        });
        let count = indexed.map_or(specs.len(), Vec::len);
        let nth = move |n| &specs[indexed.map_or(n, |places| places[n] as usize)];
        (0..count).map(nth).filter(|spec| spec.fits(gvk))
    }

    /// Edits every field the specs for this kind lead to.
    pub(crate) fn edit(
        &self,
        gvk: &Gvk,
        root: &mut Node,
        create: Option<Create>,
        edit: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        self.fitting(gvk).try_for_each(|spec| spec.edit(root, create, edit))
    }

    /// Both lists: what the first already has, for the same or a wider range of kinds, is not added again. It is an error if
    /// they disagree on whether to create a field.
    pub(crate) fn merged(&self, more: &FieldSpecs) -> Result<FieldSpecs> {
        if more.is_empty() || self.same(more) {
            return Ok(self.clone());
        }
        if self.is_empty() && more.0.built_in {
            return Ok(more.clone());
        }
        let mut specs = self.as_slice().to_vec();
        let before = specs.len();
        let mut by_path: FxHashMap<Text, Vec<usize>> = FxHashMap::default();
        for (at, spec) in specs.iter().enumerate() {
            by_path.entry(spec.path.text.clone()).or_default().push(at);
        }
        for spec in more.as_slice() {
            let known = by_path.entry(spec.path.text.clone()).or_default();
            match known.iter().map(|at| &specs[*at]).find(|known| known.covered_by(spec)) {
                Some(same) if same.create != spec.create => {
                    let message = format!("two field specs disagree on whether to create `{}`", spec.path);
                    return Err(Diagnostic::error("field-specs-conflict", message)
                        .at(spec.path.span)
                        .at(same.path.span)
                        .help("field specs of `configurations:` are added to the built-in ones; write the same `create`, or leave the spec out"));
                }
                Some(_) => {}
                None => {
                    known.push(specs.len());
                    specs.push(spec.clone());
                }
            }
        }
        Ok(if specs.len() == before { self.clone() } else { FieldSpecs::new(specs) })
    }
}

impl ByKind {
    fn new(specs: &[FieldSpec]) -> Self {
        let mut by_kind = ByKind { of: FxHashMap::default(), others: Vec::new() };
        for (at, spec) in specs.iter().enumerate() {
            let at = at as u32;
            if spec.kind.is_empty() {
                by_kind.others.push(at);
                by_kind.of.values_mut().for_each(|places| places.push(at));
            } else {
                by_kind.of.entry(spec.kind.clone()).or_insert_with(|| by_kind.others.clone()).push(at);
            }
        }
        by_kind
    }
}

impl Default for FieldSpecs {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl FromIterator<FieldSpec> for FieldSpecs {
    fn from_iter<I: IntoIterator<Item = FieldSpec>>(specs: I) -> Self {
        Self::new(specs.into_iter().collect())
    }
}

impl std::fmt::Debug for FieldSpecs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<'de> Deserialize<'de> for FieldSpecs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let specs = Vec::<Spanned<FieldSpec>>::deserialize(from)?;
        let located = specs.into_iter().map(|Spanned { mut value, span }| {
            // One without a path is reported where it is written.
            if value.path.span.is_none() {
                value.path.span = span;
            }
            value
        });
        Ok(Self::new(located.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Vec<String> {
        FieldPath::new(path).segments().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn paths_split_at_slashes_that_are_not_escaped() {
        assert_eq!(names("spec/containers[]/image"), ["spec", "containers", "[]", "image"]);
        assert_eq!(names("/metadata/annotations/a.b\\/c"), ["metadata", "annotations", "a.b/c"]);
        assert_eq!(names(""), [""]);
    }

    #[test]
    fn sequences_are_entered_and_misses_leave_trees_shared() {
        let container: Node = [("image", "a")].into_iter().collect();
        let mut root: Node = [("containers", Node::from(vec![container, Node::map()]))].into_iter().collect();
        let shared = root.clone();
        let spec = FieldSpec::new("containers/name");
        spec.edit(&mut root, Some(Create::Scalar), &mut |_| panic!("there is no name")).unwrap();
        assert!(root.same(&shared));
        let mut seen = 0;
        FieldSpec::new("containers[]/image")
            .edit(&mut root, None, &mut |n| {
                seen += 1;
                n.assign(Node::from("b"));
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, 1);
        assert_eq!(root.get("containers").unwrap().items()[0].get("image").unwrap().as_str(), Some("b"));
    }

    #[test]
    fn missing_and_null_fields_are_made_where_the_spec_says_so() {
        let mut root = Node::map();
        root.set("metadata", Node::null());
        FieldSpec::created("metadata/labels")
            .edit(&mut root, Some(Create::Map), &mut |n| {
                n.set("a", "b");
                Ok(())
            })
            .unwrap();
        assert_eq!(root.at(["metadata", "labels", "a"]).unwrap().as_str(), Some("b"));
    }

    #[test]
    fn specs_of_a_kind_come_in_order() {
        let of = |kind: &str, path: &str| FieldSpec { kind: kind.into(), ..FieldSpec::new(path) };
        let specs: FieldSpecs =
            [of("", "1"), of("A", "2"), of("", "3"), of("B", "4"), of("A", "5")].into_iter().collect();
        let others = (0..SHORT).map(|n| of("D", &n.to_string()));
        let long: FieldSpecs = specs.as_slice().iter().cloned().chain(others).collect();
        for specs in [specs, long] {
            let paths = |kind| {
                let gvk = Gvk::new("v1", kind);
                specs.fitting(&gvk).map(|s| s.path.to_string()).collect::<Vec<_>>().join("")
            };
            assert_eq!((paths("A"), paths("B"), paths("C")), ("1235".into(), "134".into(), "13".into()));
        }
    }

    #[test]
    fn merging_adds_what_is_new_and_refuses_contradictions() {
        let deployments = FieldSpec { kind: "Deployment".into(), ..FieldSpec::new("a") };
        let one: FieldSpecs = [deployments].into_iter().collect();
        let wider: FieldSpecs = [FieldSpec::new("a"), FieldSpec::new("b")].into_iter().collect();
        assert_eq!(one.merged(&wider).unwrap().as_slice().len(), 2);
        let other: FieldSpecs = [FieldSpec::created("a")].into_iter().collect();
        assert_eq!(one.merged(&other).unwrap_err().code(), "field-specs-conflict");
    }
}
