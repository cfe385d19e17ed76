//! A cache of outputs on a server that speaks gRPC.
//!
//! It holds what calls printed, by the digest of the call. A server that is down, slow or wrong costs a warning and
//! time: what it has is compared with its digest, and what it does not have is computed.

use bytes::Bytes;
use krm_engine::Result;
use krm_engine::runtime::Outputs;
use krm_engine::runtime::reapi::Digest;

use super::blobs::{Blob, Blobs};
use super::client::Client;
use super::status::{Code, Status};
use super::{Address, Connection};
use crate::os::certificates::CHECK_CERTIFICATES;
use crate::os::shared_cache::{Fault, INLINED, Server, SharedCache, Then};

/// A cache is there to save time: what takes more attempts is computed.
const RETRIES: u32 = 1;

/// A cache that speaks gRPC.
pub struct GrpcCache(Client);

impl GrpcCache {
    /// Nothing is sent yet.
    pub fn connect(address: &Address, with: Connection, upload: bool) -> Result<SharedCache<Self>> {
        let retries = with.retries.min(RETRIES);
        let client = Client::new(address, &Connection { retries, ..with })?;
        Ok(SharedCache::new(Self(client), address.to_string(), upload))
    }

    fn load(&self, key: &Digest, most: usize) -> std::result::Result<Option<Outputs>, Status> {
        let Some(result) = self.0.result(key)? else { return Ok(None) };
        let [stdout, stderr] = result.streams(most).map_err(|why| Status::new(Code::DATA_LOSS, why))?;
        let read = |stream| match self.0.read_stream(stream) {
            // Servers drop blobs before the results that name them; that is not a fault.
            Err(status) if status.code == Code::NOT_FOUND => Ok(None),
            read => read.map(Some),
        };
        let (stdout, stderr) = (read(stdout)?, read(stderr)?);
        Ok(stdout.zip(stderr).map(|(stdout, stderr)| Outputs { stdout, stderr }))
    }

    fn keep(&self, key: &Digest, outputs: Outputs) -> std::result::Result<(), Status> {
        if !self.0.capabilities()?.takes_results {
            return Err(Status::new(Code::PERMISSION_DENIED, "it takes no results from clients"));
        }
        let result = outputs.result(INLINED);
        let streams = [outputs.stdout, outputs.stderr].map(Bytes::from).into_iter();
        let streams = streams.filter(|bytes| !bytes.is_empty());
        let blobs: Blobs = streams.map(|bytes| (Digest::of(&bytes), Blob::Here(bytes))).collect();
        self.0.upload(&blobs)?;
        self.0.keep_result(key, result)
    }
}

impl Server for GrpcCache {
    fn load(&self, key: &Digest, most: usize) -> std::result::Result<Option<Outputs>, Fault> {
        GrpcCache::load(self, key, most).map_err(|status| fault(&status, Then::GiveUp))
    }

    fn keep(&self, key: &Digest, outputs: Outputs) -> std::result::Result<(), Fault> {
        GrpcCache::keep(self, key, outputs).map_err(|status| fault(&status, Then::StopUploading))
    }
}

/// What a status means for the cache, and for the rest of the run.
fn fault(status: &Status, if_denied: Then) -> Fault {
    match status.code {
        Code::UNAUTHENTICATED | Code::PERMISSION_DENIED => {
            Fault::new(format!("denies access: {status}"), if_denied)
                .help("check `--remote-header`, KRM_REMOTE_HEADER or `--remote-credential-helper`: a token may have expired, or may only read")
        }
        Code::NOT_TRUSTED => {
            Fault::new(format!("cannot be reached: {status}"), Then::GiveUp).help(CHECK_CERTIFICATES)
        }
        Code::UNIMPLEMENTED => Fault::new(format!("is not one that krm can use: {status}"), if_denied),
        Code::DEADLINE_EXCEEDED => Fault::new(format!("is too slow: {status}"), Then::GiveUp),
        Code::RESOURCE_EXHAUSTED if if_denied == Then::StopUploading => {
            Fault::new(format!("is full: {status}"), Then::StopUploading)
        }
        Code::DATA_LOSS => Fault::new(format!("is damaged: {}", status.message), Then::Continue),
        Code::UNAVAILABLE => Fault::new(format!("cannot be reached: {status}"), Then::Continue),
        _ => Fault::new(format!("fails: {status}"), Then::Continue),
    }
}
