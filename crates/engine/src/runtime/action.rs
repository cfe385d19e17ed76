//! What a call depends on, by content.
//!
//! An [`Action`] describes a call completely: the program by the digest of what it is, its arguments and environment, the
//! files it sees by their content, its limits, and its input. Two calls with one description have one output, on this
//! machine or on another, so the digest of the description is the key under which an output is kept.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::files::world::hex;
use crate::pipeline::policy::Limits;

/// Changes whenever the meaning of a description does.
const FORMAT: &str = "krm action 2";

/// A call, described by content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    format: &'static str,
    pub program: Identity,
    pub arguments: Vec<String>,
    /// What is set, by name. A variable that is not set is not in here, so it differs from one that is empty.
    pub environment: BTreeMap<String, String>,
    /// What the program sees besides its input, by path.
    pub files: BTreeMap<String, File>,
    /// Who it runs as: `nobody`, or a user and group by number; empty for the current user.
    pub user: String,
    /// The folder it runs in, if it may depend on it.
    pub folder: String,
    pub limits: ActionLimits,
    /// The SHA-256 of its standard input.
    pub input: String,
}

/// What a program is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Identity {
    /// A container image, by its id.
    Image(String),
    /// An executable, by the SHA-256 of its file.
    Executable(String),
    /// A WebAssembly module, by the SHA-256 of its file.
    Module(String),
}

/// Something a program sees at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum File {
    Content {
        sha256: String,
        executable: bool,
    },
    /// A link, and what it says.
    Link(String),
    Folder,
    /// An empty folder to write to.
    Scratch,
}

/// Limits, in whole units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionLimits {
    milliseconds: u64,
    memory: u64,
    processes: u32,
    output: usize,
}

impl From<&Limits> for ActionLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            milliseconds: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
            memory: limits.memory,
            processes: limits.processes,
            output: limits.output,
        }
    }
}

impl Action {
    /// A call with this input, without arguments, environment and files.
    pub fn new(program: Identity, limits: &Limits, input: &[u8]) -> Self {
        Self {
            format: FORMAT,
            program,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            files: BTreeMap::new(),
            user: String::new(),
            folder: String::new(),
            limits: limits.into(),
            input: hex(&Sha256::digest(input)),
        }
    }

    /// The description as text, the same for the same call everywhere: JSON with its fields in a fixed order.
    pub fn canonical(&self) -> String {
        serde_json::to_string(self).expect("texts, numbers and maps by text can always be written")
    }

    /// The SHA-256 of the description.
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(self.canonical()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action() -> Action {
        Action::new(Identity::Module("00".into()), &Limits::default(), b"in")
    }

    #[test]
    fn the_description_is_stable() {
        let mut action = action();
        action.arguments = vec!["--help".into()];
        action.environment.insert("B".into(), String::new());
        action.environment.insert("A".into(), "1".into());
        action.files.insert("/local".into(), File::Folder);
        assert_eq!(
            action.canonical(),
            "{\"format\":\"krm action 2\",\"program\":{\"module\":\"00\"},\"arguments\":[\"--help\"],\
             \"environment\":{\"A\":\"1\",\"B\":\"\"},\"files\":{\"/local\":\"folder\"},\"user\":\"\",\"folder\":\"\",\
             \"limits\":{\"milliseconds\":300000,\"memory\":2147483648,\"processes\":1024,\"output\":268435456},\
             \"input\":\"582967534d0f909d196b97f9e6921342777aea87b46fa52df165389db1fb8ccf\"}"
        );
    }

    #[test]
    fn everything_counts() {
        let mut digests = vec![action().digest()];
        let mut with = |change: &dyn Fn(&mut Action)| {
            let mut action = action();
            change(&mut action);
            digests.push(action.digest());
        };
        with(&|a| a.program = Identity::Executable("00".into()));
        with(&|a| a.arguments = vec!["a".into(), "b".into()]);
        with(&|a| a.arguments = vec!["ab".into()]);
        // Unset and empty are not the same.
        with(&|a| drop(a.environment.insert("A".into(), String::new())));
        with(&|a| a.user = "nobody".into());
        with(&|a| a.limits.memory = 1);
        with(&|a| a.input = "x".into());
        with(&|a| drop(a.files.insert("/a".into(), File::Link("b".into()))));
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }
}
