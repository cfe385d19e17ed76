//! `vars:` puts values of resources where `$(NAME)` is.

use std::collections::BTreeMap;

use krm_yaml::{Diagnostic, Node, Path, Result, Span, Spanned, Style, Tag, Text};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::fields::FieldSpecs;
use crate::resource::list::Resources;
use crate::resource::{Gvk, ResourceId, Track};
use crate::select::near_miss::{NearMiss, Part};

/// Puts the values of variables where `$(NAME)` is.
///
/// ```yaml
/// vars:
/// - name: DB_HOST
///   objref:
///     apiVersion: v1
///     kind: Service
///     name: db
///   fieldref:
///     fieldPath: metadata.name
/// ```
///
/// Without `fieldref` the value is the name. Only some fields are looked at, mostly commands, arguments and environment of
/// containers; `varReference` in `configurations:` adds others. A field that is nothing but `$(NAME)` takes the type of the
/// value. `$$` stands for a dollar, and a name nobody defined stays as it is. Vars are deprecated: use `replacements:`.
#[derive(Clone, Debug)]
pub(crate) struct Vars {
    vars: VarSet,
    field_specs: FieldSpecs,
}

/// One entry of a kustomization's `vars:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Var {
    pub name: Spanned<Text>,
    pub objref: ObjectReference,
    pub fieldref: FieldReference,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ObjectReference {
    pub api_version: Spanned<Text>,
    pub group: Text,
    pub version: Text,
    pub kind: Spanned<Text>,
    pub name: Spanned<Text>,
    pub namespace: Spanned<Text>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct FieldReference {
    pub field_path: Spanned<Text>,
}

impl ObjectReference {
    fn gvk(&self) -> Gvk {
        let (group, version) = match self.api_version.split_once('/') {
            _ if self.api_version.is_empty() => (self.group.as_str(), self.version.as_str()),
            None => (self.group.as_str(), self.api_version.as_str()),
            Some((_, version)) if version.contains('/') => (self.group.as_str(), self.version.as_str()),
            Some(both) => both,
        };
        Gvk { group: group.into(), version: version.into(), kind: self.kind.value.clone() }
    }
}

impl Var {
    /// Why it refers to nothing.
    fn miss(&self, items: &Resources) -> NearMiss {
        let ObjectReference { api_version, kind, name, namespace, .. } = &self.objref;
        let gvk = self.objref.gvk();
        let fits = |part: Part, id: &ResourceId| match part {
            Part::Kind => id.gvk.kind == gvk.kind,
            Part::Group | Part::Version | Part::ApiVersion => {
                id.gvk.group == gvk.group && id.gvk.version == gvk.version
            }
            Part::Name => id.name == name.value,
            Part::Namespace => id.effective_namespace() == namespace.value,
            Part::Labels | Part::Annotations => true,
        };
        let parts = [
            (Part::Kind, kind),
            (Part::ApiVersion, api_version),
            (Part::Name, name),
            (Part::Namespace, namespace),
        ];
        NearMiss::new(
            &format!("the variable `{}` refers to a resource that does not exist", self.name),
            "`objref` must have the name as written in the base, and the kind with its apiVersion",
            &parts,
            &|part, r| r.all_ids().any(|id| fits(part, id)),
            items,
        )
    }
}

/// The variables of a kustomization and of all its bases, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct VarSet(BTreeMap<Text, Var>);

impl VarSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the first of them, by name, is written.
    pub(crate) fn span(&self) -> Span {
        self.0.values().next().map_or(Span::NONE, |var| var.name.span)
    }

    /// Takes in those of a base.
    pub(crate) fn merge(&mut self, other: VarSet) -> Result<()> {
        other.0.into_values().try_for_each(|var| self.add(var))
    }

    /// Takes in those of a kustomization.
    pub(crate) fn extend(&mut self, vars: Vec<Var>) -> Result<()> {
        vars.into_iter().try_for_each(|var| self.add(var))
    }

    fn add(&mut self, var: Var) -> Result<()> {
        if let Some(first) = self.0.get(&var.name.value) {
            let message = format!("the variable `{}` is defined twice", var.name);
            return Err(Diagnostic::error("var-twice", message)
                .at(var.name.span)
                .note("first defined here", first.name.span)
                .help("give one of them another name"));
        }
        self.0.insert(var.name.value.clone(), var);
        Ok(())
    }
}

/// Notes on resources which variables refer to them, while they still have the names the variables know.
#[derive(Clone, Debug)]
pub(crate) struct MarkVars(pub Vec<Var>);

impl Transformer for MarkVars {
    fn transform(&self, items: &mut Resources, _cx: &Context) -> Result<()> {
        // Without a namespace any will do, so these are looked up by all else.
        let mut by_name: FxHashMap<(Gvk, Text), Vec<usize>> = FxHashMap::default();
        if self.0.iter().any(|var| var.objref.namespace.is_empty()) {
            for (at, r) in items.iter().enumerate() {
                for id in r.all_ids() {
                    let places = by_name.entry((id.gvk.clone(), id.name.clone())).or_default();
                    if places.last() != Some(&at) {
                        places.push(at);
                    }
                }
            }
        }
        for var in &self.0 {
            let ObjectReference { name, namespace, .. } = &var.objref;
            let gvk = var.objref.gvk();
            let found: Vec<usize> = match namespace.is_empty() {
                true => by_name.get(&(gvk, name.value.clone())).cloned().unwrap_or_default(),
                false => {
                    let id = ResourceId {
                        gvk,
                        name: name.value.clone(),
                        namespace: namespace.value.clone(),
                        cluster_scoped: false,
                    };
                    items.find_any(&id).iter().map(|at| *at as usize).collect()
                }
            };
            match found[..] {
                [] => {}
                [at] => items.edit_at(at, |r| r.referring_vars.push(var.name.value.clone())),
                _ => {
                    let message = format!("the variable `{}` may refer to several resources", var.name);
                    let diagnostic = Diagnostic::error("var-ambiguous", message).at(var.name.span);
                    let note = |d: Diagnostic, at: &usize| {
                        let r = &items.as_slice()[*at];
                        d.note(format!("it may be {}", r.id()), r.span())
                    };
                    return Err(found.iter().fold(diagnostic, note).help("add the namespace to `objref`"));
                }
            }
        }
        Ok(())
    }
}

impl Vars {
    pub(crate) fn new(vars: VarSet, field_specs: FieldSpecs) -> Self {
        Self { vars, field_specs }
    }
}

impl Transformer for Vars {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        if self.vars.is_empty() {
            return Ok(());
        }
        let values = self.values(items)?;
        let mut used: FxHashSet<Text> = FxHashSet::default();
        let tracks: Vec<Track> = match cx.trace {
            Some(_) => items.iter().map(|r| r.track).collect(),
            None => Vec::new(),
        };
        items.edit(|r| {
            let track = r.track;
            let mut value = |name: &str| {
                let value = values.get(name)?;
                used.insert(name.into());
                cx.note(track, value.node.span(), || {
                    let path = &self.vars.0[name].fieldref.field_path;
                    let field = if path.is_empty() { "metadata.name".into() } else { path.value.clone() };
                    let (variable, source) = (value.node.span(), tracks[value.of]);
                    Cause::Expanded { name: name.into(), variable, source, field }
                });
                Some(&value.node)
            };
            let gvk = r.gvk().clone();
            let mut concerned = false;
            for spec in self.field_specs.fitting(&gvk) {
                spec.visit(r.node(), &mut |field| {
                    concerned |= may_hold_vars(field);
                    Ok(())
                })?;
            }
            if !concerned {
                return Ok(());
            }
            r.edit(cx.schema, |root| {
                self.field_specs.edit(&gvk, root, None, &mut |field| replace(field, &mut value))
            })?;
            r.follow_shared();
            Ok(())
        })?;
        for var in self.vars.0.values().filter(|var| !used.contains(&var.name.value)) {
            cx.warn(
                Diagnostic::warning("var-unused", format!("the variable `{}` is used nowhere", var.name))
                    .at(var.name.span)
                    .help("remove it, or name the fields it is used in under `varReference` in `configurations:`"),
            );
        }
        Ok(())
    }
}

/// What a variable stands for, and the position of the resource it comes from.
struct Known {
    node: Node,
    of: usize,
}

impl Vars {
    /// What each variable stands for.
    fn values(&self, items: &Resources) -> Result<FxHashMap<Text, Known>> {
        let mut speaks_of: FxHashMap<&Text, usize> = FxHashMap::default();
        for (at, r) in items.iter().enumerate() {
            r.referring_vars.iter().for_each(|name| {
                speaks_of.entry(name).or_insert(at);
            });
        }
        let value = |(name, var): (&Text, &Var)| {
            let Some(at) = speaks_of.get(name) else {
                let miss = var.miss(items);
                return Err(Diagnostic::error("var-no-resource", miss.message)
                    .at(miss.place)
                    .at(var.name.span)
                    .help(miss.help));
            };
            let resource = &items.as_slice()[*at];
            let path = &var.fieldref.field_path;
            let text = if path.is_empty() { "metadata.name" } else { path.as_str() };
            match lookup(resource.node(), text).and_then(plain_value) {
                // What a variable stands for is set by the variable.
                Some(value) => Ok((name.clone(), Known { node: value.with_span(var.name.span), of: *at })),
                None => {
                    Err(Diagnostic::error("var-no-field", format!("{} has no field `{text}`", resource.id()))
                        .at(path.span)
                        .at(var.name.span)
                        .note("this is the resource", resource.span())
                        .help("correct `fieldPath`"))
                }
            }
        };
        self.vars.0.iter().map(value).collect()
    }
}

/// Follows a path with dots between names; `ports[0]` is the first of the ports.
fn lookup<'n>(root: &'n Node, path: &str) -> Option<&'n Node> {
    Path::indexed(path).ok()?.get(root)
}

/// A value as a var takes it; `None` for a number that cannot be read.
// quirk(var-values-are-read-again): A var whose field is a number in a notation of YAML alone, such as `0x10`, has no
// value. (kyaml `RNode.GetFieldValue`)
fn plain_value(node: &Node) -> Option<Node> {
    let text = node.text();
    match node.tag() {
        Tag::Int => text?.parse::<i64>().ok().map(Node::from),
        Tag::Float | Tag::Bool => Some(node.clone()),
        _ if text.is_some() => text.map(Node::from),
        _ => Some(node.clone()),
    }
}

fn may_hold_vars(field: &Node) -> bool {
    let has = |node: &Node| node.text().is_none_or(|text| text.contains('$'));
    match field.as_map() {
        Some(map) => map.iter().any(|entry| has(&entry.value) || entry.key.tag() != Tag::Str),
        None if field.is_seq() => field.items().iter().any(|item| has(item) || item.tag() != Tag::Str),
        None => has(field),
    }
}

/// Finds the value of a variable, and remembers that it was asked for.
type Value<'a, 'v> = &'a mut dyn FnMut(&str) -> Option<&'v Node>;

fn replace<'v>(field: &mut Node, value: Value<'_, 'v>) -> Result<()> {
    if field.is_null() {
        return Ok(());
    }
    if field.is_scalar() {
        expand(field, value);
        return Ok(());
    }
    let wrong = |node: &Node, what: &str| {
        let message = format!("expected a string as {what}, found {}", node.kind_name());
        Err(Diagnostic::error("var-not-a-string", message)
            .at(node.span())
            .help("quote it: variables are looked for here, and they need text"))
    };
    match field.as_map_mut() {
        Some(map) => {
            for (key, node) in map.values_mut() {
                if key.tag() != Tag::Str {
                    return wrong(key, "a key");
                }
                expand(node, value);
            }
        }
        None => {
            for item in field.as_seq_mut().into_iter().flatten() {
                if item.tag() != Tag::Str {
                    return wrong(item, "an item");
                }
                expand(item, value);
            }
        }
    }
    Ok(())
}

/// Expands the variables of a string; anything else is left alone.
fn expand<'v>(node: &mut Node, value: Value<'_, 'v>) {
    let Some(text) = node.as_str().filter(|text| node.tag() == Tag::Str && text.contains('$')) else {
        return;
    };
    // Alone, the value keeps its type.
    if let Some(name) = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'))
        && !name.contains(')')
    {
        if let Some(found) = value(name).filter(|found| found.is_scalar()) {
            let text = found.text().unwrap_or_default();
            node.assign(Node::scalar(text, found.tag(), Style::Any, found.span()));
        }
        return;
    }
    // Of several variables the last one is the one that is known to have set it.
    let mut place = Span::NONE;
    let text = expand_text(text, &mut |name| value(name).inspect(|found| place = found.span()));
    node.assign(Node::string(text).with_span(place));
}

fn expand_text<'v>(text: &str, value: Value<'_, 'v>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = &from[1..];
        rest = match after.chars().next() {
            None => {
                out.push('$');
                after
            }
            // Twice stands for once.
            Some('$') => {
                out.push('$');
                &after[1..]
            }
            Some('(') => match after.find(')') {
                Some(end) => {
                    let name = &after[1..end];
                    match value(name).filter(|found| found.is_scalar()) {
                        Some(found) => out.push_str(&shown(found)),
                        None => out.push_str(&from[..end + 2]),
                    }
                    &after[end + 1..]
                }
                None => {
                    out.push_str("$(");
                    &after[1..]
                }
            },
            Some(other) => {
                out.push('$');
                out.push(other);
                &after[other.len_utf8()..]
            }
        };
    }
    out.push_str(rest);
    out
}

/// A value within a text, numbers as Go writes them.
fn shown(value: &Node) -> String {
    let text = value.text().unwrap_or_default();
    match value.tag() {
        Tag::Bool => value.as_bool().unwrap_or_default().to_string(),
        Tag::Float => match krm_yaml::resolve::float(text) {
            Some(n) if n != 0.0 && !(1e-4..1e21).contains(&n.abs()) => {
                let scientific = format!("{n:e}");
                let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
                let exponent: i32 = exponent.parse().unwrap_or_default();
                format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
            }
            Some(n) => n.to_string(),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_and_parentheses_make_a_variable() {
        let a = Node::from("A");
        for (text, expected) in [
            ("x$(a)y$(a)", "xAyA"),
            ("$$(a)", "$(a)"),
            ("$$$(a)", "$A"),
            ("$$$$(a)", "$$(a)"),
            ("$(b) $(a)", "$(b) A"),
            ("$(a", "$(a"),
            ("$(a$(a)", "$(a$(a)"),
            ("$a ${a} $", "$a ${a} $"),
            ("\\$(a)", "\\A"),
            ("a$", "a$"),
            ("$($($(a)", "$($($(a)"),
        ] {
            assert_eq!(expand_text(text, &mut |name| (name == "a").then_some(&a)), expected, "{text}");
        }
    }
}
