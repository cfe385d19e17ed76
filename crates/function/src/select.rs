//! Choosing objects of a list.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::list::ResourceList;
use crate::object::Object;

/// Says which objects are meant: those that have everything it names.
///
/// It can be a field of a function's own configuration:
///
/// ```
/// use krm_function::{ResourceList, Selector};
/// #[derive(serde::Deserialize)]
/// struct Config {
///     target: Selector,
/// }
/// let mut list = ResourceList::parse("\
/// kind: ResourceList
/// functionConfig: {kind: Drop, spec: {target: {kind: Service, labels: {tier: back}}}}
/// items:
/// - {kind: Service, metadata: {name: web, labels: {tier: front}}}
/// - {kind: Service, metadata: {name: db, labels: {tier: back, app: db}}}
/// - {kind: Deployment, metadata: {name: db, labels: {tier: back}}}
/// ")?;
/// let config: Config = list.config()?;
/// assert_eq!(list.select(&config.target).count(), 1);
/// assert_eq!(list.remove(&config.target)[0].name(), "db");
/// assert_eq!(list.items.len(), 2);
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selector {
    /// `apps/v1`; empty, here and below, matches anything.
    pub api_version: Option<String>,
    /// `Deployment`.
    pub kind: Option<String>,
    /// The namespace in its metadata.
    pub namespace: Option<String>,
    /// The name in its metadata.
    pub name: Option<String>,
    /// Labels it must have, with these values.
    pub labels: BTreeMap<String, String>,
    /// Annotations it must have, with these values.
    pub annotations: BTreeMap<String, String>,
}

impl Selector {
    /// All objects of a kind.
    pub fn kind(kind: &str) -> Self {
        Self { kind: Some(kind.into()), ..Self::default() }
    }

    /// Only those with this label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Only those with this annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    /// Whether an object is meant.
    pub fn matches(&self, object: &Object) -> bool {
        let is = |wanted: &Option<String>, has: &str| wanted.as_deref().is_none_or(|wanted| wanted == has);
        is(&self.kind, object.kind())
            && is(&self.api_version, object.api_version())
            && is(&self.namespace, object.namespace())
            && is(&self.name, object.name())
            && self.labels.iter().all(|(key, value)| object.label(key) == Some(value))
            && self.annotations.iter().all(|(key, value)| object.annotation(key) == Some(value))
    }
}

impl ResourceList {
    /// The objects that are meant.
    pub fn select<'l>(&'l self, selector: &'l Selector) -> impl Iterator<Item = &'l Object> {
        self.items.iter().filter(|object| selector.matches(object))
    }

    /// The same for editing.
    ///
    /// ```
    /// use krm_function::{ResourceList, Selector};
    /// let mut list = ResourceList::parse("{kind: ResourceList, items: [{kind: Pod}, {kind: Service}]}")?;
    /// list.select_mut(&Selector::kind("Pod")).for_each(|pod| pod.set_label("tier", "front"));
    /// assert_eq!(list.items[0].label("tier"), Some("front"));
    /// assert_eq!(list.items[1].label("tier"), None);
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn select_mut<'l>(&'l mut self, selector: &'l Selector) -> impl Iterator<Item = &'l mut Object> {
        self.items.iter_mut().filter(|object| selector.matches(object))
    }

    /// Takes the objects that are meant out of the list.
    pub fn remove(&mut self, selector: &Selector) -> Vec<Object> {
        self.items.extract_if(.., |object| selector.matches(object)).collect()
    }
}
