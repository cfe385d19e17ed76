//! Container images without a container engine: in a sandbox of namespaces, by bubblewrap, crun or runc.
//!
//! The files of an image come from [`Images`](super::Images). The program gets what a container engine would give it: no
//! network, nobody's rights and no way to gain others, a file system it cannot write to but for `/tmp`, and limits on
//! memory and processes. Where a machine cannot give one of these, that is an error.

mod bwrap;
mod cgroup;
mod confinement;
mod oci;
mod root;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use krm_yaml::{Diagnostic, Result, Span};

use self::cgroup::{Cgroup, Hierarchy};
pub(super) use self::confinement::Confinement;
use self::root::{RootStep, What};
use super::container::{NOBODY, describe_call, image, mounts};
use super::{Action, Call, LocalImage, Output, Runner, Status};
use crate::runtime::policy::{Limits, Policy};

/// The tools, in the order they are tried.
pub(super) const TOOLS: [&str; 3] = ["bwrap", "crun", "runc"];

/// How much a program may put into the folder for shared memory, as elsewhere.
const SHARED_MEMORY: u64 = 64 << 20;

/// Runs images in a sandbox.
#[derive(Debug)]
pub(super) struct Sandbox {
    tools: Vec<(&'static str, PathBuf)>,
    /// The first tool that did not fail yet.
    first: AtomicUsize,
    hierarchy: OnceLock<Option<Hierarchy>>,
    scopes: OnceLock<Option<PathBuf>>,
}

/// What bounds the memory and the processes of a program.
enum Bound {
    Group(Cgroup),
    /// The program that asks the service manager for a group.
    Scope(PathBuf),
    /// No group: each process has limits of its own. Only if the user says so.
    EachProcess,
}

/// What a program finds: the same whichever tool makes it.
struct Room {
    image: LocalImage,
    steps: Vec<RootStep>,
    /// Numbers of user and group.
    user: (u32, u32),
    network: bool,
    environment: BTreeMap<String, String>,
    folder: PathBuf,
    /// The program and its arguments.
    command: Vec<String>,
}

impl Sandbox {
    /// A sandbox by one of these tools; `None` if there is none of them, or nobody who has images.
    pub(super) fn find(policy: &Policy, tools: &[&'static str]) -> Option<Self> {
        policy.images.as_ref()?;
        let found = tools.iter().filter_map(|tool| Some((*tool, super::container::in_path(tool)?)));
        let tools: Vec<_> = found.collect();
        (!tools.is_empty()).then(|| Self {
            tools,
            first: AtomicUsize::new(0),
            hierarchy: OnceLock::new(),
            scopes: OnceLock::new(),
        })
    }

    fn image(call: &Call) -> Result<LocalImage> {
        let images = call.policy.images.as_ref().expect("there is no sandbox without");
        images.image(&image(call).image, call.policy.pull)
    }

    /// What bounds a program, the strongest that can be had.
    fn bound(&self, policy: &Policy) -> Result<Bound> {
        let hierarchy = self.hierarchy.get_or_init(|| {
            let found = Hierarchy::find();
            found.iter().for_each(Hierarchy::remove_abandoned);
            found
        });
        let why = match hierarchy.as_ref().map(|hierarchy| hierarchy.group(&policy.limits)) {
            Some(Ok(group)) => return Ok(Bound::Group(group)),
            Some(Err(error)) => format!("a control group cannot be made: {error}"),
            None => "this process may not make control groups".to_owned(),
        };
        if let Some(systemd_run) = self.scopes.get_or_init(|| scopes(&policy.limits)) {
            return Ok(Bound::Scope(systemd_run.clone()));
        }
        match policy.limits_of_each_process {
            true => Ok(Bound::EachProcess),
            false => Err(Diagnostic::error(
                "sandbox-no-limits",
                "the memory and the processes of a function cannot be bounded on this machine",
            )
            .note(why, Span::NONE)
            .help("run krm where it may make control groups: as root, or where systemd manages your session")
            .help("if limits on each process will do, set KRM_SANDBOX_LIMITS=each-process")),
        }
    }

    fn run_in(&self, room: &Room, call: &Call) -> Result<Output> {
        let start = self.first.load(Ordering::Relaxed);
        let mut faults: Vec<Diagnostic> = Vec::new();
        for (number, (tool, binary)) in self.tools.iter().enumerate().skip(start) {
            let output = match *tool {
                "bwrap" => bwrap::run(binary, room, self.bound(call.policy)?, call),
                _ => oci::run(tool, binary, room, call),
            };
            match output {
                Err(fault) => faults.push(*fault),
                Ok(output) => {
                    self.first.store(number, Ordering::Relaxed);
                    return Ok(output);
                }
            }
        }
        let mut faults = faults.into_iter();
        let first = faults.next().unwrap_or_else(|| *failed("krm", "no tool is left"));
        Err(faults.fold(first, |error, fault| error.note(fault.message().to_owned(), Span::NONE)))
    }
}

/// What came of a program, or why a tool cannot make a sandbox here: another one may.
type Tried = std::result::Result<Output, Box<Diagnostic>>;

fn failed(tool: &str, said: &str) -> Box<Diagnostic> {
    let error = Diagnostic::error(
        "sandbox-failed",
        format!("`{tool}` cannot make a sandbox on this machine: {said}"),
    )
    .help("an ordinary user needs bubblewrap 0.8 and a kernel that lets users make namespaces")
    .help("root needs the right to mount: in a container, run krm as another user");
    Box::new(error)
}

fn no_supervisor() -> Box<Diagnostic> {
    failed("krm", "it has no program that keeps watch over others")
}

/// The program that asks for groups, if there is a service manager that makes some.
fn scopes(limits: &Limits) -> Option<PathBuf> {
    let systemd_run = super::container::in_path("systemd-run")?;
    let mut command = Command::new(&systemd_run);
    command.args(scope_options(limits)).args(["--", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then_some(systemd_run)
}

fn scope_options(limits: &Limits) -> Vec<String> {
    let manager = if rustix::process::getuid().is_root() { "--system" } else { "--user" };
    let options =
        [manager, "--scope", "--quiet", "--collect", "--property=MemorySwapMax=0"].map(String::from);
    let mut options = options.to_vec();
    options.push(format!("--property=MemoryMax={}", limits.memory));
    options.push(format!("--property=TasksMax={}", limits.processes));
    options
}

/// How many processes and threads this user has: the kernel counts those of a sandbox with them.
fn processes_of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::getuid().as_raw();
    let ours = fs::read_dir("/proc").into_iter().flatten().flatten().filter(|entry| {
        entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
            && entry.metadata().is_ok_and(|meta| meta.uid() == user)
    });
    ours.map(|entry| fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64)).sum()
}

impl Room {
    fn new(call: &Call, image: LocalImage) -> Result<Self> {
        let (program, policy) = (super::container::image(call), call.policy);
        let network = program.network && policy.network;
        if network && policy.network_name.as_deref().is_some_and(|name| name != "host") {
            return Err(Diagnostic::error(
                "sandbox-no-such-network",
                "without a container engine there is the network of this machine, and no other",
            )
            .help("leave out `--network-name`, or choose an engine by KRM_FN_RUNTIME"));
        }
        let nobody = find_nobody(&image.root);
        let user = match policy.as_current_user {
            true => (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
            false => nobody.as_ref().map_or((NOBODY, NOBODY), |nobody| nobody.user),
        };
        let home = nobody.filter(|nobody| nobody.user == user).map_or("/".to_owned(), |nobody| nobody.home);
        let mut command = image.entrypoint.clone();
        command.extend(if program.args.is_empty() { &image.command } else { &program.args }.iter().cloned());
        if command.is_empty() {
            let message = format!("the image `{}` does not say which program to start", program.image);
            return Err(Diagnostic::error("image-no-program", message)
                .help("give the image an ENTRYPOINT, or name the program after it"));
        }
        let folder = PathBuf::from(if image.folder.is_empty() { "/" } else { &image.folder });
        let folder = root::resolve(&image.root, &folder).unwrap_or(folder);
        let steps = root::steps(&image.root, wanted(call, &folder, network)?)?;
        Ok(Self {
            steps,
            user,
            network,
            environment: environment(call, &image, home),
            folder,
            command,
            image,
        })
    }
}

/// What is mounted into the image.
fn wanted(call: &Call, folder: &Path, network: bool) -> Result<Vec<(PathBuf, What)>> {
    let size = call.policy.limits.memory;
    let mut wanted = vec![
        (PathBuf::from("/proc"), What::Proc),
        (PathBuf::from("/dev"), What::Devices),
        (PathBuf::from("/dev/shm"), What::Tmpfs { mode: 0o1777, size: SHARED_MEMORY.min(size) }),
        // The one place to write to; shells need it for here-documents.
        (PathBuf::from("/tmp"), What::Tmpfs { mode: 0o1777, size }),
    ];
    if network {
        let files = ["/etc/resolv.conf", "/etc/hosts"].map(PathBuf::from).into_iter();
        let files = files.filter(|file| file.exists());
        wanted.extend(files.map(|file| (file.clone(), What::Bind { source: file, writable: false })));
    }
    for mount in mounts(call) {
        let target = PathBuf::from(&mount.target);
        let what = match mount.kind.as_str() {
            "" | "bind" => {
                let source = PathBuf::from(&mount.source);
                if !source.exists() {
                    let message = format!("`{}` is to be mounted, and does not exist", source.display());
                    return Err(Diagnostic::error("sandbox-no-source", message)
                        .help("correct the source of the mount"));
                }
                What::Bind { source, writable: mount.writable }
            }
            "tmpfs" => What::Tmpfs { mode: 0o1777, size },
            kind => {
                let message = format!("a mount of type `{kind}` needs a container engine");
                return Err(Diagnostic::error("sandbox-mount-type", message)
                    .help("use `bind` or `tmpfs`, or choose an engine by KRM_FN_RUNTIME"));
            }
        };
        wanted.push((target, what));
    }
    wanted.push((folder.to_owned(), What::Folder));
    wanted.retain(|(target, what)| *what != What::Folder || target != Path::new("/"));
    Ok(wanted)
}

/// Variables: what every container has, the image's own, and those of the call.
fn environment(call: &Call, image: &LocalImage, home: String) -> BTreeMap<String, String> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let mut all = BTreeMap::from([("PATH".to_owned(), path.to_owned()), ("HOME".to_owned(), home)]);
    let own = image.env.iter().filter_map(|text| text.split_once('='));
    all.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    for var in call.environment() {
        if let Some(value) = var.value.or_else(|| std::env::var(&var.name).ok()) {
            all.insert(var.name, value);
        }
    }
    all
}

/// Nobody, as an image has him.
struct Nobody {
    user: (u32, u32),
    home: String,
}

fn find_nobody(image: &Path) -> Option<Nobody> {
    let file = root::resolve(image, Path::new("/etc/passwd")).ok()?;
    let mut text = String::new();
    let file = image.join(root::inside(&file));
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    fs::File::open(file).ok()?.take(1 << 20).read_to_string(&mut text).ok()?;
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, user, group, _, home, ..] = *fields else { return None };
        let user = (user.parse().ok()?, group.parse().ok()?);
        (name == "nobody").then(|| Nobody { user, home: home.to_owned() })
    })
}

impl Runner for Sandbox {
    fn describe(&self, call: &Call) -> Option<Action> {
        describe_call(call, |_| Some(Self::image(call).ok()?.digest))
    }

    fn run(&self, call: &Call) -> Result<Output> {
        let image = match Self::image(call) {
            Ok(image) => image,
            // As an engine ends that cannot pull an image.
            Err(fault) => {
                return Ok(Output {
                    stdout: Vec::new(),
                    stderr: Vec::new(),
                    stderr_dropped: 0,
                    status: Status::Exited(125),
                    elapsed: Duration::ZERO,
                    cached: false,
                    fault: Some(fault),
                });
            }
        };
        self.run_in(&Room::new(call, image)?, call)
    }
}
