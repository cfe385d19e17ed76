//! Generating objects that people may go on editing.

use std::collections::HashMap;

use crate::lay_over::lay_over;
use crate::list::ResourceList;
use crate::object::Object;

impl ResourceList {
    /// Adds a generated object, or renews the one generated before.
    ///
    /// What people added to the object since stays as long as the generator says nothing about it: it generates a
    /// Deployment without `cpu`, someone sets `cpu`, and the next run keeps it. So do comments, file and place in it.
    ///
    /// ```
    /// use krm_function::{Object, ResourceList};
    /// let mut list = ResourceList::parse("\
    /// kind: ResourceList
    /// items:
    /// - {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: web:1, tty: true}]}}
    /// ")?;
    /// list.generate(Object::parse(
    ///     "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: web:2}]}}")?);
    /// let container = list.items[0].field("spec.containers.[name=web]").unwrap();
    /// assert_eq!(container.get("image").unwrap().text(), Some("web:2"));
    /// assert_eq!(container.get("tty").unwrap().text(), Some("true"));
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn generate(&mut self, generated: Object) {
        self.generate_all([generated]);
    }

    /// The same for many: the list is looked through once.
    pub fn generate_all(&mut self, generated: impl IntoIterator<Item = Object>) {
        let mut places = HashMap::with_capacity(self.items.len());
        for (at, item) in self.items.iter().enumerate() {
            places.entry(Identity::of(item)).or_insert(at);
        }
        for new in generated {
            match places.get(&Identity::of(&new)) {
                Some(at) => lay_over(&mut self.items[*at], &new),
                None => {
                    places.insert(Identity::of(&new), self.items.len());
                    self.items.push(new);
                }
            }
        }
    }

    /// The object with this identity; an empty namespace is none.
    pub fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<&Object> {
        self.items.iter().find(|item| {
            (item.api_version(), item.kind(), item.namespace(), item.name())
                == (api_version, kind, namespace, name)
        })
    }
}

/// What makes two objects the same one. Another version of its kind is the same object, which the generator moves on.
#[derive(PartialEq, Eq, Hash)]
struct Identity([String; 4]);

impl Identity {
    fn of(object: &Object) -> Self {
        Self([object.group(), object.kind(), object.namespace(), object.name()].map(String::from))
    }
}
