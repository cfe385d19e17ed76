//! How strictly typed configuration is read, which depends on where it is written: files that kustomize accepts are to be
//! accepted, with the same meaning.

use krm_yaml::de::Options;

/// A kustomization file.
// quirk(old-booleans-in-a-kustomization): A kustomization is read as YAML 1.1, where `yes` and `N` are booleans.
// (`types.Kustomization.Unmarshal`)
pub(crate) const KUSTOMIZATION: Options = Options::STRICT.case_insensitive().old_booleans();

/// A file that a kustomization or a built-in's configuration names, as far as it is read like the kustomization.
pub(crate) const NAMED_FILE: Options = KUSTOMIZATION.loose_strings();

/// The configuration of a built-in.
// quirk(built-in-configuration-goes-through-json): The configuration of a built-in is read as a resource, written as
// JSON, and read again: other than in a kustomization, `yes` is a string, a date gains a time, and `0x10` is `16`.
// (`builtins.AnnotationsTransformerPlugin.Config`, `resource.Resource.AsYAML`)
pub(crate) const CONFIGURATION: Options = INLINED_CONFIGURATION.loose_strings();

/// The same for built-ins that change names.
// quirk(prefix-transformer-minds-case): The transformers of prefixes and suffixes know their fields only as they are
// spelled; all other built-ins read `Labels` as `labels`. (`PrefixTransformerPlugin.Config`)
pub(crate) const EXACT_CONFIGURATION: Options = Options::STRICT.rfc3339().unknown_fields().loose_strings();

/// The same for built-ins whose fields are those of another type, which theirs embeds in kustomize.
// quirk(inlined-fields-take-no-numbers): A number is taken for a text in the configuration of most built-ins, but not
// in that of the generators of ConfigMaps, Secrets and IAM policies and of the ReplacementTransformer: a field of an
// embedded type is not found when the texts among the fields are looked for. (sigs.k8s.io/yaml
// `convertToJSONableObject`)
pub(crate) const INLINED_CONFIGURATION: Options =
    Options::STRICT.case_insensitive().rfc3339().unknown_fields();
