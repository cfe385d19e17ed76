//! The parts of the Language Server Protocol 3.17 that are spoken here.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::positions::{Encoding, Position, Range};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeParams {
    pub root_uri: Option<String>,
    pub root_path: Option<String>,
    pub workspace_folders: Option<Vec<WorkspaceFolder>>,
    pub capabilities: Value,
    /// `{"codeLens": true}` shows above a kustomization how many roots use it; `{"inlayHints": true}` shows after a
    /// position in a JSON patch which element it means.
    pub initialization_options: Value,
}

impl InitializeParams {
    /// What the client says of itself, by the way to it: `/workspace/applyEdit`.
    pub fn can(&self, pointer: &str) -> bool {
        self.capabilities.pointer(pointer).and_then(Value::as_bool) == Some(true)
    }

    pub fn encoding(&self) -> Encoding {
        let offered = self.capabilities.pointer("/general/positionEncodings").and_then(Value::as_array);
        Encoding::negotiate(offered.into_iter().flatten().filter_map(Value::as_str))
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct WorkspaceFolder {
    pub uri: String,
}

#[derive(Debug, Deserialize)]
pub struct ChangeFolders {
    pub event: FoldersChanged,
}

#[derive(Debug, Deserialize)]
pub struct FoldersChanged {
    pub added: Vec<WorkspaceFolder>,
    pub removed: Vec<WorkspaceFolder>,
}

#[derive(Debug, Deserialize)]
pub struct DocumentId {
    pub uri: String,
    #[serde(default)]
    pub version: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidOpen {
    pub text_document: OpenedDocument,
}

#[derive(Debug, Deserialize)]
pub struct OpenedDocument {
    pub uri: String,
    #[serde(default)]
    pub version: Option<i64>,
    pub text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DidChange {
    pub text_document: DocumentId,
    pub content_changes: Vec<ContentChange>,
}

#[derive(Debug, Deserialize)]
pub struct ContentChange {
    /// `None`: the whole text.
    #[serde(default)]
    pub range: Option<Range>,
    pub text: String,
}

/// Of requests that are about a document as a whole.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfDocument {
    pub text_document: DocumentId,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AtPosition {
    pub text_document: DocumentId,
    pub position: Position,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct References {
    pub text_document: DocumentId,
    pub position: Position,
    pub context: ReferenceContext,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceContext {
    pub include_declaration: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenameParams {
    pub text_document: DocumentId,
    pub position: Position,
    pub new_name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeActionParams {
    pub text_document: DocumentId,
    pub range: Range,
    pub context: CodeActionContext,
}

#[derive(Debug, Deserialize)]
pub struct CodeActionContext {
    /// The kinds that are wanted; `None`: all kinds to choose from.
    #[serde(default)]
    pub only: Option<Vec<String>>,
}

/// Of requests that are about what is shown of a document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InRange {
    pub text_document: DocumentId,
    pub range: Range,
}

#[derive(Debug, Deserialize)]
pub struct Query {
    pub query: String,
}

#[derive(Debug, Deserialize)]
pub struct RenameFiles {
    pub files: Vec<FileRename>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRename {
    pub old_uri: String,
    pub new_uri: String,
}

#[derive(Debug, Deserialize)]
pub struct WatchedFiles {
    pub changes: Vec<WatchedFile>,
}

#[derive(Debug, Deserialize)]
pub struct WatchedFile {
    pub uri: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    pub range: Range,
    pub severity: u8,
    pub code: &'static str,
    pub code_description: CodeDescription,
    pub source: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_information: Vec<Related>,
}

/// Where a code is explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeDescription {
    pub href: String,
}

impl CodeDescription {
    pub fn of(code: &str) -> Self {
        Self { href: format!("{}/blob/main/docs/reference/codes.md#{code}", env!("CARGO_PKG_REPOSITORY")) }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Related {
    pub location: Location,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Location {
    pub uri: String,
    pub range: Range,
}

/// Gives what the kustomization of a file builds to, as a text. Its argument is the address of the file.
pub const PREVIEW: &str = "krm.preview";
/// Gives what hovering would show, as Markdown. Its arguments are the address of a file and a position.
pub const EXPLAIN: &str = "krm.explain";

/// What a client has to ask for when the server starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// Code lenses.
    pub shows_usage: bool,
    /// Inlay hints.
    pub shows_hints: bool,
    /// The problems of open documents are asked for, not sent.
    pub pulls: bool,
}

/// A wish to run a command.
#[derive(Debug, Deserialize)]
pub struct ExecuteCommand {
    pub command: String,
    #[serde(default)]
    pub arguments: Vec<Value>,
}

/// What the server can do, beside what a client has to ask for.
pub fn capabilities(encoding: Encoding, wishes: Wishes) -> Value {
    let any_file = json!({"filters": [{"scheme": "file", "pattern": {"glob": "**/*"}}]});
    let mut all = json!({
        "capabilities": {
            "positionEncoding": encoding.name(),
            "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
            "completionProvider": {"triggerCharacters": [":", " ", "-", "/", "=", "."]},
            "hoverProvider": true,
            "definitionProvider": true,
            "declarationProvider": true,
            "referencesProvider": true,
            "renameProvider": {"prepareProvider": true},
            "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor.extract", "refactor.inline", "source.fixAll.krm"]},
            "documentFormattingProvider": true,
            "foldingRangeProvider": true,
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "documentLinkProvider": {"resolveProvider": false},
            "executeCommandProvider": {"commands": [PREVIEW, EXPLAIN]},
            "workspace": {
                "workspaceFolders": {"supported": true, "changeNotifications": true},
                "fileOperations": {"willRename": any_file},
            },
        },
        "serverInfo": {"name": "krm", "version": env!("CARGO_PKG_VERSION")},
    });
    if wishes.pulls {
        all["capabilities"]["diagnosticProvider"] =
            json!({"identifier": "krm", "interFileDependencies": true, "workspaceDiagnostics": false});
    }
    if wishes.shows_hints {
        all["capabilities"]["inlayHintProvider"] = json!(true);
    }
    if wishes.shows_usage {
        all["capabilities"]["codeLensProvider"] = json!({"resolveProvider": false});
    }
    all
}
