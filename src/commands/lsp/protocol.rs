//! The parts of the Language Server Protocol 3.17 that are spoken here.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::positions::{Encoding, Range};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeParams {
    pub root_uri: Option<String>,
    pub root_path: Option<String>,
    pub workspace_folders: Option<Vec<WorkspaceFolder>>,
    pub capabilities: Value,
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
    pub source: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_information: Vec<Related>,
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

/// What the server can do.
pub fn capabilities(encoding: Encoding) -> Value {
    json!({
        "capabilities": {
            "positionEncoding": encoding.name(),
            "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
            "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
        },
        "serverInfo": {"name": "krm", "version": env!("CARGO_PKG_VERSION")},
    })
}
