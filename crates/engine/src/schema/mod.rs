//! What is known of Kubernetes types: merge keys and scopes. A value, never a global.
//!
//! The built-in types are a digest compiled in (`data/`, made by `data/generate.py`): nothing is parsed at start-up. A
//! schema of the user's own is read into the same form by [`Schema::from_openapi`].

mod digest;
pub(crate) mod field_types;
mod gvk;
mod openapi;

use std::borrow::Cow;
use std::sync::Arc;

use krm_yaml::Node;

use digest::Graph;
pub use gvk::Gvk;
pub(crate) use openapi::CommentSchema;

/// Merge keys and scopes of types. Cheap to clone.
///
/// ```
/// use krm_engine::{Gvk, Schema};
/// let schema = Schema::builtin();
/// assert!(schema.is_cluster_scoped(&Gvk::new("v1", "Namespace")));
/// assert!(!schema.is_cluster_scoped(&Gvk::new("v1", "Pod")));
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    graph: Arc<Graph>,
    /// Where scopes are looked up first: those of the built-in kinds hold whatever schema the user gives.
    scopes: &'static [digest::KnownKind],
}

/// A version of Kubernetes whose types are built in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kubernetes {
    /// The version whose types kustomize knows.
    #[default]
    V1_21,
    /// The newest whose types are built in.
    V1_37,
}

/// Where resources of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Cluster,
    Namespaced,
}

/// A type within a [`Schema`]: of a resource, of a field, or of the elements of a list.
#[derive(Clone, Copy)]
pub(crate) struct Type<'s> {
    graph: &'s Graph,
    at: &'s digest::Type,
}

impl Default for Schema {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Schema {
    /// The types kustomize knows: those of Kubernetes 1.21.
    pub fn builtin() -> Self {
        Self::of(Kubernetes::V1_21)
    }

    /// The types of a version of Kubernetes.
    pub fn of(version: Kubernetes) -> Self {
        let tables = match version {
            Kubernetes::V1_21 => digest::V1_21,
            Kubernetes::V1_37 => digest::V1_37,
        };
        Self { graph: Arc::new(Graph::of_tables(tables)), scopes: tables.kinds }
    }

    /// Reads an OpenAPI (v2) document whose definitions say by `x-kubernetes-group-version-kind` what kinds they are. It
    /// takes the place of the built-in types; scopes of built-in kinds still hold.
    pub(crate) fn from_openapi(document: &Node) -> krm_yaml::Result<Self> {
        Ok(Self { graph: Arc::new(openapi::read(document, None)?), scopes: digest::V1_21.kinds })
    }

    /// The same, but only for what is not built in.
    pub(crate) fn from_openapi_beside_builtin(document: &Node) -> krm_yaml::Result<Self> {
        let builtin = Graph::of_tables(digest::V1_21);
        let graph = Arc::new(openapi::read(document, Some(&builtin))?);
        Ok(Self { graph, scopes: digest::V1_21.kinds })
    }

    /// The schema a comment holds (`# {"$ref":"#/definitions/..."}`), which counts for the field it is at. `None`
    /// if the comment is not a JSON object, or is an empty one.
    pub(crate) fn in_comment(&self, comment: &str) -> Option<CommentSchema> {
        openapi::in_comment(comment, &self.graph)
    }

    /// Where resources of this kind live, if known.
    pub(crate) fn scope(&self, gvk: &Gvk) -> Option<Scope> {
        let scope = |kinds| digest::find(kinds, gvk).and_then(|kind| kind.scope);
        scope(self.scopes).or_else(|| scope(&self.graph.kinds))
    }

    /// Whether a kind is known to live outside any namespace.
    pub fn is_cluster_scoped(&self, gvk: &Gvk) -> bool {
        self.scope(gvk) == Some(Scope::Cluster)
    }

    /// The type of resources of this kind, if known.
    pub(crate) fn type_of(&self, gvk: &Gvk) -> Option<Type<'_>> {
        let at = digest::find(&self.graph.kinds, gvk)?.root?;
        Some(self.graph.get(at))
    }
}

impl<'s> Type<'s> {
    /// The type of a field: as declared, or of the values of a map that may have any key.
    pub(crate) fn field(self, name: &str) -> Option<Type<'s>> {
        let fields = &self.at.fields;
        let declared = fields.binary_search_by(|field| field.name.as_ref().cmp(name)).ok();
        let at = declared.map(|found| fields[found].at).or(self.at.values)?;
        Some(self.graph.get(at))
    }

    /// The type of a list's elements.
    pub(crate) fn items(self) -> Option<Type<'s>> {
        Some(self.graph.get(self.at.items?))
    }

    /// The fields that identify a list's elements when it is merged; none at all if the elements are scalars that
    /// stand for themselves. `None` for a list that is replaced as a whole.
    pub(crate) fn merge_keys(self) -> Option<&'s [Cow<'static, str>]> {
        self.at.merge.as_deref()
    }
}

impl Type<'_> {
    /// Whether a list is said to be one value, which is replaced as a whole whatever its elements hold.
    pub(crate) fn is_atomic(self) -> bool {
        self.at.is_atomic
    }
}

impl std::fmt::Debug for Type<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.at.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(kind: &str, path: &str) -> Option<Vec<String>> {
        let schema = Schema::builtin();
        let (api_version, kind) = kind.split_once(' ').unwrap();
        let mut at = schema.type_of(&Gvk::new(api_version, kind))?;
        for name in path.split('.') {
            at = if name == "[]" { at.items()? } else { at.field(name)? };
        }
        Some(at.merge_keys()?.iter().map(|key| key.to_string()).collect())
    }

    #[test]
    fn lists_know_their_keys() {
        let pod = "spec.template.spec";
        let of = |path: &str| keys("apps/v1 Deployment", path).map(|keys| keys.join(","));
        assert_eq!(of(&format!("{pod}.containers")).as_deref(), Some("name"));
        assert_eq!(of(&format!("{pod}.containers.[].ports")).as_deref(), Some("containerPort,protocol"));
        assert_eq!(of(&format!("{pod}.initContainers.[].volumeMounts")).as_deref(), Some("mountPath"));
        assert_eq!(of("metadata.finalizers").as_deref(), Some(""));
        assert_eq!(of("metadata.ownerReferences").as_deref(), Some("uid"));
        assert_eq!(of(&format!("{pod}.tolerations")), None);
        assert_eq!(keys("v1 Service", "spec.ports").unwrap(), ["port", "protocol"]);
        assert_eq!(keys("v1 ServiceAccount", "imagePullSecrets"), None);
        assert_eq!(
            keys("batch/v1beta1 CronJob", &format!("spec.jobTemplate.{pod}.volumes")).unwrap(),
            ["name"]
        );
    }

    #[test]
    fn tables_are_sorted_for_searching() {
        for tables in [digest::V1_21, digest::V1_37] {
            assert!(tables.kinds.is_sorted_by(|a, b| a.key() < b.key()));
            assert!(tables.names.is_sorted_by(|a, b| a.name < b.name));
            for ty in tables.types {
                assert!(ty.fields.is_sorted_by(|a, b| a.name < b.name));
                let next = ty.fields.iter().map(|f| f.at).chain(ty.values).chain(ty.items);
                assert!(next.into_iter().all(|at| (at as usize) < tables.types.len()));
            }
        }
    }

    #[test]
    fn later_versions_know_more() {
        let hpa = Gvk::new("autoscaling/v2", "HorizontalPodAutoscaler");
        assert!(Schema::builtin().type_of(&hpa).is_none());
        let later = Schema::of(Kubernetes::V1_37);
        assert_eq!(later.scope(&hpa), Some(Scope::Namespaced));
        assert!(later.is_cluster_scoped(&Gvk::new("storage.k8s.io/v1", "VolumeAttributesClass")));
    }

    #[test]
    fn scopes() {
        let schema = Schema::builtin();
        let scope = |api_version, kind| schema.scope(&Gvk::new(api_version, kind));
        assert_eq!(scope("v1", "Namespace"), Some(Scope::Cluster));
        assert_eq!(scope("v1", "ConfigMap"), Some(Scope::Namespaced));
        assert_eq!(scope("rbac.authorization.k8s.io/v1", "ClusterRole"), Some(Scope::Cluster));
        assert_eq!(
            scope("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
            Some(Scope::Cluster)
        );
        // Right kind, unknown version: nothing is known.
        assert_eq!(scope("rbac.authorization.k8s.io/v9", "ClusterRole"), None);
    }
}
