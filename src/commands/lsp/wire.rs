//! Messages on a stream: a length, and that much JSON.

use std::io::{self, BufRead, ErrorKind, Write};

use serde_json::{Value, json};

/// A message from the client.
#[derive(Debug)]
pub enum Incoming {
    /// It wants an answer under this id.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// An answer to something the server asked. Nothing asked so far needs one.
    Answer,
    /// The answer that this message deserves instead of what it asked for.
    Malformed(Value),
}

/// Codes of JSON-RPC and of the protocol for requests that fail.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    Parse = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    Internal = -32603,
    NotInitialized = -32002,
    Cancelled = -32800,
    /// The request was right; there is a reason why it cannot be done.
    Failed = -32803,
}

/// Longer messages are not from an editor.
const LONGEST: usize = 1 << 30;

/// The next message; `None` at the end of the stream. A header that cannot be read is an error, since nobody knows where
/// the next message begins.
pub fn read(from: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let mut length = None;
    let mut line = String::new();
    loop {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let header = line.trim_end_matches(['\r', '\n']);
        if header.is_empty() {
            break;
        }
        let (name, value) =
            header.split_once(':').ok_or_else(|| bad(format!("`{header}` is not a header")))?;
        if name.trim().eq_ignore_ascii_case("content-length") {
            length = Some(
                value
                    .trim()
                    .parse::<usize>()
                    .map_err(|_| bad(format!("`{}` is not a length", value.trim())))?,
            );
        }
    }
    let length =
        length.filter(|length| *length <= LONGEST).ok_or_else(|| bad("a message without a usable length"))?;
    let mut body = vec![0; length];
    match from.read_exact(&mut body) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        read => read.map(|()| Some(incoming(&body))),
    }
}

fn bad(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message.into())
}

fn incoming(body: &[u8]) -> Incoming {
    let message: Value = match serde_json::from_slice(body) {
        Ok(message) => message,
        Err(error) => {
            return Incoming::Malformed(failure(
                &Value::Null,
                Fault::Parse,
                &format!("this is not JSON: {error}"),
            ));
        }
    };
    let Value::Object(mut message) = message else {
        return Incoming::Malformed(failure(&Value::Null, Fault::InvalidRequest, "a message is an object"));
    };
    let id = message.remove("id").filter(|id| !id.is_null());
    let params = message.remove("params").unwrap_or_default();
    match (id, message.remove("method")) {
        (Some(id), Some(Value::String(method))) => Incoming::Request { id, method, params },
        (None, Some(Value::String(method))) => Incoming::Notification { method, params },
        (_, None) if message.contains_key("result") || message.contains_key("error") => Incoming::Answer,
        (id, _) => {
            let id = id.unwrap_or_default();
            Incoming::Malformed(failure(
                &id,
                Fault::InvalidRequest,
                "a message has a method, which is a string",
            ))
        }
    }
}

pub fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub fn failure(id: &Value, fault: Fault, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": fault as i32, "message": message}})
}

pub fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub fn write(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(to, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    to.flush()
}
