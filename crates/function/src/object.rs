//! One Kubernetes object in the hands of a function.

use std::ops::{Deref, DerefMut};

use krm_yaml::path::Missing;
use krm_yaml::{Diagnostic, Node, Path, Result, Source};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::annotations;
use crate::lay_over::lay_over;

/// A Kubernetes object. It derefs to its [`Node`]; edits keep comments, quotes and the order of keys.
///
/// ```
/// use krm_function::Object;
/// let mut web = Object::parse("
/// apiVersion: apps/v1
/// kind: Deployment
/// metadata:
///   name: web
/// spec:
///   replicas: 1 # for now
/// ")?;
/// web.set_field("spec.replicas", 3)?;
/// web.set_label("tier", "front");
/// assert_eq!(web.to_string(), "\
/// apiVersion: apps/v1
/// kind: Deployment
/// metadata:
///   name: web
///   labels:
///     tier: front
/// spec:
///   replicas: 3 # for now
/// ");
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Object(Node);

impl Object {
    /// An object with nothing but its identity.
    pub fn new(api_version: &str, kind: &str, name: &str) -> Self {
        let mut node = Node::map();
        node.set("apiVersion", api_version);
        node.set("kind", kind);
        node.set("metadata", Node::from_iter([("name", name)]));
        Self(node)
    }

    /// Reads the one object of a text.
    pub fn parse(text: &str) -> Result<Self> {
        let mut all = Self::parse_all(text)?;
        match all.len() {
            1 => Ok(all.remove(0)),
            n => Err(Diagnostic::error("object-not-one", format!("expected one object, found {n}"))),
        }
    }

    /// Reads all objects of a text: what a generator does with its template.
    pub fn parse_all(text: &str) -> Result<Vec<Self>> {
        let documents = krm_yaml::parse(&Source::detached("<template>", text))?;
        let objects = documents.into_iter().map(|doc| doc.root).filter(|root| !root.is_null());
        objects
            .map(|root| match root.is_map() {
                true => Ok(Self(root)),
                false => {
                    let message = format!("expected an object, found {}", root.kind_name());
                    Err(Diagnostic::error("object-not-a-map", message).at(root.span()))
                }
            })
            .collect()
    }

    /// The tree alone.
    pub fn into_node(self) -> Node {
        self.0
    }

    fn text_at(&self, keys: &[&str]) -> &str {
        self.0.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default()
    }

    /// `apps/v1`; empty if there is none.
    pub fn api_version(&self) -> &str {
        self.text_at(&["apiVersion"])
    }

    /// `apps`; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// `Deployment`; empty if there is none.
    pub fn kind(&self) -> &str {
        self.text_at(&["kind"])
    }

    /// The name in its metadata; empty if there is none.
    pub fn name(&self) -> &str {
        self.text_at(&["metadata", "name"])
    }

    /// Empty if none is written.
    pub fn namespace(&self) -> &str {
        self.text_at(&["metadata", "namespace"])
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.0.at(["metadata", "labels", key]).and_then(Node::text)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.0.at(["metadata", "annotations", key]).and_then(Node::text)
    }

    /// All labels, in the order they are written in.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        pairs(self.0.at(["metadata", "labels"]))
    }

    /// All annotations, in the order they are written in.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        pairs(self.0.at(["metadata", "annotations"]))
    }

    /// Adds a label, or gives it another value.
    pub fn set_label(&mut self, key: &str, value: &str) {
        self.set_in_metadata("labels", key, value);
    }

    /// Adds an annotation, or gives it another value.
    pub fn set_annotation(&mut self, key: &str, value: &str) {
        self.set_in_metadata("annotations", key, value);
    }

    fn set_in_metadata(&mut self, map: &str, key: &str, value: &str) {
        if let Some(map) = self.0.map_at("metadata").and_then(|meta| meta.map_at(map)) {
            map.set(key, value);
        }
    }

    /// Removes a label, and the map it was in if that is empty now.
    ///
    /// ```
    /// use krm_function::Object;
    /// let mut web = Object::parse("kind: Pod\nmetadata:\n  name: web\n  labels:\n    tier: front\n")?;
    /// web.remove_label("tier");
    /// assert_eq!(web.to_string(), "kind: Pod\nmetadata:\n  name: web\n");
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn remove_label(&mut self, key: &str) -> Option<Node> {
        self.remove_from_metadata("labels", key)
    }

    /// Removes an annotation, and the map it was in if that is empty now.
    pub fn remove_annotation(&mut self, key: &str) -> Option<Node> {
        self.remove_from_metadata("annotations", key)
    }

    /// Removes the annotations that are never for a file ([`annotations::is_internal`]). Returns whether there were any.
    pub fn remove_internal_annotations(&mut self) -> bool {
        let all = self.0.at(["metadata", "annotations"]).and_then(Node::as_map);
        let keys = all.into_iter().flatten().filter_map(|entry| entry.key.text());
        let internal: Vec<String> =
            keys.filter(|key| annotations::is_internal(key)).map(str::to_owned).collect();
        internal.iter().for_each(|key| drop(self.remove_annotation(key)));
        !internal.is_empty()
    }

    fn remove_from_metadata(&mut self, map: &str, key: &str) -> Option<Node> {
        let removed = self.0.at_mut(["metadata", map])?.remove(key)?;
        let metadata = self.0.get_mut("metadata")?;
        if metadata.get(map).is_some_and(Node::is_empty) {
            metadata.remove(map);
        }
        Some(removed)
    }

    /// The file it is in, as the orchestrator says.
    pub fn path(&self) -> Option<&str> {
        self.annotation(annotations::PATH).or_else(|| self.annotation(annotations::LEGACY_PATH))
    }

    /// Which document of its file it is, from 0.
    pub fn index(&self) -> Option<usize> {
        let text = self.annotation(annotations::INDEX).or_else(|| self.annotation(annotations::LEGACY_INDEX));
        text?.parse().ok()
    }

    /// The first node a path leads to: `spec.template.spec.containers.[name=web].image`.
    pub fn field(&self, path: &str) -> Option<&Node> {
        Path::dotted(path).ok()?.get(&self.0)
    }

    /// All nodes a path leads to: `spec.template.spec.containers.*.image`.
    pub fn fields(&self, path: &str) -> Vec<&Node> {
        Path::dotted(path).map(|path| path.get_all(&self.0)).unwrap_or_default()
    }

    /// Reads the first node a path leads to into a type of yours; `None` if there is none, or null.
    ///
    /// ```
    /// use krm_function::Object;
    /// let pod: Object = "{kind: Pod, spec: {hostname: web, ports: [80, 443]}}".parse()?;
    /// assert_eq!(pod.get_field::<Vec<u16>>("spec.ports")?, Some(vec![80, 443]));
    /// assert_eq!(pod.get_field::<String>("spec.nodeName")?, None);
    /// assert!(pod.get_field::<u16>("spec.hostname").is_err());
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn get_field<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>> {
        match Path::dotted(path)?.get(&self.0).filter(|node| !node.is_null()) {
            Some(node) => krm_yaml::from_node(node).map(Some),
            None => Ok(None),
        }
    }

    /// Sets the field a path leads to from a value of any type that serde can write; what is missing on the way is made.
    ///
    /// ```
    /// use krm_function::Object;
    /// #[derive(serde::Serialize)]
    /// struct Port { name: &'static str, port: u16 }
    /// let mut service: Object = "kind: Service\nspec:\n  type: NodePort # for now\n".parse()?;
    /// service.put_field("spec.ports", &[Port { name: "http", port: 80 }])?;
    /// let text = "kind: Service\nspec:\n  type: NodePort # for now\n  ports:\n  - name: http\n    port: 80\n";
    /// assert_eq!(service.to_string(), text);
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn put_field<T: Serialize + ?Sized>(&mut self, path: &str, value: &T) -> Result<()> {
        self.set_field(path, krm_yaml::to_node(value)?)
    }

    /// Sets the field a path leads to; what is missing on the way is made.
    pub fn set_field(&mut self, path: &str, value: impl Into<Node>) -> Result<()> {
        Path::dotted(path)?.set(&mut self.0, value.into(), Missing::Create)
    }

    /// Lets every node a path leads to be changed, and says how many there were.
    ///
    /// ```
    /// use krm_function::{Node, Object};
    /// let mut pod = Object::parse("{kind: Pod, spec: {containers: [{image: web}, {image: log}]}}")?;
    /// let changed = pod.edit_fields("spec.containers.*.image", |image| {
    ///     *image = Node::from(format!("test/{}", image.text().unwrap_or_default()));
    ///     Ok(())
    /// })?;
    /// assert_eq!(changed, 2);
    /// assert_eq!(pod.to_string(), "{kind: Pod, spec: {containers: [{image: test/web}, {image: test/log}]}}\n");
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn edit_fields(&mut self, path: &str, edit: impl FnMut(&mut Node) -> Result<()>) -> Result<usize> {
        Path::dotted(path)?.edit(&mut self.0, Missing::Skip, edit)
    }

    /// Lays a patch over it: maps are merged, so are lists whose items have names; a null removes. Comments stay.
    ///
    /// ```
    /// use krm_function::{Node, Object};
    /// let mut web = Object::parse("{kind: Pod, spec: {containers: [{name: web, image: web:1}], hostname: w}}")?;
    /// let patch = Object::parse("{spec: {containers: [{name: log, image: log:1}], hostname: null}}")?;
    /// web.merge(&patch);
    /// assert_eq!(web.fields("spec.containers.*.name").iter().filter_map(|n| n.text()).collect::<Vec<_>>(), ["web", "log"]);
    /// assert!(web.field("spec.hostname").is_none());
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn merge(&mut self, patch: &Node) {
        lay_over(&mut self.0, patch);
    }

    /// Removes what a path leads to, and gives it back.
    ///
    /// ```
    /// use krm_function::Object;
    /// let mut pod = Object::parse("{kind: Pod, spec: {hostname: web, nodeName: a}}")?;
    /// assert_eq!(pod.remove_field("spec.nodeName")?.len(), 1);
    /// assert_eq!(pod.remove_field("spec.nodeName")?.len(), 0);
    /// assert_eq!(pod.to_string(), "{kind: Pod, spec: {hostname: web}}\n");
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn remove_field(&mut self, path: &str) -> Result<Vec<Node>> {
        Path::dotted(path)?.remove(&mut self.0, Missing::Skip)
    }

    /// Where the pod is described in this kind of object, if it is one that runs pods.
    fn pod_spec_keys(&self) -> Option<&'static [&'static str]> {
        match self.kind() {
            "Pod" => Some(&["spec"]),
            "CronJob" => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
            "PodTemplate" => Some(&["template", "spec"]),
            _ if self.0.at(["spec", "template", "spec"]).is_some() => Some(&["spec", "template", "spec"]),
            _ => None,
        }
    }

    /// The description of its pods, of a Deployment, StatefulSet, Job, CronJob, Pod and the like.
    pub fn pod_spec(&self) -> Option<&Node> {
        self.0.at(self.pod_spec_keys()?.iter().copied())
    }

    /// The same for editing.
    pub fn pod_spec_mut(&mut self) -> Option<&mut Node> {
        let keys = self.pod_spec_keys()?;
        self.0.at_mut(keys.iter().copied())
    }

    /// The labels its pods will have: what the selector of a Service is compared with.
    pub fn pod_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let pod = self.pod_spec_keys().and_then(|keys| self.0.at(keys[..keys.len() - 1].iter().copied()));
        pairs(pod.and_then(|pod| pod.at(["metadata", "labels"])))
    }

    /// Its containers, those that run before the others included, each with the path to it.
    pub fn containers(&self) -> Vec<(String, &Node)> {
        let (Some(keys), Some(spec)) = (self.pod_spec_keys(), self.pod_spec()) else { return Vec::new() };
        let of = |list: &'static str| {
            let containers = spec.get(list).map_or(&[][..], Node::items);
            let path = keys.join(".");
            containers.iter().enumerate().map(move |(i, one)| (format!("{path}.{list}[{i}]"), one))
        };
        of("initContainers").chain(of("containers")).collect()
    }

    /// Lets each of its containers be changed.
    pub fn edit_containers(&mut self, mut edit: impl FnMut(&mut Node) -> Result<()>) -> Result<()> {
        let Some(spec) = self.pod_spec_mut() else { return Ok(()) };
        for list in ["initContainers", "containers"] {
            if let Some(containers) = spec.get_mut(list).and_then(Node::as_seq_mut) {
                containers.iter_mut().try_for_each(&mut edit)?;
            }
        }
        Ok(())
    }
}

/// The texts of a map.
fn pairs(map: Option<&Node>) -> impl Iterator<Item = (&str, &str)> {
    let entries = map.and_then(Node::as_map).into_iter().flatten();
    entries.filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)))
}

impl From<Node> for Object {
    fn from(node: Node) -> Self {
        Self(node)
    }
}

impl From<Object> for Node {
    fn from(object: Object) -> Self {
        object.0
    }
}

impl Deref for Object {
    type Target = Node;
    fn deref(&self) -> &Node {
        &self.0
    }
}

impl DerefMut for Object {
    fn deref_mut(&mut self) -> &mut Node {
        &mut self.0
    }
}

/// As YAML, with its comments.
/// As [`Object::parse`].
impl std::str::FromStr for Object {
    type Err = krm_yaml::Diagnostic;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&krm_yaml::emit::preserve::fresh(&self.0))
    }
}
