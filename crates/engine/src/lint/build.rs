//! What builds say: their errors, and the warnings that hold in every root that uses the file.

use krm_yaml::{Diagnostic, Failure};

use super::Check;
use super::roots::{Root, Unbuilt, errors_of, in_all};
use crate::workspace::LayerKind;

pub(super) fn findings(cx: &Check, roots: &[Root]) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = roots.iter().flat_map(errors_of).collect();
    // A component that nobody uses is read all the same.
    let components = cx.lint.workspace.layers().filter(|layer| layer.kind == LayerKind::Component);
    let unread = components.filter_map(|layer| layer.error.clone());
    found.extend(unread);
    let warnings = roots.iter().map(|root| {
        // Where there is nothing yet, such as before `flux bootstrap`, nothing can match.
        let is_empty = root.built.as_ref().is_ok_and(|built| built.is_empty());
        let tells = |warning: &&Diagnostic| !is_empty || warning.failure() != Some(Failure::NoMatch);
        root.warnings.iter().filter(tells).cloned().collect()
    });
    found.extend(in_all(cx, roots, warnings.collect(), Unbuilt::HasNone));
    found
}
