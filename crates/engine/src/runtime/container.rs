//! Container images, through the command line of docker, podman or nerdctl.
//!
//! The image gets what it is given on stdin, and as little else as a container can have: no network, nobody's rights, no
//! way to gain others, a file system it cannot write to, and bounds on memory and processes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Result};

use super::{EnvVar, Output, Policy, Status, environment, process};
use crate::files::world::clean;
use crate::pipeline::policy::Pull;

/// An image and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Image {
    pub image: String,
    /// It asks for the network; it gets it if the user agrees.
    pub network: bool,
    /// With relative sources already made absolute.
    pub mounts: Vec<Mount>,
    pub env: Vec<EnvVar>,
    /// The folder of the functionConfig, to be seen read-only at `/local`.
    pub local: Option<PathBuf>,
    /// What follows the image on the command line.
    pub args: Vec<String>,
}

/// Something of this machine to be seen in the container.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mount {
    /// `bind`, `volume` or `tmpfs`.
    pub kind: String,
    pub source: String,
    pub target: String,
    /// It may be written to.
    pub writable: bool,
}

impl Mount {
    /// Reads `type=bind,src=/data,dst=/data,rw=true`. What is not known is passed over, as the reference does.
    pub fn parse(text: &str) -> Self {
        let mut mount = Mount::default();
        for (key, value) in text.split(',').filter_map(|option| option.split_once('=')) {
            match key {
                "type" => mount.kind = value.into(),
                "src" | "source" => mount.source = value.into(),
                "dst" | "target" => mount.target = value.into(),
                "rw" => mount.writable = value == "true",
                _ => {}
            }
        }
        mount
    }

    /// The same with a source that does not depend on where the engine's daemon runs.
    pub fn within(mut self, dir: &Path) -> Self {
        if (self.kind.is_empty() || self.kind == "bind") && !Path::new(&self.source).is_absolute() {
            self.source = dir.join(&self.source).to_string_lossy().into_owned();
        }
        self
    }

    /// The same with links followed; `None` where they lead out of the folder. What is not there is left for the engine to
    /// complain about.
    pub fn really_within(mut self, dir: &Path) -> Option<Self> {
        let is_bind = self.kind.is_empty() || self.kind.eq_ignore_ascii_case("bind");
        if let (true, Ok(real), Ok(dir)) =
            (is_bind, Path::new(&self.source).canonicalize(), dir.canonicalize())
        {
            if !real.starts_with(dir) {
                return None;
            }
            self.source = real.to_string_lossy().into_owned();
        }
        Some(self)
    }

    /// What `--mount` takes: comma-separated values, quoted where they hold a comma themselves.
    fn option(&self) -> String {
        let kind = if self.kind.is_empty() { "bind" } else { &self.kind };
        let mut fields = vec![format!("type={kind}")];
        if !self.source.is_empty() {
            fields.push(format!("source={}", self.source));
        }
        fields.push(format!("target={}", self.target));
        if !self.writable && kind != "tmpfs" {
            fields.push("readonly".into());
        }
        let quoted = fields.iter().map(|field| match field.contains([',', '"']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.clone(),
        });
        quoted.collect::<Vec<_>>().join(",")
    }
}

fn pull_option(pull: Pull) -> &'static str {
    match pull {
        Pull::Always => "--pull=always",
        Pull::IfNotPresent => "--pull=missing",
        Pull::Never => "--pull=never",
    }
}

/// Nobody's numbers, for images that have no list of users.
const NOBODY: &str = "65534:65534";

/// The program that runs containers.
#[derive(Debug)]
pub(super) struct Engine {
    binary: &'static str,
    /// What images' names mean. Asking starts a process, and a run is too short for the answer to change.
    ids: Mutex<HashMap<String, String>>,
}

const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];

impl Engine {
    fn new(binary: &'static str) -> Self {
        Self { binary, ids: Mutex::default() }
    }

    /// The engine the user names, or the first that works.
    pub(super) fn find(policy: &Policy) -> Result<Self> {
        if let Some(wanted) = &policy.container_engine {
            return match ENGINES.into_iter().find(|binary| binary == wanted) {
                Some(binary) => Ok(Self::new(binary)),
                None => Err(Diagnostic::error(
                    "container-engine-unknown",
                    format!("`{wanted}` is not a container engine krm knows"),
                )
                .help("set KRM_FN_RUNTIME to docker, podman or nerdctl")),
            };
        }
        ENGINES.into_iter().map(Self::new).find(Engine::works).ok_or_else(|| {
            Diagnostic::error(
                "container-engine-missing",
                "the function is a container image, and no container engine works here",
            )
            .help("install docker, podman or nerdctl and see that `docker version` (or the like) succeeds")
            .help("KRM_FN_RUNTIME chooses one")
        })
    }

    /// Whether it is installed and, where it has a daemon, that answers.
    fn works(&self) -> bool {
        let mut version = Command::new(self.binary);
        version.arg("version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    }

    pub(super) fn run(&self, image: &Image, policy: &Policy, input: Arc<Vec<u8>>) -> Result<Output> {
        let user = match policy.as_current_user {
            true => format!("{}:{}", rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
            false => "nobody".into(),
        };
        let output = self.run_as(&user, image, policy, input.clone())?;
        if user == "nobody" && lacks_users(&output) {
            return self.run_as(NOBODY, image, policy, input);
        }
        Ok(output)
    }

    fn run_as(&self, user: &str, image: &Image, policy: &Policy, input: Arc<Vec<u8>>) -> Result<Output> {
        let name = container_name();
        let mut command = Command::new(self.binary);
        command.args(self.arguments(&name, user, image, policy));
        // Killing the command line would leave the container running.
        let stop = [self.binary.to_string(), "kill".into(), name];
        process::run(command, &stop, input, &policy.limits).map_err(|e| {
            Diagnostic::error("container-engine-failed", format!("`{}` cannot be started: {e}", self.binary))
        })
    }

    fn arguments(&self, name: &str, user: &str, image: &Image, policy: &Policy) -> Vec<String> {
        let network = match image.network && policy.network {
            true => policy.network_name.as_deref().unwrap_or("host"),
            false => "none",
        };
        let mut args: Vec<String> =
            ["run", "--rm", "-i", "--name", name, "--network", network, "--user", user]
                .map(String::from)
                .to_vec();
        args.extend(["--security-opt=no-new-privileges", "--cap-drop=ALL", "--read-only"].map(String::from));
        // The one place to write to; shells need it for here-documents.
        args.extend(["--tmpfs", "/tmp"].map(String::from));
        let limits = &policy.limits;
        args.push(format!("--memory={}", limits.memory));
        args.push(format!("--memory-swap={}", limits.memory));
        args.push(format!("--pids-limit={}", limits.processes));
        args.push(pull_option(policy.pull).into());
        if policy.as_current_user && self.binary == "podman" && !rustix::process::getuid().is_root() {
            args.push("--userns=keep-id".into());
        }
        let local = image.local.iter().map(|dir| Mount {
            kind: "bind".into(),
            source: clean(dir).to_string_lossy().into_owned(),
            target: "/local".into(),
            writable: false,
        });
        for mount in local.chain(image.mounts.iter().cloned()).chain(policy.mounts.iter().cloned()) {
            args.extend(["--mount".into(), mount.option()]);
        }
        for var in environment(&image.env, policy) {
            args.push("-e".into());
            args.push(match var.value {
                Some(value) => format!("{}={value}", var.name),
                None => var.name,
            });
        }
        args.push(image.image.clone());
        args.extend(image.args.iter().cloned());
        args
    }

    /// What an image's name means here and now, where the image is here.
    pub(super) fn image_id(&self, image: &str) -> Option<String> {
        let mut ids = self.ids.lock().expect("no one panics while holding the ids");
        if let Some(id) = ids.get(image) {
            return Some(id.clone());
        }
        let inspect = ["image", "inspect", "--format", "{{.Id}}", image];
        let output = Command::new(self.binary).args(inspect).stdin(Stdio::null()).output().ok()?;
        let id =
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())?;
        ids.insert(image.to_owned(), id.clone());
        Some(id)
    }
}

/// Whether the engine could not find `nobody` in the image: one made from scratch has no list of users.
fn lacks_users(output: &Output) -> bool {
    let stderr = String::from_utf8_lossy(&output.stderr);
    matches!(output.status, Status::Exited(125..=127))
        && output.stdout.is_empty()
        && (stderr.contains("unable to find user nobody") || stderr.contains("no users found"))
}

/// A name no other container has.
fn container_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos());
    format!("krm-fn-{}-{count}-{nanos:x}", std::process::id())
}
