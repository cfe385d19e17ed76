//! Calls that a server makes: started, waited for, and started again if the server loses them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use krm_engine::runtime::reapi::Digest;
use prost::Message;

use super::channel::{decode, framed};
use super::client::Client;
use super::messages::{
    EXECUTING, ExecuteOperationMetadata, ExecuteRequest, ExecuteResponse, Operation, PreconditionFailure,
    RpcStatus, WaitExecutionRequest,
};
use super::progress::InFlight;
use super::status::{Code, Status};

/// How long a call may wait for its turn on a server.
const TO_WAIT: Duration = Duration::from_secs(30 * 60);

/// What is known of a call that a server makes.
struct Progress {
    /// What the server calls it.
    name: String,
    ended: Option<Result<ExecuteResponse, Status>>,
    in_flight: InFlight,
}

impl Client {
    /// Makes a call whose blobs are on the server. `takes` is the time limit of the call itself.
    pub fn execute(
        &self,
        action: &Digest,
        lookup: CacheLookup,
        takes: Duration,
    ) -> Result<ExecuteResponse, Status> {
        let end = Instant::now() + takes + TO_WAIT;
        let progress =
            Arc::new(Mutex::new(Progress { name: String::new(), ended: None, in_flight: InFlight::new() }));
        let ended = self.retry(|| {
            let name = progress.lock().expect("nothing here panics").name.clone();
            let broken = match name.is_empty() {
                true => self.follow(ExecutionCall::Start { action, lookup }, &progress, end),
                false => self.follow(ExecutionCall::Wait { name: &name }, &progress, end),
            };
            let mut progress = progress.lock().expect("nothing here panics");
            match (progress.ended.take(), broken) {
                (Some(Err(status)), _) if is_passing(&status) => {
                    progress.name.clear();
                    Err(status)
                }
                (Some(ended), _) => Ok(ended),
                (None, Err(status)) if !name.is_empty() && is_lost(&status) => {
                    // It does not know the call any more, or never waits: the call is made again.
                    progress.name.clear();
                    Err(Status::unavailable(format!("the server lost the call: {status}")))
                }
                (None, Err(status)) => Err(status),
                (None, Ok(())) => {
                    Err(Status::unavailable("the server says nothing about how the call ended"))
                }
            }
        });
        ended?
    }

    /// Listens to what a server says about a call, up to its end.
    fn follow(
        &self,
        step: ExecutionCall,
        progress: &Arc<Mutex<Progress>>,
        end: Instant,
    ) -> Result<(), Status> {
        let (method, request) = match step {
            ExecutionCall::Start { action, lookup } => {
                let request = ExecuteRequest {
                    instance_name: self.instance.clone(),
                    skip_cache_lookup: lookup == CacheLookup::Skipped,
                    action_digest: Some(action.clone()),
                };
                ("/build.bazel.remote.execution.v2.Execution/Execute", framed(&request))
            }
            ExecutionCall::Wait { name } => {
                let request = WaitExecutionRequest { name: name.to_owned() };
                ("/build.bazel.remote.execution.v2.Execution/WaitExecution", framed(&request))
            }
        };
        let progress = progress.clone();
        let sink = Box::new(move |message| {
            let operation: Operation = decode(message)?;
            let mut progress = progress.lock().expect("nothing here panics");
            if is_executing(&operation) {
                progress.in_flight.runs();
            }
            if operation.done {
                progress.ended = Some(outcome(operation));
            } else if !operation.name.is_empty() {
                progress.name = operation.name;
            }
            Ok(())
        });
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Status::new(Code::CANCELLED, "the server has not made the call in all this time"));
        }
        self.channel.call(method, [request].into_iter(), sink, left)
    }
}

/// Whether a server may answer with a result that it has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheLookup {
    Allowed,
    Skipped,
}

enum ExecutionCall<'s> {
    Start { action: &'s Digest, lookup: CacheLookup },
    Wait { name: &'s str },
}

/// Whether a worker has the call.
fn is_executing(operation: &Operation) -> bool {
    let metadata = operation.metadata.as_ref();
    let metadata = metadata.and_then(|any| ExecuteOperationMetadata::decode(&any.value[..]).ok());
    metadata.is_some_and(|metadata| metadata.stage == EXECUTING)
}

fn is_lost(status: &Status) -> bool {
    [Code::NOT_FOUND, Code::UNIMPLEMENTED].contains(&status.code)
}

/// Whether a call that ended so may end in another way. A worker that could not pull an image says INTERNAL, and will again.
fn is_passing(status: &Status) -> bool {
    [Code::UNAVAILABLE, Code::RESOURCE_EXHAUSTED, Code::ABORTED].contains(&status.code)
}

/// How a call ended. The status comes first: a server that could not start a program may send a result as well, with
/// exit status 0.
fn outcome(operation: Operation) -> Result<ExecuteResponse, Status> {
    if let Some(error) = operation.error.filter(|error| error.code != Code::OK.0) {
        return Err(of_rpc(&error));
    }
    let response =
        operation.response.ok_or_else(|| Status::new(Code::INTERNAL, "a call ends without a response"))?;
    let response = ExecuteResponse::decode(&response.value[..])
        .map_err(|error| Status::new(Code::INTERNAL, format!("the response cannot be read: {error}")))?;
    match &response.status {
        // How long it may take is part of the call: what it printed by then is in the result.
        Some(status) if status.code == Code::DEADLINE_EXCEEDED.0 => Ok(response),
        Some(status) if status.code != Code::OK.0 => Err(of_rpc(status)),
        _ => Ok(response),
    }
}

fn of_rpc(status: &RpcStatus) -> Status {
    Status { code: Code(status.code), message: status.message.clone(), details: status.encode_to_vec() }
}

/// Whether a call was refused because blobs are not on the server: they are sent again then.
pub fn lacks_blobs(status: &Status) -> bool {
    if status.code != Code::FAILED_PRECONDITION {
        return false;
    }
    let details = RpcStatus::decode(&status.details[..]).map(|status| status.details).unwrap_or_default();
    let failures =
        details.iter().filter(|detail| detail.type_url.ends_with("google.rpc.PreconditionFailure"));
    let mut failures = failures.filter_map(|detail| PreconditionFailure::decode(&detail.value[..]).ok());
    failures.any(|failure| failure.violations.iter().any(|violation| violation.r#type == "MISSING"))
}
