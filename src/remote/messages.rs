//! What is asked of servers, and what they answer: the messages of the services of the Remote Execution API, of
//! `ByteStream`, and what they take from Google's common messages.
//!
//! Written down as [`reapi`](krm_engine::runtime::reapi) is, with the fields krm uses and the published numbers.

use krm_engine::runtime::reapi::{ActionResult, Digest};
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct GetCapabilitiesRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ServerCapabilities {
    #[prost(message, optional, tag = "1")]
    pub cache_capabilities: Option<CacheCapabilities>,
    #[prost(message, optional, tag = "2")]
    pub execution_capabilities: Option<ExecutionCapabilities>,
    #[prost(message, optional, tag = "4")]
    pub low_api_version: Option<SemVer>,
    #[prost(message, optional, tag = "5")]
    pub high_api_version: Option<SemVer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CacheCapabilities {
    #[prost(int32, repeated, tag = "1")]
    pub digest_functions: Vec<i32>,
    #[prost(message, optional, tag = "2")]
    pub action_cache_update_capabilities: Option<ActionCacheUpdateCapabilities>,
    #[prost(int64, tag = "4")]
    pub max_batch_total_size_bytes: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct ActionCacheUpdateCapabilities {
    #[prost(bool, tag = "1")]
    pub update_enabled: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecutionCapabilities {
    #[prost(int32, tag = "1")]
    pub digest_function: i32,
    #[prost(bool, tag = "2")]
    pub exec_enabled: bool,
    #[prost(int32, repeated, tag = "5")]
    pub digest_functions: Vec<i32>,
}

/// The number of SHA-256 among the functions that make digests.
pub const SHA256: i32 = 1;

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SemVer {
    #[prost(int32, tag = "1")]
    pub major: i32,
    #[prost(int32, tag = "2")]
    pub minor: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct FindMissingBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FindMissingBlobsResponse {
    #[prost(message, repeated, tag = "2")]
    pub missing_blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchUpdateBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub requests: Vec<BlobUpdate>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BlobUpdate {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<Digest>,
    #[prost(bytes = "bytes", tag = "2")]
    pub data: bytes::Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchUpdateBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub responses: Vec<BlobUpdated>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BlobUpdated {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub status: Option<RpcStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchReadBlobsRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BatchReadBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub responses: Vec<BlobRead>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BlobRead {
    #[prost(message, optional, tag = "1")]
    pub digest: Option<Digest>,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub status: Option<RpcStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetActionResultRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub action_digest: Option<Digest>,
    #[prost(bool, tag = "3")]
    pub inline_stdout: bool,
    #[prost(bool, tag = "4")]
    pub inline_stderr: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct UpdateActionResultRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub action_digest: Option<Digest>,
    #[prost(message, optional, tag = "3")]
    pub action_result: Option<ActionResult>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecuteRequest {
    #[prost(string, tag = "1")]
    pub instance_name: String,
    #[prost(bool, tag = "3")]
    pub skip_cache_lookup: bool,
    #[prost(message, optional, tag = "6")]
    pub action_digest: Option<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WaitExecutionRequest {
    #[prost(string, tag = "1")]
    pub name: String,
}

/// Something that takes its time.
#[derive(Clone, PartialEq, Message)]
pub struct Operation {
    #[prost(string, tag = "1")]
    pub name: String,
    /// An [`ExecuteOperationMetadata`].
    #[prost(message, optional, tag = "2")]
    pub metadata: Option<Any>,
    #[prost(bool, tag = "3")]
    pub done: bool,
    #[prost(message, optional, tag = "4")]
    pub error: Option<RpcStatus>,
    /// An [`ExecuteResponse`].
    #[prost(message, optional, tag = "5")]
    pub response: Option<Any>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecuteOperationMetadata {
    #[prost(int32, tag = "1")]
    pub stage: i32,
}

/// The stage of a call that a worker has; before it the call is looked up in the cache, and queued.
pub const EXECUTING: i32 = 3;

#[derive(Clone, PartialEq, Message)]
pub struct ExecuteResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<ActionResult>,
    #[prost(bool, tag = "2")]
    pub cached_result: bool,
    /// Read before the result: a server that could not start the program may send both.
    #[prost(message, optional, tag = "3")]
    pub status: Option<RpcStatus>,
    #[prost(string, tag = "5")]
    pub message: String,
}

/// A message of any type, encoded.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

/// Why a call cannot succeed as things are; of type `MISSING` if a blob is not on the server.
#[derive(Clone, PartialEq, Message)]
pub struct PreconditionFailure {
    #[prost(message, repeated, tag = "1")]
    pub violations: Vec<Violation>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Violation {
    #[prost(string, tag = "1")]
    pub r#type: String,
    #[prost(string, tag = "2")]
    pub subject: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadRequest {
    #[prost(string, tag = "1")]
    pub resource_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadResponse {
    #[prost(bytes = "bytes", tag = "10")]
    pub data: bytes::Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(string, tag = "1")]
    pub resource_name: String,
    #[prost(int64, tag = "2")]
    pub write_offset: i64,
    #[prost(bool, tag = "3")]
    pub finish_write: bool,
    #[prost(bytes = "bytes", tag = "10")]
    pub data: bytes::Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct WriteResponse {
    #[prost(int64, tag = "1")]
    pub committed_size: i64,
}
