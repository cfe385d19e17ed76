//! What the built-ins do, in a line each, and the fields that configure them.

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

/// What a field of a built-in is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    /// The same as this field of a kustomization: it holds and means what that does.
    Field(&'static [&'static str]),
    /// It holds what this field of a kustomization does, and means something else.
    Holds(&'static [&'static str], &'static str),
    /// Something that no kustomization has: its type, and what it means.
    Own(&'static str, &'static str),
}

use Like::{Field, Holds, Own};

const FIELD_SPECS: (&str, Like) = (
    "fieldSpecs",
    Holds(
        &["labels", "*", "fields"],
        "The fields to change. If a Composition leaves them out, they are those that the field of a kustomization changes. A kustomization that names the step must give them, or write `default`.",
    ),
);

const NAME: (&str, Like) =
    ("name", Own("string", "The name of what is made, if not that of the `metadata`."));
const NAMESPACE: (&str, Like) =
    ("namespace", Own("string", "The namespace of what is made, if not that of the `metadata`."));

/// The fields of the built-ins, beside `apiVersion`, `kind` and `metadata`.
const FIELDS: &[(&str, &[(&str, Like)])] = &[
    ("AnnotationsTransformer", &[("annotations", Field(&["commonAnnotations"])), FIELD_SPECS]),
    (
        "ConfigMapGenerator",
        &[
            NAME,
            NAMESPACE,
            ("literals", Field(&["configMapGenerator", "*", "literals"])),
            ("files", Field(&["configMapGenerator", "*", "files"])),
            ("envs", Field(&["configMapGenerator", "*", "envs"])),
            ("behavior", Field(&["configMapGenerator", "*", "behavior"])),
            ("options", Field(&["configMapGenerator", "*", "options"])),
        ],
    ),
    (
        "HelmChartInflationGenerator",
        &[
            ("name", Field(&["helmCharts", "*", "name"])),
            ("repo", Field(&["helmCharts", "*", "repo"])),
            ("version", Field(&["helmCharts", "*", "version"])),
            ("releaseName", Field(&["helmCharts", "*", "releaseName"])),
            ("namespace", Field(&["helmCharts", "*", "namespace"])),
            ("nameTemplate", Field(&["helmCharts", "*", "nameTemplate"])),
            ("valuesFile", Field(&["helmCharts", "*", "valuesFile"])),
            ("additionalValuesFiles", Field(&["helmCharts", "*", "additionalValuesFiles"])),
            ("valuesInline", Field(&["helmCharts", "*", "valuesInline"])),
            ("valuesMerge", Field(&["helmCharts", "*", "valuesMerge"])),
            ("includeCRDs", Field(&["helmCharts", "*", "includeCRDs"])),
            ("skipHooks", Field(&["helmCharts", "*", "skipHooks"])),
            ("skipTests", Field(&["helmCharts", "*", "skipTests"])),
            ("apiVersions", Field(&["helmCharts", "*", "apiVersions"])),
            ("kubeVersion", Field(&["helmCharts", "*", "kubeVersion"])),
            ("debug", Field(&["helmCharts", "*", "debug"])),
            ("devel", Field(&["helmCharts", "*", "devel"])),
            ("chartHome", Field(&["helmGlobals", "chartHome"])),
            ("configHome", Field(&["helmGlobals", "configHome"])),
        ],
    ),
    (
        "IAMPolicyGenerator",
        &[
            ("cloud", Own("string", "The cloud; `gke` is the only one there is.")),
            (
                "kubernetesService",
                Own("object", "The `name` and the `namespace` of the ServiceAccount to make."),
            ),
            (
                "serviceAccount",
                Own("object", "The account of the cloud that it acts as: its `name` and `projectId`."),
            ),
        ],
    ),
    (
        "ImageTagTransformer",
        &[
            ("imageTag", Holds(&["images", "*"], "The image, and what it becomes: an entry of `images`.")),
            FIELD_SPECS,
        ],
    ),
    ("LabelTransformer", &[("labels", Field(&["labels", "*", "pairs"])), FIELD_SPECS]),
    (
        "NamespaceTransformer",
        &[
            ("metadata", Own("object", "`metadata.namespace` is the namespace that is set.")),
            ("unsetOnly", Own("boolean", "Leaves resources alone that have a namespace.")),
            (
                "setRoleBindingSubjects",
                Own(
                    "string",
                    "Which subjects of role bindings get the namespace: `defaultOnly`, `allServiceAccounts` or `none`.",
                ),
            ),
            FIELD_SPECS,
        ],
    ),
    (
        "PatchJson6902Transformer",
        &[
            ("target", Field(&["patchesJson6902", "*", "target"])),
            ("path", Field(&["patchesJson6902", "*", "path"])),
            ("jsonOp", Field(&["patchesJson6902", "*", "patch"])),
        ],
    ),
    (
        "PatchStrategicMergeTransformer",
        &[
            ("paths", Holds(&["patchesStrategicMerge"], "The files of the patches.")),
            ("patches", Own("string", "The patches, as one text.")),
        ],
    ),
    (
        "PatchTransformer",
        &[
            ("path", Field(&["patches", "*", "path"])),
            ("patch", Field(&["patches", "*", "patch"])),
            ("target", Field(&["patches", "*", "target"])),
            ("options", Field(&["patches", "*", "options"])),
        ],
    ),
    (
        "PrefixSuffixTransformer",
        &[("prefix", Field(&["namePrefix"])), ("suffix", Field(&["nameSuffix"])), FIELD_SPECS],
    ),
    ("PrefixTransformer", &[("prefix", Field(&["namePrefix"])), FIELD_SPECS]),
    ("ReplacementTransformer", &[("replacements", Field(&["replacements"]))]),
    ("ReplicaCountTransformer", &[("replica", Field(&["replicas", "*"])), FIELD_SPECS]),
    ("ResourceAccumulator", &[("paths", Field(&["resources"]))]),
    ("ResourceGenerator", &[("files", Field(&["resources"]))]),
    (
        "SecretGenerator",
        &[
            NAME,
            NAMESPACE,
            ("literals", Field(&["secretGenerator", "*", "literals"])),
            ("files", Field(&["secretGenerator", "*", "files"])),
            ("envs", Field(&["secretGenerator", "*", "envs"])),
            ("type", Field(&["secretGenerator", "*", "type"])),
            ("behavior", Field(&["secretGenerator", "*", "behavior"])),
            ("options", Field(&["secretGenerator", "*", "options"])),
        ],
    ),
    ("SortOrderTransformer", &[("sortOptions", Field(&["sortOptions"]))]),
    ("SuffixTransformer", &[("suffix", Field(&["nameSuffix"])), FIELD_SPECS]),
    (
        "ValueAddTransformer",
        &[
            (
                "value",
                Own("string", "The value to write; the name of the kustomization's folder if left out."),
            ),
            (
                "targets",
                Own(
                    "array",
                    "The resources and fields it is written to: `selector`, `fieldPath` and `filePathPosition`.",
                ),
            ),
            ("targetFilePath", Own("string", "A file with more targets.")),
        ],
    ),
];

/// The fields of the built-in of a kind.
pub(crate) fn fields(kind: &str) -> &'static [(&'static str, Like)] {
    FIELDS.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, fields)| fields)
}

/// What the built-in of a kind does.
pub(crate) fn description(kind: &str) -> Option<&'static str> {
    ALL.iter().find(|(name, _)| *name == kind).map(|(_, description)| *description)
}

#[cfg(test)]
mod tests {
    use super::super::fields::{FileKind, Schemas};
    use super::*;

    #[test]
    fn every_built_in_is_described() {
        let named: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        assert_eq!(named, crate::transformers::kinds().collect::<Vec<_>>());
    }

    #[test]
    fn fields_are_like_fields_that_a_kustomization_has() {
        let schemas = Schemas::default();
        for (kind, fields) in FIELDS {
            for (name, like) in *fields {
                if let Field(path) | Holds(path, _) = like {
                    let is_known = schemas.description(FileKind::Kustomization, path).is_some()
                        || !schemas.fields(FileKind::Kustomization, path).is_empty();
                    assert!(is_known, "{kind}.{name}: {path:?}");
                    let means = schemas.description_of_builtin(kind, &[name]).unwrap_or_default();
                    assert!(!means.starts_with("Deprecated"), "{kind}.{name}: {means}");
                }
            }
        }
    }
}
