//! What a function has to say: the `results` of a list.

use std::fmt;

use krm_yaml::Node;

use crate::object::Object;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something is odd, and may be meant so.
    Warning,
    /// Something is wrong.
    Error,
}

impl Severity {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One result. It is kept as it came, so that fields nobody here knows survive.
///
/// ```
/// use krm_function::{FunctionResult, Object};
/// let web = Object::new("apps/v1", "Deployment", "web");
/// let result = FunctionResult::error("no limit on memory").on(&web).field("spec.template.spec");
/// assert_eq!(result.to_string(), "[error] apps/v1/Deployment/web spec.template.spec: no limit on memory");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionResult(Node);

/// Making one.
impl FunctionResult {
    /// A result of any severity.
    pub fn new(severity: Severity, message: &str) -> Self {
        Self(Node::from_iter([("message", message), ("severity", severity.word())]))
    }

    /// A result that makes the function fail.
    pub fn error(message: impl AsRef<str>) -> Self {
        Self::new(Severity::Error, message.as_ref())
    }

    /// A result that says what is odd.
    pub fn warning(message: impl AsRef<str>) -> Self {
        Self::new(Severity::Warning, message.as_ref())
    }

    /// A result that is good to know.
    pub fn info(message: impl AsRef<str>) -> Self {
        Self::new(Severity::Info, message.as_ref())
    }

    /// Says which object it is about, and in which file that is.
    pub fn on(mut self, object: &Object) -> Self {
        let mut reference = Node::from_iter([
            ("apiVersion", object.api_version()),
            ("kind", object.kind()),
            ("name", object.name()),
        ]);
        if !object.namespace().is_empty() {
            reference.set("namespace", object.namespace());
        }
        self.0.set("resourceRef", reference);
        if let Some(path) = object.path() {
            let mut file = Node::from_iter([("path", path)]);
            if let Some(index) = object.index() {
                file.set("index", index as i64);
            }
            self.0.set("file", file);
        }
        self
    }

    /// Says which field it is about: `spec.template.spec.containers[3].resources.limits.cpu`.
    pub fn field(self, path: impl AsRef<str>) -> Self {
        self.in_map("field", "path", path.as_ref())
    }

    /// The value the field has.
    pub fn current_value(self, value: impl Into<Node>) -> Self {
        self.in_map("field", "currentValue", value)
    }

    /// Says which value would be right.
    ///
    /// ```
    /// use krm_function::{FunctionResult, Node};
    /// let result = FunctionResult::warning("too few").field("spec.replicas").proposed_value(3);
    /// assert_eq!(result.proposed().and_then(Node::text), Some("3"));
    /// ```
    pub fn proposed_value(self, value: impl Into<Node>) -> Self {
        self.in_map("field", "proposedValue", value)
    }

    /// Something for other tools.
    pub fn tag(self, key: &str, value: &str) -> Self {
        self.in_map("tags", key, value)
    }

    fn in_map(mut self, map: &str, key: &str, value: impl Into<Node>) -> Self {
        if let Some(map) = self.0.map_at(map) {
            map.set(key, value);
        }
        self
    }
}

/// Reading one, in today's shape and in the older ones.
impl FunctionResult {
    /// What it says; of a result that is a text and nothing else, that text.
    pub fn message(&self) -> &str {
        self.text(&["message"]).or_else(|| self.0.text()).unwrap_or_default()
    }

    /// In which ways it breaks the schema of results. It is understood as well as it can be all the same.
    ///
    /// ```
    /// use krm_function::{FunctionResult, Node};
    /// let result = FunctionResult::from(Node::from_iter([("severity", "fatal")]));
    /// assert_eq!(result.faults(), ["it has no `message`", "`severity` is `fatal`, not `error`, `warning` or `info`"]);
    /// ```
    pub fn faults(&self) -> Vec<String> {
        if !self.0.is_map() {
            return vec![format!("it is {}, not a map with a `message`", self.0.kind_name())];
        }
        let mut faults = Vec::new();
        if self.message().is_empty() {
            faults.push("it has no `message`".to_owned());
        }
        // Older functions say `warn`, and some write capitals: there is no doubt what they mean.
        let is_known = |severity: &Node| {
            let word = severity.as_str().unwrap_or_default().to_ascii_lowercase();
            matches!(word.as_str(), "error" | "warning" | "warn" | "info")
        };
        match self.0.get("severity").filter(|severity| !severity.is_null()) {
            Some(severity) if !is_known(severity) => {
                let found =
                    severity.text().map_or(severity.kind_name().to_owned(), |text| format!("`{text}`"));
                faults.push(format!("`severity` is {found}, not `error`, `warning` or `info`"));
            }
            _ => {}
        }
        for key in ["resourceRef", "field", "file", "tags"] {
            if let Some(part) = self.0.get(key).filter(|part| !part.is_map() && !part.is_null()) {
                faults.push(format!("`{key}` is {}, not a map", part.kind_name()));
            }
        }
        let index = self.text(&["file", "index"]).filter(|text| text.parse::<usize>().is_err());
        faults.extend(index.map(|index| format!("`file.index` is `{index}`, not a whole number")));
        faults
    }

    /// The result as a map; one that is not a map becomes an error with its text as the message.
    pub fn to_map(&self) -> Node {
        if self.0.is_map() { self.0.clone() } else { Self::error(self.message()).0 }
    }

    /// An error where it does not say.
    pub fn severity(&self) -> Severity {
        match self.text(&["severity"]).unwrap_or_default().to_ascii_lowercase().as_str() {
            "info" => Severity::Info,
            "warning" | "warn" => Severity::Warning,
            _ => Severity::Error,
        }
    }

    fn text(&self, keys: &[&str]) -> Option<&str> {
        self.0.at(keys.iter().copied()).and_then(Node::text).filter(|text| !text.is_empty())
    }

    /// The object it is about; older functions put its name under `metadata`.
    pub fn resource(&self) -> Option<ResourceRef<'_>> {
        self.0.get("resourceRef").filter(|r| r.is_map())?;
        let of = |key| self.text(&["resourceRef", key]);
        let meta = |key| of(key).or_else(|| self.text(&["resourceRef", "metadata", key])).unwrap_or_default();
        Some(ResourceRef {
            api_version: of("apiVersion").unwrap_or_default(),
            kind: of("kind").unwrap_or_default(),
            name: meta("name"),
            namespace: meta("namespace"),
        })
    }

    /// The field it is about.
    pub fn field_path(&self) -> Option<&str> {
        self.text(&["field", "path"])
    }

    /// The value the field has.
    pub fn current(&self) -> Option<&Node> {
        self.0.at(["field", "currentValue"])
    }

    /// The value that would be right; older functions call it the suggested one.
    pub fn proposed(&self) -> Option<&Node> {
        self.0.at(["field", "proposedValue"]).or_else(|| self.0.at(["field", "suggestedValue"]))
    }

    /// The file the object is in.
    pub fn file(&self) -> Option<&str> {
        self.text(&["file", "path"])
    }

    /// Which document of the file it is, from 0.
    pub fn file_index(&self) -> usize {
        let text = self.text(&["file", "index"]).unwrap_or_default();
        // Programs that know only one kind of number write `1.0`.
        let rounded = || text.parse::<f64>().ok().filter(|index| index.fract() == 0.0 && *index >= 0.0);
        text.parse().ok().or_else(|| rounded().map(|index| index as usize)).unwrap_or(0)
    }

    /// What it holds for other tools.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.0.get("tags").and_then(Node::as_map).into_iter().flatten();
        entries.filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)))
    }

    /// All of it, as it came.
    pub fn node(&self) -> &Node {
        &self.0
    }
}

/// An object named by a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceRef<'a> {
    /// `apps/v1`; empty, as are the others, if not given.
    pub api_version: &'a str,
    /// `Deployment`.
    pub kind: &'a str,
    /// The name in its metadata.
    pub name: &'a str,
    /// The namespace in its metadata.
    pub namespace: &'a str,
}

/// `apps/v1/Deployment/shop/web`
impl fmt::Display for ResourceRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.api_version, self.kind, self.namespace, self.name];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&parts.join("/"))
    }
}

impl From<Node> for FunctionResult {
    fn from(node: Node) -> Self {
        Self(node)
    }
}

/// `[error] apps/v1/Deployment/web spec.replicas: too few`
impl fmt::Display for FunctionResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.severity())?;
        let resource = self.resource().map(|r| r.to_string()).filter(|text| !text.is_empty());
        let about: Vec<&str> = resource.as_deref().into_iter().chain(self.field_path()).collect();
        about.iter().try_for_each(|part| write!(f, " {part}"))?;
        write!(f, "{} ", if about.is_empty() { "" } else { ":" })?;
        match self.message() {
            "" => f.write_str(&krm_yaml::json::compact(&self.0)),
            message => f.write_str(message),
        }
    }
}
