//! Which documents are resources.

use krm_yaml::{Diagnostic, Node, Result};

use super::kptfile::FILE;
use super::tree;
use crate::files::is_kustomize;
use crate::kustomization::FILE_NAMES;
use crate::resource::Resource;

/// Refuses what is not a resource: it must have an apiVersion, a kind and a name. Kustomizations need not.
pub(super) fn check(resource: &Node, path: &str) -> Result<()> {
    refuse(resource, path, Name::Needed)
}

/// Refuses what has no apiVersion or no kind. A name is not needed.
pub fn check_type(resource: &Node, path: &str) -> Result<()> {
    refuse(resource, path, Name::NotNeeded)
}

/// Whether a resource must have a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Needed,
    NotNeeded,
}

fn refuse(resource: &Node, path: &str, name: Name) -> Result<()> {
    let text = |keys: &[&str]| resource.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default();
    let (version, kind) = (text(&["apiVersion"]), text(&["kind"]));
    let file = path.rsplit('/').next().unwrap_or_default();
    let is_kustomization = FILE_NAMES.contains(&file)
        || is_kustomize(version)
        || (version.is_empty() && kind == "Kustomization");
    if is_kustomization && resource.is_map() {
        return Ok(());
    }
    const NOT_ONE: &str = "every document of a package must be a resource; name other files in .krmignore, or give them another ending";
    let not_one = if name == Name::Needed { NOT_ONE } else { "a resource has an `apiVersion` and a `kind`" };
    let (missing, advice) = if !resource.is_map() {
        ("is not a mapping", not_one)
    } else if version.is_empty() && kind.is_empty() {
        ("has no `apiVersion` and no `kind`", not_one)
    } else if version.is_empty() {
        ("has no `apiVersion`", "add the version of its kind, such as `apiVersion: v1`")
    } else if kind.is_empty() {
        ("has no `kind`", "add it, such as `kind: ConfigMap`")
    } else if name == Name::Needed && text(&["metadata", "name"]).is_empty() {
        let advice = match kind {
            FILE => "add a `name` under `metadata`: the name of the package",
            _ if kind.ends_with("List") && resource.get("items").is_some() => {
                "the items of a list are resources if each of them has a `kind`"
            }
            _ => "add a `name` under `metadata`",
        };
        ("has no `metadata.name`", advice)
    } else {
        return Ok(());
    };
    let place = if path.is_empty() { String::new() } else { format!(" of `{path}`") };
    Err(Diagnostic::error("package-not-krm", format!("a document{place} is not a resource: it {missing}"))
        .at(resource.span())
        .help(advice))
}

/// Refuses what is not a resource, in all of them.
pub fn check_all<'r>(resources: impl IntoIterator<Item = &'r Resource>) -> Result<()> {
    resources.into_iter().try_for_each(|r| check(r.node(), tree::path(r)))
}
