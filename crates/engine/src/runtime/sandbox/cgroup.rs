//! Limits on memory and processes, by control groups.
//!
//! A group is made below the one this process is in (version 1), or beside it where the one above hands out the
//! controllers (version 2). Where neither may be made, a service manager can be asked for a scope.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::policy::Limits;

/// A group for one call; removed with it.
#[derive(Debug)]
pub(super) struct Cgroup {
    /// One folder, or one for each controller.
    folders: Vec<PathBuf>,
    /// The folders of the groups this process is in, in the same order.
    homes: Vec<PathBuf>,
}

/// Where groups can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hierarchy {
    /// The folders of the present groups for memory and for processes.
    One { memory: PathBuf, pids: PathBuf },
    /// The folder to make groups in, and that of the present group.
    Two { above: PathBuf, home: PathBuf },
}

/// What the names of groups begin with; the number of the process that made them follows.
const NAME: &str = "krm-fn-";

impl Hierarchy {
    pub(super) fn find() -> Option<Self> {
        let read = |path: &str| fs::read_to_string(path).ok();
        Self::of(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)
    }

    /// By what the kernel says about this process and what is mounted.
    fn of(groups: &str, mounts: &str) -> Option<Self> {
        let folder = |controller: &str| {
            let path = groups.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':').skip(1);
                let names = fields.next()?;
                let is_it = names.split(',').any(|name| name == controller);
                is_it.then(|| fields.next()).flatten()
            })?;
            mounts.lines().find_map(|line| {
                let (before, after) = line.split_once(" - ")?;
                let mut kind = after.split(' ');
                let name = kind.next()?;
                let options = kind.nth(1)?;
                let is_it = match controller {
                    "" => name == "cgroup2",
                    _ => name == "cgroup" && options.split(',').any(|option| option == controller),
                };
                let mut fields = before.split(' ').skip(3);
                let (root, mounted) = is_it.then(|| Some((fields.next()?, fields.next()?)))??;
                let below = Path::new(path).strip_prefix(root).ok()?;
                Some(Path::new(mounted).join(below))
            })
        };
        if let (Some(memory), Some(pids)) = (folder("memory"), folder("pids")) {
            return Some(Self::One { memory, pids });
        }
        let home = folder("")?;
        let hands_out = |folder: &Path| {
            let enabled = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
            let mut enabled = enabled.split_whitespace();
            ["memory", "pids"].iter().all(|wanted| enabled.clone().any(|name| name == *wanted))
                && enabled.next().is_some()
        };
        // A group that hands out controllers has no processes of its own, except the topmost.
        let above = [Some(home.as_path()), home.parent()].into_iter().flatten().find(|f| hands_out(f))?;
        Some(Self::Two { above: above.to_owned(), home })
    }

    /// Makes a group with these limits. An error says that this user may not, or that the limits do not take.
    pub(super) fn group(&self, limits: &Limits) -> io::Result<Cgroup> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAME}{}-{count}", std::process::id());
        let (memory, processes) = (limits.memory.to_string(), limits.processes.to_string());
        match self {
            Self::One { memory: in_memory, pids } => {
                let cgroup = Cgroup::make(&[in_memory, pids], &name, vec![in_memory.clone(), pids.clone()])?;
                cgroup.set(0, "memory.limit_in_bytes", &memory)?;
                // Without accounting for swap there is no such file, and nothing to bound.
                if cgroup.folders[0].join("memory.memsw.limit_in_bytes").exists() {
                    cgroup.set(0, "memory.memsw.limit_in_bytes", &memory)?;
                }
                cgroup.set(1, "pids.max", &processes)?;
                Ok(cgroup)
            }
            Self::Two { above, home } => {
                let cgroup = Cgroup::make(&[above], &name, vec![home.clone()])?;
                cgroup.set(0, "memory.max", &memory)?;
                if cgroup.folders[0].join("memory.swap.max").exists() {
                    cgroup.set(0, "memory.swap.max", "0")?;
                }
                cgroup.set(0, "pids.max", &processes)?;
                Ok(cgroup)
            }
        }
    }

    /// Removes groups of processes that are gone: a killed one removes nothing.
    pub(super) fn remove_abandoned(&self) {
        let parents = match self {
            Self::One { memory, pids } => vec![memory, pids],
            Self::Two { above, .. } => vec![above],
        };
        for entry in parents.into_iter().filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten() {
            let name = entry.file_name();
            let of = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next());
            if of.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

impl Cgroup {
    fn make(parents: &[&PathBuf], name: &str, homes: Vec<PathBuf>) -> io::Result<Self> {
        let mut cgroup = Self { folders: Vec::new(), homes };
        for parent in parents {
            let folder = parent.join(name);
            fs::create_dir(&folder)?;
            cgroup.folders.push(folder);
        }
        Ok(cgroup)
    }

    fn set(&self, number: usize, file: &str, value: &str) -> io::Result<()> {
        let file = self.folders[number].join(file);
        fs::write(&file, value)?;
        // The kernel rounds memory down to whole pages.
        let taken: Option<u64> = fs::read_to_string(&file)?.trim().parse().ok();
        let wanted: u64 = value.parse().unwrap_or_default();
        match taken.is_some_and(|taken| taken <= wanted && wanted - taken < (1 << 20)) {
            true => Ok(()),
            false => Err(io::Error::other(format!("`{}` does not take a limit", file.display()))),
        }
    }

    /// The files by which a process joins the group.
    pub(super) fn doors(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.join("cgroup.procs")).collect()
    }

    /// The files by which it goes back.
    pub(super) fn way_back(&self) -> Vec<PathBuf> {
        self.homes.iter().map(|folder| folder.join("cgroup.procs")).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Those who died may take a moment to be gone. What is left then is removed by a later run.
            for _ in 0..20 {
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

#[cfg(test)]
mod tests {
    use super::super::super::tool::Scratch;
    use super::*;

    #[test]
    fn groups_of_either_version_are_found() {
        let groups = "9:pids:/\n4:memory,x:/a/b\n0::/c\n";
        let mounts = "30 29 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory,x\n\
                      31 29 0:27 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids\n";
        let (memory, pids) = ("/sys/fs/cgroup/memory/a/b".into(), "/sys/fs/cgroup/pids".into());
        assert_eq!(Hierarchy::of(groups, mounts), Some(Hierarchy::One { memory, pids }));
        // In a container, its own group is what is mounted.
        let inner = mounts.replace(" / /sys/fs/cgroup/memory ", " /a /sys/fs/cgroup/memory ");
        let Some(Hierarchy::One { memory, .. }) = Hierarchy::of(groups, &inner) else { panic!() };
        assert_eq!(memory, Path::new("/sys/fs/cgroup/memory/b"));

        let folder = Scratch::new("krm-cgroup").unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("slice/scope")).unwrap();
        let mounts = format!("30 29 0:26 / {} rw - cgroup2 cgroup2 rw\n", root.display());
        let groups = "0::/slice/scope\n";
        assert_eq!(Hierarchy::of(groups, &mounts), None, "nothing hands out controllers");
        fs::write(root.join("slice/cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let (above, home) = (root.join("slice"), root.join("slice/scope"));
        let found = Hierarchy::of(groups, &mounts).unwrap();
        assert_eq!(found, Hierarchy::Two { above: above.clone(), home });
        let limits = Limits { memory: 1 << 26, processes: 7, ..Limits::default() };
        let group = found.group(&limits).unwrap();
        let read = |name: &str| fs::read_to_string(group.folders[0].join(name)).unwrap();
        assert_eq!((read("memory.max"), read("pids.max")), ("67108864".into(), "7".into()));
        assert_eq!(group.way_back(), [root.join("slice/scope/cgroup.procs")]);
    }
}
