//! The wire: a list of objects, what configures the function, and what it has to say.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Node, Result, Seq, Source, Style};

use crate::object::Object;
use crate::result::{FunctionResult, Severity};

/// What goes into a function and comes out of it.
///
/// Reading takes every form a function may meet: a `ResourceList` of any version, `v1/List`, a list of one kind
/// (`ConfigMapList`), or just objects one after the other; as YAML or JSON. Writing uses the form that was read, and keeps
/// what nobody here knows: further fields, comments, the order of keys.
///
/// ```
/// use krm_function::ResourceList;
/// let mut list = ResourceList::parse("\
/// apiVersion: config.kubernetes.io/v1
/// kind: ResourceList
/// items:
/// - apiVersion: v1
///   kind: Service
///   metadata:
///     name: web # the front door
/// ")?;
/// list.items[0].set_label("app", "shop");
/// assert_eq!(list.to_string(), "\
/// apiVersion: config.kubernetes.io/v1
/// kind: ResourceList
/// items:
/// - apiVersion: v1
///   kind: Service
///   metadata:
///     name: web # the front door
///     labels:
///       app: shop
/// ");
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResourceList {
    /// The objects, for the function to change.
    pub items: Vec<Object>,
    /// What configures the function; [`config`](Self::config) reads it into a type.
    pub function_config: Option<Object>,
    /// What the function has to say.
    pub results: Vec<FunctionResult>,
    form: Form,
    format: Format,
    raw_results: Option<Node>,
}

/// How a list is written.
#[derive(Clone, Debug)]
enum Form {
    /// As an object with `items`. This is that object, without what the fields above hold.
    Wrapped(Node),
    /// As objects one after the other.
    Bare,
}

/// The notation of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// With comments, which come back as they were.
    Yaml,
    /// For programs that read nothing else.
    Json,
}

impl Format {
    /// What a text is written in: JSON begins with a brace.
    pub fn of(text: &str) -> Self {
        match text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{') {
            true => Format::Json,
            false => Format::Yaml,
        }
    }
}

/// The version this crate writes if nothing says otherwise.
pub const API_VERSION: &str = "config.kubernetes.io/v1";
/// The kind of a list that can hold a functionConfig.
pub const KIND: &str = "ResourceList";

impl ResourceList {
    /// A `ResourceList` of the present version: what an orchestrator sends.
    pub fn new(items: Vec<Object>, function_config: Option<Object>) -> Self {
        Self::wrapped(API_VERSION, KIND, items, function_config)
    }

    /// A list of any kind and version.
    pub fn wrapped(
        api_version: &str,
        kind: &str,
        items: Vec<Object>,
        function_config: Option<Object>,
    ) -> Self {
        let mut envelope = Node::from_iter([("apiVersion", api_version), ("kind", kind)]);
        envelope.set("items", Node::seq());
        let (results, raw_results) = (Vec::new(), None);
        Self {
            items,
            function_config,
            results,
            form: Form::Wrapped(envelope),
            format: Format::Yaml,
            raw_results,
        }
    }

    /// Objects without a wrapper, to be written one after the other.
    pub fn bare(items: Vec<Object>) -> Self {
        let (results, raw_results) = (Vec::new(), None);
        Self { items, function_config: None, results, form: Form::Bare, format: Format::Yaml, raw_results }
    }

    /// Reads a list from a text.
    pub fn parse(text: &str) -> Result<Self> {
        Self::decode(&Source::detached("<input>", text))
    }

    /// Reads a list from a source, to whose places errors point.
    pub fn decode(source: &Arc<Source>) -> Result<Self> {
        let documents = krm_yaml::parse(source)?;
        let mut roots: Vec<Node> =
            documents.into_iter().map(|doc| doc.root).filter(|root| !root.is_null()).collect();
        let mut list = match roots.as_slice() {
            [root] if is_list(root) => Self::unwrap(roots.remove(0))?,
            _ => Self::bare(objects(roots)?),
        };
        list.format = Format::of(source.text());
        Ok(list)
    }

    fn unwrap(mut envelope: Node) -> Result<Self> {
        let mut items = match envelope.get_mut("items") {
            Some(items) => take_seq(items)?,
            None => Vec::new(),
        };
        items.iter_mut().for_each(|item| say_kind(item, &envelope));
        let function_config = match envelope.get("functionConfig").filter(|config| !config.is_null()) {
            Some(config) if !config.is_map() => return Err(wrong("functionConfig", "an object", config)),
            // The place in the envelope stays, for writing it back there.
            Some(_) => envelope.get_mut("functionConfig").map(Node::take).map(Object::from),
            None => None,
        };
        let raw_results = envelope.remove("results").filter(|results| !results.is_null());
        let results = raw_results.as_ref().map(results_in).unwrap_or_default();
        Ok(Self {
            items: objects(items)?,
            function_config,
            results: results.iter().cloned().map(FunctionResult::from).collect(),
            form: Form::Wrapped(envelope),
            format: Format::Yaml,
            raw_results,
        })
    }

    /// Refuses a list without `items`, which the specification requires. Reading does not ask for it, so that a function
    /// can be tried out with its configuration alone; a function that takes the list for all there is must: forgotten items would
    /// pass for deleted ones.
    pub fn require_items(&self) -> Result<()> {
        let Form::Wrapped(envelope) = &self.form else { return Ok(()) };
        if envelope.get("items").is_some() {
            return Ok(());
        }
        let message = format!("this {} has no `items`", self.kind().unwrap_or(KIND));
        Err(Diagnostic::error("list-malformed", message)
            .at(envelope.span())
            .help("a list without resources has `items: []`"))
    }

    /// The results as they came, whatever their shape.
    pub fn raw_results(&self) -> Option<&Node> {
        self.raw_results.as_ref()
    }

    /// `ResourceList`, `List`, `ConfigMapList`; `None` if objects come one after the other.
    pub fn kind(&self) -> Option<&str> {
        match &self.form {
            Form::Wrapped(envelope) => envelope.get("kind").and_then(Node::text),
            Form::Bare => None,
        }
    }

    /// The notation it came in, and is written in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Has it written in another notation.
    pub fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Whether any result is an error.
    pub fn has_errors(&self) -> bool {
        self.results.iter().any(|result| result.severity() == Severity::Error)
    }

    /// The one tree it is written as; `None` if objects come one after the other.
    fn envelope(&self) -> Option<Node> {
        let Form::Wrapped(envelope) = &self.form else { return None };
        let mut envelope = envelope.clone();
        let items: Seq = self.items.iter().map(|item| Node::clone(item)).collect();
        match envelope.get_mut("items") {
            Some(place) => *place.make_seq().expect("a list's items are a sequence") = items,
            None => envelope.set("items", items),
        }
        match (&self.function_config, envelope.get_mut("functionConfig")) {
            (Some(config), Some(place)) => *place = Node::clone(config),
            (Some(config), None) => envelope.set("functionConfig", Node::clone(config)),
            (None, _) => drop(envelope.remove("functionConfig")),
        }
        if !self.results.is_empty() {
            let results: Seq = self.results.iter().map(|result| result.node().clone()).collect();
            envelope.set("results", results);
        }
        Some(envelope)
    }
}

/// As [`ResourceList::parse`].
impl std::str::FromStr for ResourceList {
    type Err = krm_yaml::Diagnostic;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

/// As it goes over the wire.
impl std::fmt::Display for ResourceList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let write = |f: &mut std::fmt::Formatter<'_>, node: &Node| match self.format {
            Format::Yaml => f.write_str(&krm_yaml::emit::preserve::fresh(node)),
            Format::Json => writeln!(f, "{}", krm_yaml::json::pretty(node)),
        };
        match self.envelope() {
            Some(envelope) => write(f, &envelope),
            None => self.items.iter().enumerate().try_for_each(|(i, item)| {
                if i > 0 {
                    f.write_str("---\n")?;
                }
                write(f, item)
            }),
        }
    }
}

/// Whether a single document is a list and not an object. Lists of one kind are distinguished from objects that happen to be
/// called so by having no name.
fn is_list(root: &Node) -> bool {
    let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
    match kind {
        KIND => true,
        "List" => root.get("items").is_none_or(|items| items.is_seq() || items.is_null()),
        _ => {
            kind.ends_with("List")
                && root.get("items").is_some_and(Node::is_seq)
                && root.at(["metadata", "name"]).is_none()
        }
    }
}

/// Gives an object of a list of one kind what the list says for all of them: servers leave it out.
fn say_kind(item: &mut Node, list: &Node) {
    let text = |key: &str| list.get(key).and_then(Node::text);
    let Some(kind) = text("kind").and_then(|kind| kind.strip_suffix("List")) else { return };
    if kind.is_empty() || kind == "Resource" || item.get("kind").is_some() {
        return;
    }
    let has_version = item.get("apiVersion").is_some();
    if let Some(map) = item.as_map_mut() {
        map.insert_at(0, Node::from("kind"), Node::from(kind));
        if let Some(version) = text("apiVersion").filter(|_| !has_version) {
            map.insert_at(0, Node::from("apiVersion"), Node::from(version));
        }
    }
}

/// The single results in what `results` holds. What has another shape than the schema asks for is a result too: what a
/// function says must be seen, however it says it.
fn results_in(raw: &Node) -> &[Node] {
    // Older functions wrap the results once more: `results: {name: ..., items: [...]}`.
    let inner = raw.get("items").unwrap_or(raw);
    match inner.is_seq() {
        true => inner.items(),
        false if inner.is_empty() => &[],
        false => std::slice::from_ref(inner),
    }
}

fn take_seq(items: &mut Node) -> Result<Vec<Node>> {
    if items.is_null() {
        return Ok(Vec::new());
    }
    if items.is_empty() {
        // Nobody chose the brackets of `[]`: what comes into the list is written line by line.
        items.set_style(Style::Any);
    }
    match items.is_seq() {
        true => Ok(std::mem::take(items.as_seq_mut().expect("just seen to be a sequence"))),
        false => Err(wrong("items", "a list", items)),
    }
}

fn objects(nodes: Vec<Node>) -> Result<Vec<Object>> {
    nodes
        .into_iter()
        .map(|node| match node.is_map() {
            true => Ok(Object::from(node)),
            false => {
                let message = format!("expected a Kubernetes object, found {}", node.kind_name());
                Err(Diagnostic::error("list-item-not-an-object", message).at(node.span()))
            }
        })
        .collect()
}

fn wrong(field: &str, wanted: &str, found: &Node) -> Diagnostic {
    let message = format!("`{field}` must be {wanted}, not {}", found.kind_name());
    Diagnostic::error("list-malformed", message).at(found.span())
}
