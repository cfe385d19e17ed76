//! The `Kptfile` as a type: read strictly, with the location of every value.

use std::collections::BTreeMap;
use std::sync::Arc;

use krm_yaml::de::Options;
use krm_yaml::{Diagnostic, Document, Node, Result, Source, Span, Spanned, Text};
use serde::Deserialize;

use super::image;
use super::select::Selector;

/// What the file is called.
pub const FILE: &str = "Kptfile";
/// The one version there is.
pub const API_VERSION: &str = "kpt.dev/v1";

/// What a package says about itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Kptfile {
    /// `kpt.dev/v1`: no other is read.
    pub api_version: Spanned<Text>,
    /// `Kptfile`.
    pub kind: Spanned<Text>,
    /// Its name and annotations.
    pub metadata: Metadata,
    /// Where it came from, as asked for.
    pub upstream: Option<Spanned<Locator>>,
    /// Where it came from, exactly.
    pub upstream_lock: Option<UpstreamLock>,
    info: Option<Info>,
    /// What a render runs; empty if the package declares no functions.
    pub pipeline: Pipeline,
    inventory: Option<Inventory>,
    status: Option<Node>,
}

/// The metadata of a Kptfile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Metadata {
    /// The name of the package.
    pub name: Text,
    namespace: Text,
    labels: BTreeMap<Text, Text>,
    /// Some of them are settings of kpt, such as `kpt.dev/bfs-rendering`.
    pub annotations: BTreeMap<Text, Text>,
    creation_timestamp: Option<Node>,
}

/// An upstream: a folder of a repository at a branch, tag or commit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Locator {
    /// `git`.
    pub r#type: Spanned<Text>,
    /// The repository; `None` if it is not from git.
    pub git: Option<Git>,
    /// One of the words of [`Strategy`]; `None` is `resource-merge`.
    pub update_strategy: Option<Spanned<Text>>,
}

/// A folder of a git repository, as asked for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Git {
    /// The address of the repository.
    pub repo: Text,
    /// The folder in it; `/` for all of it.
    pub directory: Text,
    /// A branch, a tag or a commit.
    pub r#ref: Text,
}

/// What was fetched.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpstreamLock {
    r#type: Text,
    /// The commit; `None` if it is not from git.
    pub git: Option<GitLock>,
    generic: Option<Generic>,
}

/// A folder of a git repository at one commit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GitLock {
    /// The address of the repository.
    pub repo: Text,
    /// The folder in it; `/` for all of it.
    pub directory: Text,
    /// The branch or tag that led to the commit.
    pub r#ref: Text,
    /// The commit, in full.
    pub commit: Text,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Generic {
    #[serde(rename = "storeID")]
    _store: Text,
    #[serde(rename = "resourceID")]
    _resource: Text,
    #[serde(rename = "resourceVersion")]
    _version: Text,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Info {
    site: Text,
    emails: Vec<Text>,
    license: Text,
    license_file: Text,
    description: Text,
    keywords: Vec<Text>,
    man: Text,
    readiness_gates: Vec<Gate>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Gate {
    condition_type: Text,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Inventory {
    namespace: Text,
    name: Text,
    #[serde(rename = "inventoryID")]
    inventory_id: Text,
    labels: BTreeMap<Text, Text>,
    annotations: BTreeMap<Text, Text>,
}

/// The functions of a package, in the order they run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pipeline {
    /// They change resources, and run first.
    pub mutators: Vec<Spanned<Function>>,
    /// They only look: what they change is dropped.
    pub validators: Vec<Spanned<Function>>,
}

/// One function of a pipeline.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Function {
    /// The image; empty if it has an `exec`.
    pub image: Spanned<Text>,
    /// The executable; empty if it has an `image`.
    pub exec: Spanned<Text>,
    /// Replaces the tag of the image; may be a range of versions.
    pub tag: Spanned<Text>,
    /// The file of its configuration, relative to the package; `None` if it has none, or has it inline.
    pub config_path: Option<Spanned<Text>>,
    config_map: Option<Node>,
    /// What people call it; often empty.
    pub name: Text,
    /// An expression that says whether the function runs, under both names that kpt had for it. It is known, so that it is
    /// refused with a reason.
    condition: Option<Spanned<Text>>,
    when: Option<Spanned<Text>>,
    /// It gets what one of these matches; everything if there are none.
    pub selectors: Vec<Spanned<Selector>>,
    /// It does not get what one of these matches.
    pub exclude: Vec<Spanned<Selector>>,
}

/// How an update treats what was changed here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Merge resource by resource.
    #[default]
    ResourceMerge,
    /// Refuse if anything was changed here.
    FastForward,
    /// Drop what was changed here.
    ForceDeleteReplace,
    /// Copy the upstream's files over those here.
    CopyMerge,
}

impl Strategy {
    pub(crate) const ALL: [Strategy; 4] =
        [Strategy::ResourceMerge, Strategy::FastForward, Strategy::ForceDeleteReplace, Strategy::CopyMerge];

    /// The word for it in a Kptfile, such as `resource-merge`.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::ResourceMerge => "resource-merge",
            Strategy::FastForward => "fast-forward",
            Strategy::ForceDeleteReplace => "force-delete-replace",
            Strategy::CopyMerge => "copy-merge",
        }
    }
}

/// Reads the name of a strategy.
pub fn parse_strategy(word: &str, span: Span) -> Result<Strategy> {
    Strategy::ALL.into_iter().find(|strategy| strategy.word() == word).ok_or_else(|| {
        let words = Strategy::ALL.map(|strategy| format!("`{}`", strategy.word())).join(", ");
        Diagnostic::error("update-strategy", format!("`{word}` is not an update strategy"))
            .at(span)
            .help(format!("use one of {words}"))
    })
}

impl Kptfile {
    /// Reads the file: one document, of the one version there is, without unknown fields; functions checked.
    pub fn read(source: &Arc<Source>) -> Result<(Self, Document)> {
        let document = one_document(source)?;
        let kptfile = Self::of(&document.root)?;
        Ok((kptfile, document))
    }

    /// Reads a Kptfile from its tree.
    pub(crate) fn of(root: &Node) -> Result<Self> {
        kind_and_version(root)?;
        // Every value is text as it is written: the branch `1.10` is not the number 1.1.
        let kptfile: Self = krm_yaml::from_node_with_all_errors(root, Options::STRICT.only_text())?;
        kptfile.upstream.as_deref().map_or(Ok(()), Locator::check)?;
        let all = [("mutators", &kptfile.pipeline.mutators), ("validators", &kptfile.pipeline.validators)];
        for (list, functions) in all {
            for (at, function) in functions.iter().enumerate() {
                function.check(&format!("pipeline.{list}[{at}]"), function.span())?;
            }
        }
        Ok(kptfile)
    }

    /// Whether an annotation of the Kptfile says `true`.
    pub(crate) fn asks(&self, annotation: &str) -> bool {
        self.metadata.annotations.get(annotation).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Where it came from, if it is complete.
    pub fn git(&self) -> Option<&Git> {
        let git = self.upstream.as_ref()?.git.as_ref()?;
        [&git.repo, &git.directory, &git.r#ref].iter().all(|text| !text.is_empty()).then_some(git)
    }

    /// The commit it came from.
    pub fn lock(&self) -> Option<&GitLock> {
        self.upstream_lock.as_ref()?.git.as_ref()
    }
}

/// The one document of the file.
fn one_document(source: &Arc<Source>) -> Result<Document> {
    let mut documents = krm_yaml::parse(source)?.into_iter().filter(|document| !document.root.is_null());
    let Some(first) = documents.next() else {
        let message = format!("`{}` is empty", source.name());
        return Err(Diagnostic::error("kptfile-empty", message).at(source.span(0, 0)).help(format!(
            "a Kptfile begins with `apiVersion: {API_VERSION}` and `kind: Kptfile`; `krm pkg init` makes one"
        )));
    };
    match documents.next() {
        None => Ok(first),
        Some(second) => Err(Diagnostic::error(
            "kptfile-documents",
            "a Kptfile must hold one document; this is a second one",
        )
        .at(second.root.span())
        .help("move it to a file of its own")),
    }
}

fn kind_and_version(root: &Node) -> Result<()> {
    let text = |key: &str| root.get(key).and_then(Node::text).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version == API_VERSION && kind == FILE {
        return Ok(());
    }
    let wrong = |key: &str, wanted: &str| {
        let span = root.get(key).map_or(root.span(), Node::span);
        let message = match text(key) {
            "" => format!("the Kptfile has no `{key}`"),
            other => format!("`{other}` is not the `{key}` of a Kptfile"),
        };
        Diagnostic::error("kptfile-version", message).at(span).help(format!("write `{key}: {wanted}`"))
    };
    if kind != FILE {
        return Err(wrong("kind", FILE));
    }
    let old = wrong("apiVersion", API_VERSION);
    Err(match version {
        "kpt.dev/v1alpha1" | "kpt.dev/v1alpha2" => old.help(
            "this is the format of an older kpt, with other fields; kpt's documentation says how to move on",
        ),
        _ => old,
    })
}

impl Locator {
    fn check(&self) -> Result<()> {
        match &self.update_strategy {
            Some(strategy) if !strategy.is_empty() => parse_strategy(strategy, strategy.span()).map(drop),
            _ => Ok(()),
        }
    }
}

impl Function {
    /// The image or the program, as written.
    pub fn written(&self) -> &str {
        if self.exec.is_empty() { &self.image } else { &self.exec }
    }

    pub(crate) fn is_exec(&self) -> bool {
        !self.exec.is_empty()
    }

    fn check(&self, field: &str, span: Span) -> Result<()> {
        let wrong = |message: String, span: Span| {
            Diagnostic::error("kptfile-function", format!("`{field}` {message}")).at(span)
        };
        match (self.image.is_empty(), self.exec.is_empty()) {
            (true, true) => {
                return Err(wrong("names neither an `image` nor an `exec`".into(), span).help(
                    "say which program to run: `image: registry.example.com/name:tag`, or `exec: ./program`",
                ));
            }
            (false, false) => {
                return Err(wrong("names both an `image` and an `exec`".into(), self.exec.span())
                    .note("the image", self.image.span())
                    .help("keep one of them"));
            }
            (false, true) if !image::is_reference(&self.image) => {
                return Err(wrong(
                    format!("names `{}`, which is not an image", *self.image),
                    self.image.span(),
                )
                .help("write it as `registry.example.com/name:tag`, the name in lower case"));
            }
            _ => {}
        }
        let conditions = [("condition", &self.condition), ("when", &self.when)];
        let condition = conditions.into_iter().find_map(|(name, written)| Some((name, written.as_ref()?)));
        if let Some((name, condition)) = condition {
            // Running it regardless would be wrong in half of the cases.
            let message = format!("`{field}` has a `{name}`, and krm does not evaluate conditions");
            return Err(Diagnostic::error("kptfile-condition", message).at(condition.span()).help(
                "remove it if the function is always to run; `selectors` and `exclude` say on which resources it does",
            ));
        }
        if let Some(path) = &self.config_path {
            check_config_path(field, path)?;
        }
        if let (Some(path), Some(map)) =
            (&self.config_path, self.config_map.as_ref().filter(|map| !map.is_empty()))
        {
            return Err(wrong("has both a `configPath` and a `configMap`".into(), map.span())
                .note("the path", path.span())
                .help("keep one of them"));
        }
        let Some(map) = &self.config_map else { return Ok(()) };
        let Some(entries) = map.as_map() else {
            return Err(wrong(format!("has a `configMap` that is a {}", map.kind_name()), map.span())
                .help("write it as `key: value` lines"));
        };
        match entries.iter().find(|entry| !entry.value.is_scalar()) {
            Some(entry) => Err(wrong("has a `configMap` with a value that is not text".into(), entry.value.span())
                .help("values of a configMap are text; put anything deeper in a file of its own, named by `configPath`")),
            None => Ok(()),
        }
    }

    /// The function config that `configMap` makes, if there is one. Values are text, whatever they look like.
    pub(crate) fn config_from_map(&self) -> Option<Node> {
        let map = self.config_map.as_ref()?.as_map().filter(|map| !map.is_empty())?;
        let mut data = Node::map();
        for entry in map {
            let text = if entry.value.is_null() { "" } else { entry.value.text().unwrap_or_default() };
            data.set(entry.key.text().unwrap_or_default(), Node::string(text));
        }
        let mut config = krm_function::Object::new("v1", "ConfigMap", "function-input");
        config.set("data", data);
        Some(config.into_node())
    }
}

fn check_config_path(field: &str, path: &Spanned<Text>) -> Result<()> {
    let wrong = |why: &str| {
        Err(Diagnostic::error("kptfile-config-path", format!("the `configPath` of `{field}` {why}"))
            .at(path.span())
            .help("name a file of this package, relative to its Kptfile"))
    };
    if path.trim().is_empty() {
        return wrong("is empty");
    }
    if path.starts_with('/') {
        return wrong("is absolute");
    }
    // quirk(two-dots-are-refused-anywhere): A `configPath` with two dots in a row is refused, also when they are within
    // a name, such as `la..bels.yaml`. (kpt `kptfile.validateFnConfigPathSyntax`)
    if path.contains("..") {
        return wrong("has `..` in it");
    }
    Ok(())
}

/// Adds a function to a list of a Kptfile's pipeline, or replaces the first that runs the same program; says which.
/// `field` is `image` or `exec`.
pub fn add_function(root: &mut Node, list: &str, field: &str, function: Node) -> Result<bool> {
    let program = function.get(field).and_then(Node::text).unwrap_or_default().to_owned();
    let wrong = |message: String, span: Span| {
        Diagnostic::error("kptfile-pipeline", message)
            .at(span)
            .help("under `pipeline:`, write `mutators:` and `validators:` as lists of functions")
    };
    let span = root.span();
    let not_a_map = || wrong("`pipeline` of the Kptfile is not a map".into(), span);
    let pipeline = root.map_at("pipeline").ok_or_else(not_a_map)?;
    if pipeline.get(list).is_none_or(Node::is_null) {
        pipeline.set(list, Node::seq());
    }
    let span = pipeline.span();
    let not_a_list = || wrong(format!("`pipeline.{list}` of the Kptfile is not a list"), span);
    let functions = pipeline.get_mut(list).and_then(Node::as_seq_mut).ok_or_else(not_a_list)?;
    let same = |node: &Node| node.get(field).and_then(Node::text) == Some(program.as_str());
    match functions.iter().position(same) {
        Some(at) => {
            // What it said before and does not now goes; its comments stay with what is still there.
            functions[at] = crate::functions::updated(&functions[at], &function);
            Ok(false)
        }
        None => {
            functions.push(function);
            Ok(true)
        }
    }
}
