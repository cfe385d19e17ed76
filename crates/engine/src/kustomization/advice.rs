//! What to do about a kustomization that does not have the shape of one.

use krm_yaml::{Diagnostic, Failure, Node, Span};

/// What the items of a list look like, if there is a map in its place.
const SHAPES: [(&str, &str); 5] = [
    ("labels", "- pairs: {app: web}"),
    ("images", "- {name: nginx, newTag: \"1.27\"}"),
    ("replicas", "- {name: web, count: 3}"),
    ("configMapGenerator", "- {name: settings, literals: [key=value]}"),
    ("secretGenerator", "- {name: token, literals: [key=value]}"),
];

/// Fields of a generator that belong below its `options:`.
const OPTIONS: [&str; 4] = ["disableNameSuffixHash", "labels", "annotations", "immutable"];

/// Adds advice to each of the errors that a kustomization has.
pub(super) fn add_all(error: Diagnostic, root: &Node) -> Diagnostic {
    let all = std::iter::once(error.alone()).chain(error.others().iter().cloned());
    Diagnostic::join(all.map(|error| add(error, root))).expect("there is the first")
}

fn add(error: Diagnostic, root: &Node) -> Diagnostic {
    if error.failure() == Some(Failure::UnknownField) {
        return unknown_field(error, root);
    }
    if let Some(item) = key_and_value(&error, root) {
        return error.without_help().help(format!("write `- {item}`"));
    }
    let is_there = |field: &str| root.get(field).is_some_and(|n| n.is_map() && n.span() == error.place());
    match SHAPES.iter().find(|(field, _)| is_there(field)) {
        Some((_, shape)) => error.help(format!("an item looks like this: `{shape}`")),
        None => error,
    }
}

fn unknown_field(error: Diagnostic, root: &Node) -> Diagnostic {
    let way = way_to_key(root, error.place()).unwrap_or_default();
    if let ["configMapGenerator" | "secretGenerator", option] = way[..]
        && OPTIONS.contains(&option)
    {
        return error.help(format!("`{option}` goes below `options:` of the generator"));
    }
    if let [.., "target" | "targets" | "select", "apiVersion"] = way[..] {
        return error
            .help("a target has `group` and `version`: of `apps/v1`, `group: apps` and `version: v1`");
    }
    if let Some(odd) = krm_yaml::odd_spaces_in(root).iter().find(|odd| odd.place() == error.place()) {
        let error = error.without_help().help(odd.message());
        return odd.advice().iter().fold(error, |error, advice| error.help(advice));
    }
    match field_of_image(&error, root) {
        Some(meant) => error.without_help().help(format!("did you mean `{meant}`?")),
        None => error,
    }
}

/// The names on the way to a key that is written at this place, with its own as the last.
fn way_to_key(node: &Node, place: Span) -> Option<Vec<&str>> {
    for entry in node.as_map().into_iter().flatten() {
        let Some(key) = entry.key.text() else { continue };
        if entry.key.span() == place {
            return Some(vec![key]);
        }
        if let Some(mut way) = way_to_key(&entry.value, place) {
            way.insert(0, key);
            return Some(way);
        }
    }
    node.items().iter().find_map(|item| way_to_key(item, place))
}

/// The field of an entry of `images:` that is meant by a word that other tools use for it.
fn field_of_image(error: &Diagnostic, root: &Node) -> Option<&'static str> {
    for image in root.get("images")?.items() {
        let keys = || image.as_map().into_iter().flatten().map(|entry| &entry.key);
        let Some(key) = keys().find(|key| key.span() == error.place()) else { continue };
        return match key.text()? {
            "tag" | "version" | "newVersion" => Some("newTag"),
            "image" if image.get("name").is_none() => Some("name"),
            "image" | "newImage" | "repository" | "newRepository" => Some("newName"),
            "newDigest" => Some("digest"),
            _ => None,
        };
    }
    None
}

/// The first of the literals or files of a generator as `key=value`, if they are a map in place of a list of texts, or one
/// of them is. The values of Secrets are not shown.
fn key_and_value(error: &Diagnostic, root: &Node) -> Option<String> {
    for (generator, list) in [
        ("configMapGenerator", "literals"),
        ("configMapGenerator", "files"),
        ("secretGenerator", "literals"),
        ("secretGenerator", "files"),
    ] {
        let lists = root.get(generator).into_iter().flat_map(Node::items).filter_map(|item| item.get(list));
        let mut nodes = lists.flat_map(|list| std::iter::once(list).chain(list.items()));
        let Some(node) = nodes.find(|node| node.is_map() && node.span() == error.place()) else { continue };
        let entry = node.as_map()?.iter().next()?;
        let value = match (generator, list) {
            ("secretGenerator", "literals") => "value",
            _ => entry.value.text()?,
        };
        return Some(format!("{}={value}", entry.key.text()?));
    }
    None
}
