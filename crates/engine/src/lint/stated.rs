//! Paths that are deployed without any kustomization naming them: `spec.path` of Flux Kustomizations, and the paths of
//! Argo CD Applications.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use krm_yaml::Node;

use crate::edit;
use crate::files::world::{World, clean};

/// A folder that is deployed, as a path from the root of a repository. `*` is for what is only known later.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Stated {
    /// From the root of the repository, with slashes.
    pub path: String,
    /// Who says that it is deployed.
    pub by: By,
}

/// Who deploys a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum By {
    /// A Flux Kustomization.
    Flux,
    /// An Argo CD Application, ApplicationSet or AppProject.
    ArgoCd,
}

impl Stated {
    /// The folders and files that are meant, of those that exist.
    pub(crate) fn found(&self, world: &dyn World, root: &Path) -> Vec<PathBuf> {
        let path = self.path.trim_start_matches("./").trim_start_matches('/');
        if path.contains('*') {
            let found = edit::expand(world, root, path).unwrap_or_default();
            return found.into_iter().map(|path| clean(&root.join(path))).collect();
        }
        let place = clean(&root.join(path));
        world.real_path(&place).into_iter().collect()
    }
}

/// The paths that a resource states; none of most resources.
pub(crate) fn in_resource(resource: &Node) -> Vec<Stated> {
    let text = |key| resource.get(key).and_then(Node::as_str).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        (version, "Kustomization") if version.starts_with("kustomize.toolkit.fluxcd.io/") => flux(resource),
        (version, "Application" | "ApplicationSet" | "AppProject") if version.starts_with("argoproj.io/") => {
            let (mut found, mut given) = (Vec::new(), Given::default());
            given.by_generators(resource);
            argo_cd(resource, &given, &mut found);
            found.sort();
            found.dedup();
            found.into_iter().map(|path| Stated { path, by: By::ArgoCd }).collect()
        }
        _ => Vec::new(),
    }
}

fn flux(resource: &Node) -> Vec<Stated> {
    let Some(spec) = resource.get("spec") else { return Vec::new() };
    let path = spec.get("path").and_then(Node::as_str).unwrap_or("./");
    let components = spec.get("components").map(Node::items).unwrap_or_default().iter();
    // Components are named as seen from the folder.
    let components = components.filter_map(|component| Some(format!("{path}/{}", component.as_str()?)));
    let all = std::iter::once(path.to_owned()).chain(components);
    all.map(|path| Stated { path: with_stars(&path), by: By::Flux }).collect()
}

/// What the generators of an ApplicationSet put into its template, by the name that the template has for it.
#[derive(Default)]
struct Given(BTreeMap<String, Vec<String>>);

impl Given {
    fn by_generators(&mut self, node: &Node) {
        for entry in node.as_map().into_iter().flatten() {
            let items = entry.value.items().iter().filter(|item| !is_excluded(item));
            match entry.key.text() {
                Some("directories") => items.for_each(|item| self.add_path(item, |path| path)),
                // Of a file the template gets the folder.
                Some("files") => items.for_each(|item| {
                    self.add_path(item, |path| path.rsplit_once('/').map_or(".", |(folder, _)| folder));
                }),
                Some("elements") => {
                    for field in items.flat_map(|item| item.as_map().into_iter().flatten()) {
                        if let (Some(name), Some(value)) = (field.key.text(), field.value.as_str()) {
                            self.add(name, value);
                        }
                    }
                }
                _ => self.by_generators(&entry.value),
            }
        }
        node.items().iter().for_each(|item| self.by_generators(item));
    }

    fn add_path(&mut self, item: &Node, part: impl Fn(&str) -> &str) {
        let Some(path) = item.get("path").and_then(Node::as_str) else { return };
        // The one name is that of plain templates, the other that of Go templates.
        ["path", "path.path"].iter().for_each(|name| self.add(name, part(path)));
    }

    fn add(&mut self, name: &str, value: &str) {
        self.0.entry(name.to_owned()).or_default().push(with_stars(value));
    }

    /// The paths that a template means. One that begins with a whole path would otherwise match everything.
    fn paths(&self, template: &str) -> Vec<String> {
        let start = template.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
        let given = start.and_then(|(name, rest)| {
            let name = name.trim().trim_start_matches('.');
            Some((self.0.get(name)?, with_stars(rest)))
        });
        match given {
            Some((values, rest)) => values.iter().map(|value| format!("{value}{rest}")).collect(),
            None => vec![with_stars(template)],
        }
    }
}

fn is_excluded(item: &Node) -> bool {
    item.get("exclude").and_then(Node::as_bool) == Some(true)
}

/// Every `path`, and whatever the elements of a list generator say, since templates take paths from there.
fn argo_cd(node: &Node, given: &Given, found: &mut Vec<String>) {
    if is_excluded(node) {
        return;
    }
    for entry in node.as_map().into_iter().flatten() {
        match (entry.key.text(), entry.value.as_str()) {
            (Some("path"), Some(path)) if !path.is_empty() => found.extend(given.paths(path)),
            (Some("elements"), None) => texts(&entry.value, found),
            _ => argo_cd(&entry.value, given, found),
        }
    }
    node.items().iter().for_each(|item| argo_cd(item, given, found));
}

fn texts(node: &Node, found: &mut Vec<String>) {
    if let Some(text) = node.as_str().filter(|text| text.contains('/')) {
        found.push(with_stars(text));
    }
    node.items().iter().for_each(|item| texts(item, found));
    node.as_map().into_iter().flatten().for_each(|entry| texts(&entry.value, found));
}

/// A path with a star for each part that a template or a variable fills in.
fn with_stars(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("${")).min() {
        out.push_str(&rest[..at]);
        out.push('*');
        let end = if rest[at..].starts_with("{{") { "}}" } else { "}" };
        rest = rest[at..].find(end).map_or("", |to| &rest[at + to + end.len()..]);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> Vec<String> {
        let documents = krm_yaml::parse_str(text).unwrap();
        in_resource(&documents[0].root).into_iter().map(|stated| stated.path).collect()
    }

    #[test]
    fn paths_of_flux_and_argo_cd_are_found() {
        let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec:\n  path: ./apps/${CLUSTER}\n  \
                    components: [../parts/a]\n";
        assert_eq!(stated(flux), ["./apps/*", "./apps/*/../parts/a"]);
        let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nspec:\n  generators:\n  - git: {directories: [{path: \
                   apps/*}]}\n  - list: {elements: [{folder: teams/a}]}\n  template:\n    spec:\n      source: {path: \
                   'c/{{ name }}/x'}\n";
        assert_eq!(stated(set), ["apps/*", "c/*/x", "teams/a"]);
        let plain = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nspec:\n  generators:\n  - git:\n      \
                     directories: [{path: overlays/*/*}, {path: overlays/old/*, exclude: true}]\n  template: {spec: \
                     {source: {path: '{{path}}'}}}\n";
        assert_eq!(stated(plain), ["overlays/*/*"]);
        let go = plain.replace("'{{path}}'", "'{{ .path.path }}/app'");
        assert_eq!(stated(&go), ["overlays/*/*", "overlays/*/*/app"]);
        let files = plain.replace("directories: [{path: overlays/*/*}", "files: [{path: c/*/config.json}");
        assert_eq!(stated(&files), ["c/*", "c/*/config.json"]);
        let elements = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nspec:\n  generators:\n  - list: \
                        {elements: [{folder: teams/a}]}\n  template: {spec: {source: {path: '{{folder}}'}}}\n";
        assert_eq!(stated(elements), ["teams/a"]);
        let unknown = plain.replace("{{path}}", "{{ metadata.annotations.folder }}");
        assert_eq!(stated(&unknown), ["*", "overlays/*/*"], "a cluster may say anything");
        assert!(stated("apiVersion: v1\nkind: Pod\nspec: {path: a}\n").is_empty());
    }
}
