//! The file system a program in a sandbox sees: an image, and what is mounted into it.
//!
//! An image is shared by everyone who runs it and never written to, not even to make a folder that something is mounted
//! on. Where such a folder is missing, the folders around it are made again, and what the image has in them is mounted one
//! by one. Links in the image are followed here, within the image: the tools are given paths without any.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use krm_yaml::{Diagnostic, Result};

/// What is to be seen at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Bind {
        source: PathBuf,
        writable: bool,
    },
    Tmpfs {
        mode: u32,
        size: u64,
    },
    Proc,
    Devices,
    /// A folder, which may be empty.
    Folder,
}

/// How to make the file system, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RootStep {
    /// A new folder.
    Folder(PathBuf),
    /// A link of the image, and what it says.
    Link(PathBuf, PathBuf),
    /// Something of the image, at the same path in it.
    Image(PathBuf),
    Mount(PathBuf, What),
}

/// How many links a path may lead through, as in the kernel.
const MOST_LINKS: usize = 40;

/// The steps to an image with all this mounted.
pub(super) fn steps(image: &Path, wanted: Vec<(PathBuf, What)>) -> Result<Vec<RootStep>> {
    let mut made = BTreeSet::new();
    let mut mounts: Vec<(PathBuf, What)> = Vec::new();
    for (target, what) in wanted {
        let target = resolve(image, &target).map_err(|why| refused(&target, &why))?;
        if target == Path::new("/") {
            return Err(refused(&target, "the root cannot be replaced"));
        }
        match mounts.iter().rfind(|(outer, _)| target.starts_with(outer)) {
            Some((outer, there)) => {
                nested(&target, outer, there).map_err(|why| refused(&target, &why))?;
            }
            None if !exists(&image.join(inside(&target))) => {
                make_room(image, &target, &what, &mut made).map_err(|why| refused(&target, &why))?;
            }
            None => {}
        }
        mounts.push((target, what));
    }
    let mut steps = Vec::new();
    if made.is_empty() {
        steps.push(RootStep::Image("/".into()));
    } else {
        made.insert(PathBuf::from("/"));
        for folder in &made {
            list(image, folder, &made, &mounts, &mut steps)?;
        }
    }
    let visible = mounts.into_iter().filter(|(_, what)| *what != What::Folder);
    steps.extend(visible.map(|(target, what)| RootStep::Mount(target, what)));
    Ok(steps)
}

fn refused(target: &Path, why: &str) -> Diagnostic {
    Diagnostic::error("sandbox-mount", format!("nothing can be mounted at `{}`: {why}", target.display()))
        .help("choose another path in the container")
}

/// Something may be mounted into what was mounted before only where there is a place for it: nothing is made in folders
/// of this machine, and no link in them is followed.
fn nested(target: &Path, outer: &Path, there: &What) -> Result<(), String> {
    let What::Bind { source, .. } = there else {
        return match there {
            What::Tmpfs { .. } => Ok(()),
            What::Devices if target == Path::new("/dev/shm") => Ok(()),
            _ => Err(format!("`{}` is the system's", outer.display())),
        };
    };
    let mut path = source.clone();
    for part in target.strip_prefix(outer).unwrap_or(target).components() {
        path.push(part);
        match path.symlink_metadata() {
            Ok(meta) if !meta.is_symlink() => {}
            _ => return Err(format!("`{}` does not exist, or is a link", path.display())),
        }
    }
    Ok(())
}

/// Notes the folders that have to be made, so that there is a place for the target.
fn make_room(image: &Path, target: &Path, what: &What, made: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let mut folders: Vec<&Path> = target.ancestors().skip(1).collect();
    folders.reverse();
    for folder in folders {
        let there = image.join(inside(folder));
        if exists(&there) && !there.is_dir() {
            return Err(format!("`{}` is not a folder in the image", folder.display()));
        }
        made.insert(folder.to_owned());
    }
    if *what == What::Folder {
        made.insert(target.to_owned());
    }
    Ok(())
}

/// What the image has in a folder that is made again.
fn list(
    image: &Path,
    folder: &Path,
    made: &BTreeSet<PathBuf>,
    mounts: &[(PathBuf, What)],
    steps: &mut Vec<RootStep>,
) -> Result<()> {
    if folder != Path::new("/") {
        steps.push(RootStep::Folder(folder.to_owned()));
    }
    let Ok(entries) = fs::read_dir(image.join(inside(folder))) else { return Ok(()) };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let is_covered = mounts.iter().any(|(target, what)| *target == path && *what != What::Folder);
        if made.contains(&path) || is_covered {
            continue;
        }
        if path.to_str().is_none() {
            return Err(refused(&path, "the image has a file beside it whose name is not text"));
        }
        let there = image.join(inside(&path));
        steps.push(match fs::read_link(&there) {
            Ok(text) => RootStep::Link(path, text),
            Err(_) => RootStep::Image(path),
        });
    }
    Ok(())
}

/// Where a path leads within an image. The last part may not exist, and those before it neither.
pub(super) fn resolve(image: &Path, path: &Path) -> Result<PathBuf, String> {
    let mut waiting: Vec<PathBuf> = path.components().rev().map(|part| part.as_os_str().into()).collect();
    let mut reached = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = waiting.pop() {
        match part.components().next() {
            Some(Component::RootDir) => reached = "/".into(),
            Some(Component::ParentDir) => drop(reached.pop()),
            Some(Component::Normal(name)) => {
                let next = reached.join(name);
                match fs::read_link(image.join(inside(&next))) {
                    Ok(text) => {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err("the image has links there that lead in a circle".into());
                        }
                        waiting.extend(text.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                    }
                    Err(_) => reached = next,
                }
            }
            _ => {}
        }
    }
    Ok(reached)
}

/// A path without the slash at its beginning.
pub(super) fn inside(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::super::tool::Scratch;
    use super::*;

    fn image() -> Scratch {
        let image = Scratch::new("krm-root").unwrap();
        for folder in ["bin", "etc/ssl", "proc", "tmp"] {
            fs::create_dir_all(image.path().join(folder)).unwrap();
        }
        fs::write(image.path().join("etc/passwd"), "").unwrap();
        symlink("bin", image.path().join("sbin")).unwrap();
        symlink("/etc/../../../outside", image.path().join("evil")).unwrap();
        symlink("loop", image.path().join("loop")).unwrap();
        image
    }

    fn bind(source: &str) -> What {
        What::Bind { source: source.into(), writable: false }
    }

    #[test]
    fn an_image_with_room_for_everything_is_mounted_as_it_is() {
        let image = image();
        let wanted = vec![("/proc".into(), What::Proc), ("/etc/".into(), What::Folder)];
        let expected = [RootStep::Image("/".into()), RootStep::Mount("/proc".into(), What::Proc)];
        assert_eq!(steps(image.path(), wanted).unwrap(), expected);
    }

    #[test]
    fn room_is_made_without_touching_the_image() {
        let image = image();
        let wanted = vec![("/proc".into(), What::Proc), ("/etc/new/file".into(), bind("/data"))];
        let expected = [
            RootStep::Image("/bin".into()),
            RootStep::Link("/evil".into(), "/etc/../../../outside".into()),
            RootStep::Link("/loop".into(), "loop".into()),
            RootStep::Link("/sbin".into(), "bin".into()),
            RootStep::Image("/tmp".into()),
            RootStep::Folder("/etc".into()),
            RootStep::Image("/etc/passwd".into()),
            RootStep::Image("/etc/ssl".into()),
            RootStep::Folder("/etc/new".into()),
            RootStep::Mount("/proc".into(), What::Proc),
            RootStep::Mount("/etc/new/file".into(), bind("/data")),
        ];
        assert_eq!(steps(image.path(), wanted).unwrap(), expected);
        assert!(!image.path().join("etc/new").exists());
    }

    #[test]
    fn links_stay_within_the_image() {
        let image = image();
        for (path, leads_to) in [
            ("/sbin/x", "/bin/x"),
            ("/evil/x", "/outside/x"),
            ("/../../x", "/x"),
            ("relative/./x", "/relative/x"),
        ] {
            assert_eq!(resolve(image.path(), Path::new(path)).unwrap(), Path::new(leads_to));
        }
        let wrong = |target: &str| {
            let error = steps(image.path(), vec![(target.into(), bind("/data"))]).unwrap_err();
            assert_eq!(error.code(), "sandbox-mount", "{target}");
        };
        wrong("/loop/x");
        wrong("/etc/passwd/x");
        wrong("/");
        wrong("/sbin/..");
    }

    #[test]
    fn nothing_is_made_in_what_is_mounted() {
        let (image, data) = (image(), Scratch::new("krm-root").unwrap());
        fs::create_dir(data.path().join("there")).unwrap();
        symlink("/", data.path().join("link")).unwrap();
        let below = |name: &str| {
            let target = PathBuf::from("/local").join(name);
            steps(
                image.path(),
                vec![("/local".into(), bind(data.path().to_str().unwrap())), (target, bind("/data"))],
            )
        };
        assert!(below("there").is_ok());
        assert_eq!(below("missing").unwrap_err().code(), "sandbox-mount");
        assert_eq!(below("link/etc").unwrap_err().code(), "sandbox-mount");
    }
}
