//! Messages of the Remote Execution API, version 2: how programs describe calls and results to each other.
//!
//! Written down by hand, so that a build needs neither `protoc` nor a build script: a message is the fields krm uses, with
//! the numbers of `build/bazel/remote/execution/v2/remote_execution.proto`. Fields that are left out are skipped when they are
//! read. Encoding is canonical as the API asks for: fields are written in the order of their numbers, and anyone who makes a
//! message sorts its lists ([`Command`], [`Directory`], [`Platform`]).

pub use prost::Message;
use sha2::Digest as _;

use crate::files::world::hex;

/// Some bytes, by their SHA-256 and length.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Message)]
pub struct Digest {
    /// In lower-case hexadecimal digits.
    #[prost(string, tag = "1")]
    pub hash: String,
    /// How many bytes they are.
    #[prost(int64, tag = "2")]
    pub size_bytes: i64,
}

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { hash: hex(&sha2::Sha256::digest(bytes)), size_bytes: bytes.len() as i64 }
    }

    /// The digest of a message as it is sent.
    pub fn of_message(message: &impl Message) -> Self {
        Self::of(&message.encode_to_vec())
    }

    /// Whether it is one: what others say is a digest may be the way to another file.
    pub fn is_valid(&self) -> bool {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        self.hash.len() == 64 && self.hash.bytes().all(is_digit) && self.size_bytes >= 0
    }

    /// Returns the bytes if they match this digest. The error completes a sentence about the server that sent them.
    pub fn verified(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        match Digest::of(&bytes) == *self {
            true => Ok(bytes),
            false => Err(format!("it has other bytes under the digest {}", self.hash)),
        }
    }

    /// The length, unless it exceeds `most`.
    pub fn size_within(&self, most: usize) -> Option<usize> {
        usize::try_from(self.size_bytes).ok().filter(|size| *size <= most)
    }
}

/// A call: what to start, on which files, and for how long. Its digest is the key of its result.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Action {
    /// The digest of a [`Command`].
    #[prost(message, optional, tag = "1")]
    pub command_digest: Option<Digest>,
    /// The digest of the [`Directory`] that the command sees.
    #[prost(message, optional, tag = "2")]
    pub input_root_digest: Option<Digest>,
    /// How long it may run; as long as the server likes if there is none.
    #[prost(message, optional, tag = "6")]
    pub timeout: Option<Duration>,
    /// The result must not be kept.
    #[prost(bool, tag = "7")]
    pub do_not_cache: bool,
    /// Makes calls differ that are alike in all else.
    #[prost(bytes = "vec", tag = "9")]
    pub salt: Vec<u8>,
    /// What kind of worker it needs.
    #[prost(message, optional, tag = "10")]
    pub platform: Option<Platform>,
}

/// `google.protobuf.Duration`
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Duration {
    /// Whole seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// What is left, in billionths of a second.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl From<std::time::Duration> for Duration {
    fn from(time: std::time::Duration) -> Self {
        Self { seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), nanos: time.subsec_nanos() as i32 }
    }
}

/// What to start.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Command {
    /// The program, then its arguments.
    #[prost(string, repeated, tag = "1")]
    pub arguments: Vec<String>,
    /// Sorted by name.
    #[prost(message, repeated, tag = "2")]
    pub environment_variables: Vec<EnvironmentVariable>,
    /// Servers older than version 2.1 know these only. Sorted.
    #[prost(string, repeated, tag = "3")]
    pub output_files: Vec<String>,
    /// Older servers look for it here; newer ones in the [`Action`].
    #[prost(message, optional, tag = "5")]
    pub platform: Option<Platform>,
    /// The folder it starts in, relative to the input root; empty for the root itself.
    #[prost(string, tag = "6")]
    pub working_directory: String,
    /// Sorted.
    #[prost(string, repeated, tag = "7")]
    pub output_paths: Vec<String>,
}

/// A variable of a command's environment.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct EnvironmentVariable {
    /// The part before `=`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The part after `=`.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// What a command asks of the machine it runs on.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Platform {
    /// Sorted by name, then by value.
    #[prost(message, repeated, tag = "1")]
    pub properties: Vec<Property>,
}

impl Platform {
    /// A platform with these properties, in whatever order they come.
    pub fn new(properties: impl IntoIterator<Item = (String, String)>) -> Self {
        let properties = properties.into_iter().map(|(name, value)| Property { name, value });
        let mut properties: Vec<Property> = properties.collect();
        properties.sort();
        Self { properties }
    }
}

/// One thing a command asks for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub struct Property {
    /// What is asked about: `OSFamily`, `container-image`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it has to be.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A folder. Each list is sorted by name, and no name is in two of them.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Directory {
    /// The files in it.
    #[prost(message, repeated, tag = "1")]
    pub files: Vec<FileNode>,
    /// The folders in it.
    #[prost(message, repeated, tag = "2")]
    pub directories: Vec<DirectoryNode>,
    /// The links in it.
    #[prost(message, repeated, tag = "3")]
    pub symlinks: Vec<SymlinkNode>,
}

/// A file in a folder.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct FileNode {
    /// Without its folder.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Of its bytes.
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
    /// Whether it may be started.
    #[prost(bool, tag = "4")]
    pub is_executable: bool,
}

/// A folder in a folder, by the digest of its [`Directory`].
#[derive(Clone, PartialEq, Eq, Message)]
pub struct DirectoryNode {
    /// Without its folder.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Of the [`Directory`] as a message.
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
}

/// A link in a folder.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SymlinkNode {
    /// Without its folder.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it says: a path, which need not lead anywhere.
    #[prost(string, tag = "2")]
    pub target: String,
}

/// What came of an [`Action`].
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ActionResult {
    /// The files it made, of those it was asked for.
    #[prost(message, repeated, tag = "2")]
    pub output_files: Vec<OutputFile>,
    /// The exit status of the command.
    #[prost(int32, tag = "4")]
    pub exit_code: i32,
    /// The bytes themselves, if they are few. The digest may be there as well.
    #[prost(bytes = "vec", tag = "5")]
    pub stdout_raw: Vec<u8>,
    /// Of standard output; in place of the bytes if they are many.
    #[prost(message, optional, tag = "6")]
    pub stdout_digest: Option<Digest>,
    /// The same for standard error.
    #[prost(bytes = "vec", tag = "7")]
    pub stderr_raw: Vec<u8>,
    /// The same for standard error.
    #[prost(message, optional, tag = "8")]
    pub stderr_digest: Option<Digest>,
}

/// A file that a command made.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct OutputFile {
    /// Relative to the working directory.
    #[prost(string, tag = "1")]
    pub path: String,
    /// Of its bytes.
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
    /// Whether it may be started.
    #[prost(bool, tag = "4")]
    pub is_executable: bool,
    /// The bytes themselves, if the server sent them along.
    #[prost(bytes = "vec", tag = "5")]
    pub contents: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What another implementation (Python's protobuf, from the published definition) makes of the same message.
    #[test]
    fn messages_have_the_published_numbers() {
        let action = Action {
            command_digest: Some(Digest { hash: "ab".into(), size_bytes: 3 }),
            input_root_digest: None,
            timeout: Some(std::time::Duration::from_millis(1500).into()),
            do_not_cache: true,
            salt: b"s".to_vec(),
            platform: Some(Platform::new([
                ("b".into(), "1".into()),
                ("a".into(), "2".into()),
                ("a".into(), "1".into()),
            ])),
        };
        let bytes = [
            &b"\x0a\x06\x0a\x02ab\x10\x03"[..],
            b"\x32\x08\x08\x01\x10\x80\xca\xb5\xee\x01",
            b"\x38\x01",
            b"\x4a\x01s",
            b"\x52\x18\x0a\x06\x0a\x01a\x12\x011\x0a\x06\x0a\x01a\x12\x012\x0a\x06\x0a\x01b\x12\x011",
        ];
        assert_eq!(action.encode_to_vec(), bytes.concat());
        assert_eq!(Action::decode(&bytes.concat()[..]).unwrap(), action);
    }

    #[test]
    fn a_digest_that_is_none_is_found_out() {
        let digest = Digest::of(b"");
        assert_eq!(digest.hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert!(digest.is_valid());
        for hash in ["", "../../etc/passwd", &digest.hash[1..], &digest.hash.to_uppercase()] {
            assert!(!Digest { hash: hash.into(), size_bytes: 0 }.is_valid(), "{hash}");
        }
        assert!(!Digest { size_bytes: -1, ..digest.clone() }.is_valid());
        assert_eq!(Digest { size_bytes: 9, ..digest }.size_within(8), None);
    }
}
