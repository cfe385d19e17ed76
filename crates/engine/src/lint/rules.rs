//! The codes of lint, and what each is about.

use krm_yaml::nearest;

use super::settings::Level;

/// What lint finds beyond the warnings and errors of builds.
#[non_exhaustive]
pub struct Rule {
    /// What findings of this rule have as their code.
    pub code: &'static str,
    /// How much it counts unless settings say otherwise.
    pub level: Level,
    /// What it finds, in one line.
    pub summary: &'static str,
}

const fn rule(code: &'static str, level: Level, summary: &'static str) -> Rule {
    Rule { code, level, summary }
}

/// Sorted by code.
pub const RULES: &[Rule] = &[
    rule(
        "dangling-reference",
        Level::Warning,
        "a name that nothing has, though something has nearly the same",
    ),
    rule("dead-write", Level::Warning, "a value of a patch that is overwritten or removed in every root"),
    rule("duplicate-entry", Level::Warning, "an entry that a list of a kustomization has twice"),
    rule(
        "json-patch-position",
        Level::Warning,
        "a position that means different elements in different roots",
    ),
    rule("missing-reference", Level::Off, "a name of a resource that is not part of the same root"),
    rule("no-op", Level::Warning, "an entry that sets what is there already, in every root"),
    rule("overlapping-patches", Level::Warning, "a field that two patches of one kustomization set"),
    rule("remote-moves", Level::Warning, "a remote base or file whose content may change at any time"),
    rule("resource-label-refused", Level::Warning, "a label that Kubernetes refuses"),
    rule("resource-name-refused", Level::Warning, "a name that Kubernetes refuses"),
    rule("resource-unknown-field", Level::Warning, "a field that the kind of resource does not have"),
    rule("resource-wrong-type", Level::Warning, "a value of a type that the field cannot hold"),
    rule("same-in-all-overlays", Level::Warning, "a patch or label that every overlay of a base repeats"),
    rule(
        "selector-no-match",
        Level::Warning,
        "a selector that does not select the pods it is meant for, or a port they lack",
    ),
    rule("silence-unused", Level::Warning, "a silenced code that is not found there"),
    rule("silence-without-reason", Level::Warning, "a silence without a reason, in strict mode"),
    rule("unused-component", Level::Warning, "a component that no kustomization lists"),
    rule("unused-file", Level::Warning, "a resource beside a kustomization that nothing names"),
    rule("unused-files", Level::Warning, "many such resources, if nothing states what is deployed"),
    rule("unused-generator", Level::Warning, "a generated ConfigMap or Secret that nothing refers to"),
];

/// Warnings of builds, which lint shows too.
pub(crate) const OF_BUILDS: &[&str] = &[
    "annotation-refused",
    "build-metadata-unknown",
    "builtin-unknown-field",
    "deprecated-field",
    "field-case",
    "git-prefix",
    "image-name-with-tag",
    "image-no-match",
    "image-no-name",
    "json-patch-no-slash",
    "json-patch-replace-adds",
    "kustomization-documents",
    "kustomization-key-twice",
    "label-refused",
    "local-config-misspelled",
    "name-refused",
    "odd-space",
    "patch-element-near",
    "patch-element-no-key",
    "patch-empty",
    "patch-null-as-text",
    "patch-target-no-match",
    "replacement-brackets",
    "replacement-index-past-end",
    "replacement-lost",
    "replacement-no-target",
    "transformer-name",
    "validator-output-discarded",
    "var-unused",
];

/// The level of a code that no settings mention; `None` for codes that have their own.
pub(crate) fn level(code: &str) -> Option<Level> {
    RULES.iter().find(|rule| rule.code == code).map(|rule| rule.level)
}

/// The code that was probably meant by one that is not known. Codes of errors are many, and not checked.
pub(crate) fn nearest_of_unknown(code: &str) -> Option<&'static str> {
    let known = || RULES.iter().map(|rule| rule.code).chain(OF_BUILDS.iter().copied());
    match known().any(|known| known == code) {
        true => None,
        false => nearest(code, known()),
    }
}
