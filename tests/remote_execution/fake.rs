//! A server of the Remote Execution API that works, and misbehaves as a test asks it to.
//!
//! It runs nothing: what a program would print is its input with `name: a` turned into `name: b`. It answers calls that ask
//! about the sandbox with what a test gives it.

use std::collections::HashMap;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use krm_engine::runtime::reapi::{Action, ActionResult, Command, Digest, Directory};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::messages::{
    ActionCacheUpdateCapabilities, Any, BatchReadBlobsRequest, BatchReadBlobsResponse,
    BatchUpdateBlobsRequest, BlobRead, CacheCapabilities, EXECUTING, ExecuteOperationMetadata,
    ExecuteRequest, ExecuteResponse, ExecutionCapabilities, FindMissingBlobsRequest,
    FindMissingBlobsResponse, GetActionResultRequest, Operation, RpcStatus, SHA256, ServerCapabilities,
    UpdateActionResultRequest,
};

/// What a server says about itself that keeps functions from the network.
pub const SANDBOX: &str =
    "/proc/net/dev\n  lo: 0 0\n\0/proc/self/status\nCapEff:\t0000000000000000\n\0/.krm/here\n\0";
pub const NO_SANDBOX: &str =
    "/proc/net/dev\n  lo: 0 0\n eth0: 1 1\n\0/proc/self/status\nCapEff:\t0000000000000000\n\0/.krm/here\n\0";

/// What a test has the server do instead of answering well.
pub enum Instead {
    /// A status.
    Status(i32, &'static str),
    /// These messages, and a status.
    Messages(Vec<Vec<u8>>, i32),
    /// These bytes, and the end of the connection's stream without a status.
    Cut(Vec<u8>),
}

/// A question: the method, how often it was asked before, the message, the header `authorization`.
pub struct Asked<'a> {
    pub method: &'a str,
    pub before: usize,
    pub message: &'a [u8],
    pub authorization: &'a str,
}

type Hook = Box<dyn Fn(&Asked, &mut State) -> Option<Instead> + Send>;

/// What the server holds.
#[derive(Default)]
pub struct State {
    pub blobs: HashMap<String, Vec<u8>>,
    pub results: HashMap<String, ActionResult>,
    pub asked: HashMap<String, usize>,
    /// Every action that was executed, by what its command says.
    pub executed: Vec<Command>,
    pub sandbox: String,
    /// Functions are answered when so many are in flight, and fail if fewer come.
    pub together: Option<Arc<tokio::sync::Barrier>>,
    /// How long a function takes.
    pub takes: Duration,
    /// For a test that counts what it is sent.
    pub large_blobs: usize,
}

pub struct Fake {
    pub address: String,
    pub state: Arc<Mutex<State>>,
}

/// An operation that has ended so.
pub fn done(response: &ExecuteResponse) -> Vec<u8> {
    let response = Some(Any { type_url: String::new(), value: response.encode_to_vec() });
    Operation { done: true, response, ..operation() }.encode_to_vec()
}

/// An operation that goes on.
pub fn running() -> Vec<u8> {
    operation().encode_to_vec()
}

fn operation() -> Operation {
    let stage = ExecuteOperationMetadata { stage: EXECUTING };
    let metadata = Some(Any { type_url: String::new(), value: stage.encode_to_vec() });
    Operation { name: "operations/1".into(), metadata, ..Operation::default() }
}

impl Fake {
    /// Starts a server that is asked by `hook` first.
    pub fn start(
        sandbox: &str,
        hook: impl Fn(&Asked, &mut State) -> Option<Instead> + Send + 'static,
    ) -> Self {
        Self::start_with(None, sandbox, hook)
    }

    /// The same over TLS, if there is a configuration for it.
    pub fn start_with(
        tls: Option<ServerConfig>,
        sandbox: &str,
        hook: impl Fn(&Asked, &mut State) -> Option<Instead> + Send + 'static,
    ) -> Self {
        let scheme = if tls.is_some() { "grpcs" } else { "grpc" };
        let tls = tls.map(|tls| TlsAcceptor::from(Arc::new(tls)));
        let state = Arc::new(Mutex::new(State { sandbox: sandbox.into(), ..State::default() }));
        let (sender, receiver) = mpsc::channel();
        let (shared, hook): (_, Hook) = (state.clone(), Box::new(hook));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap()).unwrap();
                let hook = Arc::new(Mutex::new(hook));
                while let Ok((io, _)) = listener.accept().await {
                    let (shared, hook, tls) = (shared.clone(), hook.clone(), tls.clone());
                    tokio::spawn(async move {
                        match tls {
                            None => talk(io, shared, hook).await,
                            Some(tls) => {
                                if let Ok(io) = tls.accept(io).await {
                                    talk(io, shared, hook).await;
                                }
                            }
                        }
                    });
                }
            });
        });
        let address = receiver.recv().expect("the server starts");
        Self { address: format!("{scheme}://{address}"), state }
    }

    /// How often a method was asked for.
    pub fn asked(&self, method: &str) -> usize {
        self.state.lock().unwrap().asked.get(method).copied().unwrap_or_default()
    }
}

async fn talk(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    state: Arc<Mutex<State>>,
    hook: Arc<Mutex<Hook>>,
) {
    let Ok(mut connection) = h2::server::handshake(io).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(serve(request, respond, state.clone(), hook.clone()));
    }
}

async fn serve(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    state: Arc<Mutex<State>>,
    hook: Arc<Mutex<Hook>>,
) {
    let (head, mut body) = request.into_parts();
    let mut bytes = BytesMut::new();
    while let Some(Ok(chunk)) = body.data().await {
        let _ = body.flow_control().release_capacity(chunk.len());
        bytes.extend_from_slice(&chunk);
    }
    let method = head.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    let authorization =
        head.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let message = bytes.get(5..).unwrap_or_default();
    let (mut instead, together, takes) = {
        let mut state = state.lock().unwrap();
        let count = state.asked.entry(method.clone()).or_default();
        *count += 1;
        let asked = Asked { method: &method, before: *count - 1, message, authorization };
        let is_function = method == "Execute" && asked.before > 0;
        let instead = hook.lock().unwrap()(&asked, &mut state);
        let instead = instead.unwrap_or_else(|| answer(&method, message, &mut state));
        (instead, state.together.clone().filter(|_| is_function), state.takes)
    };
    if let Some(together) = together
        && tokio::time::timeout(Duration::from_secs(30), together.wait()).await.is_err()
    {
        instead = Instead::Status(9, "too few calls are in flight");
    }
    let head = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    let Ok(mut stream) = respond.send_response(head, false) else { return };
    let (messages, status, text) = match instead {
        Instead::Status(status, text) => (Vec::new(), status, text),
        Instead::Messages(messages, status) => (messages, status, ""),
        Instead::Cut(bytes) => {
            let _ = stream.send_data(bytes.into(), true);
            return;
        }
    };
    for (index, message) in messages.into_iter().enumerate() {
        if index > 0 {
            tokio::time::sleep(takes).await;
        }
        let mut frame = BytesMut::new();
        frame.put_u8(0);
        frame.put_u32(message.len() as u32);
        frame.put_slice(&message);
        let _ = stream.send_data(frame.freeze(), false);
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(status));
    trailers.insert("grpc-message", HeaderValue::from_static(text));
    let _ = stream.send_trailers(trailers);
}

fn answer(method: &str, message: &[u8], state: &mut State) -> Instead {
    let one = |message: &dyn Fn() -> Vec<u8>| Instead::Messages(vec![message()], 0);
    match method {
        "GetCapabilities" => {
            let cache = CacheCapabilities {
                digest_functions: vec![SHA256],
                action_cache_update_capabilities: Some(ActionCacheUpdateCapabilities {
                    update_enabled: true,
                }),
                ..CacheCapabilities::default()
            };
            let execution = ExecutionCapabilities { exec_enabled: true, ..ExecutionCapabilities::default() };
            let all = ServerCapabilities {
                cache_capabilities: Some(cache),
                execution_capabilities: Some(execution),
                ..ServerCapabilities::default()
            };
            one(&|| all.encode_to_vec())
        }
        "FindMissingBlobs" => {
            let mut missing_blob_digests = FindMissingBlobsRequest::decode(message).unwrap().blob_digests;
            missing_blob_digests.retain(|digest| !state.blobs.contains_key(&digest.hash));
            let missing = FindMissingBlobsResponse { missing_blob_digests };
            one(&|| missing.encode_to_vec())
        }
        "BatchUpdateBlobs" => {
            for update in BatchUpdateBlobsRequest::decode(message).unwrap().requests {
                let digest = update.digest.unwrap();
                assert_eq!(Digest::of(&update.data), digest, "what is sent is what it is called");
                state.blobs.insert(digest.hash, update.data.to_vec());
            }
            one(&Vec::new)
        }
        "BatchReadBlobs" => {
            let digests = BatchReadBlobsRequest::decode(message).unwrap().digests;
            let read = digests.into_iter().map(|digest| match state.blobs.get(&digest.hash) {
                Some(data) => BlobRead { digest: Some(digest), data: data.clone(), status: None },
                None => {
                    let status = RpcStatus { code: 5, ..RpcStatus::default() };
                    BlobRead { digest: Some(digest), data: Vec::new(), status: Some(status) }
                }
            });
            let answer = BatchReadBlobsResponse { responses: read.collect() };
            one(&|| answer.encode_to_vec())
        }
        "GetActionResult" => {
            let digest = GetActionResultRequest::decode(message).unwrap().action_digest.unwrap();
            match state.results.get(&digest.hash) {
                Some(result) => one(&|| result.encode_to_vec()),
                None => Instead::Status(5, "no such result"),
            }
        }
        "UpdateActionResult" => {
            let request = UpdateActionResultRequest::decode(message).unwrap();
            let result = request.action_result.unwrap();
            for digest in [&result.stdout_digest, &result.stderr_digest].into_iter().flatten() {
                let is_there = digest.size_bytes == 0 || state.blobs.contains_key(&digest.hash);
                assert!(is_there, "blobs come before the results that name them");
            }
            state.results.insert(request.action_digest.unwrap().hash, result.clone());
            one(&|| result.encode_to_vec())
        }
        "Execute" => {
            let action = ExecuteRequest::decode(message).unwrap().action_digest.unwrap();
            let response =
                ExecuteResponse { result: Some(run(&action, state)), ..ExecuteResponse::default() };
            Instead::Messages(vec![running(), done(&response)], 0)
        }
        _ => Instead::Status(12, "not known here"),
    }
}

/// Does what a worker would.
pub fn run(action: &Digest, state: &mut State) -> ActionResult {
    let blob = |digest: &Option<Digest>| state.blobs[&digest.as_ref().unwrap().hash].clone();
    let action = Action::decode(&state.blobs[&action.hash][..]).unwrap();
    let command = Command::decode(&blob(&action.command_digest)[..]).unwrap();
    let output = match command.arguments[1].as_str() {
        "" => state.sandbox.clone().into_bytes(),
        _ => {
            let root = Directory::decode(&blob(&action.input_root_digest)[..]).unwrap();
            let folder = root.directories.iter().find(|folder| folder.name == ".krm").unwrap();
            let folder = Directory::decode(&blob(&folder.digest)[..]).unwrap();
            let input = folder.files.iter().find(|file| file.name == "stdin").unwrap();
            String::from_utf8(blob(&input.digest)).unwrap().replace("name: a\n", "name: b\n").into_bytes()
        }
    };
    state.executed.push(command);
    let digest = Digest::of(&output);
    state.blobs.insert(digest.hash.clone(), output);
    ActionResult { stdout_digest: Some(digest), ..ActionResult::default() }
}
