//! Functions: programs that are transformers.
//!
//! A call is the one place where resources become bytes in the middle of a run: a [`Function`] writes a list, lets the
//! [runtime](crate::runtime) run the program, reads what comes back, and turns it into edits of what was sent
//! (`reconcile.rs`). The annotations that identify a resource exist only in between.

mod decode;
mod legacy;
mod locate;
mod reconcile;
mod spec;
mod transform;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use krm_function::annotations::{self, LOCAL_CONFIG};
use krm_function::{Format, FunctionResult, KIND, Object, ResourceList};
use krm_yaml::{Diagnostic, Failure, Node, Result, Sources, Span, Style};

use crate::resource::{Home, Resource, read, wrapper};
use crate::runtime::{Output, Program, Runtime, Status};
use crate::schema::Schema;

pub(crate) use legacy::LegacyPlugin;
pub(crate) use legacy::split_words;
pub use locate::Locator;
pub(crate) use spec::{Folders, FunctionSpec};
pub use transform::finding;

/// A program and its configuration.
#[derive(Clone)]
pub struct Function {
    program: Program,
    config: Option<Node>,
    /// A failure lets the others run, and is reported at the end.
    pub(crate) defer_failure: bool,
    pub(crate) form: Form,
    /// Comments missing from what it returns are put back, whichever function lost them, as kpt promises.
    pub(crate) puts_back_comments: bool,
    place: Span,
    runtime: Arc<Runtime>,
}

/// How resources are written for a program, and how what it returns is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As a build writes them: without comments, quotes and braces, keys in order. They are not in files, keep their order,
    /// and no two may have the same name. See quirk(functions-see-plain-text).
    #[default]
    Plain,
    /// As they are in the files of a package, which annotations name. What comes back are edits, in the order it came.
    AsWritten,
}

/// A resource as it was sent.
pub(crate) struct Sent {
    node: Node,
    home: Option<Box<Home>>,
}

/// A resource that says by annotation where it is kept, as one from a list does. The annotations go.
pub fn from_list(object: Object) -> Result<Resource> {
    let home = decode::home(&object, None)?;
    let mut resource = Resource::new(decode::strip_home(object), &Schema::builtin());
    resource.home = home.map(Box::new);
    Ok(resource)
}

/// Puts the items of lists in place of the lists, which may hold lists again.
pub fn without_lists(items: Vec<Object>) -> Vec<Object> {
    let nodes = items.into_iter().map(Object::into_node).collect();
    wrapper::without_lists(nodes).into_iter().map(Object::from).collect()
}

/// How much a resource says about its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// Its path.
    File,
    /// Its path, and the number of the document in it.
    FileAndIndex,
}

/// The resource with annotations that say where it is kept.
pub fn to_list(resource: Resource, tells: Tells) -> Object {
    let home = resource.home.clone();
    let Some(home) = home else { return Object::from(resource.into_node()) };
    let mut object = with_home(resource.into_node(), &home);
    if tells == Tells::File {
        object.remove_annotation(annotations::INDEX);
        object.remove_annotation(annotations::LEGACY_INDEX);
    }
    object
}

/// Adds the end of what a failed program wrote to standard error.
fn quoting(failure: Diagnostic, stderr: &str) -> Diagnostic {
    match stderr.trim_end() {
        "" => failure.note("it printed nothing to stderr", Span::NONE),
        text => failure.quote(format!("the end of its stderr:\n{}", last_lines(text))),
    }
}

/// What came back from a call.
pub(crate) struct Answer {
    /// What it printed, as far as that could be read, even if it failed.
    pub items: Vec<Returned>,
    pub results: Vec<FunctionResult>,
    /// The results as they came, whatever their shape.
    pub raw_results: Option<Node>,
    /// Why it failed, if it did. There may be results all the same.
    pub failure: Option<Diagnostic>,
    pub status: Status,
    pub stderr: String,
    pub elapsed: Duration,
    /// Whether nothing was started, since it had run on the same input before.
    pub cached: bool,
}

/// A resource that came back.
#[derive(Clone, Debug)]
pub(crate) struct Returned {
    pub node: Node,
    pub home: Option<Box<Home>>,
    /// Which of those sent it is; `None` for a new one.
    pub from: Option<usize>,
}

impl Function {
    /// The function a resource configures; `None` if it configures none. Refuses one that the user did not allow.
    ///
    /// `dir` is where the program runs and what its paths are relative to (the folder of the kustomization, or the one the
    /// command was given in); `local` is the folder of the functionConfig, which containers see at `/local`.
    pub(crate) fn from_config(
        config: &Node,
        dir: &Path,
        local: Option<&Path>,
        runtime: &Arc<Runtime>,
    ) -> Result<Option<Self>> {
        Self::declared(config, Folders { dir, local, bounds: Some(dir) }, runtime)
    }

    fn declared(config: &Node, folders: Folders, runtime: &Arc<Runtime>) -> Result<Option<Self>> {
        let Some((spec, place)) = FunctionSpec::of(config)? else { return Ok(None) };
        let program = spec.program(folders, place)?;
        let mut function = Self::new(program, Some(config.clone()), runtime).map_err(|d| d.at(place))?;
        function.defer_failure = spec.defer_failure;
        function.place = place;
        Ok(Some(function))
    }

    /// The same for a resource of a package: the program learns where its configuration is. Mounts it declares must be below
    /// that folder, wherever the command was started.
    pub fn from_resource(
        resource: &Resource,
        dir: &Path,
        local: Option<&Path>,
        runtime: &Arc<Runtime>,
    ) -> Result<Option<Self>> {
        let mut function = Self::declared(resource.node(), Folders { dir, local, bounds: local }, runtime)?;
        if let Some((config, home)) =
            function.as_mut().and_then(|f| f.config.as_mut()).zip(resource.home.as_ref())
        {
            *config = with_home(config.clone(), home).into_node();
        }
        Ok(function)
    }

    /// A function given on the command line. Refuses one that the user did not allow.
    pub fn new(program: Program, mut config: Option<Node>, runtime: &Arc<Runtime>) -> Result<Self> {
        runtime.check(&program)?;
        if let Some(config) = &mut config {
            // It is for us; the function's own schema need not know it.
            config.remove("runtime");
        }
        let (defer_failure, form, place) = (false, Form::default(), Span::NONE);
        let puts_back_comments = false;
        Ok(Self { program, config, defer_failure, form, puts_back_comments, place, runtime: runtime.clone() })
    }

    /// What it is called in messages: the image or the path.
    pub fn name(&self) -> &str {
        self.program.name()
    }

    /// What is run.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The `functionConfig` it is sent.
    pub fn config(&self) -> Option<&Node> {
        self.config.as_ref()
    }

    /// Where it was declared.
    pub fn place(&self) -> Span {
        self.place
    }

    /// Runs the program on resources. An error says that it could not be started; that it failed is in the answer.
    fn call(&self, items: &[Sent], sources: &Sources) -> Result<Answer> {
        let input = Arc::new(self.encode(items).into_bytes());
        let output = self.runtime.run(&self.program, input.clone());
        let output = output.map_err(|d| d.at(self.named_at(sources)))?;
        Ok(self.answer(items, &input, output, sources))
    }

    /// Where the program is named: within the annotation that does so.
    fn named_at(&self, sources: &Sources) -> Span {
        let Some(source) = sources.get(self.place.file) else { return self.place };
        match source.slice(self.place).find(self.name()) {
            Some(at) => {
                let start = self.place.start as usize + at;
                source.span(start, start + self.name().len())
            }
            None => self.place,
        }
    }

    /// What the program is sent.
    fn encode(&self, items: &[Sent]) -> String {
        let sent = items.iter().enumerate().map(|(i, item)| {
            let mut object = match &item.home {
                Some(home) => with_home(item.node.clone(), home),
                None => Object::from(item.node.clone()),
            };
            let id = (i + 1).to_string();
            annotate(&mut object, annotations::ID, &id);
            annotate(&mut object, annotations::LEGACY_ID, &id);
            object
        });
        ResourceList::new(sent.collect(), self.config.clone().map(Object::from)).to_string()
    }

    fn answer(&self, items: &[Sent], input: &[u8], output: Output, sources: &Sources) -> Answer {
        let Output { stdout, stderr, stderr_dropped, status, elapsed, cached, fault: not_started } = output;
        let mut answer = Answer {
            items: Vec::new(),
            results: Vec::new(),
            raw_results: None,
            failure: None,
            status,
            stderr: stderr_text(&stderr, stderr_dropped),
            elapsed,
            cached,
        };
        // Read even after a failure: that is when results matter most. If it was stopped, the text is cut off.
        let stdout = if answer.status.code().is_some() { stdout } else { Vec::new() };
        let read = match stdout == input {
            // A validator that found nothing wrong prints what it was given.
            true => Ok(unchanged(items)),
            false => self.read(stdout, items.is_empty(), sources).and_then(|list| {
                answer.raw_results = list.raw_results().cloned();
                answer.results = list.results;
                decode::items(items, list.items, self.puts_back_comments)
            }),
        };
        let read = read.map(|items| answer.items = items);
        let fault = match (answer.status.is_success(), read) {
            (true, Ok(())) => None,
            (true, Err(fault)) => Some(fault),
            (false, _) if answer.status.code().is_none() => {
                let stopped = Diagnostic::error("function-stopped", format!("{}", answer.status))
                    .failing(Failure::ProgramFailed);
                Some(match answer.status {
                    Status::LeftOpen => stopped.help(
                        "wait for the process before the function ends, or redirect its output: `command >/dev/null 2>&1 &`",
                    ),
                    Status::TimedOut(_) => stopped.help("to give it more time, pass `--timeout`"),
                    _ => stopped,
                })
            }
            (false, _) => Some(
                Diagnostic::error("function-failed", format!("{}", answer.status))
                    .failing(Failure::ProgramFailed),
            ),
        };
        answer.failure = match not_started {
            Some(fault) => Some(fault.at(self.place)),
            None => fault.map(|fault| self.failure(fault, &answer)),
        };
        answer
    }

    /// Reads what it printed. `items` may be missing only if it was given none: functions written with Go leave out an empty
    /// list, and then there is nothing to lose.
    fn read(&self, stdout: Vec<u8>, was_given_none: bool, sources: &Sources) -> Result<ResourceList> {
        if stdout.iter().all(u8::is_ascii_whitespace) {
            return Err(Diagnostic::error("function-printed-nothing", "it printed nothing")
                .help("a function must print a ResourceList, even one without items"));
        }
        let not_a_list = |what: String| {
            Diagnostic::error(
                "function-output-malformed",
                format!("its output is not a list of resources: {what}"),
            )
        };
        let name = format!("output of {}", self.name());
        // What it printed is not in a file to look at, so the message quotes the text.
        let refused = |e: Diagnostic| {
            let refused = not_a_list(e.to_string()).at(e.place());
            e.advice().iter().fold(refused, |d, advice| d.help(advice.clone()))
        };
        let source = sources
            .add_bytes(name, stdout)
            .map_err(|e| not_a_list(e.to_string()).at(e.place()).help("a function prints UTF-8"))?;
        let mut list = ResourceList::decode(&source).map_err(|error| match text_before_list(&source) {
            Some(place) => not_a_list("it begins with text that is not part of the list".to_owned())
                .at(place)
                .help("standard output is for the list alone: print messages to standard error"),
            None => refused(error),
        })?;
        if !was_given_none {
            list.require_items().map_err(refused)?;
        }
        // Comments alone, or `null`: no one writes that to mean that nothing is left.
        if list.kind().is_none() && list.items.is_empty() {
            return Err(not_a_list("there is no list and no resource".to_owned())
                .help("a list without resources has `items: []`"));
        }
        let is_list_with_results = |item: &&Object| item.kind() == KIND && item.get("results").is_some();
        if let Some(item) = list.items.iter().find(is_list_with_results) {
            return Err(not_a_list("a ResourceList with results must be the only document".to_owned())
                .at(item.span())
                .help("print one ResourceList with all items and all results"));
        }
        let nodes = list.items.into_iter().map(Object::into_node).collect();
        let nodes = match self.form {
            Form::Plain => read::printed(source.text(), nodes).map_err(refused)?,
            Form::AsWritten => wrapper::without_lists(nodes),
        };
        list.items = nodes.into_iter().map(Object::from).collect();
        if list.format() == Format::Json {
            // A program that answers in JSON does not ask for braces and quotes in a YAML file.
            list.items.iter_mut().for_each(|item| each_node(item, &|node| node.set_style(Style::Any)));
        }
        Ok(list)
    }

    /// Names the function, and adds what may help to find the reason.
    fn failure(&self, fault: Diagnostic, answer: &Answer) -> Diagnostic {
        let message = format!("function `{}` failed: {fault}", self.name());
        let mut failure = Diagnostic::error(fault.code(), message).at(fault.place()).at(self.place);
        if let Some(kind) = fault.failure() {
            failure = failure.failing(kind);
        }
        failure = failure.notes_of(&fault);
        // Results say what is wrong.
        let says_why = answer.status.is_success() || !answer.results.is_empty();
        if !(says_why && answer.stderr.trim_end().is_empty()) {
            failure = quoting(failure, &answer.stderr);
        }
        if answer.status.is_success() {
            failure = failure.note(format!("{}", answer.status), Span::NONE);
        }
        fault.advice().iter().fold(failure, |failure, advice| failure.help(advice.clone()))
    }

    /// The configuration as one of the resources, which a generator is given because there are no others.
    fn config_as_sent(&self) -> Option<Sent> {
        let mut object = Object::from(self.config.clone()?);
        object.set_annotation(LOCAL_CONFIG, "true");
        Some(Sent { node: object.into_node(), home: None })
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Function({})", self.name())
    }
}

/// Gives one tree the values of another, and keeps its own comments and order.
pub(crate) fn updated(old: &Node, new: &Node) -> Node {
    reconcile::reconcile(old, new, reconcile::Comments::AreLost)
}

/// Names the function that an error comes from.
pub(crate) fn blamed(name: &str, fault: Diagnostic) -> Diagnostic {
    let message = format!("function `{name}` failed: {fault}");
    let mut blamed = Diagnostic::error(fault.code(), message).at(fault.place());
    if let Some(kind) = fault.failure() {
        blamed = blamed.failing(kind);
    }
    let blamed = blamed.notes_of(&fault);
    fault.advice().iter().fold(blamed, |d, advice| d.help(advice.clone()))
}

/// The first line of what a function printed, if it is neither a list in YAML nor JSON, but the rest is.
fn text_before_list(source: &krm_yaml::Source) -> Option<Span> {
    let text = source.text();
    let is_list =
        |line: &&str| line.starts_with("apiVersion:") || line.starts_with("kind:") || line.starts_with('{');
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let is_yaml = first.starts_with(['#', '%', '[', '-']) || first.contains(": ") || first.ends_with(':');
    let start = text.find(first)?;
    let follows = text.lines().any(|line| is_list(&line));
    (!is_list(&first) && !is_yaml && follows).then(|| source.span(start, start + first.len()))
}

/// Changes every node of a tree, keys included.
fn each_node(node: &mut Node, change: &dyn Fn(&mut Node)) {
    change(node);
    if let Some(items) = node.as_seq_mut() {
        items.iter_mut().for_each(|item| each_node(item, change));
    } else if let Some(map) = node.as_map_mut() {
        for entry in map.entries_mut() {
            each_node(&mut entry.key, change);
            each_node(&mut entry.value, change);
        }
    }
}

fn unchanged(items: &[Sent]) -> Vec<Returned> {
    let returned = |(i, item): (usize, &Sent)| Returned {
        node: item.node.clone(),
        home: item.home.clone(),
        from: Some(i),
    };
    items.iter().enumerate().map(returned).collect()
}

/// A resource that says where it is kept, by today's annotations and the older ones.
fn with_home(node: Node, home: &Home) -> Object {
    let mut object = Object::from(node);
    let index = home.index.to_string();
    annotate(&mut object, annotations::LEGACY_INDEX, &index);
    annotate(&mut object, annotations::LEGACY_PATH, &home.path);
    annotate(&mut object, annotations::INDEX, &index);
    annotate(&mut object, annotations::PATH, &home.path);
    object
}

/// Sets an annotation in quotes, as kyaml does.
fn annotate(object: &mut Object, key: &str, value: &str) {
    if let Some(annotations) = object.map_at("metadata").and_then(|metadata| metadata.map_at("annotations")) {
        annotations.set(key, Node::from(value).with_style(Style::SingleQuoted));
    }
}

fn stderr_text(stderr: &[u8], dropped: u64) -> String {
    let text = String::from_utf8_lossy(stderr);
    match dropped {
        0 => text.into_owned(),
        // The first line kept is probably cut off.
        _ => text.split_once('\n').map_or(&*text, |(_, rest)| rest).to_owned(),
    }
}

/// As much of the end of a text as fits in an error message.
fn last_lines(text: &str) -> String {
    const MOST: usize = 20;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(MOST);
    let shown = lines[from..].iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n");
    match from {
        0 => shown,
        _ => format!("  ... ({from} lines more)\n{shown}"),
    }
}
