//! Annotations by which orchestrators and functions speak about a resource.

/// The file a resource stands in: relative, with slashes.
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

/// Marks a resource that is for tools and never for a cluster.
pub const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// Says which program a functionConfig is for.
pub const FUNCTION: &str = "config.kubernetes.io/function";
/// What [`FUNCTION`] was called before.
pub const LEGACY_FUNCTION: &str = "config.k8s.io/function";
/// An image alone: what came before [`LEGACY_FUNCTION`].
pub const LEGACY_CONTAINER: &str = "config.kubernetes.io/container";
