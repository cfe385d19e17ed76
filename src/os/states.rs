//! What is at a path, as a short text: it changes whenever a build would see something else there.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustc_hash::FxHashMap;

use super::content::sha256;

/// States of files and folders. What leads to a folder is looked at once in a run, not for every file in it.
#[derive(Default)]
pub struct States {
    /// Folders, and whether their path has no links in it.
    direct: Mutex<FxHashMap<PathBuf, bool>>,
}

impl States {
    /// What is at an absolute path, links followed; and where they lead.
    pub fn of_path(&self, path: &Path) -> String {
        if !self.is_in_direct_folder(path) {
            return followed(path);
        }
        match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {
                self.remember(path, true);
                "folder".to_owned()
            }
            Ok(meta) if meta.is_file() => super::read(path).map_or(String::new(), |bytes| sha256(&bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => "nothing".to_owned(),
            _ => followed(path),
        }
    }

    /// The same for a file whose content is known.
    pub fn of_file(&self, path: &Path, content: String) -> String {
        let is_link = || path.symlink_metadata().map_or(true, |meta| meta.is_symlink());
        match self.is_in_direct_folder(path) && !is_link() {
            true => content,
            false => with_way(path, content),
        }
    }

    /// Whether a path is that of a folder, without links in it.
    pub fn is_direct(&self, folder: &Path) -> bool {
        if let Some(known) = self.direct.lock().expect("no one panics while holding the folders").get(folder)
        {
            return *known;
        }
        let is_direct = match folder.parent() {
            Some(above) => self.is_direct(above) && folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()),
            None => folder.has_root(),
        };
        self.remember(folder, is_direct);
        is_direct
    }

    fn is_in_direct_folder(&self, path: &Path) -> bool {
        path.file_name().is_some() && path.parent().is_some_and(|folder| self.is_direct(folder))
    }

    fn remember(&self, folder: &Path, is_direct: bool) {
        let mut direct = self.direct.lock().expect("no one panics while holding the folders");
        direct.insert(folder.to_owned(), is_direct);
    }
}

fn followed(path: &Path) -> String {
    let Ok(meta) = path.metadata() else { return "nothing".to_owned() };
    let what = match meta.is_dir() {
        true => "folder".to_owned(),
        false => match super::read(path) {
            Ok(bytes) => sha256(&bytes),
            Err(_) => return String::new(),
        },
    };
    with_way(path, what)
}

/// A state, and where the links lead that are in the path.
fn with_way(path: &Path, what: String) -> String {
    match path.canonicalize() {
        Ok(real) if real != path => {
            let way = krm_engine::files::relative(&real, path.parent().unwrap_or(path));
            format!("{what} {way}")
        }
        Ok(_) => what,
        Err(_) => String::new(),
    }
}

/// The names in a folder, and what they are.
pub fn of_list(folder: &Path) -> String {
    let Ok(entries) = fs::read_dir(folder) else { return "nothing".to_owned() };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let kind = entry.file_type().map_or('?', |kind| match kind {
                kind if kind.is_dir() => 'd',
                kind if kind.is_file() => 'f',
                kind if kind.is_symlink() => 'l',
                _ => 'o',
            });
            format!("{kind} {}\n", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    sha256(names.concat().as_bytes())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_short_way_gives_what_following_links_gives() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/file"), "text").unwrap();
        fs::write(top.join("a/other"), "text").unwrap();
        symlink("b", top.join("a/linked")).unwrap();
        symlink("../other", top.join("a/b/out")).unwrap();
        symlink("nowhere", top.join("a/b/broken")).unwrap();
        let states = States::default();
        for path in [
            "a",
            "a/b",
            "a/b/file",
            "a/b/missing",
            "a/b/out",
            "a/b/broken",
            "a/linked",
            "a/linked/file",
            "a/linked/out",
            "a/b/file/below",
            "missing/x",
        ] {
            let path = top.join(path);
            assert_eq!(states.of_path(&path), followed(&path), "{}", path.display());
        }
        let content = sha256(b"text");
        for path in ["a/b/file", "a/b/out", "a/linked/file"] {
            let path = top.join(path);
            assert_eq!(states.of_file(&path, content.clone()), followed(&path), "{}", path.display());
        }
        assert_ne!(states.of_path(&top.join("a/b/out")), content, "where a link leads is part of the state");
    }
}
