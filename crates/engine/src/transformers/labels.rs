//! `labels:` and `commonLabels:` label everything.

use std::collections::BTreeMap;

use krm_yaml::{Node, Result, Spanned, Text};
use serde::Deserialize;

use super::{Setup, TransformerConfig, field_specs_missing, read_config, refused, setter};
use crate::pipeline::{Context, Each, Transformer};
use crate::resource::Resource;
use crate::resource::fields::{Create, FieldPath, FieldSpec, FieldSpecs};
use crate::resource::list::Resources;

/// Adds labels to every resource and, if asked, to selectors and to what workloads make.
///
/// ```yaml
/// labels:
/// - pairs:
///     team: payments
///   includeSelectors: true
/// ```
///
/// With `includeSelectors` labels go to metadata, to pod templates and volume claim templates, and to every selector that
/// must match them. Once workloads run, their selectors cannot change; so choose it on the first day or never. With
/// `includeTemplates` they go to metadata and pod templates, with `includeVolumeClaimTemplates` to volume claim templates,
/// and with neither to metadata alone. `fields` names further places. The old `commonLabels:` is `includeSelectors: true`.
///
/// Under `transformers:` of a kustomization it needs `fieldSpecs`:
///
/// ```yaml
/// apiVersion: builtin
/// kind: LabelTransformer
/// metadata: {name: any}
/// labels: {team: payments}
/// fieldSpecs:
/// - path: metadata/labels
///   create: true
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    labels: Pairs,
    field_specs: FieldSpecs,
}

/// Keys and values of labels or annotations, with the places of the values.
pub(crate) type Pairs = BTreeMap<Text, Spanned<Text>>;

/// One entry of a kustomization's `labels:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Label {
    pub pairs: Pairs,
    pub include_selectors: bool,
    pub include_templates: bool,
    pub include_volume_claim_templates: bool,
    pub fields: Spanned<FieldSpecs>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    labels: Pairs,
    field_specs: Option<FieldSpecs>,
}

impl Labels {
    pub(crate) fn new(labels: Pairs, field_specs: FieldSpecs) -> Self {
        Self { labels, field_specs }
    }

    /// An entry of a kustomization's `labels:`.
    pub(crate) fn of(label: Label, config: &TransformerConfig) -> Result<Self> {
        let field_specs = label.field_specs(config).map_err(|d| d.at(label.fields.span))?;
        Ok(Self::new(label.pairs, field_specs))
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { labels, field_specs } = read_config(config)?;
        let field_specs = setup.field_specs(field_specs, |defaults| &defaults.common_labels);
        if field_specs.is_empty() && !labels.is_empty() {
            let example = "path: metadata/labels, create: true";
            setup.warn([field_specs_missing(config, "labels", example).into_warning()]);
        }
        // Other fields than those of labels may hold any text.
        if field_specs.lead_to(&["labels", "matchLabels", "selector", "nodeSelector"]) {
            setup.warn(refused::labels(&labels, config));
        }
        Ok(Box::new(Self::new(labels, field_specs)))
    }
}

impl Label {
    fn field_specs(&self, config: &TransformerConfig) -> Result<FieldSpecs> {
        let mut specs = self.fields.merged(&config.labels)?;
        if self.include_selectors {
            return specs.merged(&config.common_labels);
        }
        if self.include_templates {
            specs = specs.merged(&config.template_labels)?;
        }
        if self.include_volume_claim_templates {
            specs = specs.merged(&config.volume_claim_template_labels)?;
        }
        specs.merged(&FieldSpecs::from_iter([FieldSpec::created("metadata/labels")]))
    }
}

impl Transformer for Labels {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        items.edit_apart(|r| self.edit(r, cx))
    }

    fn each(&self) -> Option<&dyn Each> {
        Some(self)
    }
}

impl Each for Labels {
    fn edit(&self, r: &mut Resource, cx: &Context) -> Result<()> {
        write_pairs(&self.labels, &self.field_specs, r, cx)
    }
}

/// Sets each pair in every field the specs lead to.
pub(super) fn write_pairs(pairs: &Pairs, specs: &FieldSpecs, r: &mut Resource, cx: &Context) -> Result<()> {
    if pairs.is_empty() || specs.is_empty() {
        return Ok(());
    }
    let gvk = r.gvk().clone();
    // Which pair was new in which field, if there is more than one.
    let several = specs.fitting(&gvk).nth(1).is_some();
    let mut new: Vec<(usize, &FieldPath)> = Vec::new();
    r.edit(cx.schema, |root| {
        for spec in specs.fitting(&gvk) {
            // A bit for each pair; those who add more than 64 at once do without.
            let (mut all_new, mut reached) = (u64::MAX, false);
            spec.edit(root, Some(Create::Map), &mut |field| {
                reached = true;
                for (at, (key, value)) in pairs.iter().enumerate() {
                    if !setter::entry(field, key, &value.value, value.span)? && at < 64 {
                        all_new &= !(1 << at);
                    }
                }
                Ok(())
            })?;
            if reached && several {
                let pairs = 0..pairs.len().min(64);
                new.extend(pairs.filter(|at| all_new >> at & 1 == 1).map(|at| (at, &spec.path)));
            }
        }
        Ok(())
    })?;
    if !r.shared.is_empty() && pairs.keys().any(|key| r.shared.has(key)) {
        r.follow_shared();
    }
    if new.len() > 1 {
        for (at, (key, value)) in pairs.iter().enumerate() {
            let fields = new.iter().filter(|(pair, _)| *pair == at).map(|(_, field)| *field);
            r.shared.add(key, fields, value);
        }
    }
    Ok(())
}
