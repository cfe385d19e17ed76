//! Fixes for `image-name-with-tag`: the tag goes to the field that is made for it.

use krm_yaml::{Diagnostic, Failure, Fix};

use super::Check;
use super::fix::as_edits;
use super::removal::layer_of;
use crate::edit;
use crate::files::folder::Files;

pub(super) fn add_fixes(cx: &Check, findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.failure() == Some(Failure::Misplaced)) {
        if let Some(fix) = of(cx, finding) {
            *finding = finding.clone().fix(fix);
        }
    }
}

fn of(cx: &Check, finding: &Diagnostic) -> Option<Fix> {
    let layer = layer_of(cx, finding.place())?;
    // Texts that are only tried need not be kept among those of the run.
    let files = Files::new(cx.lint.world.clone(), krm_yaml::Sources::new());
    let mut file = edit::File::open(&files, &layer.shown).ok()?;
    let source = layer.source.as_ref().filter(|source| source.text() == file.source().text())?;
    let field = file.move_tag_of_new_name(finding.place().start)?;
    Some(as_edits(Fix::needs_review(format!("write `{field}`")), source, &file.text()))
}
