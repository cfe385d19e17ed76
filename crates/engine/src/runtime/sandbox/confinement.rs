//! What a supervisor does before it starts a program in a sandbox, so that the tool that makes the sandbox begins with no
//! more rights than the program is to have.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::fs::MemfdFlags;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

/// Where the supervisor shows what the user of the program could not reach. Only it and what it starts see that.
pub(super) const STAGE: &str = "/tmp";

/// How a program is confined.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Confinement {
    /// Files by which a process joins the groups that bound it, and those by which it goes back.
    pub(super) doors: Vec<PathBuf>,
    pub(super) way_back: Vec<PathBuf>,
    /// Who starts the program, by number; only root can say.
    pub(super) user: Option<(u32, u32)>,
    /// Files and folders to be shown in [`STAGE`], by their index.
    pub(super) stage: Vec<PathBuf>,
    /// Limits on each process, if there is no group.
    pub(super) memory: Option<u64>,
    pub(super) processes: Option<u64>,
    /// Arguments that are handed over by a file: those of a process can be read by everyone.
    pub(super) arguments: Vec<String>,
    /// The program and its own arguments.
    pub(super) program: Vec<String>,
    /// Variables the tool itself needs.
    pub(super) variables: Vec<(String, String)>,
}

impl Confinement {
    /// Starts the tool, confined, with `--args`, the number of an open file, and the program.
    pub(in super::super) fn spawn(&self, mut command: Command) -> io::Result<Child> {
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir("/");
        if let Some((user, group)) = self.user {
            self.set_stage()?;
            // The standard library drops all other groups when it changes the user.
            command.uid(user).gid(group);
        }
        let limit = |resource: Resource, most: Option<u64>| match most {
            Some(most) => {
                let hard = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
                setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })
            }
            None => Ok(()),
        };
        limit(Resource::Data, self.memory)?;
        limit(Resource::Nproc, self.processes)?;
        // Without the flag that would close it: the program inherits it.
        let mut arguments = File::from(rustix::fs::memfd_create("arguments", MemfdFlags::empty())?);
        for argument in &self.arguments {
            arguments.write_all(argument.as_bytes())?;
            arguments.write_all(&[0])?;
        }
        arguments.rewind()?;
        command.arg("--args").arg(arguments.as_raw_fd().to_string()).arg("--").args(&self.program);
        for door in &self.doors {
            fs::write(door, "0")?;
        }
        let child = command.spawn();
        // What keeps watch is not counted, and not ended for want of memory.
        for door in &self.way_back {
            let _ = fs::write(door, "0");
        }
        child
    }

    /// Shows files in a place that the program's user can reach. Nobody else sees it there.
    fn set_stage(&self) -> io::Result<()> {
        // SAFETY: the table of open files, which others could rely on, stays shared.
        #[expect(unsafe_code, reason = "a namespace of mounts of its own")]
        unsafe {
            rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)?;
        }
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        // Opened first: the stage may hide them.
        let sources: Vec<File> = self.stage.iter().map(open_path).collect::<io::Result<_>>()?;
        mount("krm", STAGE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755,size=1m")?;
        for (number, source) in sources.iter().enumerate() {
            let place = Path::new(STAGE).join(number.to_string());
            match source.metadata()?.is_dir() {
                true => fs::create_dir(&place)?,
                false => drop(File::create(&place)?),
            }
            mount_bind_recursive(format!("/proc/self/fd/{}", source.as_raw_fd()), &place)?;
        }
        Ok(())
    }

    /// Removes the groups. Those who died may take a moment to be gone.
    pub(in super::super) fn remove(&self) {
        for folder in self.doors.iter().filter_map(|door| door.parent()) {
            for _ in 0..50 {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Opens a file without reading it, as a device or pipe could not be.
fn open_path(path: &PathBuf) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    Ok(File::from(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?))
}
