//! A package as a tree: folders, files, resources, and fields of them.

use std::collections::BTreeMap;

use krm_yaml::{Diagnostic, Node, Result, Span};

use super::Item;
use super::format::rank;
use super::query::{SearchPath, one_line};

/// What the branches stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Folders and files.
    Folders,
    /// Who owns whom, by `metadata.ownerReferences`.
    Owners,
}

/// A field to show beneath each resource that has it.
pub struct Field {
    path: SearchPath,
    /// What it is shown under.
    name: String,
    /// For fields of containers: the field's own name, shown once for each container.
    part: Option<String>,
}

/// Where containers are, in all kinds that have them.
const CONTAINERS: &[&str] =
    &["spec.template.spec.containers", "spec.jobTemplate.spec.template.spec.containers", "spec.containers"];

impl Field {
    /// Any field: `spec.replicas`, `spec.template.spec.containers[name=.*].image`.
    pub fn new(path: &str) -> Result<Self> {
        let list = CONTAINERS.iter().find(|list| path.starts_with(**list));
        let part = list.and_then(|_| path.rsplit_once('.')).map(|(_, last)| last.to_owned());
        let name = list.map_or_else(|| path.to_owned(), |list| (*list).to_owned());
        Ok(Self { path: SearchPath::parse(path)?, name, part })
    }

    /// A field of every container, whatever kind holds it.
    pub fn of_containers(part: &str) -> impl Iterator<Item = Self> {
        let fields = CONTAINERS.iter().map(move |list| Self::new(&format!("{list}[name=.*].{part}")));
        fields.map(|field| field.expect("written here, and right"))
    }
}

/// A line of the drawing, and the lines beneath it.
#[derive(Default)]
pub struct Branch {
    /// The file, in brackets before the text.
    pub tag: Option<String>,
    /// What the line says, without what draws the tree.
    pub text: String,
    /// The lines beneath it, in the order in which they are drawn.
    pub branches: Vec<Branch>,
}

impl Branch {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Makes the tree. Without a structure, that of owners is taken if any resource has one.
pub fn tree(
    root: &str,
    items: &[Item],
    fields: &[Field],
    structure: Option<Structure>,
    is_package: &dyn Fn(&str) -> bool,
) -> Result<Branch> {
    let has_owners = || items.iter().any(|item| item.node.at(["metadata", "ownerReferences"]).is_some());
    match structure.unwrap_or(if has_owners() { Structure::Owners } else { Structure::Folders }) {
        Structure::Folders => Ok(by_folder(root, items, fields, is_package)),
        Structure::Owners => by_owner(items, fields),
    }
}

fn by_folder(root: &str, items: &[Item], fields: &[Field], is_package: &dyn Fn(&str) -> bool) -> Branch {
    let mut folders: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in items.iter().filter(|item| !item.kind().is_empty()) {
        folders.entry(item.folder()).or_default().push(item);
    }
    // Every folder is under the nearest one above it that holds resources. They come in order, so those above a
    // folder are the ones still open.
    let mut open: Vec<(&str, Branch)> = vec![(".", Branch::new(root))];
    for (folder, mut items) in folders {
        if folder != "." {
            while open.len() > 1 && !is_within(folder, open.last().expect("never empty").0) {
                close(&mut open);
            }
            let name = folder.rsplit_once('/').map_or(folder, |(_, name)| name);
            let text = if is_package(folder) { format!("Pkg: {name}") } else { name.to_owned() };
            open.push((folder, Branch::new(text)));
        }
        items.sort_by_key(|item| order(item));
        let branch = &mut open.last_mut().expect("never empty").1;
        branch.branches.extend(items.iter().map(|item| resource(item, item.file(), fields)));
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().expect("the root is never closed").1
}

fn is_within(folder: &str, above: &str) -> bool {
    folder.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

fn close(open: &mut Vec<(&str, Branch)>) {
    let (_, done) = open.pop().expect("asked only where more than the root is open");
    open.last_mut().expect("the root stays").1.branches.push(done);
}

fn order(item: &Item) -> (&str, &str, &str, &str, &str) {
    (item.file(), item.namespace(), item.name(), item.kind(), item.api_version())
}

fn by_owner(items: &[Item], fields: &[Field]) -> Result<Branch> {
    let mut owned: BTreeMap<String, Vec<&Item>> = BTreeMap::new();
    let mut roots = Vec::new();
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    // Of several with one name, one that says who owns it.
    let (with, without): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| reference(item).is_some());
    let ids: BTreeMap<String, &Item> =
        without.into_iter().chain(with).map(|item| (identity(item), item)).collect();
    for item in items {
        let Some(reference) = reference(item) else {
            roots.push(item);
            continue;
        };
        let text = |key| reference.get(key).and_then(Node::text).unwrap_or_default();
        let owner = format!("{} {}/{}", text("kind"), item.namespace(), text("name"));
        if !ids.contains_key(&owner) {
            let named = match item.namespace() {
                "" => format!("{} `{}`", text("kind"), text("name")),
                namespace => format!("{} `{}` in namespace `{namespace}`", text("kind"), text("name")),
            };
            return Err(Diagnostic::error(
                "owner-missing",
                format!("the owner, {named}, is not among the resources"),
            )
            .at(reference.span())
            .help("give all resources, or draw the folders with `--graph-structure directory`"));
        }
        owners.insert(identity(item), owner.clone());
        owned.entry(owner).or_default().push(item);
    }
    let circle = circle(&owners);
    if !circle.is_empty() {
        let items: Vec<&Item> = circle.into_iter().map(|id| ids[id]).collect();
        let names: Vec<String> =
            items.iter().map(|item| format!("{} `{}`", item.kind(), item.name())).collect();
        let message = format!("resources own each other in a circle: {}", names.join(", "));
        let first = items.first().and_then(|item| reference(item)).map_or(Span::NONE, Node::span);
        return Err(Diagnostic::error("owner-cycle", message)
            .at(first)
            .help("remove the `ownerReferences` of one of them"));
    }
    let mut tree = Branch::new(".");
    roots.sort_by_key(|item| order(item));
    tree.branches =
        roots.iter().map(|item| with_owned(item, &mut owned, fields, 1)).collect::<Result<_>>()?;
    Ok(tree)
}

/// What says who owns a resource.
fn reference(item: &Item) -> Option<&Node> {
    item.node.at(["metadata", "ownerReferences"])?.items().first()
}

/// Those that own each other, given the owner of each: every one is owned by the next, and the last by the first. Empty if
/// there are none.
fn circle(owners: &BTreeMap<String, String>) -> Vec<&String> {
    let mut seen: BTreeMap<&String, usize> = BTreeMap::new();
    for (round, start) in owners.keys().enumerate() {
        let mut way = Vec::new();
        let mut next = Some(start);
        while let Some(at) = next {
            match seen.insert(at, round) {
                Some(earlier) if earlier == round => {
                    return way.split_off(way.iter().position(|one| *one == at).unwrap_or(0));
                }
                Some(_) => break,
                None => way.push(at),
            }
            next = owners.get(at);
        }
    }
    Vec::new()
}

/// How long a chain of owners may be; in a cluster it is a handful.
const MOST_OWNERS: usize = 500;

/// A resource and what it owns. Of several with one name, the first is drawn with what they own.
fn with_owned(
    item: &Item,
    owned: &mut BTreeMap<String, Vec<&Item>>,
    fields: &[Field],
    depth: usize,
) -> Result<Branch> {
    if depth > MOST_OWNERS {
        let message =
            format!("{} `{}` is owned through more than {MOST_OWNERS} others", item.kind(), item.name());
        return Err(Diagnostic::error("owners-too-deep", message)
            .at(item.node.span())
            .help("draw the folders with `--graph-structure directory`"));
    }
    let mut branch = resource(item, "Resource", fields);
    let mut children = owned.remove(&identity(item)).unwrap_or_default();
    children.sort_by_key(|item| order(item));
    for child in children {
        branch.branches.push(with_owned(child, owned, fields, depth + 1)?);
    }
    Ok(branch)
}

fn identity(item: &Item) -> String {
    format!("{} {}/{}", item.kind(), item.namespace(), item.name())
}

fn resource(item: &Item, tag: &str, fields: &[Field]) -> Branch {
    let text = match item.namespace() {
        "" => format!("{} {}", item.kind(), item.name()),
        namespace => format!("{} {}/{}", item.kind(), namespace, item.name()),
    };
    Branch { tag: Some(tag.to_owned()), text, branches: field_branches(item, fields) }
}

/// Fields in the order they are shown in, and beneath a list of containers, the fields of each.
type Values<'f> = BTreeMap<(usize, &'f str), String>;
type Lists<'f> = BTreeMap<(usize, &'f str), BTreeMap<String, Vec<(&'f str, String)>>>;

fn field_branches(item: &Item, fields: &[Field]) -> Vec<Branch> {
    let mut values = Values::new();
    let mut lists = Lists::new();
    for field in fields {
        for found in field.path.find(&item.node) {
            let key = (rank(&field.name), field.name.as_str());
            match &field.part {
                None => {
                    values.entry(key).or_insert_with(|| one_line(found.node));
                }
                Some(part) => {
                    let containers = lists.entry(key).or_default();
                    containers
                        .entry(found.chosen_by.join("/"))
                        .or_default()
                        .push((part, one_line(found.node)));
                }
            }
        }
    }
    let mut branches: BTreeMap<(usize, &str), Branch> = BTreeMap::new();
    for (key, value) in values {
        branches.insert(key, Branch::new(format!("{}: {value}", key.1)));
    }
    for (key, containers) in lists {
        let mut list = Branch::new(key.1);
        for (number, mut parts) in containers.into_values().enumerate() {
            parts.sort_by(|a, b| (rank(a.0), a).cmp(&(rank(b.0), b)));
            let mut container = Branch::new(number.to_string());
            container.branches =
                parts.iter().map(|(name, value)| Branch::new(format!("{name}: {value}"))).collect();
            list.branches.push(container);
        }
        branches.insert(key, list);
    }
    branches.into_values().collect()
}
