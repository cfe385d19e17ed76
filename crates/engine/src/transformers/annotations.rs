//! `commonAnnotations:` annotates everything.

use krm_yaml::Result;
use serde::Deserialize;

use super::labels::{Pairs, write_pairs};
use super::{Setup, field_specs_missing, read_config, refused};
use crate::pipeline::{Context, Each, Transformer};
use crate::resource::Resource;
use crate::resource::fields::FieldSpecs;
use crate::resource::list::Resources;

/// Adds annotations to every resource, and to the pods that workloads make.
///
/// ```yaml
/// commonAnnotations:
///   team: payments
/// ```
///
/// Under `transformers:` of a kustomization it needs `fieldSpecs`:
///
/// ```yaml
/// apiVersion: builtin
/// kind: AnnotationsTransformer
/// metadata: {name: any}
/// annotations: {team: payments}
/// fieldSpecs:
/// - path: metadata/annotations
///   create: true
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Annotations {
    annotations: Pairs,
    field_specs: FieldSpecs,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    annotations: Pairs,
    field_specs: Option<FieldSpecs>,
}

impl Annotations {
    pub(crate) fn new(annotations: Pairs, field_specs: FieldSpecs) -> Self {
        Self { annotations, field_specs }
    }

    pub(super) fn make(config: &krm_yaml::Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { annotations, field_specs } = read_config(config)?;
        let field_specs = setup.field_specs(field_specs, |defaults| &defaults.common_annotations);
        if field_specs.is_empty() && !annotations.is_empty() {
            let example = "path: metadata/annotations, create: true";
            setup.warn([field_specs_missing(config, "annotations", example).into_warning()]);
        }
        if field_specs.lead_to(&["annotations"]) {
            setup.warn(refused::annotations(&annotations, config));
        }
        Ok(Box::new(Self::new(annotations, field_specs)))
    }
}

impl Transformer for Annotations {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        items.edit_apart(|r| self.edit(r, cx))
    }

    fn each(&self) -> Option<&dyn Each> {
        Some(self)
    }
}

impl Each for Annotations {
    fn edit(&self, r: &mut Resource, cx: &Context) -> Result<()> {
        write_pairs(&self.annotations, &self.field_specs, r, cx)
    }
}
