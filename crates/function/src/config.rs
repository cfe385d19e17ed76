//! What configures a function, typed.

use std::collections::BTreeMap;

use krm_yaml::{Diagnostic, Map, Node, Options, Result};
use serde::de::DeserializeOwned;

use crate::list::ResourceList;
use crate::object::Object;

impl ResourceList {
    /// Reads the functionConfig into a type of your own.
    ///
    /// The fields are those under `data` of a `ConfigMap`, where every value is text and is read as the type you ask for
    /// (a list is written `limits: "[cpu, memory]"`);
    /// those under `spec` of any other kind; and if there is no `spec`, those beside `kind` and `metadata`. Without
    /// a functionConfig there are none: a type whose fields all have defaults can be had even then.
    ///
    /// ```
    /// use krm_function::ResourceList;
    /// #[derive(serde::Deserialize)]
    /// #[serde(deny_unknown_fields)]
    /// struct Config {
    ///     replicas: i64,
    ///     #[serde(default)]
    ///     tag: String,
    /// }
    /// let list = ResourceList::parse("\
    /// kind: ResourceList
    /// functionConfig:
    ///   kind: ConfigMap
    ///   data:
    ///     replicas: '3'
    ///     tag: '1.10'
    /// ")?;
    /// let config: Config = list.config()?;
    /// assert_eq!((config.replicas, config.tag.as_str()), (3, "1.10"));
    ///
    /// let list = ResourceList::parse("{kind: ResourceList, functionConfig: {kind: Web, spec: {repilcas: 3}}}")?;
    /// let error = list.config::<Config>().err().unwrap();
    /// assert_eq!(error.to_string(), "functionConfig: unknown field `repilcas` in `spec`");
    /// assert_eq!(error.advice(), ["did you mean `replicas`?"]);
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn config<T: DeserializeOwned>(&self) -> Result<T> {
        let (fields, under) = match &self.function_config {
            Some(config) => fields(config),
            None => (Node::map(), ""),
        };
        read(&fields, under)
            .or_else(|error| match under {
                "data" => read(&with_collections(&fields), under).map_err(|_| error),
                _ => Err(error),
            })
            .map_err(name_the_object)
    }
}

/// Reads the fields with the name of what they are in, so that errors name each field from the top.
fn read<T: DeserializeOwned>(fields: &Node, under: &str) -> Result<T> {
    let options = if under == "data" { Options::STRICT.only_text() } else { Options::STRICT };
    if under.is_empty() {
        return krm_yaml::from_node_with(fields, options);
    }
    let whole = Node::from_iter([(under, fields.clone())]);
    let read: BTreeMap<String, T> = krm_yaml::from_node_with(&whole, options)?;
    Ok(read.into_values().next().expect("one was put in"))
}

/// The data of a ConfigMap with the texts that are lists or maps in YAML as such: the only way to write one there.
fn with_collections(data: &Node) -> Node {
    let mut data = data.clone();
    for (_, value) in data.as_map_mut().into_iter().flat_map(Map::values_mut) {
        let documents = value.text().and_then(|text| krm_yaml::parse_str(text).ok()).unwrap_or_default();
        if let [document] = documents.as_slice()
            && !document.root.is_scalar()
        {
            value.assign(document.root.clone());
        }
    }
    data
}

/// Says of which object the error speaks.
fn name_the_object(error: Diagnostic) -> Diagnostic {
    let message = format!("functionConfig: {}", error.message());
    let named = Diagnostic::error("function-config", message).at(error.place());
    error.advice().iter().fold(named, |named, advice| named.help(advice.clone()))
}

/// The fields that configure, and where they are.
fn fields(config: &Object) -> (Node, &'static str) {
    if config.kind() == "ConfigMap" {
        return (config.get("data").cloned().unwrap_or_else(Node::map), "data");
    }
    if let Some(spec) = config.get("spec") {
        return (spec.clone(), "spec");
    }
    let mut fields = Node::clone(config);
    for key in ["apiVersion", "kind", "metadata"] {
        fields.remove(key);
    }
    (fields, "")
}
