//! Fixes for `image-name-with-tag`: the tag goes to the field that is made for it.

use krm_yaml::{Diagnostic, Failure, Fix};

use super::Check;
use super::removal::{edited, layer_of};

pub(super) fn add_fixes(cx: &Check, findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.failure() == Some(Failure::Misplaced)) {
        if let Some(fix) = of(cx, finding) {
            *finding = finding.clone().fix(fix);
        }
    }
}

fn of(cx: &Check, finding: &Diagnostic) -> Option<Fix> {
    let place = finding.place();
    edited(cx, layer_of(cx, place)?, |file| {
        let field = file.move_tag_of_new_name(place.start)?;
        Some(Fix::needs_review(format!("write `{field}`")))
    })
}
