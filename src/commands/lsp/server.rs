//! What the editor says, and the answers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use krm_engine::editor::{Editor, FileSpan, Level, Problem};
use krm_engine::workspace::VENDORED;
use krm_yaml::{Failure, Source, Span};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Cancelled;
use super::positions::{Encoding, Lines, Range};
use super::protocol::{self as p, InitializeParams};
use super::uri;
use super::wire::{self, Fault, Incoming};
use crate::os::{Disk, lockfile};

/// One client, from `initialize` to `exit`.
pub struct Server {
    state: State,
    pub(super) encoding: Encoding,
    watches: bool,
    /// The client takes edits with the versions of the files they are for.
    pub(super) takes_document_changes: bool,
    /// The client takes edits that make new files.
    pub(super) makes_files: bool,
    pub(super) wishes: p::Wishes,
    pub(super) folders: Vec<Editor>,
    /// By address, as the client writes it.
    documents: BTreeMap<String, Document>,
    /// What was last shown, by path.
    shown: BTreeMap<PathBuf, Shown>,
    /// Problems may have changed since they were last shown.
    is_dirty: bool,
    cancelled: Cancelled,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Running,
    ShutDown,
}

struct Document {
    path: PathBuf,
    text: Arc<str>,
    version: Option<i64>,
}

#[derive(PartialEq)]
struct Shown {
    uri: String,
    version: Option<i64>,
    diagnostics: Vec<p::Diagnostic>,
}

/// Why a request has no answer.
pub(super) struct Refused(pub Fault, pub String);

pub(super) type Answer = Result<Value, Refused>;

impl Server {
    pub fn new(cancelled: Cancelled) -> Self {
        Self {
            state: State::New,
            encoding: Encoding::default(),
            watches: false,
            takes_document_changes: false,
            makes_files: false,
            wishes: p::Wishes::default(),
            folders: Vec::new(),
            documents: BTreeMap::new(),
            shown: BTreeMap::new(),
            is_dirty: false,
            cancelled,
        }
    }

    pub fn is_shut_down(&self) -> bool {
        self.state == State::ShutDown
    }

    /// Takes in a message, and gives those it leads to.
    pub fn answer(&mut self, message: Incoming) -> Vec<Value> {
        match message {
            Incoming::Malformed(answer) => vec![answer],
            Incoming::Answer => Vec::new(),
            Incoming::Notification { method, params } => match self.state {
                State::Running => self.notified(&method, params),
                State::New | State::ShutDown => Vec::new(),
            },
            Incoming::Request { id, method, params } => {
                let answer = match self.is_cancelled(&id) {
                    true => Err(cancelled()),
                    false => self.request(&method, params),
                };
                // Cancelled meanwhile: the client wants to hear no more than that.
                let answer = if self.is_cancelled(&id) { Err(cancelled()) } else { answer };
                vec![match answer {
                    Ok(result) => wire::answer(&id, &result),
                    Err(Refused(fault, message)) => wire::failure(&id, fault, &message),
                }]
            }
        }
    }

    fn is_cancelled(&self, id: &Value) -> bool {
        self.cancelled.lock().expect("no one panics while holding the ids").remove(&id.to_string())
    }

    fn request(&mut self, method: &str, params: Value) -> Answer {
        match (self.state, method) {
            (State::New, "initialize") => self.initialize(read(params)?),
            (State::New, _) => Err(Refused(Fault::NotInitialized, "`initialize` comes first".into())),
            (State::ShutDown, _) => Err(Refused(Fault::InvalidRequest, "the server is shut down".into())),
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                Ok(Value::Null)
            }
            (State::Running, "initialize") => {
                Err(Refused(Fault::InvalidRequest, "`initialize` comes once".into()))
            }
            (State::Running, _) => self.surviving(|server| server.ask(method, params)).unwrap_or_else(|| {
                Err(Refused(Fault::MethodNotFound, format!("there is no method `{method}`")))
            }),
        }
    }

    /// A bug ends a request, not the server: what the folders knew is thrown away, the texts are kept.
    fn surviving(&mut self, ask: impl FnOnce(&mut Self) -> Option<Answer>) -> Option<Answer> {
        std::panic::catch_unwind(AssertUnwindSafe(|| ask(self))).unwrap_or_else(|_| {
            self.start_again();
            Some(Err(Refused(Fault::Internal, "krm has a bug: its output has the details".into())))
        })
    }

    fn start_again(&mut self) {
        let roots: Vec<PathBuf> = self.folders.drain(..).map(|editor| editor.root().to_owned()).collect();
        roots.iter().for_each(|root| self.open_folder(root));
    }

    fn initialize(&mut self, params: InitializeParams) -> Answer {
        self.encoding = params.encoding();
        self.watches = params.can("/workspace/didChangeWatchedFiles/dynamicRegistration");
        self.takes_document_changes = params.can("/workspace/workspaceEdit/documentChanges");
        let operations = params.capabilities.pointer("/workspace/workspaceEdit/resourceOperations");
        let mut operations = operations.and_then(Value::as_array).into_iter().flatten();
        self.makes_files = self.takes_document_changes && operations.any(|operation| operation == "create");
        let is_wanted = |option: &str| params.initialization_options.get(option) == Some(&Value::Bool(true));
        self.wishes = p::Wishes {
            shows_usage: is_wanted("codeLens"),
            shows_hints: is_wanted("inlayHints"),
            pulls: is_wanted("pullDiagnostics"),
        };
        let folders = params.workspace_folders.iter().flatten().filter_map(|folder| uri::path(&folder.uri));
        let mut folders: Vec<PathBuf> = folders.collect();
        if folders.is_empty() {
            let root = params.root_uri.as_deref().and_then(uri::path);
            folders.extend(root.or_else(|| params.root_path.map(PathBuf::from)));
        }
        folders.iter().for_each(|folder| self.open_folder(folder));
        self.state = State::Running;
        Ok(p::capabilities(self.encoding, self.wishes))
    }

    fn open_folder(&mut self, folder: &Path) {
        let mut editor =
            Editor::new(Arc::new(Disk::around(&[folder.to_string_lossy().into_owned()])), folder);
        if self.folders.iter().any(|known| known.root() == editor.root()) {
            return;
        }
        self.documents.values().for_each(|document| editor.set_text(&document.path, document.text.clone()));
        self.folders.push(editor);
        self.is_dirty = true;
    }

    fn notified(&mut self, method: &str, params: Value) -> Vec<Value> {
        // A notification has no answer: one that cannot be read is as if it had not come.
        let _ = match method {
            "initialized" => return self.watch(),
            "textDocument/didOpen" => {
                read(params).map(|params: p::DidOpen| self.opened(params.text_document))
            }
            "textDocument/didChange" => read(params).map(|params| self.changed(params)),
            "textDocument/didClose" => {
                read(params).map(|params: p::OfDocument| self.closed(&params.text_document.uri))
            }
            "workspace/didChangeWatchedFiles" => read(params).map(|params: p::WatchedFiles| {
                let paths: Vec<PathBuf> =
                    params.changes.iter().filter_map(|file| uri::path(&file.uri)).collect();
                // Copies of what is fetched are looked up once.
                let is_locked = |path: &PathBuf| {
                    path.ends_with(lockfile::NAME) || path.ancestors().any(|above| above.ends_with(VENDORED))
                };
                match paths.iter().any(is_locked) {
                    true => self.start_again(),
                    false => self.folders.iter_mut().for_each(|editor| editor.changed_on_disk(&paths)),
                }
                self.is_dirty = true;
            }),
            "workspace/didChangeWorkspaceFolders" => read(params).map(|params: p::ChangeFolders| {
                for folder in params.event.removed.iter().filter_map(|folder| uri::path(&folder.uri)) {
                    let real = folder.canonicalize().unwrap_or(folder);
                    self.folders.retain(|editor| editor.root() != real);
                }
                let added = params.event.added.iter().filter_map(|folder| uri::path(&folder.uri));
                added.for_each(|folder| self.open_folder(&folder));
                self.is_dirty = true;
            }),
            _ => Ok(()),
        };
        Vec::new()
    }

    /// Asks to hear of files that change outside the editor.
    fn watch(&self) -> Vec<Value> {
        if !self.watches {
            return Vec::new();
        }
        let watchers = json!([{"globPattern": "**/*"}]);
        let registration = json!({
            "id": "files",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": watchers},
        });
        vec![wire::request("watch", "client/registerCapability", &json!({"registrations": [registration]}))]
    }

    fn opened(&mut self, document: p::OpenedDocument) {
        let Some(path) = uri::path(&document.uri) else { return };
        if !self.folders.iter().any(|editor| editor.place(&path).starts_with(editor.root())) {
            self.open_folder(&folder_around(&path));
        }
        self.set_text(document.uri, path, document.text.into(), document.version);
    }

    fn changed(&mut self, params: p::DidChange) {
        let p::DidChange { text_document: p::DocumentId { uri, version }, content_changes } = params;
        let Some(Document { path, text, .. }) = self.documents.get(&uri) else { return };
        let (path, mut text) = (path.clone(), text.to_string());
        for change in content_changes {
            match change.range {
                None => text = change.text,
                Some(range) => {
                    let lines = Lines::new(&text, self.encoding);
                    let (start, end) = (lines.offset(range.start), lines.offset(range.end));
                    text.replace_range(start.min(end)..end.max(start), &change.text);
                }
            }
        }
        self.set_text(uri, path, text.into(), version);
    }

    fn set_text(&mut self, uri: String, path: PathBuf, text: Arc<str>, version: Option<i64>) {
        self.folders.iter_mut().for_each(|editor| editor.set_text(&path, text.clone()));
        self.documents.insert(uri, Document { path, text, version });
        self.is_dirty = true;
    }

    fn closed(&mut self, uri: &str) {
        if let Some(document) = self.documents.remove(uri) {
            self.folders.iter_mut().for_each(|editor| editor.close(&document.path));
            self.is_dirty = true;
        }
    }

    /// Whether there is more to find than what was shown.
    pub fn is_unfinished(&self) -> bool {
        self.folders.iter().any(Editor::is_unfinished)
    }

    /// Finds the rest, and shows it.
    pub fn finish(&mut self) -> Vec<Value> {
        let finished = std::panic::catch_unwind(AssertUnwindSafe(|| {
            self.folders.iter_mut().for_each(Editor::finish);
        }));
        match finished {
            Ok(()) => self.is_dirty = true,
            Err(_) => self.start_again(),
        }
        self.diagnose()
    }

    /// Finds what is wrong, and shows what changed since it was last shown.
    pub fn diagnose(&mut self) -> Vec<Value> {
        if !std::mem::take(&mut self.is_dirty) {
            return Vec::new();
        }
        let found = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let mut all: BTreeMap<PathBuf, Vec<Problem>> = BTreeMap::new();
            for editor in &mut self.folders {
                for (path, problems) in editor.problems() {
                    all.entry(path.clone()).or_default().extend(problems.iter().cloned());
                }
            }
            all
        }));
        let Ok(all) = found else {
            // What was shown stays, until the next key press.
            self.start_again();
            self.is_dirty = false;
            return Vec::new();
        };
        let converter = Converter::new(self);
        let mut now: BTreeMap<PathBuf, Shown> = BTreeMap::new();
        for (path, problems) in &all {
            let mut diagnostics: Vec<p::Diagnostic> =
                problems.iter().map(|problem| converter.problem(problem)).collect();
            // Two folders that are open may use the same file.
            diagnostics.dedup();
            let (uri, version) = self.address(path);
            if self.wishes.pulls && self.documents.contains_key(&uri) {
                // The client asks for them, and would have them twice; those shown before it was opened go.
                diagnostics.clear();
            }
            now.insert(path.clone(), Shown { uri, version, diagnostics });
        }
        // What is right again, and what is open and right, is said too.
        let open = self.documents.values().map(|document| self.place(&document.path));
        let before = self.shown.iter().filter(|(_, shown)| !shown.diagnostics.is_empty());
        let quiet: Vec<PathBuf> = open.chain(before.map(|(path, _)| path.clone())).collect();
        for path in quiet {
            let (uri, version) = self.address(&path);
            now.entry(path).or_insert(Shown { uri, version, diagnostics: Vec::new() });
        }
        let news = now.iter().filter(|(path, shown)| self.shown.get(*path) != Some(shown));
        let messages = news.map(|(_, Shown { uri, version, diagnostics })| {
            let mut params = json!({"uri": uri, "diagnostics": diagnostics});
            if let Some(version) = version {
                params["version"] = json!(version);
            }
            wire::notification("textDocument/publishDiagnostics", &params)
        });
        let messages = messages.collect();
        self.shown = now;
        messages
    }

    fn place(&self, path: &Path) -> PathBuf {
        self.folders.first().map_or_else(|| path.to_owned(), |editor| editor.place(path))
    }

    /// How the client calls a file, and which version of it it has open.
    pub(super) fn address(&self, path: &Path) -> (String, Option<i64>) {
        let open = self
            .documents
            .iter()
            .find(|(_, document)| document.path == path || self.place(&document.path) == path);
        match open {
            Some((uri, document)) => (uri.clone(), document.version),
            None => (uri::of(path), None),
        }
    }
}

/// The folder to look at for a file that is opened by itself: the repository it is in, or its own.
fn folder_around(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(path);
    folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder).to_owned()
}

fn cancelled() -> Refused {
    Refused(Fault::Cancelled, "the request was cancelled".into())
}

pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refused> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| Refused(Fault::InvalidParams, error.to_string()))
}

/// Editors show such text faded.
const UNNECESSARY: u8 = 1;
/// Editors strike such text through.
const DEPRECATED: u8 = 2;

/// Turns places into addresses and positions. The lines of a text are looked for once.
pub(super) struct Converter<'a> {
    server: &'a Server,
    lines: RefCell<FxHashMap<*const Source, Rc<Lines<'a>>>>,
}

impl<'a> Converter<'a> {
    pub fn new(server: &'a Server) -> Self {
        Self { server, lines: RefCell::default() }
    }

    pub fn range(&self, place: &'a FileSpan) -> Range {
        self.range_of(place, place.span)
    }

    /// The range of a span in the text that a place is in.
    pub fn range_of(&self, place: &'a FileSpan, span: Span) -> Range {
        let mut known = self.lines.borrow_mut();
        let lines = known
            .entry(Arc::as_ptr(&place.source))
            .or_insert_with(|| Rc::new(Lines::new(place.source.text(), self.server.encoding)));
        lines.range(span.range())
    }

    pub fn location(&self, place: &'a FileSpan) -> p::Location {
        p::Location { uri: self.server.address(&place.path).0, range: self.range(place) }
    }

    pub fn problem(&self, problem: &'a Problem) -> p::Diagnostic {
        let severity = match problem.level {
            Level::Error => 1,
            Level::Warning => 2,
            Level::Information => 3,
        };
        let tags = match problem.failure {
            Some(Failure::Deprecated) => vec![DEPRECATED],
            Some(Failure::Unnecessary) => vec![UNNECESSARY],
            _ => Vec::new(),
        };
        let related = problem
            .notes
            .iter()
            .map(|(message, place)| p::Related { location: self.location(place), message: message.clone() });
        p::Diagnostic {
            range: self.range(&problem.place),
            severity,
            code: problem.code,
            code_description: p::CodeDescription::of(problem.code),
            source: "krm",
            message: problem.message.clone(),
            tags,
            related_information: related.collect(),
        }
    }
}
