//! The built-ins, one file each, and the table that finds them by kind.

use std::sync::Arc;

use krm_yaml::de::{self, Noticed};
use krm_yaml::{Diagnostic, Node, Result, Span};
use serde::Deserialize;

use crate::files::world::Loader;
use crate::pipeline::Transformer;
use crate::resource::fields::FieldSpecs;
use crate::resource::lenient;

pub(crate) mod annotations;
pub(crate) mod build_metadata;
pub(crate) mod config;
pub(crate) mod config_map;
mod crds;
pub(crate) mod generator;
pub(crate) mod hash;
pub(crate) mod helm_chart;
pub(crate) mod iam_policy;
pub(crate) mod image_tag;
pub(crate) mod labels;
pub(crate) mod local_config;
pub(crate) mod name_reference;
pub(crate) mod namespace;
pub(crate) mod patch;
mod patch_elements;
pub(crate) mod patch_json6902;
pub(crate) mod patch_strategic_merge;
pub(crate) mod prefix;
pub(crate) mod prefix_suffix;
pub(crate) mod refused;
pub(crate) mod replacement;
pub(crate) mod replica_count;
pub(crate) mod secret;
mod setter;
pub(crate) mod sort_order;
pub(crate) mod suffix;
pub(crate) mod value_add;
pub(crate) mod vars;

pub(crate) use annotations::Annotations;
pub(crate) use config::TransformerConfig;
pub(crate) use config_map::ConfigMapGenerator;
pub(crate) use generator::{GeneratorArgs, GeneratorOptions, decoded};
pub(crate) use hash::Hash;
pub(crate) use helm_chart::{HelmCharts, home_of_chart};
pub(crate) use iam_policy::IamPolicy;
pub use image_tag::split as split_image;
pub(crate) use image_tag::{Image, ImageTag};
pub(crate) use labels::{Label, Labels, Pairs};
pub(crate) use namespace::Namespace;
pub(crate) use patch::{Patch, PatchSpec};
pub(crate) use patch_json6902::PatchJson6902;
pub(crate) use patch_strategic_merge::PatchStrategicMerge;
pub(crate) use prefix::Prefix;
pub(crate) use prefix_suffix::PrefixSuffix;
pub(crate) use replica_count::{Replica, ReplicaCount};
pub(crate) use secret::SecretGenerator;
pub(crate) use sort_order::{SortOptions, SortOrder};
pub(crate) use suffix::Suffix;
pub(crate) use value_add::ValueAdd;

/// What a built-in is made with, besides its own configuration.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    /// Reads the files the configuration names.
    pub loader: &'a Arc<dyn Loader>,
    /// Field specs for configurations that name none. In `transformers:` of a kustomization there are no defaults: each
    /// lists its own, or changes nothing. A Composition has them.
    pub defaults: Option<&'a TransformerConfig>,
    /// Takes warnings about the configuration.
    pub warn: &'a dyn Fn(Diagnostic),
}

impl Setup<'_> {
    fn warn(&self, warnings: impl IntoIterator<Item = Diagnostic>) {
        warnings.into_iter().for_each(self.warn);
    }

    /// The field specs to work with: those that are written, or the defaults, if there are any.
    fn field_specs(
        &self,
        written: Option<FieldSpecs>,
        default: impl Fn(&TransformerConfig) -> &FieldSpecs,
    ) -> FieldSpecs {
        written.unwrap_or_else(|| self.defaults.map(|config| default(config).clone()).unwrap_or_default())
    }
}

/// A built-in in `transformers:` that does not say which fields hold what it changes.
fn field_specs_missing(config: &Node, what: &str, example: &str) -> Diagnostic {
    Diagnostic::error("field-specs-missing", format!("`fieldSpecs` must say which fields hold {what}"))
        .at(config.span())
        .help(format!("add `fieldSpecs: [{{{example}}}]`"))
}

/// Makes a built-in from its configuration: the whole object, `apiVersion`, `kind` and `metadata` included.
pub(crate) type Make = fn(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>>;

/// Every built-in by its kind, in alphabetical order.
const TABLE: &[(&str, Make)] = &[
    ("AnnotationsTransformer", Annotations::make),
    ("ConfigMapGenerator", ConfigMapGenerator::make),
    ("HashTransformer", Hash::make),
    ("HelmChartInflationGenerator", HelmCharts::make),
    ("IAMPolicyGenerator", IamPolicy::make),
    ("ImageTagTransformer", ImageTag::make),
    ("LabelTransformer", Labels::make),
    ("NamespaceTransformer", Namespace::make),
    ("PatchJson6902Transformer", PatchJson6902::make),
    ("PatchStrategicMergeTransformer", PatchStrategicMerge::make),
    ("PatchTransformer", Patch::make),
    ("PrefixSuffixTransformer", PrefixSuffix::make),
    ("PrefixTransformer", Prefix::make),
    ("ReplacementTransformer", replacement::Replacements::make),
    ("ReplicaCountTransformer", ReplicaCount::make),
    ("SecretGenerator", SecretGenerator::make),
    ("SuffixTransformer", Suffix::make),
    ("ValueAddTransformer", ValueAdd::make),
];

/// Reads a built-in's configuration, loosely: see quirk(built-in-configuration-goes-through-json).
fn read_config<'n, T: Deserialize<'n>>(config: &'n Node) -> Result<T> {
    de::from_node_with(config, lenient::CONFIGURATION)
}

/// A warning for each field of a built-in's configuration that it does not know, and so does nothing.
pub(crate) fn unknown_fields(config: &Node, noticed: &[Noticed]) -> Vec<Diagnostic> {
    let keys = |node: Option<&Node>| -> Vec<Span> {
        node.and_then(Node::as_map).into_iter().flatten().map(|entry| entry.key.span()).collect()
    };
    // What else the metadata says is for others to read.
    let (own, metadata) = (keys(Some(config)), keys(config.get("metadata")));
    let unknown: Vec<&Noticed> =
        noticed.iter().filter(|key| key.field.is_none() && !metadata.contains(&key.place)).collect();
    // A configuration may be read in two parts, each of which knows its own fields, some of them in any case.
    let known = |key: &Noticed| -> bool {
        ["apiVersion", "kind", "metadata"].iter().any(|field| field.eq_ignore_ascii_case(&key.key))
            || noticed.iter().any(|other| other.place == key.place && other.field.is_some())
            || unknown.iter().any(|other| own.contains(&other.place) && other.known.contains(&&*key.key))
    };
    let mut warnings: Vec<Diagnostic> = Vec::new();
    for key in unknown.iter().filter(|key| !own.contains(&key.place) || !known(key)) {
        if warnings.iter().any(|warning| warning.place() == key.place) {
            continue;
        }
        let warning = unknown_field(&key.key, key.place);
        warnings.push(match krm_yaml::nearest(&key.key, key.known.iter().copied()) {
            Some(near) => warning.help(format!("did you mean `{near}`?")),
            None => warning.help(format!("known fields are `{}`", key.known.join("`, `"))),
        });
    }
    let kind = config.get("kind").and_then(Node::as_str).unwrap_or_default();
    for (_, field, help) in OF_KUSTOMIZATIONS.iter().filter(|(of, ..)| *of == kind) {
        if let Some(entry) =
            config.as_map().and_then(|map| map.iter().find(|entry| entry.key.as_str() == Some(field)))
        {
            warnings.push(unknown_field(field, entry.key.span()).help(*help));
        }
    }
    warnings
}

/// Fields that share a type with those of a kustomization, and that a built-in does not use.
const OF_KUSTOMIZATIONS: [(&str, &str, &str); 3] = [
    ("ConfigMapGenerator", "env", "list it under `envs:`"),
    ("ConfigMapGenerator", "type", "only a Secret has one"),
    ("SecretGenerator", "env", "list it under `envs:`"),
];

fn unknown_field(name: &str, place: Span) -> Diagnostic {
    Diagnostic::warning("builtin-unknown-field", format!("unknown field `{name}`")).at(place)
}

/// The built-in of this kind.
pub(crate) fn builtin(kind: &str) -> Option<Make> {
    TABLE.iter().find(|(name, _)| *name == kind).map(|(_, make)| *make)
}

/// The kinds there are, in alphabetical order.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}
