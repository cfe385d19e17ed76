//! `unused-generator`: a generated ConfigMap or Secret that nothing refers to, though its name ends in a hash, so that no
//! one elsewhere can.

use krm_yaml::{Diagnostic, Failure, Node, Span, decode_lossy, nearest};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Check;
use super::roots::{Root, Unbuilt, in_all};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::workspace::Layer;

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let found = roots.iter().map(|root| match &root.built {
        Ok(built) => in_root(cx, root, built),
        Err(_) => Vec::new(),
    });
    in_all(cx, roots, found.collect(), Unbuilt::HasNone)
}

struct Generator {
    kind: &'static str,
    name: String,
    place: Span,
}

fn in_root(cx: &Check, root: &Root, built: &Resources) -> Vec<Diagnostic> {
    let layers = cx.lint.workspace.closure(root.layer);
    let generators: Vec<Generator> = layers.iter().flat_map(|layer| generators(layer)).collect();
    if generators.is_empty() {
        return Vec::new();
    }
    let referred = referred(built);
    let mut made: FxHashMap<(&str, &str), Vec<&Resource>> = FxHashMap::default();
    for r in built.iter().filter(|r| matches!(r.kind(), "ConfigMap" | "Secret")) {
        for id in r.all_ids() {
            let all = made.entry((r.kind(), &id.name)).or_default();
            if !all.last().is_some_and(|last| std::ptr::eq(*last, r)) {
                all.push(r);
            }
        }
    }
    let mut found = Vec::new();
    for Generator { kind, name, place } in generators {
        let Some([r]) = made.get(&(kind, name.as_str())).map(Vec::as_slice) else { continue };
        let r: &Resource = r;
        // Nearly all are referred to by their names, which is quick to find out; only for the others everything is searched.
        if referred.contains(r.name()) {
            continue;
        }
        let has_hash = r.name().len() > name.len() + 10 && r.name() != name;
        let is_named = |other: &Resource| {
            !std::ptr::eq(other, r)
                && (mentions(other.node(), r.name())
                    || mentions(other.node(), &name)
                    || nearly(other.node(), &name))
        };
        let is_asked_for = || {
            layers.iter().any(|layer| {
                let in_file = layer.root.as_ref().is_some_and(|root| {
                    let fields = root.as_map().into_iter().flatten();
                    let others = fields.filter(|field| !field.key.text().is_some_and(is_generator));
                    others.into_iter().any(|field| mentions(&field.value, &name))
                });
                in_file
                    || layer.configurations.iter().any(|config| mentions(config, &name))
                    || layer.references.iter().any(|reference| is_in_file(cx, reference.target.path(), &name))
            })
        };
        if has_hash && !built.iter().any(is_named) && !is_asked_for() {
            let message = format!("nothing refers to the {kind} `{name}`");
            found.push(
                Diagnostic::warning("unused-generator", message)
                    .failing(Failure::Unnecessary)
                    .at(place)
                    .note("its name ends in a hash of its content, so nothing outside the build can refer to it", Span::NONE)
                    .help("remove it, or set `disableNameSuffixHash: true` under its `options` if something finds it by name"),
            );
        }
    }
    found
}

/// All texts of resources but their own names.
fn referred(built: &Resources) -> FxHashSet<&str> {
    fn collect<'n>(node: &'n Node, found: &mut FxHashSet<&'n str>) {
        found.extend(node.as_str());
        node.items().iter().for_each(|item| collect(item, found));
        node.as_map().into_iter().flatten().for_each(|entry| collect(&entry.value, found));
    }
    let mut found = FxHashSet::default();
    for field in built.iter().flat_map(|r| r.node().as_map().into_iter().flatten()) {
        if field.key.text() != Some("metadata") {
            collect(&field.value, &mut found);
        }
    }
    found
}

fn is_generator(field: &str) -> bool {
    matches!(field, "configMapGenerator" | "secretGenerator")
}

/// The generators of a layer whose results nothing but a name can find.
fn generators(layer: &Layer) -> Vec<Generator> {
    let Some(root) = &layer.root else { return Vec::new() };
    let is_found_otherwise = |options: Option<&Node>| {
        options.is_some_and(|options| {
            options.get("disableNameSuffixHash").and_then(Node::as_bool) == Some(true)
                || ["labels", "annotations"].iter().any(|field| options.get(field).is_some())
        })
    };
    if is_found_otherwise(root.get("generatorOptions")) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (field, kind) in [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")] {
        for entry in root.get(field).map(Node::items).unwrap_or_default() {
            let creates = matches!(entry.get("behavior").and_then(Node::text), None | Some("" | "create"));
            let name = entry.get("name").filter(|name| name.as_str().is_some_and(|name| !name.is_empty()));
            let Some(name) = name.filter(|_| creates && !is_found_otherwise(entry.get("options"))) else {
                continue;
            };
            let text = name.as_str().unwrap_or_default().to_owned();
            found.push(Generator { kind, name: text, place: name.span() });
        }
    }
    found
}

/// Whether a name is part of any text in a tree.
fn mentions(node: &Node, name: &str) -> bool {
    node.text().is_some_and(|text| text.contains(name))
        || node.items().iter().any(|item| mentions(item, name))
        || node.as_map().into_iter().flatten().any(|entry| {
            entry.key.text().is_some_and(|key| key.contains(name)) || mentions(&entry.value, name)
        })
}

/// Whether a text is nearly the name, and therefore a separate mistake.
fn nearly(node: &Node, name: &str) -> bool {
    node.as_str().is_some_and(|text| nearest(text, [name]).is_some())
        || node.items().iter().any(|item| nearly(item, name))
        || node.as_map().into_iter().flatten().any(|entry| nearly(&entry.value, name))
}

/// Whether a patch or a configuration in a file has the name. What the generators take in does not count.
fn is_in_file(cx: &Check, path: Option<&std::path::Path>, name: &str) -> bool {
    let Some(path) = path.filter(|path| super::tree::is_yaml(path)) else { return false };
    cx.lint.world.read(path).is_ok_and(|bytes| decode_lossy(bytes).contains(name))
}
