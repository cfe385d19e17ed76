//! Values of a kustomization that build, and then are refused by a cluster or mean something else than they seem to.

use krm_yaml::de::Noticed;
use krm_yaml::{Diagnostic, Fix, Node};

use super::Kustomization;
use crate::transformers::refused;

/// A warning for each field whose name was only known by ignoring its case. Other tools may not know it.
pub(super) fn field_case(noticed: Vec<Noticed>) -> Vec<Diagnostic> {
    let folded = noticed.into_iter().filter_map(|key| {
        let field = key.field?;
        let message = format!("`{}` is read as `{field}`", key.key);
        let warning = Diagnostic::warning("field-case", message).at(key.place);
        let fix = Fix::safe(format!("write `{field}`")).replace(key.place, field);
        Some(warning.help(format!("write `{field}`: capital letters matter to other tools")).fix(fix))
    });
    folded.collect()
}

/// A warning for each name, label, annotation or image that cannot be meant so.
pub(super) fn warnings(k: &Kustomization, root: &Node) -> Vec<Diagnostic> {
    let names =
        [refused::prefix(&k.name_prefix), refused::suffix(&k.name_suffix), refused::namespace(&k.namespace)];
    let mut warnings: Vec<Diagnostic> = names.into_iter().flatten().collect();
    for generator in k.config_map_generator.iter().chain(&k.secret_generator) {
        warnings.extend(refused::generator(generator, root));
    }
    warnings.extend(refused::generator_options(&k.generator_options, root));
    for pairs in k.labels.iter().map(|label| &label.pairs).chain([&k.common_labels]) {
        warnings.extend(refused::labels(pairs, root));
    }
    warnings.extend(refused::annotations(&k.common_annotations, root));
    warnings.extend(k.images.iter().filter_map(|image| image.name_with_tag()));
    warnings
}
