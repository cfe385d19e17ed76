//! What the bindings to other languages have in common: a question as JSON in, an answer as JSON out.
//!
//! A question never starts a program and never fetches anything; a build that would have to is an error in the answer.
//!
//! ```
//! use std::sync::Arc;
//! use krm_bindings::answer;
//! use krm_engine::MemoryWorld;
//! let world = Arc::new(MemoryWorld::new([
//!     ("app/kustomization.yaml", "namePrefix: a-\nresources: [settings.yaml]\n"),
//!     ("app/settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"),
//! ]));
//! let text = answer(world, r#"{"ask": "build", "target": "app"}"#);
//! assert_eq!(text, r#"{"errors":[],"output":"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a-settings\n","warnings":[]}"#);
//! ```

mod explain;

use std::sync::Arc;

use krm_engine::workspace::Workspace;
use krm_engine::{BuildOptions, Diagnostic, Kubernetes, Node, Session, Sources, World, emit};
use serde::Deserialize;

/// What is asked.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Question {
    /// The resources of a target.
    Build {
        target: String,
        /// Also as data, not only as YAML.
        #[serde(default)]
        objects: bool,
        #[serde(default)]
        options: Options,
    },
    /// Where a value comes from: a field of a resource, a resource, or a line of the output.
    Explain {
        target: String,
        resource: Option<String>,
        field: Option<String>,
        line: Option<usize>,
        #[serde(default)]
        options: Options,
    },
    /// The folders that can be built and that no other folder includes.
    Targets,
}

/// How to build, by the names of the flags of `krm build`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    /// `LoadRestrictionsNone`: files outside the folder of a kustomization may be read.
    unrestricted: bool,
    /// `--reorder none`.
    keep_order: bool,
    enable_managedby_label: bool,
    /// The version of Kubernetes whose types patches are merged by: `1.21` or `1.37`.
    kube_version: Option<String>,
}

impl TryFrom<Options> for BuildOptions {
    type Error = Diagnostic;

    fn try_from(options: Options) -> Result<Self, Diagnostic> {
        let kubernetes = match options.kube_version.as_deref() {
            None | Some("1.21") => Kubernetes::V1_21,
            Some("1.37") => Kubernetes::V1_37,
            Some(other) => {
                let message = format!("the types of Kubernetes {other} are not known here");
                return Err(Diagnostic::error("kube-version-unknown", message).help("name `1.21` or `1.37`"));
            }
        };
        Ok(BuildOptions {
            unrestricted: options.unrestricted,
            keep_order: options.keep_order,
            managed_by_label: options.enable_managedby_label,
            kubernetes,
            ..BuildOptions::default()
        })
    }
}

/// Answers a question about the files of a world. What goes wrong is in the answer, under `errors`.
pub fn answer(world: Arc<dyn World>, question: &str) -> String {
    let sources = Sources::new();
    let answer = match serde_json::from_str(question) {
        Ok(question) => ask(world, &sources, question),
        Err(error) => Err(Diagnostic::error("question-malformed", format!("not a question: {error}"))),
    };
    let answer = answer.unwrap_or_else(|error| {
        let mut answer = Node::map();
        answer.set("errors", diagnostics(&[error], &sources));
        answer
    });
    krm_yaml::json::compact(&answer)
}

fn ask(world: Arc<dyn World>, sources: &Sources, question: Question) -> Result<Node, Diagnostic> {
    let session =
        |options: Options| Ok(Session::new(world.clone(), sources.clone(), BuildOptions::try_from(options)?));
    match question {
        Question::Build { target, objects, options } => build(session(options)?, sources, target, objects),
        Question::Explain { target, resource, field, line, options } => {
            let wanted = explain::Wanted { resource, field, line };
            explain::explain(&session(options)?, sources, &target, &wanted)
        }
        Question::Targets => {
            let workspace = Workspace::scan(&*world, sources, "/".as_ref())?;
            let roots = workspace.roots().into_iter().map(|layer| Node::from(layer.shown.as_str()));
            let mut answer = Node::map();
            answer.set("targets", roots.collect::<Vec<_>>());
            Ok(answer)
        }
    }
}

fn build(session: Session, sources: &Sources, target: String, objects: bool) -> Result<Node, Diagnostic> {
    let built = session.build_once(&[target]);
    let mut answer = Node::map();
    let warnings = built.warnings;
    let mut errors = Vec::new();
    for resources in built.targets {
        let emitted = resources.and_then(|resources| Ok((emit([&resources])?.concat(), resources)));
        match emitted {
            Err(error) => errors.push(error),
            Ok((text, resources)) => {
                answer.set("output", text.as_str());
                if objects {
                    let nodes = resources.iter().map(|resource| resource.node().clone());
                    answer.set("objects", nodes.collect::<Vec<_>>());
                }
            }
        }
    }
    answer.set("warnings", diagnostics(&warnings, sources));
    answer.set("errors", diagnostics(&errors, sources));
    Ok(answer)
}

/// Diagnostics as data, each with the text that a terminal would show.
fn diagnostics(all: &[Diagnostic], sources: &Sources) -> Vec<Node> {
    fn add(diagnostic: &Diagnostic, sources: &Sources, to: &mut Vec<Node>) {
        let mut node = diagnostic.to_node(sources);
        node.set("text", diagnostic.alone().render(sources).as_str());
        to.push(node);
        diagnostic.others().iter().for_each(|other| add(other, sources, to));
    }
    let mut found = Vec::new();
    for diagnostic in all {
        add(&diagnostic.clone().located(sources), sources, &mut found);
    }
    found
}
