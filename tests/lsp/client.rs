//! A client of the language server, as small as can be.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: i64,
    versions: BTreeMap<String, i64>,
    /// What the server last said about each file.
    pub diagnostics: BTreeMap<String, Value>,
    pub capabilities: Value,
    pub root: PathBuf,
}

/// Longer nothing takes, also on a machine with much to do.
const PATIENCE: Duration = Duration::from_secs(60);

impl Client {
    /// Starts a server for a folder, with these position encodings.
    pub fn start(root: &Path, encodings: &[&str]) -> Self {
        Self::start_with(root, encodings, json!({}))
    }

    /// The same, with options for the server.
    pub fn start_with(root: &Path, encodings: &[&str], options: Value) -> Self {
        Self::start_as(root, json!({"general": {"positionEncodings": encodings}}), options)
    }

    /// The same, for a client that can do these things.
    pub fn start_as(root: &Path, capabilities: Value, options: Value) -> Self {
        let root = root.canonicalize().expect("a folder");
        let mut client = Self::start_bare(&root);
        let answer = client.request(
            "initialize",
            json!({
                "processId": null,
                "workspaceFolders": [{"uri": uri(&root), "name": "w"}],
                "rootUri": uri(&root),
                "capabilities": capabilities,
                "initializationOptions": options,
            }),
        );
        client.capabilities = answer["result"]["capabilities"].clone();
        client.notify("initialized", json!({}));
        client
    }

    /// Starts a server and says nothing to it.
    pub fn start_bare(root: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_krm"))
            .arg("lsp")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("krm starts");
        let output = child.stdout.take().expect("a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let (versions, diagnostics) = Default::default();
        let (capabilities, root) = (Value::Null, root.to_owned());
        Self { child, input, messages, next: 0, versions, diagnostics, capabilities, root }
    }

    /// Kilobytes of memory.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("not closed yet");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks, and gives the id of the question.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Asks, and waits for the whole answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer_to(&json!(id))
    }

    pub fn answer_to(&mut self, id: &Value) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let message = self.next_message(until).unwrap_or_else(|| panic!("no answer to {id}"));
            if message.get("id") == Some(id) && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Asks about a position, and gives the result.
    pub fn at(&mut self, method: &str, file: &str, (line, character): (u64, u64), more: Value) -> Value {
        let mut params = json!({
            "textDocument": {"uri": self.uri(file)},
            "position": {"line": line, "character": character},
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        self.relative(&answer["result"])
    }

    /// A value with paths relative to the folder.
    pub fn relative(&self, value: &Value) -> Value {
        let text = value.to_string().replace(&format!("{}/", uri(&self.root)), "");
        serde_json::from_str(&text).expect("still JSON")
    }

    fn next_message(&mut self, until: Instant) -> Option<Value> {
        let message = match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => panic!("the server is gone"),
        };
        if message["method"] == "textDocument/publishDiagnostics" {
            let uri = message["params"]["uri"].as_str().expect("an address").to_owned();
            self.diagnostics.insert(uri, message["params"].clone());
        }
        Some(message)
    }

    pub fn uri(&self, file: &str) -> String {
        uri(&self.root.join(file))
    }

    pub fn open(&mut self, file: &str, text: &str) {
        let uri = self.uri(file);
        self.versions.insert(file.to_owned(), 1);
        self.notify(
            "textDocument/didOpen",
            json!({
                "textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text},
            }),
        );
    }

    /// Edits a document; gives its new version.
    pub fn change(&mut self, file: &str, changes: Value) -> i64 {
        let version = self.versions.get_mut(file).expect("an open file");
        *version += 1;
        let version = *version;
        let uri = self.uri(file);
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": changes,
            }),
        );
        version
    }

    pub fn close(&mut self, file: &str) {
        let uri = self.uri(file);
        self.versions.remove(file);
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }

    /// The diagnostics of an open file, when those of its version have come.
    pub fn diagnostics_of(&mut self, file: &str) -> Vec<Value> {
        let (uri, version) = (self.uri(file), self.versions[file]);
        let until = Instant::now() + PATIENCE;
        while self.diagnostics.get(&uri).is_none_or(|known| known["version"] != json!(version)) {
            self.next_message(until)
                .unwrap_or_else(|| panic!("no diagnostics of {file} at version {version}"));
        }
        self.diagnostics[&uri]["diagnostics"].as_array().expect("a list").clone()
    }

    /// Everything that is wrong in the folder, by file relative to it.
    pub fn all_diagnostics(&self) -> BTreeMap<String, Value> {
        let prefix = format!("{}/", uri(&self.root));
        let wrong = self.diagnostics.iter().filter(|(_, said)| said["diagnostics"] != json!([]));
        wrong.map(|(uri, said)| (uri.replace(&prefix, ""), self.relative(&said["diagnostics"]))).collect()
    }

    /// Ends the server as the protocol says, and gives its exit status.
    pub fn end(mut self) -> Option<i32> {
        let answer = self.request("shutdown", Value::Null);
        assert!(answer["result"].is_null() && answer.get("error").is_none(), "{answer}");
        self.notify("exit", Value::Null);
        self.child.wait().expect("it ends").code()
    }

    /// Closes the pipe, and gives the exit status.
    pub fn hang_up(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn uri(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    assert!(text.chars().all(plain), "{text} needs escapes");
    format!("file://{text}")
}

fn read(from: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// A folder of a test's own with these files.
pub fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp").join(test);
    drop(std::fs::remove_dir_all(&root));
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    root.canonicalize().expect("it was just made")
}
