//! What builds say: their errors, and the warnings that hold in every root that uses the file.

use krm_yaml::Diagnostic;

use super::Check;
use super::roots::{Root, errors_of, in_all};

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = roots.iter().flat_map(errors_of).collect();
    // A file of no root, such as a component that nobody uses, is read all the same.
    let unread = cx.lint.workspace.layers().filter_map(|layer| layer.error.clone());
    found.extend(unread);
    let warnings = roots.iter().map(|root| root.warnings.clone()).collect();
    found.extend(in_all(cx, roots, warnings, false));
    found
}
