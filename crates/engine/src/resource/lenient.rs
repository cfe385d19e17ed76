//! How strictly typed configuration is read: as strictly as the reference does, which depends on where it is written.

use krm_yaml::de::Options;

/// A kustomization file.
// quirk(old-booleans-in-a-kustomization): A kustomization is read as YAML 1.1, where `yes` and `N` are booleans.
// (`types.Kustomization.Unmarshal`)
pub(crate) const KUSTOMIZATION: Options = Options::STRICT.case_insensitive().old_booleans();

/// A file that a kustomization or a built-in's configuration names, as far as it is read like the kustomization.
pub(crate) const NAMED_FILE: Options = KUSTOMIZATION.loose_strings();

/// The configuration of a built-in. The reference reads it as a resource, writes that as JSON, and reads the JSON: `yes` is
/// a string, a date is one of RFC 3339.
pub(crate) const CONFIGURATION: Options = INLINED_CONFIGURATION.loose_strings();

/// The same for built-ins that change names.
// quirk(prefix-transformer-minds-case): The transformers of prefixes and suffixes know their fields only as they are
// spelled; all other built-ins read `Labels` as `labels`. (`PrefixTransformerPlugin.Config`)
pub(crate) const EXACT_CONFIGURATION: Options = Options::STRICT.rfc3339().unknown_fields().loose_strings();

/// The same for built-ins whose fields are those of a type within their own in the reference: its reader makes no strings
/// of numbers there.
pub(crate) const INLINED_CONFIGURATION: Options =
    Options::STRICT.case_insensitive().rfc3339().unknown_fields();
