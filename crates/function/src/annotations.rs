//! Annotations by which orchestrators, functions and builds speak about a resource: the one list of them.
//!
//! [`is_internal`] says which are nobody's business but theirs, and so never belong into a file.

/// The file a resource is in: relative, with slashes.
pub const PATH: &str = "internal.config.kubernetes.io/path";
/// Which document of its file a resource is, from 0.
pub const INDEX: &str = "internal.config.kubernetes.io/index";
/// By which the orchestrator knows a resource again in what a function returns.
pub const ID: &str = "internal.config.kubernetes.io/id";

/// What [`PATH`] was called before, and older functions still call it.
pub const LEGACY_PATH: &str = "config.kubernetes.io/path";
/// What [`INDEX`] was called before.
pub const LEGACY_INDEX: &str = "config.kubernetes.io/index";
/// What [`ID`] was called before.
pub const LEGACY_ID: &str = "config.k8s.io/id";

/// Annotations that begin so belong to the orchestrator; a function may change [`PATH`] and [`INDEX`] alone.
pub const INTERNAL: &str = "internal.config.kubernetes.io/";

/// Annotations that exist only between sending a resource to a function and receiving it.
pub const PASSING: [&str; 6] = [ID, LEGACY_ID, PATH, LEGACY_PATH, INDEX, LEGACY_INDEX];

/// How far lists are indented: kyaml notes it for itself, and may leave it behind.
pub const SEQUENCE_INDENT: &str = "internal.config.kubernetes.io/seqindent";
/// Which resource had which id while annotations were renamed: kyaml notes it for itself, and may leave it behind.
pub const MIGRATION_ID: &str = "internal.config.kubernetes.io/annotations-migration-resource-id";
/// What kyaml, which many functions use, may leave behind. It means nothing to anyone else.
pub const LEFT_BEHIND: [&str; 2] = [SEQUENCE_INDENT, MIGRATION_ID];

/// The names a resource had earlier in a build, separated by commas.
pub const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";
/// The namespaces that go with [`PREVIOUS_NAMES`].
pub const PREVIOUS_NAMESPACES: &str = "internal.config.kubernetes.io/previousNamespaces";
/// The kinds that go with [`PREVIOUS_NAMES`].
pub const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";
/// The prefixes a build has put before the name.
pub const PREFIXES: &str = "internal.config.kubernetes.io/prefixes";
/// The suffixes a build has put after the name.
pub const SUFFIXES: &str = "internal.config.kubernetes.io/suffixes";
/// What a generated resource does to an earlier one of its name.
pub const GENERATOR_BEHAVIOR: &str = "internal.config.kubernetes.io/generatorBehavior";
/// Whether a hash of the content goes after the name.
pub const NEEDS_HASH_SUFFIX: &str = "internal.config.kubernetes.io/needsHashSuffix";
/// Whether a patch may change the name.
pub const ALLOW_NAME_CHANGE: &str = "internal.config.kubernetes.io/allowNameChange";
/// Whether a patch may change the kind.
pub const ALLOW_KIND_CHANGE: &str = "internal.config.kubernetes.io/allowKindChange";
/// Whether a chart made the resource.
pub const HELM_GENERATED: &str = "internal.config.kubernetes.io/helm-generated";
/// Which resources refer to this one.
pub const REFERRED_BY: &str = "internal.config.kubernetes.io/refBy";

/// Where the relative paths of a transformer in a Composition start, if not from the file it is in: the folder or file of
/// the Composition that wrote it. `krm plan` writes it, and no function sees it.
pub const RELATIVE_TO: &str = "internal.config.kubernetes.io/relative-to";

/// Where a resource came from.
pub const ORIGIN: &str = "config.kubernetes.io/origin";
/// Which transformers have seen a resource.
pub const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

/// What a build remembers of a resource.
pub const REMEMBERED: [&str; 10] = [
    PREVIOUS_NAMES,
    PREVIOUS_NAMESPACES,
    PREVIOUS_KINDS,
    PREFIXES,
    SUFFIXES,
    GENERATOR_BEHAVIOR,
    NEEDS_HASH_SUFFIX,
    ALLOW_NAME_CHANGE,
    ALLOW_KIND_CHANGE,
    HELM_GENERATED,
];

/// Whether kustomize removes an annotation at the end of a build. It leaves internal ones it does not know, and adds
/// [`ORIGIN`] again if that is asked for.
pub fn ends_with_build(key: &str) -> bool {
    PASSING.contains(&key)
        || REMEMBERED.contains(&key)
        || LEFT_BEHIND.contains(&key)
        || [REFERRED_BY, ORIGIN].contains(&key)
}

/// Whether an annotation is a note of an orchestrator, a function library or a build, and never for a file.
///
/// ```
/// use krm_function::annotations::{FUNCTION, LEGACY_PATH, SEQUENCE_INDENT, is_internal};
/// assert!(is_internal(SEQUENCE_INDENT) && is_internal(LEGACY_PATH));
/// assert!(!is_internal(FUNCTION) && !is_internal("example.com/mine"));
/// ```
pub fn is_internal(key: &str) -> bool {
    key.starts_with(INTERNAL) || PASSING.contains(&key)
}

/// Marks a resource that is for tools and never for a cluster.
pub const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
/// Says whether a resource may be formatted.
pub const FORMATTING: &str = "config.kubernetes.io/formatting";

/// Says which program a functionConfig is for.
pub const FUNCTION: &str = "config.kubernetes.io/function";
/// What [`FUNCTION`] was called before.
pub const LEGACY_FUNCTION: &str = "config.k8s.io/function";
/// An image alone: what came before [`LEGACY_FUNCTION`].
pub const LEGACY_CONTAINER: &str = "config.kubernetes.io/container";

/// Asks a plugin's output for a hash after the name.
pub const PLUGIN_NEEDS_HASH: &str = "kustomize.config.k8s.io/needs-hash";
/// What a plugin's output does to an earlier resource of its name.
pub const PLUGIN_BEHAVIOR: &str = "kustomize.config.k8s.io/behavior";
/// By which a resource is known again in what a plugin returns.
pub const PLUGIN_ID: &str = "kustomize.config.k8s.io/id";

/// What upstream calls the resource of a package that kpt has fetched.
pub const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";
/// Asks in a Kptfile for packages to be rendered before those below them, level by level.
pub const BREADTH_FIRST: &str = "kpt.dev/bfs-rendering";
/// Asks in a Kptfile for what was done before a failure to be kept.
pub const SAVE_ON_FAILURE: &str = "kpt.dev/save-on-render-failure";

/// What kubectl keeps of a resource that it applied: a copy of all of it.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
