//! Names in other resources, brought up to date at the end of a build.

use krm_yaml::{Diagnostic, Node, Result, Span, Text};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::config::NameReferences as Rules;
use super::namespace::not_a_subject;
use super::setter;
use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::fields::{FieldPaths, FieldSpec};
use crate::resource::list::Resources;
use crate::resource::{Gvk, NO_NAMESPACE, Resource};

/// Follows renamed resources: where one refers to another by an earlier name, the current name is written.
///
/// Prefixes, suffixes, hashes and patches rename; this comes after them all, once, at the root. A name is taken to mean a
/// resource that once had it, is of the kind the field is for, is where the referrer can reach it and, if there are several,
/// went through the same prefixes and suffixes. Names of resources outside the build stay as they are. Which fields hold
/// names is known for the kinds of Kubernetes; `nameReference` in `configurations:` adds others.
#[derive(Clone, Debug)]
pub(crate) struct NameReference {
    rules: Rules,
}

impl NameReference {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules }
    }
}

impl Transformer for NameReference {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        // Trees are changed in parallel, while the names and histories of all of them can be read.
        let written: Vec<[Span; 2]> = items.iter().map(written).collect();
        let mut trees: Vec<Node> = items.take_trees();
        let changed: Vec<bool> = {
            let all = items.as_slice();
            let names = Names::new(all, written);
            let rules = rules_by_kind(&self.rules, all);
            let follow =
                |(r, tree): (&Resource, &mut Node)| follow(r, tree, &rules[&r.original_id().gvk], &names, cx);
            let each = all.par_iter().zip(&mut trees).with_min_len(64);
            // The first error, in order, is the one reported.
            let changed: Vec<Result<bool>> = each.map(follow).collect();
            changed.into_iter().collect::<Result<_>>()?
        };
        let back: Vec<(Node, bool)> = trees.into_iter().zip(changed).collect();
        items.edit_with(back, |r, (tree, changed)| {
            r.put_tree(tree);
            if changed {
                r.edit(cx.schema, |_| ());
                r.follow_shared();
            }
            Ok(())
        })
    }
}

/// A kind that may be named, and a field that may name it.
type Rule<'r> = (Gvk, &'r FieldSpec);

/// What resources of a kind may name, and where, in order.
struct KindRules<'r> {
    rules: Vec<Rule<'r>>,
    paths: FieldPaths,
}

/// The rules by the kind that resources had first.
fn rules_by_kind<'r>(rules: &'r Rules, all: &[Resource]) -> FxHashMap<Gvk, KindRules<'r>> {
    let kinds: FxHashSet<&Gvk> = all.iter().map(|r| &r.original_id().gvk).collect();
    let of = |kind: &Gvk| {
        let of_rule = |rule: &'r super::config::NameReference| {
            let target = rule.target();
            rule.referrers.fitting(kind).map(move |spec| (target.clone(), spec)).collect::<Vec<_>>()
        };
        let rules: Vec<Rule> = rules.iter().flat_map(of_rule).collect();
        let paths = rules.iter().map(|(_, spec)| &spec.path).collect();
        (kind.clone(), KindRules { rules, paths })
    };
    kinds.into_iter().map(of).collect()
}

/// Resources by the names they had. One that was never renamed needs no following, and is not among them.
struct Names<'r> {
    /// By namespace, then in their order.
    by_name: FxHashMap<&'r str, Vec<(&'r str, u32)>>,
    /// Which earlier namespaces the resources of a namespace come from; under `None`, those of all.
    first_namespaces: FxHashSet<(Option<&'r str>, &'r str)>,
    all: &'r [Resource],
    /// Where name and namespace of each are written.
    written: Vec<[Span; 2]>,
}

/// Where a resource's name and namespace are written; nothing for one whose name has not changed.
fn written(r: &Resource) -> [Span; 2] {
    match (r.previous_ids(), r.node().get("metadata")) {
        ([], _) | (_, None) => [Span::NONE; 2],
        (_, Some(meta)) => ["name", "namespace"].map(|key| meta.get(key).map_or(Span::NONE, Node::span)),
    }
}

impl<'r> Names<'r> {
    fn new(all: &'r [Resource], written: Vec<[Span; 2]>) -> Self {
        let mut by_name: FxHashMap<&str, Vec<(&str, u32)>> =
            FxHashMap::with_capacity_and_hasher(all.len(), Default::default());
        let mut first_namespaces = FxHashSet::default();
        for (at, r) in all.iter().enumerate() {
            let now = r.id().effective_namespace();
            let first = r.original_id().effective_namespace();
            first_namespaces.extend([(None, first), (Some(now), first)]);
            for id in r.previous_ids() {
                let called_so = by_name.entry(&id.name).or_default();
                if called_so.last() != Some(&(now, at as u32)) {
                    called_so.push((now, at as u32));
                }
            }
        }
        by_name.values_mut().for_each(|called_so| called_so.sort_unstable());
        Self { by_name, first_namespaces, all, written }
    }

    /// Where name and namespace of one of them are written.
    fn written(&self, target: &Resource) -> [Span; 2] {
        // It is one of these; its address says which one.
        let offset = std::ptr::from_ref(target).addr() - self.all.as_ptr().addr();
        self.written[offset / size_of::<Resource>()]
    }

    /// Those that once had this name and are in a namespace now, in order.
    fn within(&self, name: &str, namespace: &str) -> impl Iterator<Item = u32> {
        let called_so = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let from = called_so.partition_point(|(now, _)| *now < namespace);
        called_so[from..].iter().take_while(move |(now, _)| *now == namespace).map(|(_, at)| *at)
    }
}

/// A resource that names others.
struct Referrer<'r> {
    resource: &'r Resource,
    names: &'r Names<'r>,
    /// For a RoleBinding: the namespaces of the service accounts it names.
    account_namespaces: Vec<Text>,
    /// For a role binding: what kind of role it names.
    role: Option<Gvk>,
    cx: &'r Context<'r>,
}

/// Brings the references in a resource's tree up to date; says whether any changed.
fn follow(
    resource: &Resource,
    tree: &mut Node,
    of_kind: &KindRules,
    names: &Names,
    cx: &Context,
) -> Result<bool> {
    if of_kind.rules.is_empty() {
        return Ok(false);
    }
    let account_namespaces = account_namespaces(resource.kind(), tree)?;
    let referrer = Referrer { resource, names, account_namespaces, role: role(tree), cx };
    let mut changed = false;
    let mut reaching = of_kind.paths.reaching(tree).into_iter().peekable();
    for (number, (kind, spec)) in of_kind.rules.iter().enumerate() {
        // Most paths lead nowhere; this stays true until something changes.
        if !changed && reaching.next_if_eq(&number).is_none() {
            continue;
        }
        let mut changes = false;
        spec.visit(tree, &mut |field| {
            changes |= referrer.would_change(field, kind, spec)?;
            Ok(())
        })?;
        if changes {
            spec.edit(tree, None, &mut |field| referrer.change(field, kind, spec))?;
            changed = true;
        }
    }
    Ok(changed)
}

/// What a resource without prefixes, or without suffixes, goes with.
#[derive(Clone, Copy, PartialEq)]
enum Unprefixed {
    FitsAll,
    FitsItself,
}

impl<'r> Referrer<'r> {
    fn would_change(&self, field: &Node, kind: &Gvk, spec: &FieldSpec) -> Result<bool> {
        if field.is_null() {
            return Ok(false);
        }
        if let Some(items) = field.as_seq() {
            return items.iter().try_fold(false, |changes, item| {
                if item.is_seq() {
                    return Err(not_a_name(item));
                }
                Ok(changes | self.would_change(item, kind, spec)?)
            });
        }
        match field.text() {
            Some(name) => {
                let target = self.by_name(name, kind, spec)?;
                if target.is_none() && self.cx.trace.is_some() {
                    self.note_elsewhere(field, name, kind);
                }
                Ok(target.is_some_and(|target| target.name() != name))
            }
            None => {
                let (name, target) = self.by_name_and_namespace(field, kind, spec)?;
                Ok(target.is_some_and(|t| t.name() != name || !t.namespace().is_empty()))
            }
        }
    }

    fn change(&self, field: &mut Node, kind: &Gvk, spec: &FieldSpec) -> Result<()> {
        if field.is_null() {
            return Ok(());
        }
        if field.is_seq() {
            let items = field.as_seq_mut().expect("just seen to be a list");
            return items.iter_mut().try_for_each(|item| self.change(item, kind, spec));
        }
        if let Some(name) = field.text() {
            return match self.by_name(name, kind, spec)? {
                Some(target) if target.name() != name => {
                    let [place, _] = self.names.written(target);
                    self.note(target, name, place, kind, spec);
                    setter::untyped(field, target.name(), place)
                }
                _ => Ok(()),
            };
        }
        let (name, Some(target)) = self.by_name_and_namespace(field, kind, spec)? else { return Ok(()) };
        let (new, namespace) = (target.name(), target.namespace());
        if new == name && namespace.is_empty() {
            return Ok(());
        }
        let write = |field: &mut Node, key: &str, text: &str, place: Span| match field.get_mut(key) {
            Some(value) => setter::untyped(value, text, place),
            None => {
                field.set(key, setter::fresh(text).with_span(place));
                Ok(())
            }
        };
        let [name_at, namespace_at] = self.names.written(target);
        self.note(target, &name, name_at, kind, spec);
        write(field, "name", new, name_at)?;
        // No namespace may mean any namespace; it must not replace one that is written.
        match namespace.is_empty() {
            true => Ok(()),
            false => {
                self.note(target, &name, namespace_at, kind, spec);
                write(field, "namespace", namespace, namespace_at)
            }
        }
    }

    /// Says which resource a name followed, and by what rule.
    fn note(&self, target: &Resource, before: &str, written: Span, kind: &Gvk, spec: &FieldSpec) {
        self.cx.note(self.resource.track, written, || Cause::Followed {
            kind: kind.clone(),
            field: spec.path.as_str().into(),
            rule: spec.path.span(),
            target: target.track,
            before: before.into(),
            after: target.name().into(),
        });
    }

    /// Says which resources of other namespaces had a name.
    fn note_elsewhere(&self, field: &Node, name: &str, kind: &Gvk) {
        for (_, at) in self.names.by_name.get(name).into_iter().flatten() {
            let other = &self.names.all[*at as usize];
            if other.name() == name || other.track == self.resource.track {
                continue;
            }
            let was = |is_kind: bool| {
                other.previous_ids().iter().any(|id| id.name == name && id.gvk.fits(kind) == is_kind)
            };
            // Of a few kinds, every resource of an application may have one name; a generated one has its own.
            let is_near = other.needs_hash || self.names.by_name.get(name).is_some_and(|all| all.len() == 1);
            if !was(true) && was(false) && is_near {
                self.cx.note(self.resource.track, field.span(), || Cause::OtherKind {
                    wanted: kind.clone(),
                    kind: other.gvk().clone(),
                    name: name.into(),
                    now: other.name().into(),
                    place: other.span(),
                });
            }
            if was(true) {
                self.cx.note(self.resource.track, field.span(), || Cause::Elsewhere {
                    kind: other.gvk().clone(),
                    target: other.track,
                    name: name.into(),
                    now: other.name().into(),
                    namespace: other.id().effective_namespace().into(),
                    place: other.span(),
                });
            }
        }
    }

    /// What a name alone means.
    fn by_name(&self, name: &str, kind: &Gvk, spec: &FieldSpec) -> Result<Option<&'r Resource>> {
        let candidates = self.candidates(name, |_| true);
        self.choose(candidates, kind, spec, name, |a, b| a.name() == b.name())
    }

    /// What a map with a name, and maybe a namespace, means; gives the name, too.
    fn by_name_and_namespace(
        &self,
        field: &Node,
        kind: &Gvk,
        spec: &FieldSpec,
    ) -> Result<(Text, Option<&'r Resource>)> {
        let Some(name) = field.get("name").and_then(Node::text) else {
            let message = format!("the field `{}` should hold a name", spec.path);
            return Err(Diagnostic::error("name-reference-no-name", message)
                .at(field.span())
                .help("add `name` here, or make the path of the `nameReference` lead to the name itself"));
        };
        let candidates = match field.get("namespace").map(|n| n.text().unwrap_or_default()) {
            None => self.candidates(name, |_| true),
            Some(namespace) if namespace == NO_NAMESPACE => Vec::new(),
            // Written before or after namespaces were set: if anything came from this namespace, that is what is meant.
            Some(namespace) if self.came_from(namespace) => {
                self.candidates(name, |t| t.original_id().effective_namespace() == namespace)
            }
            Some(namespace) => self.candidates(name, |t| t.id().effective_namespace() == namespace),
        };
        let same = |a: &Resource, b: &Resource| a.name() == b.name() && a.namespace() == b.namespace();
        Ok((name.into(), self.choose(candidates, kind, spec, name, same)?))
    }

    /// Whether anything within reach was first in that namespace.
    fn came_from(&self, namespace: &str) -> bool {
        let from = |now| self.names.first_namespaces.contains(&(now, namespace));
        let id = self.resource.id();
        match id.cluster_scoped {
            true => from(None),
            false => {
                let accounts = self.account_namespaces.iter().map(Text::as_str);
                [id.effective_namespace(), NO_NAMESPACE]
                    .into_iter()
                    .chain(accounts)
                    .any(|now| from(Some(now)))
            }
        }
    }

    /// What once had this name and is within reach, in order.
    fn candidates(&self, name: &str, wanted: impl Fn(&Resource) -> bool) -> Vec<&'r Resource> {
        let names = self.names;
        let id = self.resource.id();
        let mut found: Vec<u32> = match id.cluster_scoped {
            // What is outside namespaces reaches into all of them.
            true => names.by_name.get(name).into_iter().flatten().map(|(_, at)| *at).collect(),
            false => {
                names.within(name, id.effective_namespace()).chain(names.within(name, NO_NAMESPACE)).collect()
            }
        };
        for namespace in &self.account_namespaces {
            let there = names.within(name, if namespace.is_empty() { "default" } else { namespace });
            let accounts = there.filter(|at| {
                let r = &names.all[*at as usize];
                r.kind() == "ServiceAccount" && r.namespace() == *namespace
            });
            found.extend(accounts);
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|at| &names.all[at as usize]).filter(|r| wanted(r)).collect()
    }

    /// The one that is meant, out of several.
    fn choose(
        &self,
        mut candidates: Vec<&'r Resource>,
        kind: &Gvk,
        spec: &FieldSpec,
        name: &str,
        same: impl Fn(&Resource, &Resource) -> bool,
    ) -> Result<Option<&'r Resource>> {
        let was = |r: &Resource, kind: &Gvk| r.previous_ids().iter().any(|id| id.gvk.fits(kind));
        candidates.retain(|r| was(r, kind));
        if let Some(role) = self.role.as_ref().filter(|_| spec.path.as_str().ends_with("roleRef/name")) {
            candidates.retain(|r| was(r, role));
        }
        if candidates.len() > 1 {
            candidates.retain(|r| self.same_history(r, Unprefixed::FitsAll));
            if candidates.len() > 1 {
                candidates.retain(|r| self.same_history(r, Unprefixed::FitsItself));
            }
        }
        match candidates[..] {
            [] => Ok(None),
            [first, ref others @ ..] if others.iter().all(|other| same(first, other)) => Ok(Some(first)),
            _ => Err(self.ambiguous(name, &candidates)),
        }
    }

    /// Whether both went through the same prefixes and suffixes, as far as both went.
    fn same_history(&self, target: &Resource, unprefixed: Unprefixed) -> bool {
        let same = |a: &[Text], b: &[Text]| match (a, b) {
            ([], []) => true,
            ([], _) | (_, []) => unprefixed == Unprefixed::FitsAll,
            _ => a.ends_with(b) || b.ends_with(a),
        };
        let referrer = self.resource;
        same(&target.prefixes, &referrer.prefixes) && same(&target.suffixes, &referrer.suffixes)
    }

    fn ambiguous(&self, name: &str, candidates: &[&Resource]) -> Diagnostic {
        let message = format!("{} names `{name}`, and several resources had that name", self.resource.id());
        let diagnostic = Diagnostic::error("name-reference-ambiguous", message).at(self.resource.span());
        let note = |d: Diagnostic, r: &&Resource| d.note(format!("it may mean {}", r.id()), r.span());
        candidates.iter().fold(diagnostic, note).help("give them different names or different namespaces")
    }
}

fn not_a_name(node: &Node) -> Diagnostic {
    Diagnostic::error("name-reference-not-a-name", format!("expected a name, found {}", node.kind_name()))
        .at(node.span())
        .help("correct the value here, or the path of the `nameReference`")
}

/// The kind of role a binding names, if it gives both group and kind.
fn role(root: &Node) -> Option<Gvk> {
    let text = |key| root.at(["roleRef", key]).and_then(Node::text).map(Text::from);
    Some(Gvk { group: text("apiGroup")?, version: Text::new(), kind: text("kind")? })
}

/// Other namespaces a RoleBinding reaches into: those of its service accounts.
fn account_namespaces(kind: &str, root: &Node) -> Result<Vec<Text>> {
    let subjects = match kind {
        "RoleBinding" => root.get("subjects").map(Node::items).unwrap_or_default(),
        _ => &[],
    };
    let mut namespaces = Vec::new();
    if let Some(wrong) = subjects.iter().find(|subject| !subject.is_map()) {
        return Err(not_a_subject(wrong));
    }
    for subject in subjects.iter().filter(|s| s.get("kind").and_then(Node::text) == Some("ServiceAccount")) {
        match subject.get("namespace").map(|namespace| (namespace, namespace.as_str())) {
            None => {}
            Some((_, Some(namespace))) => namespaces.push(Text::from(namespace)),
            Some((node, None)) => {
                return Err(Diagnostic::error(
                    "subject-namespace",
                    "the namespace of this subject is not a string",
                )
                .at(node.span())
                .help("write the namespace of the service account, or leave the field out"));
            }
        }
    }
    namespaces.sort_unstable();
    namespaces.dedup();
    Ok(namespaces)
}
