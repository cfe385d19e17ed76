//! Layers of an image, unpacked one over the other.
//!
//! A layer says what it likes. It is written nowhere but below the root: names that lead elsewhere are refused, links of
//! earlier entries are followed within the root, and nothing is written through one. Devices are refused, and so are more
//! files or bytes than any image has.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use super::tar::{Tar, TarEntry, TarKind};

/// What an image may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub files: u64,
    pub bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { files: 500_000, bytes: 16 << 30 }
    }
}

/// What to do about folders of a path that do not exist.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Make,
    Leave,
}

/// Why a layer was not unpacked.
#[derive(Debug)]
pub enum Fault {
    /// It does what no layer may.
    Unsafe(String),
    TooLarge(String),
    /// It is not an archive, or not all of one.
    Malformed(String),
    /// The disk is full, or the like.
    Disk(io::Error),
}

/// How many links a path may lead through, as in the kernel.
const MOST_LINKS: usize = 40;

/// Unpacks a layer over those below; gives what it was read from, which may have more.
pub fn unpack<R: Read>(layer: R, root: &Path, budget: &mut Budget) -> Result<R, Fault> {
    let mut tar = Tar::new(layer);
    let mut unpacking = Unpacking { root, budget, fresh: HashSet::new() };
    while let Some(entry) = tar.next().map_err(unreadable)? {
        unpacking.take(&entry, &mut tar)?;
    }
    Ok(tar.into_inner())
}

/// An error of reading. Those of writing are noticed where something is written.
fn unreadable(error: io::Error) -> Fault {
    Fault::Malformed(error.to_string())
}

struct Unpacking<'u> {
    root: &'u Path,
    budget: &'u mut Budget,
    /// What this layer has made: it hides what is below, not its own.
    fresh: HashSet<PathBuf>,
}

/// Writes to a file and remembers that it was writing that failed.
struct Sink {
    file: File,
    failed: Option<io::Error>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Unpacking<'_> {
    fn take<R: Read>(&mut self, entry: &TarEntry, tar: &mut Tar<R>) -> Result<(), Fault> {
        let shown = String::from_utf8_lossy(&entry.path).into_owned();
        let parts = parts(&entry.path)
            .ok_or_else(|| Fault::Unsafe(format!("`{shown}` is not a path within the image")))?;
        let Some((name, folders)) = parts.split_last() else { return Ok(()) };
        let folder = self.folder(folders, &shown)?;
        if let Some(hidden) = name.as_bytes().strip_prefix(b".wh.") {
            return self.hide(&folder, hidden, &shown);
        }
        self.budget.files = self
            .budget
            .files
            .checked_sub(1)
            .ok_or_else(|| Fault::TooLarge("it has too many files".into()))?;
        let path = folder.join(name);
        let there = path.symlink_metadata().ok();
        if let Some(there) = &there
            && !(there.is_dir() && entry.kind == TarKind::Folder)
        {
            remove(&path).map_err(Fault::Disk)?;
        }
        match entry.kind {
            TarKind::File => self.file(&path, entry, tar, &shown)?,
            TarKind::Folder => {
                if there.is_none_or(|there| !there.is_dir()) {
                    fs::create_dir(&path).map_err(Fault::Disk)?;
                }
                // The one who keeps it must be able to look into it, and to remove it.
                let mode = (entry.mode & 0o777) | 0o700;
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(Fault::Disk)?;
            }
            TarKind::Link => symlink(OsStr::from_bytes(&entry.link), &path).map_err(Fault::Disk)?,
            TarKind::HardLink => self.hard_link(&path, entry, &shown)?,
            TarKind::Other => return Err(Fault::Unsafe(format!("`{shown}` is a device or a pipe"))),
        }
        if entry.kind != TarKind::HardLink
            && super::super::system::user() == 0
            && (entry.user, entry.group) != (0, 0)
        {
            lchown(&path, Some(entry.user), Some(entry.group)).map_err(Fault::Disk)?;
        }
        self.fresh.insert(path);
        Ok(())
    }

    fn file<R: Read>(
        &mut self,
        path: &Path,
        entry: &TarEntry,
        tar: &mut Tar<R>,
        shown: &str,
    ) -> Result<(), Fault> {
        self.budget.bytes = self
            .budget
            .bytes
            .checked_sub(entry.size)
            .ok_or_else(|| Fault::TooLarge(format!("`{shown}` has {} MiB", entry.size >> 20)))?;
        // Nothing is there: no link is followed. Rights to become someone else are left out.
        let mode = (entry.mode & 0o777) | 0o400;
        let file = File::options().write(true).create_new(true).mode(mode).open(path).map_err(Fault::Disk)?;
        file.set_permissions(fs::Permissions::from_mode(mode)).map_err(Fault::Disk)?;
        let mut sink = Sink { file, failed: None };
        match tar.copy(&mut sink) {
            Ok(()) => Ok(()),
            Err(error) => Err(sink.failed.map_or_else(|| unreadable(error), Fault::Disk)),
        }
    }

    fn hard_link(&self, path: &Path, entry: &TarEntry, shown: &str) -> Result<(), Fault> {
        let link = String::from_utf8_lossy(&entry.link);
        let wrong = |why: &str| Fault::Unsafe(format!("`{shown}` is a link to `{link}`, which {why}"));
        let outside = || wrong("is not a path within the image");
        let parts = parts(&entry.link).ok_or_else(outside)?;
        let (name, folders) = parts.split_last().ok_or_else(outside)?;
        let to = self.resolve(folders, shown, Missing::Leave)?.join(name);
        match to.symlink_metadata() {
            Ok(meta) if meta.is_dir() => Err(wrong("is a folder")),
            Ok(_) => fs::hard_link(&to, path).map_err(Fault::Disk),
            Err(_) => Err(wrong("is not in the image")),
        }
    }

    /// Hides what layers below have: one name, or all of a folder.
    fn hide(&self, folder: &Path, hidden: &[u8], shown: &str) -> Result<(), Fault> {
        match hidden {
            b".wh..opq" => self.empty(folder).map(drop).map_err(Fault::Disk),
            // Notes of a file system that layers were once made with.
            hidden if hidden.starts_with(b".wh.") => Ok(()),
            b"" | b"." | b".." => Err(Fault::Unsafe(format!("`{shown}` hides what is not in its folder"))),
            hidden => {
                let path = folder.join(OsStr::from_bytes(hidden));
                match self.fresh.contains(&path) || path.symlink_metadata().is_err() {
                    true => Ok(()),
                    false => remove(&path).map_err(Fault::Disk),
                }
            }
        }
    }

    /// Removes what this layer did not make; says whether nothing is left.
    fn empty(&self, folder: &Path) -> io::Result<bool> {
        let mut is_empty = true;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let is_folder = entry.file_type()?.is_dir();
            match (self.fresh.contains(&path), is_folder) {
                (true, true) => {
                    self.empty(&path)?;
                    is_empty = false;
                }
                (true, false) => is_empty = false,
                (false, true) if !self.empty(&path)? => is_empty = false,
                (false, _) => remove(&path)?,
            }
        }
        Ok(is_empty)
    }

    /// The folder with this path in the image, made if it is missing.
    fn folder(&mut self, parts: &[&OsStr], shown: &str) -> Result<PathBuf, Fault> {
        self.resolve(parts, shown, Missing::Make)
    }

    /// Follows a path from folder to folder, and links within the root.
    fn resolve(&self, parts: &[&OsStr], shown: &str, missing: Missing) -> Result<PathBuf, Fault> {
        let mut waiting: Vec<PathBuf> = parts.iter().rev().map(PathBuf::from).collect();
        let mut reached = self.root.to_owned();
        let mut links = 0;
        while let Some(part) = waiting.pop() {
            match part.as_os_str().as_bytes() {
                b"" | b"." => continue,
                b"/" => {
                    reached = self.root.to_owned();
                    continue;
                }
                b".." => {
                    // The root is above itself.
                    if reached != self.root {
                        reached.pop();
                    }
                    continue;
                }
                _ => {}
            }
            let next = reached.join(&part);
            match next.symlink_metadata() {
                Ok(meta) if meta.is_dir() => reached = next,
                Ok(meta) if meta.is_symlink() => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Fault::Unsafe(format!("`{shown}` is below links that lead in a circle")));
                    }
                    let to = fs::read_link(&next).map_err(Fault::Disk)?;
                    waiting.extend(to.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                }
                Ok(_) => {
                    return Err(Fault::Unsafe(format!("`{shown}` is below something that is not a folder")));
                }
                Err(_) if missing == Missing::Make => {
                    fs::DirBuilder::new().mode(0o755).create(&next).map_err(Fault::Disk)?;
                    reached = next;
                }
                Err(_) => reached = next,
            }
        }
        Ok(reached)
    }
}

/// The parts of a path; `None` if it begins at the root or goes up.
fn parts(path: &[u8]) -> Option<Vec<&OsStr>> {
    if path.starts_with(b"/") || path.contains(&0) {
        return None;
    }
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    parts.map(|part| (part != b"..").then(|| OsStr::from_bytes(part))).collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use krm_engine::runtime::Scratch;

    use super::super::tar::write;
    use super::*;

    fn file<'c>(path: &str, content: &'c str) -> (TarEntry, &'c [u8]) {
        let size = content.len() as u64;
        (TarEntry { path: path.into(), mode: 0o4755, size, ..TarEntry::default() }, content.as_bytes())
    }

    fn other(kind: TarKind, path: &str, link: &str) -> (TarEntry, &'static [u8]) {
        (TarEntry { path: path.into(), kind, link: link.into(), mode: 0o755, ..TarEntry::default() }, b"")
    }

    fn unpack_all(layers: &[Vec<(TarEntry, &[u8])>]) -> (Scratch, Result<(), Fault>) {
        let folder = Scratch::new("krm-layer").unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        let mut budget = Budget { files: 100, bytes: 1000 };
        let result =
            layers.iter().try_for_each(|layer| unpack(&write(layer)[..], &root, &mut budget).map(drop));
        (folder, result)
    }

    /// Everything in a folder: names, and what is in files or links.
    fn tree(folder: &Path) -> Vec<String> {
        fn visit(folder: &Path, from: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(from).unwrap().display().to_string();
                let meta = path.symlink_metadata().unwrap();
                if meta.is_dir() {
                    found.push(format!("{name}/"));
                    visit(&path, from, found);
                } else if meta.is_symlink() {
                    found.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
                } else {
                    found.push(format!("{name}: {}", fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let mut found = Vec::new();
        visit(folder, folder, &mut found);
        found.sort();
        found
    }

    #[test]
    fn layers_cover_and_hide_what_is_below() {
        let (folder, result) = unpack_all(&[
            vec![
                file("./a/one", "1"),
                file("a/two", "2"),
                file("b/three", "3"),
                file("b/keep/deep", "4"),
                other(TarKind::Link, "link", "a"),
                other(TarKind::HardLink, "hard", "a/one"),
                file("turns", "file"),
            ],
            vec![
                file("a/.wh.one", ""),
                file("link/more", "through a link"),
                file("b/own", "5"),
                file("b/.wh..wh..opq", ""),
                other(TarKind::Folder, "turns/", ""),
                file("turns/in", "6"),
                file(".wh..wh.plnk", ""),
            ],
        ]);
        result.unwrap();
        let root = folder.path().join("root");
        assert_eq!(
            tree(&root),
            [
                "a/",
                "a/more: through a link",
                "a/two: 2",
                "b/",
                "b/own: 5",
                "hard: 1",
                "link -> a",
                "turns/",
                "turns/in: 6"
            ]
        );
        let mode = root.join("a/two").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "no rights to become someone else");
    }

    #[test]
    fn hostile_layers_write_nothing_outside() {
        let outside = Scratch::new("krm-outside").unwrap();
        let away = outside.path().display().to_string();
        let up = format!("{}/{}", "../".repeat(20), away.trim_start_matches('/'));
        let hostile: Vec<Vec<(TarEntry, &[u8])>> = vec![
            vec![file("/etc/evil", "x")],
            vec![file("../evil", "x")],
            vec![file("a/../../evil", "x")],
            vec![other(TarKind::HardLink, "hard", "/etc/passwd")],
            vec![other(TarKind::HardLink, "hard", "../../etc/passwd")],
            vec![other(TarKind::HardLink, "hard", "nowhere")],
            vec![other(TarKind::Other, "dev/sda", "")],
            vec![file(".wh...", "")],
            vec![file(".wh..", "")],
            vec![file("a", "x"), file("a/b", "x")],
            vec![other(TarKind::Link, "a", "b"), other(TarKind::Link, "b", "a"), file("a/c", "x")],
        ];
        for layer in &hostile {
            let (folder, result) = unpack_all(std::slice::from_ref(layer));
            assert!(matches!(result, Err(Fault::Unsafe(_))), "{layer:?}: {result:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{layer:?}");
        }
        // Links may say what they like, and are followed within the root.
        for target in [&away, &up] {
            let (folder, result) = unpack_all(&[
                vec![other(TarKind::Link, "out", target), file("out/evil", "x")],
                vec![file("out/more", "x"), file("out/.wh.evil", "")],
                vec![other(TarKind::Link, "file", &format!("{target}/file")), file("file", "x")],
            ]);
            result.unwrap();
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
            assert_eq!(fs::read_to_string(folder.path().join("root/file")).unwrap(), "x");
        }
    }

    #[test]
    fn layers_beyond_all_measure_are_refused() {
        let huge = TarEntry { path: b"huge".into(), size: 1 << 32, ..TarEntry::default() };
        let (folder, result) = unpack_all(&[vec![(huge, b"")]]);
        assert!(matches!(result, Err(Fault::TooLarge(_))));
        assert!(!folder.path().join("root/huge").exists());
        let many: Vec<_> = (0..101).map(|number| other(TarKind::Link, &number.to_string(), "x")).collect();
        assert!(matches!(unpack_all(&[many]).1, Err(Fault::TooLarge(_))));
        let half = write(&[file("a", "hello")])[..514].to_vec();
        let (folder, _) = unpack_all(&[]);
        let result = unpack(&half[..], &folder.path().join("root"), &mut Budget::default());
        assert!(matches!(result, Err(Fault::Malformed(_))));
    }
}
