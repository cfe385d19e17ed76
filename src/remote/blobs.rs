//! Blobs: bytes on a server, by digest. What comes from there is compared with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use krm_engine::runtime::Stream;
use krm_engine::runtime::reapi::Digest;

use super::channel::{decode, framed};
use super::client::Client;
use super::messages::{
    BatchReadBlobsRequest, BatchReadBlobsResponse, BatchUpdateBlobsRequest, BatchUpdateBlobsResponse,
    BlobUpdate, FindMissingBlobsRequest, FindMissingBlobsResponse, ReadRequest, ReadResponse, RpcStatus,
    WriteRequest, WriteResponse,
};
use super::status::{Code, Status};

/// How many digests to ask for at once.
const MANY: usize = 10_000;
/// A large blob is sent in pieces of this size.
const PIECE: usize = 512 << 10;
/// A blob that is larger is worth asking once more whether the server has it by now.
const LARGE: usize = 64 << 10;
/// What a digest takes in a batch, besides the bytes.
const AROUND: usize = 100;

/// Bytes to be sent, if they do not exist yet.
#[derive(Clone, Debug)]
pub enum Blob {
    Here(Bytes),
    /// Read only if it is needed.
    File(PathBuf),
}

/// What has to be on a server, by digest.
pub type Blobs = BTreeMap<Digest, Blob>;

impl Client {
    /// Sends what the server does not have.
    pub fn upload(&self, blobs: &Blobs) -> Result<(), Status> {
        let batch = self.capabilities()?.batch;
        let digests: Vec<Digest> = blobs.keys().cloned().collect();
        let mut small = Vec::new();
        let mut room = batch;
        for chunk in digests.chunks(MANY) {
            for digest in self.missing(chunk)? {
                let Some(blob) = blobs.get(&digest) else { continue };
                let length = usize::try_from(digest.size_bytes).unwrap_or(usize::MAX);
                if length > LARGE || length + AROUND > batch {
                    self.upload_in_turn(&digest, blob, batch)?;
                    continue;
                }
                let bytes = content(&digest, blob)?;
                if bytes.len() + AROUND > room {
                    self.update(std::mem::take(&mut small))?;
                    room = batch;
                }
                room -= bytes.len() + AROUND;
                small.push(BlobUpdate { digest: Some(digest), data: bytes });
            }
        }
        self.update(small)
    }

    /// Sends a large blob. Many calls may need it at the same time, such as their program: one sends it, the others wait.
    fn upload_in_turn(&self, digest: &Digest, blob: &Blob, batch: usize) -> Result<(), Status> {
        let turn = {
            let mut turns = self.turns.lock().expect("no one panics while holding the turns");
            turns.entry(digest.hash.clone()).or_default().clone()
        };
        let _turn = turn.lock().expect("nothing here panics");
        if self.missing(std::slice::from_ref(digest))?.is_empty() {
            return Ok(());
        }
        let bytes = content(digest, blob)?;
        match bytes.len() + AROUND > batch {
            true => self.write(digest, bytes),
            false => self.update(vec![BlobUpdate { digest: Some(digest.clone()), data: bytes }]),
        }
    }

    fn missing(&self, digests: &[Digest]) -> Result<Vec<Digest>, Status> {
        let request =
            FindMissingBlobsRequest { instance_name: self.instance.clone(), blob_digests: digests.to_vec() };
        let method = "/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs";
        let answer: FindMissingBlobsResponse =
            self.retry(|| self.channel.unary(method, &request, self.within))?;
        Ok(answer.missing_blob_digests)
    }

    fn update(&self, requests: Vec<BlobUpdate>) -> Result<(), Status> {
        if requests.is_empty() {
            return Ok(());
        }
        let request = BatchUpdateBlobsRequest { instance_name: self.instance.clone(), requests };
        let method = "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchUpdateBlobs";
        self.retry(|| {
            let answer: BatchUpdateBlobsResponse = self.channel.unary(method, &request, self.within)?;
            answer.responses.into_iter().try_for_each(|blob| checked(blob.status))
        })
    }

    /// The bytes of a stream, which are what their digest says.
    pub fn read_stream(&self, stream: Stream) -> Result<Vec<u8>, Status> {
        match stream {
            Stream::Here(bytes) => Ok(bytes),
            Stream::At(digest) => self.read(&digest),
        }
    }

    /// Sends a large blob in pieces.
    fn write(&self, digest: &Digest, bytes: Bytes) -> Result<(), Status> {
        let Digest { hash, size_bytes } = digest;
        let name = self.resource(&format!("uploads/{}/blobs/{hash}/{size_bytes}", unique()));
        let length = bytes.len();
        self.retry(|| {
            let (bytes, name) = (bytes.clone(), name.clone());
            let pieces = (0..length).step_by(PIECE).map(move |start| {
                let end = (start + PIECE).min(length);
                framed(&WriteRequest {
                    // Only the first piece needs it.
                    resource_name: if start == 0 { name.clone() } else { String::new() },
                    write_offset: i64::try_from(start).unwrap_or(i64::MAX),
                    finish_write: end == length,
                    data: bytes.slice(start..end),
                })
            });
            let method = "/google.bytestream.ByteStream/Write";
            let answer: WriteResponse = self.channel.exchange(method, pieces, self.long(length))?;
            // A server that has it already may stop listening, and says the whole length or -1.
            match answer.committed_size == *size_bytes || answer.committed_size == -1 {
                true => Ok(()),
                false => Err(Status::unavailable(format!("only {} bytes were taken", answer.committed_size))),
            }
        })
    }

    /// The bytes of a digest that is valid, and no larger than the caller allows.
    fn read(&self, digest: &Digest) -> Result<Vec<u8>, Status> {
        if digest.size_bytes == 0 {
            return check(Vec::new(), digest);
        }
        let length = usize::try_from(digest.size_bytes).unwrap_or(usize::MAX);
        match length + AROUND > self.capabilities()?.batch {
            true => self.read_in_pieces(digest, length),
            false => self.read_at_once(digest),
        }
    }

    fn read_at_once(&self, digest: &Digest) -> Result<Vec<u8>, Status> {
        let request =
            BatchReadBlobsRequest { instance_name: self.instance.clone(), digests: vec![digest.clone()] };
        let method = "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchReadBlobs";
        self.retry(|| {
            let answer: BatchReadBlobsResponse = self.channel.unary(method, &request, self.within)?;
            let blob = answer.responses.into_iter().find(|blob| blob.digest.as_ref() == Some(digest));
            let blob = blob.ok_or_else(|| Status::new(Code::NOT_FOUND, "the blob is not in the answer"))?;
            checked(blob.status)?;
            check(blob.data, digest)
        })
    }

    fn read_in_pieces(&self, digest: &Digest, length: usize) -> Result<Vec<u8>, Status> {
        let name = self.resource(&format!("blobs/{}/{}", digest.hash, digest.size_bytes));
        self.retry(|| {
            let request = framed(&ReadRequest { resource_name: name.clone() });
            let bytes = Arc::new(Mutex::new(Vec::new()));
            let kept = bytes.clone();
            let sink = Box::new(move |message| {
                let piece: ReadResponse = decode(message)?;
                let mut bytes = kept.lock().expect("nothing here panics");
                if bytes.len() + piece.data.len() > length {
                    return Err(Status::new(Code::DATA_LOSS, "the server sends more than the digest says"));
                }
                bytes.extend_from_slice(&piece.data);
                Ok(())
            });
            let method = "/google.bytestream.ByteStream/Read";
            self.channel.call(method, [request].into_iter(), sink, self.long(length))?;
            let bytes = std::mem::take(&mut *bytes.lock().expect("nothing here panics"));
            check(bytes, digest)
        })
    }

    /// The name of something in `ByteStream`.
    fn resource(&self, what: &str) -> String {
        match self.instance.as_str() {
            "" => what.to_owned(),
            instance => format!("{instance}/{what}"),
        }
    }

    /// Time for a large blob: as much as for any call, and a second for each 100 kB.
    fn long(&self, length: usize) -> std::time::Duration {
        self.within + std::time::Duration::from_secs(length as u64 / 100_000)
    }
}

fn content(digest: &Digest, blob: &Blob) -> Result<Bytes, Status> {
    match blob {
        Blob::Here(bytes) => Ok(bytes.clone()),
        Blob::File(path) => {
            let changed =
                |why: String| Status::new(Code::INVALID_ARGUMENT, format!("`{}` {why}", path.display()));
            let bytes = std::fs::read(path).map_err(|error| changed(format!("cannot be read: {error}")))?;
            let bytes = digest.verified(bytes).map_err(|_| changed("changed while it was read".into()))?;
            Ok(bytes.into())
        }
    }
}

fn check(bytes: Vec<u8>, digest: &Digest) -> Result<Vec<u8>, Status> {
    digest.verified(bytes).map_err(|why| Status::new(Code::DATA_LOSS, format!("the server is wrong: {why}")))
}

/// A status within an answer.
pub fn checked(status: Option<RpcStatus>) -> Result<(), Status> {
    match status {
        Some(status) if status.code != Code::OK.0 => Err(Status::new(Code(status.code), status.message)),
        _ => Ok(()),
    }
}

/// The name of an upload, in the form of a random UUID: no two are the same.
fn unique() -> String {
    use std::hash::{BuildHasher, RandomState};
    let (a, b) = (RandomState::new().hash_one(1), RandomState::new().hash_one(std::process::id()));
    let (a, b) = (a & 0xffff_ffff_ffff_0fff | 0x4000, b & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xffff,
        b >> 48,
        b & 0xffff_ffff_ffff
    )
}
