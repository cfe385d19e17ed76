//! A call of a function, described for a server: what to start, on which files, where.
//!
//! Everything is in the input root: `.krm/start` ([`starter`]), the standard input as `.krm/stdin`, an executable in
//! `.krm/program/`, and mounts where the function expects them, which needs a server whose input root is the root of the
//! file system. Standard output and standard error need no file: servers keep them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use krm_engine::runtime::reapi::{self, Command, Digest, EnvironmentVariable, Platform};
use krm_engine::runtime::{Call, Digests, Exec, File, Image, Mount, Tree, files_of};
use prost::Message;

use super::blobs::{Blob, Blobs};
use super::starter;
use crate::os::registry::ImageConfig;

/// Changes whenever the same call is described in another way.
const FORMAT: &str = "krm remote action 1";
const STARTER: &str = ".krm/start";
const INPUT: &str = ".krm/stdin";
/// Where programs are looked for that are named without a path, if an image does not say: as container engines do.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// A file to be looked for at the root of the file system.
pub const MARKER: &str = ".krm/here";

/// A call for a server.
#[derive(Debug)]
pub struct Prepared {
    pub action: Digest,
    pub blobs: Blobs,
    /// Its time limit.
    pub takes: Duration,
}

/// What is needed to describe calls.
pub struct Describer {
    pub digests: Arc<Digests>,
    /// What the user asks for by name and value; an empty value takes a property away.
    pub properties: Vec<(String, String)>,
}

/// Why a call cannot be described for a server.
pub type Why = String;

impl Describer {
    /// An executable. It sees its input, and nothing of the folder it would run in here.
    pub fn executable(&self, call: &Call, exec: &Exec, program: &Path) -> Result<Prepared, Why> {
        let digest = self.digests.of(program).map_err(|error| format!("it cannot be read: {error}"))?;
        let name = program.file_name().and_then(|name| name.to_str()).unwrap_or("program");
        let path = format!(".krm/program/{name}");
        let mut root = Root::default();
        root.add_program(&path, digest, Blob::File(program.to_owned()));
        let mut arguments = vec![path.clone()];
        arguments.extend(exec.args.iter().cloned());
        let mut environment = BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]);
        environment.extend(variables(call));
        let arguments = starter::arguments(STARTER, INPUT, "", vec![path], arguments);
        self.call(call, root, arguments, environment, self.platform([]))
    }

    /// An image, started as its configuration says.
    pub fn image(
        &self,
        call: &Call,
        image: &Image,
        config: &ImageConfig,
        name: &str,
    ) -> Result<Prepared, Why> {
        let mut root = Root::default();
        for mount in mounts(call, image) {
            root.mount(&mount)?;
        }
        let mut environment = BTreeMap::from([("HOME".into(), "/".into()), ("PATH".into(), PATH.to_owned())]);
        let of_image = config.env.iter().filter_map(|variable| variable.split_once('='));
        environment.extend(of_image.map(|(name, value)| (name.to_owned(), value.to_owned())));
        environment.extend(variables(call));
        let mut arguments = config.entrypoint.clone();
        arguments.extend(if image.args.is_empty() { config.command.clone() } else { image.args.clone() });
        let program = arguments.first().filter(|program| !program.is_empty());
        let program = program.ok_or("the image does not say what to start: it has no entry point")?;
        let candidates = match program.contains('/') {
            true => vec![program.clone()],
            false => {
                let folders = environment["PATH"].split(':').filter(|folder| folder.starts_with('/'));
                folders.map(|folder| format!("{}/{program}", folder.trim_end_matches('/'))).collect()
            }
        };
        let folder = if config.folder.is_empty() { "/" } else { &config.folder };
        let arguments = starter::arguments(STARTER, INPUT, folder, candidates, arguments);
        self.call(call, root, arguments, environment, self.image_platform(name))
    }

    fn call(
        &self,
        call: &Call,
        mut root: Root,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        platform: Platform,
    ) -> Result<Prepared, Why> {
        let input = Blob::Here(bytes::Bytes::from_owner(Shared(call.input.clone())));
        root.add(INPUT, Digest::of(&call.input), input);
        self.finish(root, arguments, environment, platform, call.policy.limits.timeout, Caching::Allowed)
    }

    /// A call that prints files of the machine it runs on.
    pub fn report(&self, files: &[&str], platform: Platform) -> Result<Prepared, Why> {
        let mut root = Root::default();
        root.add(MARKER, Digest::of(b"here\n"), Blob::Here(bytes::Bytes::from_static(b"here\n")));
        let arguments = starter::to_print(STARTER, files);
        self.finish(root, arguments, BTreeMap::new(), platform, Duration::from_secs(60), Caching::Forbidden)
    }

    fn finish(
        &self,
        mut root: Root,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        platform: Platform,
        takes: Duration,
        caching: Caching,
    ) -> Result<Prepared, Why> {
        let machine = machine(&platform);
        let program = starter::for_machine(&machine)
            .ok_or_else(|| format!("krm cannot start programs on workers of the kind {machine}"))?;
        root.add_program(STARTER, Digest::of(program), Blob::Here(bytes::Bytes::from_static(program)));
        let tree = Tree::new(root.files.iter().map(|(path, file)| (path.as_str(), file)));
        let mut blobs = root.blobs;
        blobs.extend(tree.folders.into_iter().map(|(digest, bytes)| (digest, Blob::Here(bytes.into()))));
        let variables = environment.into_iter().map(|(name, value)| EnvironmentVariable { name, value });
        let command = Command {
            arguments,
            environment_variables: variables.collect(),
            // Servers older than version 2.2 look for it here.
            platform: Some(platform.clone()),
            ..Command::default()
        };
        let mut add = |bytes: Vec<u8>| {
            let digest = Digest::of(&bytes);
            blobs.insert(digest.clone(), Blob::Here(bytes.into()));
            digest
        };
        let action = reapi::Action {
            command_digest: Some(add(command.encode_to_vec())),
            input_root_digest: Some(tree.root),
            timeout: Some(takes.into()),
            do_not_cache: caching == Caching::Forbidden,
            salt: FORMAT.into(),
            platform: Some(platform),
        };
        let action = add(action.encode_to_vec());
        Ok(Prepared { action, blobs, takes })
    }

    /// Where executables run.
    pub fn executable_platform(&self) -> Platform {
        self.platform([])
    }

    /// Where an image runs, by its name with a digest.
    pub fn image_platform(&self, name: &str) -> Platform {
        self.platform([("container-image", format!("docker://{name}"))])
    }

    /// What is asked of every worker: Linux, nobody's rights, no network. Servers have different names for it, and ignore
    /// what they do not know; whether it helped is found out before a function is sent.
    fn platform<const N: usize>(&self, more: [(&str, String); N]) -> Platform {
        let usual =
            [("OSFamily", "linux"), ("dockerNetwork", "off"), ("unixUID", "65534"), ("unixGID", "65534")];
        let usual = usual.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let more = more.into_iter().map(|(name, value)| (name.to_owned(), value));
        let all: BTreeMap<String, String> =
            usual.chain(more).chain(self.properties.iter().cloned()).collect();
        Platform::new(all.into_iter().filter(|(_, value)| !value.is_empty()))
    }
}

/// The kind of machine a platform asks for, as Rust names it; this one if it does not say.
fn machine(platform: &Platform) -> String {
    let asked = platform.properties.iter().find(|property| ["ISA", "Arch"].contains(&property.name.as_str()));
    match asked.map(|property| property.value.as_str()) {
        None => std::env::consts::ARCH.to_owned(),
        Some("x86-64" | "amd64") => "x86_64".to_owned(),
        Some("arm-a64" | "arm64") => "aarch64".to_owned(),
        Some(other) => other.to_owned(),
    }
}

/// The variables of a call that have a value, here or given.
fn variables(call: &Call) -> impl Iterator<Item = (String, String)> {
    call.environment().into_iter().filter_map(|variable| {
        let value = variable.value.or_else(|| crate::os::variable(&variable.name))?;
        Some((variable.name, value))
    })
}

/// What an image sees besides its input: the folder of the configuration, what the function declares, what the user says.
pub fn mounts(call: &Call, image: &Image) -> Vec<Mount> {
    let local = image.local.iter().map(|dir| Mount {
        kind: "bind".into(),
        source: dir.to_string_lossy().into_owned(),
        target: "/local".into(),
        writable: false,
    });
    local.chain(image.mounts.iter().cloned()).chain(call.policy.mounts.iter().cloned()).collect()
}

/// Whether a server may keep the result of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caching {
    Allowed,
    Forbidden,
}

/// The files of a call.
#[derive(Default)]
struct Root {
    files: BTreeMap<String, File>,
    blobs: Blobs,
}

impl Root {
    fn add(&mut self, path: &str, digest: Digest, blob: Blob) {
        self.blobs.insert(digest.clone(), blob);
        self.files.insert(path.to_owned(), File::Content { digest, executable: false });
    }

    /// Adds a file that can be executed.
    fn add_program(&mut self, path: &str, digest: Digest, blob: Blob) {
        self.blobs.insert(digest.clone(), blob);
        self.files.insert(path.to_owned(), File::Content { digest, executable: true });
    }

    fn mount(&mut self, mount: &Mount) -> Result<(), Why> {
        let target = mount.target.trim_matches('/');
        if target.is_empty() || target.split('/').any(|name| ["", ".", "..", ".krm"].contains(&name)) {
            return Err(format!("nothing can be mounted at `{}` there", mount.target));
        }
        // A mount covers what an earlier one has at the same place.
        self.files.retain(|path, _| path != target && !path.starts_with(&format!("{target}/")));
        if mount.kind == "tmpfs" {
            self.files.insert(target.to_owned(), File::Folder);
            return Ok(());
        }
        let source = Path::new(&mount.source);
        let mut files = BTreeMap::new();
        files_of(source, target, &mut files).ok_or_else(|| {
            format!("`{}` is missing, is too large, or has something in it that is not a file", mount.source)
        })?;
        for (path, file) in &files {
            if let File::Content { digest, .. } = file {
                let below = path[target.len()..].trim_start_matches('/');
                let path = if below.is_empty() { source.to_owned() } else { source.join(below) };
                self.blobs.insert(digest.clone(), Blob::File(path));
            }
        }
        self.files.extend(files);
        Ok(())
    }
}

/// The input of a call, shared instead of copied.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
