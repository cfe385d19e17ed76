//! Container images, through the command line of docker, podman or nerdctl; or without them, in a [sandbox](super::sandbox).
//!
//! The image gets what it is given on stdin, and as little else as a container can have: no network, nobody's rights, no
//! way to gain others, a file system it cannot write to, and bounds on memory and processes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use krm_yaml::{Diagnostic, Failure, Result, Span};

use super::digests::{describe, is_executable};
#[cfg(target_os = "linux")]
use super::sandbox::{self, Sandbox};
use super::{
    Action, Call, File, Identity, Image, Mount, Output, Program, Runner, Status, image_not_pulled, process,
};
use crate::files::world::clean;
use crate::runtime::policy::{Policy, Pull};

fn pull_option(pull: Pull) -> &'static str {
    match pull {
        Pull::Always => "--pull=always",
        Pull::IfNotPresent => "--pull=missing",
        Pull::Never => "--pull=never",
    }
}

/// What `--mount` takes: comma-separated values, quoted where they hold a comma themselves.
fn mount_option(mount: &Mount) -> String {
    let kind = if mount.kind.is_empty() { "bind" } else { &mount.kind };
    let mut fields = vec![format!("type={kind}")];
    if !mount.source.is_empty() {
        fields.push(format!("source={}", mount.source));
    }
    fields.push(format!("target={}", mount.target));
    if !mount.writable && kind != "tmpfs" {
        fields.push("readonly".into());
    }
    let quoted = fields.iter().map(|field| match field.contains([',', '"']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.clone(),
    });
    quoted.collect::<Vec<_>>().join(",")
}

/// What an engine ends with when it could not start a container.
const ENGINE_FAILED: i32 = 125;

/// Nobody's number, for images that have no list of users.
pub(super) const NOBODY: u32 = 65534;

/// What runs images on this machine: the first that works, of the engines and the sandbox.
#[derive(Debug)]
pub(super) struct Containers {
    candidates: Vec<Candidate>,
    first: AtomicUsize,
}

#[derive(Debug)]
enum Candidate {
    Engine(Engine),
    #[cfg(target_os = "linux")]
    Sandbox(Sandbox),
}

impl Candidate {
    fn runner(&self) -> &dyn Runner {
        match self {
            Candidate::Engine(engine) => engine,
            #[cfg(target_os = "linux")]
            Candidate::Sandbox(sandbox) => sandbox,
        }
    }

    /// Whether it works. Asked only when something went wrong: the answer takes as long as a small function.
    fn works(&self) -> bool {
        match self {
            Candidate::Engine(engine) => engine.works(),
            #[cfg(target_os = "linux")]
            Candidate::Sandbox(_) => true,
        }
    }
}

impl Containers {
    /// What the user names, or everything that is installed.
    pub(super) fn find(policy: &Policy) -> Result<Self> {
        let candidates = match &policy.container_engine {
            Some(wanted) => Self::named(wanted, policy)?,
            None => {
                let engines = ENGINES.into_iter().filter(|binary| in_path(binary).is_some());
                let mut all: Vec<_> = engines.map(|binary| Candidate::Engine(Engine::new(binary))).collect();
                all.extend(sandbox(policy, None));
                all
            }
        };
        match candidates.is_empty() {
            true => Err(missing()),
            false => Ok(Self { candidates, first: AtomicUsize::new(0) }),
        }
    }

    fn named(wanted: &str, policy: &Policy) -> Result<Vec<Candidate>> {
        if let Some(binary) = ENGINES.into_iter().find(|binary| *binary == wanted) {
            let engine = Engine::new(binary);
            engine.is_proven.store(true, Ordering::Relaxed);
            return Ok(vec![Candidate::Engine(engine)]);
        }
        match wanted {
            "sandbox" => Ok(sandbox(policy, None).into_iter().collect()),
            "bwrap" | "crun" | "runc" => Ok(sandbox(policy, Some(wanted)).into_iter().collect()),
            _ => Err(Diagnostic::error(
                "container-engine-unknown",
                format!("`{wanted}` is not a container engine krm knows"),
            )
            .failing(Failure::NoSuchProgram)
            .help(
                "set KRM_FN_RUNTIME to docker, podman or nerdctl; or to sandbox, which needs none of them",
            )),
        }
    }

    /// Asks the candidates in turn, until one is not out of order.
    fn ask<T>(&self, question: impl Fn(&dyn Runner) -> T, is_answer: impl Fn(&T) -> bool) -> Result<T> {
        loop {
            let number = self.first.load(Ordering::Relaxed);
            let Some(candidate) = self.candidates.get(number) else { return Err(missing()) };
            let answer = question(candidate.runner());
            if is_answer(&answer) || candidate.works() {
                return Ok(answer);
            }
            let _ = self.first.compare_exchange(number, number + 1, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

impl Runner for Containers {
    fn describe(&self, call: &Call) -> Option<Action> {
        self.ask(|runner| runner.describe(call), Option::is_some).ok()?
    }

    fn run(&self, call: &Call) -> Result<Output> {
        let ran = |output: &Result<Output>| {
            output.as_ref().is_ok_and(|output| output.status.is_success() || !output.stdout.is_empty())
        };
        self.ask(|runner| runner.run(call), ran)?
    }
}

#[cfg(target_os = "linux")]
fn sandbox(policy: &Policy, tool: Option<&str>) -> Option<Candidate> {
    let tools: Vec<&'static str> =
        sandbox::TOOLS.into_iter().filter(|name| tool.is_none_or(|tool| tool == *name)).collect();
    Sandbox::find(policy, &tools).map(Candidate::Sandbox)
}

/// Elsewhere there are no namespaces.
#[cfg(not(target_os = "linux"))]
fn sandbox(_policy: &Policy, _tool: Option<&str>) -> Option<Candidate> {
    None
}

fn missing() -> Diagnostic {
    Diagnostic::error(
        "container-engine-missing",
        "the function is a container image, and no container engine works here",
    )
    .failing(Failure::NoSuchProgram)
    .help("install docker, podman or nerdctl and see that `docker version` (or the like) succeeds")
    .help("on Linux, bubblewrap is enough: install `bwrap`")
    .help("KRM_FN_RUNTIME chooses one")
}

/// Where a program is that is called by its name alone.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| {
        file.is_absolute() && file.metadata().is_ok_and(|meta| meta.is_file() && is_executable(&meta))
    })
}

/// The program that runs containers.
#[derive(Debug)]
pub(super) struct Engine {
    binary: &'static str,
    /// What images' names mean. Asking starts a process, and a run is too short for the answer to change.
    ids: Mutex<HashMap<String, String>>,
    /// Images that have no list of users: finding out takes a start that fails.
    without_users: Mutex<HashSet<String>>,
    /// It is known to work, or to be what the user wants.
    is_proven: AtomicBool,
}

const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];

impl Engine {
    fn new(binary: &'static str) -> Self {
        Self {
            binary,
            ids: Mutex::default(),
            without_users: Mutex::default(),
            is_proven: AtomicBool::default(),
        }
    }

    /// Whether it is installed and, where it has a daemon, that answers.
    fn works(&self) -> bool {
        let mut version = Command::new(self.binary);
        version.arg("version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut works = || version.status().is_ok_and(|status| status.success());
        let is_proven = self.is_proven.load(Ordering::Relaxed) || works();
        self.is_proven.store(is_proven, Ordering::Relaxed);
        is_proven
    }

    fn run_as(&self, user: &str, call: &Call) -> Result<Output> {
        let name = container_name();
        let mut command = Command::new(self.binary);
        command.args(self.arguments(&name, user, call));
        // Killing the command line would leave the container running.
        let stop = [self.binary.to_string(), "kill".into(), name];
        let supervisor = call.policy.supervisor.as_deref();
        process::run(command, &stop, call.input.clone(), &call.policy.limits, supervisor).map_err(|e| {
            Diagnostic::error("container-engine-failed", format!("`{}` cannot be started: {e}", self.binary))
                .failing(Failure::NoSuchProgram)
        })
    }

    fn arguments(&self, name: &str, user: &str, call: &Call) -> Vec<String> {
        let (image, policy) = (image(call), call.policy);
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
        if policy.as_current_user && self.binary == "podman" && !is_root() {
            args.push("--userns=keep-id".into());
        }
        for mount in mounts(call) {
            args.extend(["--mount".into(), mount_option(&mount)]);
        }
        for var in call.environment() {
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

    /// What an image's name means here and now, if the image is here.
    fn image_id(&self, image: &str) -> Option<String> {
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

impl Engine {
    /// The error for an image that is not on this machine after the engine was asked to run it.
    fn not_pulled(&self, image: &str, pull: Pull, output: &Output) -> Diagnostic {
        let binary = self.binary;
        let stderr = String::from_utf8_lossy(&output.stderr);
        // The lines before the last are attempts.
        let said = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let error = image_not_pulled(image, pull);
        let error = match said {
            "" => error,
            said => error.note(format!("{binary} says: {said}"), Span::NONE),
        };
        match pull {
            Pull::Never => error.help(format!("run `{binary} pull {image}`, or allow another pull policy")),
            Pull::Always | Pull::IfNotPresent => error.help(format!(
                "check the name and the tag, and that `{binary} pull {image}` works; a private registry needs `{binary} login`"
            )),
        }
    }
}

impl Runner for Engine {
    fn describe(&self, call: &Call) -> Option<Action> {
        describe_call(call, |image| self.image_id(image))
    }

    fn run(&self, call: &Call) -> Result<Output> {
        let user = user(call.policy);
        let name = &image(call).image;
        let lacks = || self.without_users.lock().expect("no one panics while holding the names");
        if user == "nobody" && lacks().contains(name) {
            return self.run_as(&format!("{NOBODY}:{NOBODY}"), call);
        }
        let output = self.run_as(&user, call)?;
        if user == "nobody" && lacks_users(&output) {
            lacks().insert(name.clone());
            return self.run_as(&format!("{NOBODY}:{NOBODY}"), call);
        }
        if output.status == Status::Exited(ENGINE_FAILED)
            && output.stdout.is_empty()
            && self.image_id(name).is_none()
        {
            let fault = Some(self.not_pulled(name, call.policy.pull, &output));
            return Ok(Output { fault, ..output });
        }
        Ok(output)
    }
}

/// What a call depends on. An image that is named by its digest is known by that, before an engine is found and the image
/// pulled; of any other, `id` says what its name means on this machine.
pub(super) fn describe_call(call: &Call, id: impl FnOnce(&str) -> Option<String>) -> Option<Action> {
    let (image, policy) = (image(call), call.policy);
    // What comes over the network may change under the same name; and so may an image that is fetched each time.
    if (image.network && policy.network) || policy.pull == Pull::Always {
        return None;
    }
    let id = match image.image.split_once('@') {
        Some((_, digest)) => digest.to_owned(),
        None => id(&image.image)?,
    };
    let mut action = Action::new(Identity::Image(id), &policy.limits, &call.input);
    action.arguments = image.args.clone();
    action.user = user(policy);
    for var in call.environment() {
        if let Some(value) = var.value.or_else(|| std::env::var(&var.name).ok()) {
            action.environment.insert(var.name, value);
        }
    }
    for mount in mounts(call) {
        match mount.kind.as_str() {
            "tmpfs" => drop(action.files.insert(mount.target, File::Scratch)),
            // What is written there is an output that is not kept.
            _ if mount.writable || !mount.is_bind() => return None,
            _ => describe(Path::new(&mount.source), &mount.target, &mut action.files)?,
        }
    }
    Some(action)
}

pub(super) fn image<'c>(call: &'c Call) -> &'c Image {
    match call.program {
        Program::Image(image) => image,
        _ => unreachable!("each kind of program has its own runner"),
    }
}

/// What is mounted: the folder of the configuration, what the function declares, what the user says.
pub(super) fn mounts(call: &Call) -> impl Iterator<Item = Mount> {
    let image = image(call);
    let local = image.local.iter().map(|dir| Mount {
        kind: "bind".into(),
        source: clean(dir).to_string_lossy().into_owned(),
        target: "/local".into(),
        writable: false,
    });
    local.chain(image.mounts.iter().cloned()).chain(call.policy.mounts.iter().cloned())
}

#[cfg(unix)]
fn user(policy: &Policy) -> String {
    use rustix::process::{getgid, getuid};
    match policy.as_current_user {
        true => format!("{}:{}", getuid().as_raw(), getgid().as_raw()),
        false => "nobody".into(),
    }
}

/// Elsewhere an engine runs in a machine of its own, and knows nothing about the users of this one.
#[cfg(not(unix))]
fn user(_policy: &Policy) -> String {
    "nobody".into()
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

/// Whether the engine could not find `nobody` in the image: one made from scratch has no list of users.
fn lacks_users(output: &Output) -> bool {
    let stderr = String::from_utf8_lossy(&output.stderr);
    matches!(output.status, Status::Exited(125..=127))
        && output.stdout.is_empty()
        && (stderr.contains("unable to find user nobody") || stderr.contains("no users found"))
}

/// A name no other container has.
pub(super) fn container_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos());
    format!("krm-fn-{}-{count}-{nanos:x}", std::process::id())
}
