//! What the built-ins do, in a line each.

/// The built-ins by their kind.
const ALL: &[(&str, &str)] = &[
    (
        "AnnotationsTransformer",
        "Adds annotations to resources and their templates, as `commonAnnotations` does.",
    ),
    (
        "ConfigMapGenerator",
        "Makes a ConfigMap from literals, files and env files, as an entry of `configMapGenerator` does.",
    ),
    (
        "HashTransformer",
        "Appends a hash of the content to the names of ConfigMaps and Secrets that ask for it.",
    ),
    (
        "HelmChartInflationGenerator",
        "Renders a helm chart, as an entry of `helmCharts` does; needs the `helm` program.",
    ),
    ("IAMPolicyGenerator", "Makes the service account that a policy of a cloud is bound to."),
    ("ImageTagTransformer", "Changes names, tags and digests of images, as an entry of `images` does."),
    (
        "LabelTransformer",
        "Adds labels to resources and, where field specs say so, to selectors and templates, as `labels` does.",
    ),
    (
        "NamespaceTransformer",
        "Sets the namespace of resources and of what refers to them, as `namespace` does.",
    ),
    (
        "PatchJson6902Transformer",
        "Applies a JSON patch to one resource, as an entry of `patchesJson6902` does.",
    ),
    (
        "PatchStrategicMergeTransformer",
        "Merges patches into the resources they name, as `patchesStrategicMerge` does.",
    ),
    (
        "PatchTransformer",
        "Applies a strategic merge patch or a JSON patch to all that its target selects, as an entry of `patches` does.",
    ),
    ("PrefixSuffixTransformer", "Puts texts before and after names; whatever refers to a name follows."),
    (
        "PrefixTransformer",
        "Puts a text before names, as `namePrefix` does; whatever refers to a name follows.",
    ),
    ("ReplacementTransformer", "Copies values from one field to others, as `replacements` does."),
    ("ReplicaCountTransformer", "Sets how many copies workloads run, as an entry of `replicas` does."),
    (
        "SecretGenerator",
        "Makes a Secret from literals, files and env files, as an entry of `secretGenerator` does.",
    ),
    (
        "SuffixTransformer",
        "Puts a text after names, as `nameSuffix` does; whatever refers to a name follows.",
    ),
    (
        "ValueAddTransformer",
        "Writes a value, or adds to a path, at fields of the resources that targets select.",
    ),
];

/// What the built-in of a kind does.
pub fn description(kind: &str) -> Option<&'static str> {
    ALL.iter().find(|(name, _)| *name == kind).map(|(_, description)| *description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_is_described() {
        let named: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        assert_eq!(named, crate::transformers::kinds().collect::<Vec<_>>());
    }
}
