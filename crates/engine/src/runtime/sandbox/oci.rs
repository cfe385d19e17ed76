//! A sandbox by crun or runc, which need to be started by root.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::root::{RootStep, What, inside};
use super::{Room, Tried};
use crate::runtime::container::container_name;
use crate::runtime::tool::Scratch;
use crate::runtime::{Call, Status, process};

pub(super) fn run(tool: &str, binary: &Path, room: &Room, call: &Call) -> Tried {
    if !rustix::process::getuid().is_root() {
        return Err(super::failed(tool, "only root can use it: install bubblewrap for other users"));
    }
    let bundle = Scratch::new("krm-bundle").map_err(Box::new)?;
    let root = bundle.path().join("root");
    let made = make(&root, room).and_then(|mounts| {
        // An image with room for everything needs no root around it.
        let is_whole = room.steps.first() == Some(&RootStep::Image("/".into()));
        let config = config(if is_whole { &room.image.root } else { &root }, room, mounts, call);
        fs::write(bundle.path().join("config.json"), config.to_string())
    });
    made.map_err(|error| super::failed(tool, &error.to_string()))?;
    let name = container_name();
    let mut command = Command::new(binary);
    // What the tool itself has to say is kept apart from what the program says on standard error.
    let log = bundle.path().join("log");
    command.arg("--log").arg(&log).args(["--log-format", "json"]);
    command.arg("run").arg("--bundle").arg(bundle.path()).arg(&name);
    let stop = [binary.to_string_lossy().into_owned(), "delete".into(), "--force".into(), name];
    let supervisor = call.policy.supervisor.as_deref().ok_or_else(super::no_supervisor)?;
    let limits = &call.policy.limits;
    let output = process::run(command, &stop, call.input.clone(), limits, Some(supervisor))
        .map_err(|error| super::failed(tool, &error.to_string()))?;
    match logged_error(&log) {
        Some(said) if output.status == Status::Exited(1) && output.stdout.is_empty() => {
            Err(super::failed(tool, said.trim_start_matches("runc run failed: ")))
        }
        _ => Ok(output),
    }
}

/// The last error that a tool wrote to its log.
fn logged_error(log: &Path) -> Option<String> {
    let text = fs::read_to_string(log).ok()?;
    text.lines().rev().find_map(|line| {
        let entry: Value = serde_json::from_str(line).ok()?;
        (entry["level"] == "error").then(|| entry["msg"].as_str().map(str::to_owned))?
    })
}

/// Makes the folders and links of the root; gives what is to be mounted.
fn make(root: &Path, room: &Room) -> io::Result<Vec<Value>> {
    let folder = |path: &Path| {
        fs::create_dir_all(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    folder(root)?;
    let bind = |source: &Path, target: &Path, option: &str| {
        let options = ["rbind", "nosuid", "nodev", "rprivate", option];
        json!({"destination": target, "source": source, "type": "bind", "options": options})
    };
    let mut mounts = Vec::new();
    for step in &room.steps {
        match step {
            RootStep::Folder(path) => folder(&root.join(inside(path)))?,
            RootStep::Link(path, to) => symlink(to, root.join(inside(path)))?,
            RootStep::Image(path) if path == Path::new("/") => {}
            RootStep::Image(path) => mounts.push(bind(&room.image.root.join(inside(path)), path, "ro")),
            RootStep::Mount(path, What::Bind { source, writable }) => {
                mounts.push(bind(source, path, if *writable { "rw" } else { "ro" }));
            }
            RootStep::Mount(path, What::Tmpfs { mode, size }) => {
                let options = ["nosuid", "nodev", &format!("mode={mode:o}"), &format!("size={size}")];
                mounts.push(
                    json!({"destination": path, "source": "tmpfs", "type": "tmpfs", "options": options}),
                );
            }
            RootStep::Mount(path, What::Proc) => {
                mounts.push(json!({"destination": path, "source": "proc", "type": "proc"}));
            }
            RootStep::Mount(path, What::Devices) => {
                let options = ["nosuid", "strictatime", "mode=755", "size=65536k"];
                mounts.push(
                    json!({"destination": path, "source": "tmpfs", "type": "tmpfs", "options": options}),
                );
            }
            RootStep::Mount(_, What::Folder) => {}
        }
    }
    Ok(mounts)
}

/// The configuration, as the OCI runtime specification has it.
fn config(root: &Path, room: &Room, mounts: Vec<Value>, call: &Call) -> Value {
    let limits = &call.policy.limits;
    let mut namespaces = vec!["pid", "ipc", "uts", "mount", "cgroup"];
    if !room.network {
        namespaces.push("network");
    }
    let namespaces: Vec<Value> = namespaces.iter().map(|kind| json!({"type": kind})).collect();
    let environment: Vec<String> =
        room.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let none: [&str; 0] = [];
    json!({
        "ociVersion": "1.0.2",
        "hostname": "krm",
        "root": {"path": root, "readonly": true},
        "process": {
            "terminal": false,
            "user": {"uid": room.user.0, "gid": room.user.1},
            "args": room.command,
            "env": environment,
            "cwd": room.folder,
            "noNewPrivileges": true,
            "capabilities": {
                "bounding": none, "effective": none, "permitted": none, "inheritable": none, "ambient": none,
            },
        },
        "mounts": mounts,
        "linux": {
            "namespaces": namespaces,
            "resources": {
                "memory": {"limit": limits.memory, "swap": limits.memory},
                "pids": {"limit": limits.processes},
                "devices": [{"allow": false, "access": "rwm"}],
            },
            "seccomp": seccomp(),
            "maskedPaths": [
                "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/scsi",
            ],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    })
}

/// System calls by which a program could get into namespaces of its own, or at what the kernel keeps for others.
fn seccomp() -> Value {
    const NEW_USERS: u32 = 0x1000_0000;
    const NOT_PERMITTED: u32 = 1;
    const NOT_IMPLEMENTED: u32 = 38;
    let refused = [
        "unshare",
        "setns",
        "mount",
        "umount2",
        "pivot_root",
        "add_key",
        "request_key",
        "keyctl",
        "bpf",
        "perf_event_open",
        "userfaultfd",
        "kexec_load",
        "kexec_file_load",
        "init_module",
        "finit_module",
        "delete_module",
        "open_by_handle_at",
        "io_uring_setup",
        "ptrace",
    ];
    json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [
            {"names": refused, "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_PERMITTED},
            {
                "names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_PERMITTED,
                "args": [{"index": 0, "value": NEW_USERS, "valueTwo": NEW_USERS, "op": "SCMP_CMP_MASKED_EQ"}],
            },
            // What it is asked for is in memory, where it cannot be looked at; libraries then use the call above.
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_IMPLEMENTED},
        ],
    })
}
