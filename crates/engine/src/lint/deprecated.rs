//! Fixes for `deprecated-field`: the whole file is moved to today's fields at once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use krm_yaml::{Diagnostic, Failure, Fix};
use rustc_hash::FxHashMap;

use super::Check;
use super::fix::as_edits;
use crate::edit::File;
use crate::edit::fix::PatchOrder;
use crate::files::folder::Files;
use crate::files::relative;
use crate::kustomization::FILE_NAMES;

/// Adds to each finding the ways to fix its file. Patches may have to go in one order or the other, so there are two; which
/// of them leaves the output as it is, builds tell.
pub(super) fn add_fixes(cx: &Check, findings: &mut [Diagnostic]) {
    let mut known: FxHashMap<PathBuf, Fixes> = FxHashMap::default();
    for finding in findings.iter_mut().filter(|finding| finding.failure() == Some(Failure::Deprecated)) {
        let Some(path) = cx.path_of(finding.place()) else { continue };
        let is_kustomization = path.file_name().is_some_and(|name| FILE_NAMES.iter().any(|own| name == *own));
        if !is_kustomization {
            continue;
        }
        let fixes = known.entry(path.clone()).or_insert_with(|| of_file(cx, finding, &path));
        let is_var = finding.message().contains("`vars`");
        let wanted = if is_var { &fixes.vars } else { &fixes.fields };
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

fn of_file(cx: &Check, finding: &Diagnostic, path: &std::path::Path) -> Fixes {
    let mut fixes = Fixes::default();
    let (Some(source), Some(folder)) = (cx.lint.sources.get(finding.place().file), path.parent()) else {
        return fixes;
    };
    let shown = match relative(folder, &cx.here) {
        shown if shown.is_empty() => ".".to_owned(),
        shown => shown,
    };
    // Texts that are only tried need not be kept among those of the run.
    let files = Files::new(cx.lint.world.clone(), krm_yaml::Sources::new());
    for order in [PatchOrder::Reference, PatchOrder::Acting] {
        let Ok(mut file) = File::open(&files, &shown) else { continue };
        if file.source().text() != source.text() || file.fix_fields(order).is_err() {
            continue;
        }
        let fix = as_edits(Fix::safe("move it to today's fields"), &source, &file.text());
        if !fix.edits().is_empty() && !fixes.fields.contains(&fix) {
            fixes.fields.push(fix);
        }
    }
    let mut texts = BTreeMap::new();
    if let Ok(mut file) = File::open(&files, &shown)
        && file.fix_vars(&mut texts).is_ok_and(|changed| changed)
    {
        let mut fix =
            as_edits(Fix::needs_review("make replacements of the variables"), &source, &file.text());
        for (path, (_, before, after)) in &texts {
            let source = cx.lint.sources.add(relative(path, &cx.here), before.as_str());
            fix = as_edits(fix, &source, after);
        }
        fixes.vars.push(fix);
    }
    fixes
}
