//! Fixes for `deprecated-field`: the whole file is moved to today's fields at once.

use std::collections::BTreeMap;
use std::path::Path;

use krm_yaml::{Diagnostic, Failure, Fix};
use rustc_hash::FxHashMap;

use super::Check;
use super::fix::as_edits;
use super::removal::{edited, layer_of};
use crate::edit::fix::PatchOrder;
use crate::files::relative;
use crate::workspace::Layer;

/// Adds to each finding the ways to fix its file. Patches may have to go in one order or the other, so there are two; which
/// of them leaves the output as it is, builds tell.
pub(super) fn add_fixes(cx: &Check, findings: &mut [Diagnostic]) {
    let mut known: FxHashMap<&Path, Fixes> = FxHashMap::default();
    for finding in findings.iter_mut().filter(|finding| finding.failure() == Some(Failure::Deprecated)) {
        let Some(layer) = layer_of(cx, finding.place()) else { continue };
        let fixes = known.entry(&layer.file).or_insert_with(|| of_file(cx, layer));
        let Some(source) = cx.lint.sources.get(finding.place().file) else { continue };
        // The finding is at the name of the field, as it is written.
        let field = source.slice(finding.place()).trim_matches(['"', '\'']);
        let wanted = match field.eq_ignore_ascii_case("vars") {
            true => &fixes.vars,
            false => &fixes.fields,
        };
        let mut fixed = finding.clone();
        for fix in wanted {
            fixed = fixed.fix(fix.clone());
        }
        *finding = fixed;
    }
}

#[derive(Default)]
struct Fixes {
    fields: Vec<Fix>,
    vars: Vec<Fix>,
}

fn of_file(cx: &Check, layer: &Layer) -> Fixes {
    let mut fixes = Fixes::default();
    for order in [PatchOrder::Reference, PatchOrder::Acting] {
        let fix = edited(cx, layer, |file| {
            file.fix_fields(order).is_ok().then(|| Fix::safe("move it to today's fields"))
        });
        fixes.fields.extend(fix.filter(|fix| !fixes.fields.contains(fix)));
    }
    let mut texts = BTreeMap::new();
    let of_vars = edited(cx, layer, |file| {
        let is_changed = file.fix_vars(&mut texts).is_ok_and(|changed| changed);
        is_changed.then(|| Fix::needs_review("make replacements of the variables"))
    });
    fixes.vars.extend(of_vars.map(|fix| {
        texts.iter().fold(fix, |fix, (path, (_, before, after))| {
            let source = cx.lint.sources.add(relative(path, &cx.here), before.as_str());
            as_edits(fix, &source, after)
        })
    }));
    fixes
}
