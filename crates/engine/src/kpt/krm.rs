//! Which documents are resources.

use krm_yaml::{Diagnostic, Node, Result};

use super::tree;
use crate::kustomization::FILE_NAMES;
use crate::resource::Resource;

/// Refuses what is not a resource: it must have an apiVersion, a kind and a name. Kustomizations need not.
pub(super) fn check(resource: &Node, path: &str) -> Result<()> {
    let text = |keys: &[&str]| resource.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default();
    let (version, kind) = (text(&["apiVersion"]), text(&["kind"]));
    let file = path.rsplit('/').next().unwrap_or_default();
    let is_kustomization = FILE_NAMES.contains(&file)
        || version.split('/').next() == Some("kustomize.config.k8s.io")
        || (version.is_empty() && kind == "Kustomization");
    if is_kustomization && resource.is_map() {
        return Ok(());
    }
    let missing = if !resource.is_map() {
        "is not a mapping"
    } else if version.is_empty() {
        "has no `apiVersion`"
    } else if kind.is_empty() {
        "has no `kind`"
    } else if text(&["metadata", "name"]).is_empty() {
        "has no `metadata.name`"
    } else {
        return Ok(());
    };
    let place = if path.is_empty() { String::new() } else { format!(" of `{path}`") };
    Err(Diagnostic::error("package-not-krm", format!("a document{place} is not a resource: it {missing}"))
        .at(resource.span())
        .help("every document of a package must be a resource; name other files in .krmignore, or give them another ending"))
}

/// Refuses resources that are none.
pub fn check_all<'r>(resources: impl IntoIterator<Item = &'r Resource>) -> Result<()> {
    resources.into_iter().try_for_each(|r| check(r.node(), tree::path(r)))
}
