//! What configures a function, typed.

use krm_yaml::{Diagnostic, Node, Options, Result};
use serde::de::DeserializeOwned;

use crate::list::ResourceList;
use crate::object::Object;

impl ResourceList {
    /// Reads the functionConfig into a type of your own.
    ///
    /// The fields are those under `data` of a `ConfigMap`, where every value is text and is read as the type you ask for;
    /// those under `spec` of any other kind; and where there is no `spec`, those beside `kind` and `metadata`. Without
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
    /// assert_eq!(error.to_string(), "functionConfig: spec: unknown field `repilcas`");
    /// assert_eq!(error.advice(), ["did you mean `replicas`?"]);
    /// # Ok::<(), krm_yaml::Diagnostic>(())
    /// ```
    pub fn config<T: DeserializeOwned>(&self) -> Result<T> {
        let (fields, under) = match &self.function_config {
            Some(config) => fields(config),
            None => (Node::map(), ""),
        };
        let options = Options { only_text: under == "data", ..Options::default() };
        krm_yaml::from_node_with(&fields, options).map_err(|error| name_the_place(error, under))
    }
}

/// Says of which object the error speaks: it is the only one the user of the function wrote for it.
fn name_the_place(error: Diagnostic, under: &str) -> Diagnostic {
    let place = if under.is_empty() { String::new() } else { format!("{under}: ") };
    let message = format!("functionConfig: {place}{}", error.message());
    let named = Diagnostic::error("function-config", message).at(error.place());
    error.advice().iter().fold(named, |named, advice| named.help(advice.clone()))
}

/// The fields that configure, and where they stand.
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
