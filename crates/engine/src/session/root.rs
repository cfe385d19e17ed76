//! What comes once, at the end of every build: names, references, order.

use krm_yaml::{Result, Span, Spanned, Text};

use super::BuildOptions;
use crate::kustomization::Wishes;
use crate::pipeline::{Role, Step, StepField, StepName, Work};
use crate::resource::fields::{FieldSpec, FieldSpecs};
use crate::transformers::build_metadata::BuildMetadata;
use crate::transformers::local_config::LocalConfig;
use crate::transformers::name_reference::NameReference;
use crate::transformers::vars::{VarSet, Vars};
use crate::transformers::{Hash, Labels, SortOrder, TransformerConfig};

/// The label `managedByLabel` asks for.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The release of kustomize whose output this is, byte for byte. `CONTRIBUTING.md` says when it changes.
pub const KUSTOMIZE_VERSION: &str = "v5.8.2";

/// The steps after those that fields ask for.
pub(super) fn steps(
    wishes: Wishes,
    config: TransformerConfig,
    vars: VarSet,
    options: &BuildOptions,
) -> Result<Vec<Step>> {
    let asks = |option: &str| wishes.build_metadata.iter().find(|wanted| *wanted.value == *option);
    let mut steps = Vec::with_capacity(8);
    let mut add = |field: StepField, place: Span, work: Work| {
        steps.push(Step::new(StepName::of_root(field), place, Role::Transform, work));
    };
    add(StepField::Hash, Span::NONE, Work::new(Hash));
    add(StepField::NameReferences, Span::NONE, Work::new(NameReference::new(config.name_reference)));
    if !vars.is_empty() {
        add(StepField::VarReferences, vars.span(), Work::new(Vars::new(vars, config.var_reference)));
    }
    add(StepField::LocalConfig, Span::NONE, Work::new(LocalConfig));
    match wishes.sort_options {
        Some(Spanned { value, span }) => add(StepField::SortOptions, span, Work::new(SortOrder::new(value)?)),
        None if options.keep_order || wishes.is_in_order => {}
        None => add(StepField::LegacyOrder, Span::NONE, Work::new(SortOrder::legacy())),
    }
    let managed_by = asks("managedByLabel").map(|option| option.span);
    if options.managed_by_label || managed_by.is_some() {
        let place = managed_by.unwrap_or(Span::NONE);
        let label =
            [(MANAGED_BY.into(), Spanned::new(Text::from(format!("kustomize-{KUSTOMIZE_VERSION}")), place))]
                .into_iter()
                .collect();
        let fields = FieldSpecs::from_iter([FieldSpec::created("metadata/labels")]);
        add(StepField::ManagedByLabel, place, Work::new(Labels::new(label, fields)));
    }
    let [origin, transformations] =
        ["originAnnotations", "transformerAnnotations"].map(|option| asks(option).map(|option| option.span));
    let place = origin.or(transformations).unwrap_or(Span::NONE);
    add(StepField::BuildMetadata, place, Work::new(BuildMetadata { origin, transformations }));
    Ok(steps)
}
