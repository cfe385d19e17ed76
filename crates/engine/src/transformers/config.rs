//! Which fields hold names, labels, images: the field specs transformers work on.

use crate::select::FieldSpec;

/// Field specs by what they are for: the defaults, and what `configurations:` and `crds:` add.
#[derive(Clone, Debug, Default)]
pub struct TransformerConfig {
    pub name_prefix: Vec<FieldSpec>,
    pub name_suffix: Vec<FieldSpec>,
    pub namespace: Vec<FieldSpec>,
    pub common_labels: Vec<FieldSpec>,
    pub labels: Vec<FieldSpec>,
    pub template_labels: Vec<FieldSpec>,
    pub volume_claim_template_labels: Vec<FieldSpec>,
    pub common_annotations: Vec<FieldSpec>,
    pub images: Vec<FieldSpec>,
    pub replicas: Vec<FieldSpec>,
}
