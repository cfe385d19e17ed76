//! The field that asks for a step.

use std::fmt;

use krm_yaml::Text;

/// What asks for a step: a field of a kustomization, the end of every build, or something with a name.
///
/// What a step is follows from this, never from the text of its name, which a file or a transformer may have too.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepField {
    /// The field `resources:`.
    Resources,
    /// The field `configMapGenerator:`.
    ConfigMapGenerator,
    /// The field `secretGenerator:`.
    SecretGenerator,
    /// The field `helmCharts:`.
    HelmCharts,
    /// The field `generators:`.
    Generators,
    /// The field `components:`.
    Components,
    /// The field `patchesStrategicMerge:`.
    PatchesStrategicMerge,
    /// The field `patches:`.
    Patches,
    /// The field `namespace:`.
    Namespace,
    /// The field `namePrefix:`.
    NamePrefix,
    /// The field `nameSuffix:`.
    NameSuffix,
    /// The field `labels:`.
    Labels,
    /// The field `commonLabels:`.
    CommonLabels,
    /// The field `commonAnnotations:`.
    CommonAnnotations,
    /// The field `patchesJson6902:`.
    PatchesJson6902,
    /// The field `replicas:`.
    Replicas,
    /// The field `images:`.
    Images,
    /// The field `replacements:`.
    Replacements,
    /// The field `transformers:`.
    Transformers,
    /// The field `validators:`.
    Validators,
    /// The field `vars:`.
    Vars,

    // At the end of every build.
    /// Hashes of contents go to the ends of names.
    Hash,
    /// Names in other resources follow renamed ones.
    NameReferences,
    /// Variables are replaced by the values of their fields.
    VarReferences,
    /// Resources that are only there for tools are left out.
    LocalConfig,
    /// `sortOptions:` of the kustomization that is built.
    SortOptions,
    /// The usual order of kinds, Namespaces and definitions first, unless another is asked for.
    LegacyOrder,
    /// The label that says what made the resources.
    ManagedByLabel,
    /// `buildMetadata:` of the kustomization that is built.
    BuildMetadata,

    /// A transformer of a Composition, a function of a package, a field of a Kptfile.
    Named(Text),
}

impl StepField {
    /// One that is known by its name alone.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self::Named(Text::from_static_str(name))
    }

    /// The name: that of the field, if a kustomization has it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Resources => "resources",
            Self::ConfigMapGenerator => "configMapGenerator",
            Self::SecretGenerator => "secretGenerator",
            Self::HelmCharts => "helmCharts",
            Self::Generators => "generators",
            Self::Components => "components",
            Self::PatchesStrategicMerge => "patchesStrategicMerge",
            Self::Patches => "patches",
            Self::Namespace => "namespace",
            Self::NamePrefix => "namePrefix",
            Self::NameSuffix => "nameSuffix",
            Self::Labels => "labels",
            Self::CommonLabels => "commonLabels",
            Self::CommonAnnotations => "commonAnnotations",
            Self::PatchesJson6902 => "patchesJson6902",
            Self::Replicas => "replicas",
            Self::Images => "images",
            Self::Replacements => "replacements",
            Self::Transformers => "transformers",
            Self::Validators => "validators",
            Self::Vars => "vars",
            Self::Hash => "hash",
            Self::NameReferences => "name-references",
            Self::VarReferences => "var-references",
            Self::LocalConfig => "local-config",
            Self::SortOptions => "sort-options",
            Self::LegacyOrder => "legacy-order",
            Self::ManagedByLabel => "managed-by-label",
            Self::BuildMetadata => "build-metadata",
            Self::Named(name) => name,
        }
    }
}

impl fmt::Display for StepField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
