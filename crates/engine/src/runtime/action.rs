//! What a call depends on, by content.
//!
//! An [`Action`] describes a call completely: the program by the digest of what it is, its arguments and environment, the
//! files it sees by their content, its limits, and its input. Two calls with one description have one output, on this
//! machine or on another, so the digest of the description is the key under which an output is kept: on the disk, and
//! on servers. It is written down as an action of the Remote Execution API ([`reapi`](super::reapi)):
//!
//! | of the call | in the message |
//! | --- | --- |
//! | arguments, environment, folder | `Command`; values of variables as their SHA-256 |
//! | executable or module, standard input, files | `program`, `stdin` and `files/` of the input root |
//! | image, user, folders to write to, limits | properties of the platform |
//! | time limit | `timeout` |
//! | what all this means | `salt` |

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::reapi::{self, Command, Digest, EnvironmentVariable, Platform};
use super::tree::Tree;
use crate::files::world::hex;
use crate::runtime::policy::Limits;

/// Changes whenever the meaning of a description does.
const FORMAT: &str = "krm action 3";

/// A call, described by content.
#[derive(Clone, PartialEq, Eq)]
pub struct Action {
    /// What runs.
    pub program: Identity,
    /// Those after the name of the program.
    pub arguments: Vec<String>,
    /// What is set, by name. A variable that is not set is not in here, so it differs from one that is empty.
    pub environment: BTreeMap<String, String>,
    /// What the program sees besides its input, by path.
    pub files: BTreeMap<String, File>,
    /// Who it runs as: `nobody`, or a user and group by number; empty for the current user.
    pub user: String,
    /// The folder it runs in, if it may depend on it.
    pub folder: String,
    /// What it may use up: part of the key, since a limit can change the output.
    pub limits: Limits,
    /// Its standard input.
    pub input: Digest,
}

/// What a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A container image: `sha256:` and the digest of its manifest, or of its configuration, which engines call its id.
    Image(String),
    /// An executable, by its file.
    Executable(Digest),
    /// A WebAssembly module, by its file.
    Module(Digest),
}

/// Something a program sees at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum File {
    /// A file.
    Content {
        /// Of its bytes.
        digest: Digest,
        /// Whether it may be started.
        executable: bool,
    },
    /// A link, and what it says.
    Link(String),
    /// A folder, so that an empty one is there too. What is in it has paths of its own.
    Folder,
    /// An empty folder to write to.
    Scratch,
}

impl Action {
    /// A call with this input, without arguments, environment and files.
    pub fn new(program: Identity, limits: &Limits, input: &[u8]) -> Self {
        Self {
            program,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            files: BTreeMap::new(),
            user: String::new(),
            folder: String::new(),
            limits: limits.clone(),
            input: Digest::of(input),
        }
    }

    /// The key of the call: the digest of the description.
    pub fn digest(&self) -> Digest {
        Digest::of_message(&self.description())
    }

    /// The description as a message, the same for the same call everywhere. It is made to be hashed, and nobody can run it.
    pub(crate) fn description(&self) -> reapi::Action {
        reapi::Action {
            command_digest: Some(Digest::of_message(&self.command())),
            input_root_digest: Some(self.input_root()),
            timeout: Some(self.limits.timeout.into()),
            do_not_cache: false,
            salt: FORMAT.into(),
            platform: Some(self.platform()),
        }
    }

    fn command(&self) -> Command {
        // A value may be a secret. It counts, but it is not in any message.
        let hidden = |value: &String| hex(&Sha256::digest(value));
        let variables = self.environment.iter();
        let variables =
            variables.map(|(name, value)| EnvironmentVariable { name: name.clone(), value: hidden(value) });
        Command {
            arguments: self.arguments.clone(),
            environment_variables: variables.collect(),
            working_directory: self.folder.clone(),
            ..Command::default()
        }
    }

    fn input_root(&self) -> Digest {
        let program = match &self.program {
            Identity::Image(_) => None,
            Identity::Executable(digest) => Some(File::Content { digest: digest.clone(), executable: true }),
            Identity::Module(digest) => Some(File::Content { digest: digest.clone(), executable: false }),
        };
        let stdin = File::Content { digest: self.input.clone(), executable: false };
        let seen: Vec<(String, &File)> =
            self.files.iter().map(|(path, file)| (format!("files/{path}"), file)).collect();
        let seen = seen.iter().map(|(path, file)| (path.as_str(), *file));
        let program = program.iter().map(|file| ("program", file));
        Tree::new(program.chain([("stdin", &stdin)]).chain(seen)).root
    }

    fn platform(&self) -> Platform {
        let mut properties = vec![
            ("krm-memory", self.limits.memory.to_string()),
            ("krm-processes", self.limits.processes.to_string()),
            ("krm-output", self.limits.output.to_string()),
        ];
        if let Identity::Image(image) = &self.program {
            // The digest of an image may be that of a list with an image for each kind of machine.
            properties.push(("OSFamily", "linux".to_owned()));
            properties.push(("ISA", std::env::consts::ARCH.to_owned()));
            properties.push(("container-image", image.clone()));
        }
        if !self.user.is_empty() {
            properties.push(("krm-user", self.user.clone()));
        }
        let scratch = self.files.iter().filter(|(_, file)| **file == File::Scratch);
        properties.extend(scratch.map(|(path, _)| ("krm-scratch", path.clone())));
        Platform::new(properties.into_iter().map(|(name, value)| (name.to_owned(), value)))
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    fn action() -> Action {
        Action::new(Identity::Module(Digest::of(b"module")), &Limits::default(), b"in")
    }

    /// If this changes, so must `FORMAT`.
    #[test]
    fn the_description_is_stable() {
        let mut action = action();
        action.arguments = vec!["--help".into()];
        action.environment.insert("B".into(), String::new());
        action.environment.insert("A".into(), "1".into());
        action.files.insert("/local".into(), File::Folder);
        assert_eq!(
            action.digest().hash,
            "9f99d4919e64d42e7eb2b5af0de41730b96ebadbdac3584a29f24b8d50cb85eb",
            "computed by Python's protobuf from the same fields"
        );
    }

    #[test]
    fn secrets_are_not_in_messages() {
        let mut action = action();
        action.environment.insert("TOKEN".into(), "s3cr3t-value".into());
        let bytes = action.command().encode_to_vec();
        assert!(!bytes.windows(6).any(|part| part == b"s3cr3t"));
    }

    #[test]
    fn everything_counts() {
        let mut digests = vec![action().digest()];
        let mut with = |change: &dyn Fn(&mut Action)| {
            let mut action = action();
            change(&mut action);
            digests.push(action.digest());
        };
        with(&|a| a.program = Identity::Executable(Digest::of(b"module")));
        with(&|a| a.program = Identity::Image("sha256:00".into()));
        with(&|a| a.arguments = vec!["a".into(), "b".into()]);
        with(&|a| a.arguments = vec!["ab".into()]);
        // Unset and empty are not the same.
        with(&|a| drop(a.environment.insert("A".into(), String::new())));
        with(&|a| drop(a.environment.insert("A".into(), "1".into())));
        with(&|a| a.user = "nobody".into());
        with(&|a| a.folder = "/work".into());
        with(&|a| a.limits.memory = 1);
        with(&|a| a.limits.processes = 1);
        with(&|a| a.limits.output = 1);
        with(&|a| a.limits.timeout = std::time::Duration::from_millis(1));
        with(&|a| a.input = Digest::of(b"x"));
        with(&|a| drop(a.files.insert("/a".into(), File::Link("b".into()))));
        with(&|a| drop(a.files.insert("/a".into(), File::Folder)));
        with(&|a| drop(a.files.insert("/a".into(), File::Scratch)));
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }
}
