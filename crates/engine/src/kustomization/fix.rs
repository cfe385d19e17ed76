//! Deprecated fields: what they are called now, and what is made of them.

use krm_yaml::{Diagnostic, Failure, Node};

use super::Kustomization;
use crate::transformers::helm_chart::OldChart;

/// Old names of fields and what to write instead.
const DEPRECATED: [(&str, &str); 6] = [
    ("bases", "`resources`"),
    ("commonLabels", "`labels`, with `includeSelectors: true` in its entry,"),
    ("imageTags", "`images`"),
    ("patchesJson6902", "`patches`"),
    ("patchesStrategicMerge", "`patches`, with `path:` or `patch:` in each entry,"),
    ("vars", "`replacements`"),
];

/// A warning for each deprecated field that is used.
pub(super) fn deprecated(root: &Node) -> Vec<Diagnostic> {
    let entries = root.as_map().into_iter().flatten().filter(|entry| !entry.value.is_null());
    entries
        .filter_map(|entry| {
            let key = entry.key.text()?;
            let (old, new) = DEPRECATED.iter().find(|(old, _)| old.eq_ignore_ascii_case(key))?;
            let warning = Diagnostic::warning("deprecated-field", format!("the field `{old}` is deprecated"));
            Some(
                warning
                    .failing(Failure::Deprecated)
                    .at(entry.key.span())
                    .help(format!("write {new} instead")),
            )
        })
        .collect()
}

impl Kustomization {
    /// Moves what is in fields that only changed their name.
    pub(super) fn fix(&mut self) {
        self.resources.append(&mut self.bases);
        self.images.append(&mut self.image_tags);
        let old = std::mem::take(&mut self.helm_chart_inflation_generator);
        if !old.is_empty() {
            let (mut charts, globals) = OldChart::convert(old);
            self.helm_charts.append(&mut charts);
            self.helm_globals.get_or_insert(globals);
        }
    }
}
