//! A sandbox by bubblewrap, which needs no rights of its own.
//!
//! Started by root, everything is done as the user the program is to be: root only shows it the files, since that user
//! may not be able to reach them.

use std::path::{Path, PathBuf};
use std::process::Command;

use krm_yaml::{Diagnostic, Span};

use super::cgroup::Cgroup;
use super::confinement::{Confinement, STAGE};
use super::root::{RootStep, What, inside};
use super::{Bound, Room, Tried};
use crate::runtime::policy::Limits;
use crate::runtime::{Call, Output, Status, supervisor};

pub(super) fn run(bwrap: &Path, room: &Room, bound: Bound, call: &Call) -> Tried {
    let is_root = rustix::process::getuid().is_root();
    let mut stage = Vec::new();
    let mut place = |source: &Path| match is_root {
        true => {
            let known = stage.iter().position(|there: &PathBuf| there == source);
            let number = known.unwrap_or_else(|| {
                stage.push(source.to_owned());
                stage.len() - 1
            });
            Path::new(STAGE).join(number.to_string())
        }
        false => source.to_owned(),
    };
    let arguments = arguments(room, &mut place);
    let limits = &call.policy.limits;
    let (mut command, cgroup, confined) = bounded(bwrap, bound, limits);
    let program = room.command.clone();
    let confinement =
        Confinement { user: is_root.then_some(room.user), stage, arguments, program, ..confined };
    command.env_clear();
    let itself = call.policy.supervisor.as_deref().ok_or_else(super::no_supervisor)?;
    let output = supervisor::run_confined(itself, &command, confinement, call.input.clone(), limits)
        .map_err(|error| super::failed("bwrap", &error.to_string()))?;
    drop(cgroup);
    read(output, room)
}

/// The command that starts bubblewrap within limits.
fn bounded(bwrap: &Path, bound: Bound, limits: &Limits) -> (Command, Option<Cgroup>, Confinement) {
    match bound {
        Bound::Group(cgroup) => {
            let (doors, way_back) = (cgroup.doors(), cgroup.way_back());
            let confinement = Confinement { doors, way_back, ..Confinement::default() };
            (Command::new(bwrap), Some(cgroup), confinement)
        }
        Bound::Scope(systemd_run) => {
            let mut command = Command::new(systemd_run);
            command.args(super::scope_options(limits)).arg("--").arg(bwrap);
            // It asks the manager of the user's services, and these say where that is.
            let variables = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];
            let variables =
                variables.iter().filter_map(|name| Some((name.to_string(), std::env::var(name).ok()?)));
            (command, None, Confinement { variables: variables.collect(), ..Confinement::default() })
        }
        Bound::EachProcess => {
            let confinement = Confinement {
                memory: Some(limits.memory),
                processes: Some(u64::from(limits.processes) + super::processes_of_this_user()),
                ..Confinement::default()
            };
            (Command::new(bwrap), None, confinement)
        }
    }
}

fn arguments(room: &Room, place: &mut dyn FnMut(&Path) -> PathBuf) -> Vec<String> {
    let mut args: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]);
    if !room.network {
        add(&["--unshare-net"]);
    }
    add(&["--uid", &room.user.0.to_string(), "--gid", &room.user.1.to_string()]);
    // No capability, and no namespace in which to get one.
    add(&["--cap-drop", "ALL", "--disable-userns"]);
    add(&["--die-with-parent", "--new-session", "--hostname", "krm", "--clearenv"]);
    for (name, value) in &room.environment {
        add(&["--setenv", name, value]);
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let image = place(&room.image.root);
    for step in &room.steps {
        match step {
            RootStep::Folder(path) => add(&["--dir", &text(path)]),
            RootStep::Link(path, to) => add(&["--symlink", &text(to), &text(path)]),
            RootStep::Image(path) => add(&["--ro-bind", &text(&image.join(inside(path))), &text(path)]),
            RootStep::Mount(path, What::Bind { source, writable }) => {
                let option = if *writable { "--bind" } else { "--ro-bind" };
                add(&[option, &text(&place(source)), &text(path)]);
            }
            RootStep::Mount(path, What::Tmpfs { mode, size }) => {
                add(&["--perms", &format!("{mode:o}"), "--size", &size.to_string(), "--tmpfs", &text(path)]);
            }
            RootStep::Mount(path, What::Proc) => add(&["--proc", &text(path)]),
            RootStep::Mount(path, What::Devices) => add(&["--dev", &text(path)]),
            RootStep::Mount(_, What::Folder) => {}
        }
    }
    // What was made for the mounts: the image is read-only already.
    add(&["--remount-ro", "/", "--remount-ro", "/dev", "--chdir", &text(&room.folder)]);
    args
}

/// What became of the program, as opposed to the tool.
fn read(output: Output, room: &Room) -> Tried {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said = stderr.trim().strip_prefix("bwrap: ").filter(|said| !said.contains('\n'));
    let Some(said) = said.filter(|_| output.status == Status::Exited(1) && output.stdout.is_empty()) else {
        return Ok(output);
    };
    if said.starts_with("execvp ") || said.starts_with("Can't chdir") {
        let program = room.command.first().map_or("", String::as_str);
        let message = format!("`{program}` of the image cannot be started");
        let fault = Diagnostic::error("image-not-started", message)
            .note(format!("bwrap says: {said}"), Span::NONE)
            .help("check the entry point of the image, and that it is of this machine's architecture");
        return Ok(Output { fault: Some(fault), ..output });
    }
    Err(super::failed("bwrap", said))
}
