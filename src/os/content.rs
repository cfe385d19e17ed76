//! What is in a folder, as a list that can be checked.
//!
//! A line for each file, sorted by path, as `sha256sum` writes and reads them: the digest, two characters, the path. The
//! second of the two is `*` for a file that may be run and `@` for a link, whose digest is that of what it says. The digest
//! of the list is the identity of the content: it depends neither on how a repository is packed nor on where the folder is.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use krm_engine::files::hex;
use krm_engine::{Diagnostic, Result};
use sha2::{Digest, Sha256};

use super::threads::in_parallel;

/// Nothing that configuration is made of has more files or bytes.
const MOST_FILES: usize = 100_000;
const MOST_BYTES: u64 = 1 << 30;
const LARGEST_FILE: u64 = 256 << 20;

/// What has a digest: the bytes of a file, or a folder by the list of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    File,
    Folder,
}

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    text: String,
}

/// A file of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'l> {
    pub digest: &'l str,
    pub kind: FileKind,
    pub path: &'l str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Executable,
    Link,
}

impl FileKind {
    fn mark(self) -> char {
        match self {
            FileKind::File => ' ',
            FileKind::Executable => '*',
            FileKind::Link => '@',
        }
    }
}

impl Listing {
    /// Lists a folder, without what git keeps in it. `what` names it in errors: links that lead out of it, names that cannot
    /// be written down and files beyond all measure are refused.
    pub fn of(folder: &Path, what: &str) -> Result<Self> {
        let failed = |error: io::Error| {
            Diagnostic::error(
                "content-unreadable",
                format!("the content of `{what}` cannot be read: {error}"),
            )
        };
        let root = folder.canonicalize().map_err(failed)?;
        let mut paths = Vec::new();
        let mut bytes = 0;
        walk(&root, &root, &mut paths, &mut bytes, what).map_err(|fault| match fault {
            Fault::Io(error) => failed(error),
            Fault::Refused(diagnostic) => *diagnostic,
        })?;
        paths.sort_by(|a, b| a.0.cmp(&b.0));
        let digests = in_parallel(&paths, |(path, kind)| digest(&root.join(path), *kind));
        let mut text = String::new();
        for ((path, kind), digest) in paths.iter().zip(digests) {
            text += &format!("{} {}{path}\n", digest.map_err(failed)?, kind.mark());
        }
        Ok(Self { text })
    }

    /// Reads a list; `None` for a text that is none.
    pub fn parse(text: String) -> Option<Self> {
        let listing = Self { text };
        let is_sound = |line: &str| {
            let line = Line::parse(line)?;
            let inside = Path::new(line.path).components().all(|part| matches!(part, Component::Normal(_)));
            (inside && is_sha256(line.digest)).then_some(())
        };
        (listing.text.is_empty() || listing.text.ends_with('\n')).then_some(())?;
        listing.text.lines().try_for_each(is_sound)?;
        listing.lines().is_sorted_by_key(|line| line.path).then_some(listing)
    }

    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.text.lines().filter_map(Line::parse)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// `sha256:` and the digest of the list.
    pub fn digest(&self) -> String {
        sha256(self.text.as_bytes())
    }

    /// The first file that is not as the other list says.
    pub fn first_difference<'l>(&'l self, other: &'l Self) -> Option<&'l str> {
        let (mut ours, mut others) = (self.lines(), other.lines());
        loop {
            match (ours.next(), others.next()) {
                (None, None) => return None,
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => return Some(a.path.min(b.path)),
                (Some(one), None) | (None, Some(one)) => return Some(one.path),
            }
        }
    }

    /// Copies the files of this list to a new folder. A file that changed since it was listed is an error.
    pub fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        let mut made: Option<PathBuf> = None;
        for line in self.lines() {
            let (source, target) = (from.join(line.path), to.join(line.path));
            let folder = target.parent().unwrap_or(to);
            if made.as_deref() != Some(folder) {
                fs::create_dir_all(folder)?;
                made = Some(folder.to_owned());
            }
            if line.kind == FileKind::Link {
                make_link(&fs::read_link(&source)?, &target)?;
                continue;
            }
            let bytes = fs::read(&source)?;
            if hex(&Sha256::digest(&bytes)) != line.digest {
                return Err(io::Error::other(format!("`{}` changed while it was copied", line.path)));
            }
            fs::write(&target, bytes)?;
            if line.kind == FileKind::Executable {
                super::make_executable(&target)
                    .map_err(|error| io::Error::other(error.message().to_owned()))?;
            }
        }
        Ok(())
    }
}

impl<'l> Line<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let (digest, rest) = line.split_at_checked(64)?;
        let rest = rest.strip_prefix(' ')?;
        let kind = [FileKind::File, FileKind::Executable, FileKind::Link]
            .into_iter()
            .find(|k| rest.starts_with(k.mark()))?;
        Some(Self { digest, kind, path: &rest[1..] }).filter(|line| !line.path.is_empty())
    }
}

/// `sha256:` and the digest of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Whether a text is a SHA-256 in hexadecimal.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

enum Fault {
    Io(io::Error),
    Refused(Box<Diagnostic>),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

fn walk(
    root: &Path,
    folder: &Path,
    found: &mut Vec<(String, FileKind)>,
    bytes: &mut u64,
    what: &str,
) -> Result<(), Fault> {
    let refused = |message: String| Fault::Refused(Box::new(unsafe_content(message)));
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name() == ".git" {
            continue;
        }
        let inside = path.strip_prefix(root).expect("it was found below the root");
        let Some(name) = inside.to_str().filter(|name| !name.contains(char::is_control)) else {
            return Err(refused(format!(
                "`{what}` has a file whose name is not text: `{}`",
                inside.display()
            )));
        };
        // Windows separates folders otherwise; lists are the same everywhere.
        let name = name.replace(std::path::MAIN_SEPARATOR, "/");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(root, &path, found, bytes, what)?;
            continue;
        }
        let kind = if kind.is_symlink() {
            refuse_leaving(root, &path).map_err(|target| {
                refused(format!(
                    "`{what}` has a link that leads out of it: `{name}` is `{}`",
                    target.display()
                ))
            })?;
            FileKind::Link
        } else if kind.is_file() {
            let meta = entry.metadata()?;
            *bytes += meta.len();
            if meta.len() > LARGEST_FILE {
                return Err(Fault::Refused(Box::new(too_large(format!(
                    "`{name}` of `{what}` has {} MiB; configuration has at most {}",
                    meta.len() >> 20,
                    LARGEST_FILE >> 20
                )))));
            }
            if super::is_executable(&path) { FileKind::Executable } else { FileKind::File }
        } else {
            return Err(refused(format!("`{name}` of `{what}` is neither a file nor a link")));
        };
        found.push((name, kind));
        if found.len() > MOST_FILES || *bytes > MOST_BYTES {
            return Err(Fault::Refused(Box::new(too_large(format!(
                "`{what}` has more than {MOST_FILES} files or {} MiB",
                MOST_BYTES >> 20
            )))));
        }
    }
    Ok(())
}

fn unsafe_content(message: String) -> Diagnostic {
    Diagnostic::error("content-unsafe", message)
        .help("nothing was kept; ask the owners of the content to remove the file, or use another revision")
}

fn too_large(message: String) -> Diagnostic {
    Diagnostic::error("content-too-large", message).help("nothing was kept; name a smaller repository")
}

/// Refuses a link that leads out of the root, at its end or, if it leads nowhere, by its text; gives what it says.
fn refuse_leaving(root: &Path, link: &Path) -> Result<(), PathBuf> {
    let target = fs::read_link(link).unwrap_or_default();
    let is_inside = match link.canonicalize() {
        Ok(real) => real.starts_with(root),
        Err(_) => {
            let whole = link.parent().unwrap_or(root).join(&target);
            krm_engine::files::clean(&whole).starts_with(root)
        }
    };
    if is_inside && target.is_relative() { Ok(()) } else { Err(target) }
}

fn digest(path: &Path, kind: FileKind) -> io::Result<String> {
    Ok(match kind {
        FileKind::Link => hex(&Sha256::digest(fs::read_link(path)?.as_os_str().as_encoded_bytes())),
        _ => hex(&Sha256::digest(fs::read(path)?)),
    })
}

#[cfg(unix)]
pub fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
pub fn make_link(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "links in repositories are not supported on this system"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use krm_engine::runtime::Scratch;

    fn folder(files: &[(&str, &str)]) -> Scratch {
        let folder = Scratch::new("krm-content").unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn a_list_is_what_sha256sum_writes() {
        let folder = folder(&[("b/c.yaml", "c"), ("a.yaml", "a"), (".git/config", "x"), ("b/.git", "y")]);
        super::super::make_executable(&folder.path().join("a.yaml")).unwrap();
        make_link(Path::new("../a.yaml"), &folder.path().join("b/link")).unwrap();
        let listing = Listing::of(folder.path(), "it").unwrap();
        let (a, c) = (hex(&Sha256::digest("a")), hex(&Sha256::digest("c")));
        let link = hex(&Sha256::digest("../a.yaml"));
        assert_eq!(listing.text(), format!("{a} *a.yaml\n{c}  b/c.yaml\n{link} @b/link\n"));
        assert_eq!(Listing::parse(listing.text().to_owned()), Some(listing.clone()));
        let copy = Scratch::new("krm-content").unwrap();
        listing.copy(folder.path(), &copy.path().join("x")).unwrap();
        assert_eq!(Listing::of(&copy.path().join("x"), "it").unwrap(), listing);
        fs::write(copy.path().join("x/b/c.yaml"), "d").unwrap();
        let changed = Listing::of(&copy.path().join("x"), "it").unwrap();
        assert_eq!(changed.first_difference(&listing), Some("b/c.yaml"));
        assert_ne!(changed.digest(), listing.digest());
    }

    #[test]
    fn hostile_content_is_refused() {
        for target in ["/etc/passwd", "../outside", "nowhere/../../outside"] {
            let folder = folder(&[("a", "a")]);
            make_link(Path::new(target), &folder.path().join("link")).unwrap();
            assert_eq!(Listing::of(folder.path(), "it").unwrap_err().code(), "content-unsafe", "{target}");
        }
        // A way that is within by its text, and out by where a link on it leads.
        let folder = folder(&[("p/a", "a")]);
        make_link(Path::new(".."), &folder.path().join("p/q")).unwrap();
        make_link(Path::new("p/q/../x"), &folder.path().join("link")).unwrap();
        fs::write(folder.path().parent().unwrap().join("x"), "x").ok();
        assert_eq!(Listing::of(folder.path(), "it").unwrap_err().code(), "content-unsafe");
        fs::remove_file(folder.path().parent().unwrap().join("x")).ok();
        let folder = self::folder(&[]);
        fs::File::create(folder.path().join("huge")).unwrap().set_len(LARGEST_FILE + 1).unwrap();
        assert_eq!(Listing::of(folder.path(), "it").unwrap_err().code(), "content-too-large");
    }

    #[test]
    fn lists_that_name_files_elsewhere_are_none() {
        let digest = hex(&Sha256::digest("a"));
        for text in [
            format!("{digest}  ../a\n"),
            format!("{digest}  /a\n"),
            format!("{digest}  a"),
            format!("{}  a\n", &digest[1..]),
            format!("{digest}  b\n{digest}  a\n"),
        ] {
            assert_eq!(Listing::parse(text.clone()), None, "{text}");
        }
    }
}
