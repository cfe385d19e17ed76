//! Where outputs of calls are kept: on this machine, or on a server that many machines use.

use std::fmt;

use super::reapi::{ActionResult, Digest};

/// Keeps what calls printed, by the digest of the call ([`Action::digest`](super::Action::digest)).
///
/// A store may lose anything at any time. It never fails: one that cannot be reached has nothing, and says so by its own
/// means. What it gives has been compared with its digest.
pub trait Store: fmt::Debug + Send + Sync {
    /// What the call with this key printed, unless that exceeds `most` bytes.
    fn load(&self, key: &Digest, most: usize) -> Option<Outputs>;

    /// Keeps what a call printed that succeeded.
    fn keep(&self, key: &Digest, outputs: &Outputs);
}

/// What a call printed that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// All of standard output.
    pub stdout: Vec<u8>,
    /// Standard error, as far as it was kept.
    pub stderr: Vec<u8>,
}

/// What a result says of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The bytes, which are what their digest says.
    Here(Vec<u8>),
    /// Where they are.
    At(Digest),
}

impl Outputs {
    /// The result to keep. Streams of up to `inlined` bytes are part of it.
    pub fn result(&self, inlined: usize) -> ActionResult {
        let raw = |bytes: &[u8]| if bytes.len() <= inlined { bytes.to_vec() } else { Vec::new() };
        ActionResult {
            stdout_raw: raw(&self.stdout),
            stdout_digest: Some(Digest::of(&self.stdout)),
            stderr_raw: raw(&self.stderr),
            stderr_digest: Some(Digest::of(&self.stderr)),
            ..ActionResult::default()
        }
    }
}

impl ActionResult {
    /// Standard output and standard error of a call that succeeded; the error says what is wrong with the result.
    pub fn streams(self, most: usize) -> Result<[Stream; 2], String> {
        if self.exit_code != 0 {
            return Err(format!(
                "it has the result of a call that failed with exit status {}",
                self.exit_code
            ));
        }
        let stdout = stream(self.stdout_raw, self.stdout_digest, most)?;
        Ok([stdout, stream(self.stderr_raw, self.stderr_digest, most)?])
    }
}

fn stream(raw: Vec<u8>, digest: Option<Digest>, most: usize) -> Result<Stream, String> {
    let Some(digest) = digest.filter(Digest::is_valid) else {
        return Err("it has a result without the digests of its output".into());
    };
    let Some(size) = digest.size_within(most) else {
        return Err(format!("it has an output of {} bytes, and {most} are allowed", digest.size_bytes));
    };
    match raw.is_empty() && size > 0 {
        true => Ok(Stream::At(digest)),
        false => digest.verified(raw).map(Stream::Here),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_believed_only_as_far_as_its_digests() {
        let outputs = Outputs { stdout: b"out".to_vec(), stderr: Vec::new() };
        let here = outputs.result(100).streams(100).unwrap();
        assert_eq!(here, [Stream::Here(b"out".to_vec()), Stream::Here(Vec::new())]);
        let apart = outputs.result(0).streams(100).unwrap();
        assert_eq!(apart[0], Stream::At(Digest::of(b"out")));
        let fault = |change: &dyn Fn(&mut ActionResult)| {
            let mut result = outputs.result(100);
            change(&mut result);
            result.streams(100).unwrap_err()
        };
        assert!(fault(&|r| r.exit_code = 1).contains("failed"));
        assert!(fault(&|r| r.stdout_raw = b"other".to_vec()).contains("other bytes"));
        assert!(fault(&|r| r.stdout_digest = None).contains("without"));
        assert!(fault(&|r| r.stderr_digest.as_mut().unwrap().hash = "../x".into()).contains("without"));
        assert!(fault(&|r| r.stdout_digest.as_mut().unwrap().size_bytes = 1 << 40).contains("allowed"));
    }
}
