//! Objects of a repository, through one `git cat-file --batch` that runs as long as anybody asks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

use krm_engine::Result;
use rustc_hash::FxHashMap;

/// The id of an object, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(Arc<str>);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A folder of a revision, by name.
pub type Tree = BTreeMap<OsString, TreeEntry>;

/// What is in a folder of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub kind: ObjectKind,
    pub id: Id,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    File,
    Program,
    Link,
    Folder,
    Submodule,
}

/// Everything a repository holds, by id. Revisions share what they have in common.
pub struct Objects {
    git: Mutex<Batch>,
    trees: Mutex<FxHashMap<Id, Arc<Tree>>>,
}

const HELD: &str = "no one panics while holding the objects";

impl Objects {
    pub fn open(folder: &Path) -> Result<Self> {
        Ok(Self {
            git: Mutex::new(Batch::start(folder).map_err(super::not_started)?),
            trees: Mutex::default(),
        })
    }

    /// The object an expression of git's means, if there is one.
    pub fn named(&self, expression: &str) -> Result<Option<Id>> {
        let found =
            self.git.lock().expect(HELD).ask(expression).map_err(|error| super::unreadable(&error))?;
        Ok(found.map(|(id, _)| id))
    }

    /// The bytes of a file or a link.
    pub fn blob(&self, id: &Id) -> io::Result<Vec<u8>> {
        self.git.lock().expect(HELD).get(id)
    }

    pub fn tree(&self, id: &Id) -> io::Result<Arc<Tree>> {
        if let Some(known) = self.trees.lock().expect(HELD).get(id) {
            return Ok(known.clone());
        }
        let bytes = self.git.lock().expect(HELD).get(id)?;
        let tree = parse(&bytes, id.0.len() / 2).ok_or_else(|| corrupt(id))?;
        let tree = Arc::new(tree);
        self.trees.lock().expect(HELD).insert(id.clone(), tree.clone());
        Ok(tree)
    }

    /// Every file below two folders that is in one of them only, or not alike.
    pub fn differences(&self, a: &Id, b: &Id, at: &mut PathBuf, found: &mut Vec<PathBuf>) -> io::Result<()> {
        if a == b {
            return Ok(());
        }
        let (a, b) = (self.tree(a)?, self.tree(b)?);
        for (name, old) in a.iter() {
            let new = b.get(name);
            if new == Some(old) {
                continue;
            }
            at.push(name);
            match (old.kind, new) {
                (ObjectKind::Folder, Some(TreeEntry { kind: ObjectKind::Folder, id })) => {
                    self.differences(&old.id, id, at, found)?;
                }
                (_, new) => {
                    self.all(old, at, found)?;
                    new.map_or(Ok(()), |new| self.all(new, at, found))?;
                }
            }
            at.pop();
        }
        for (name, new) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
            at.push(name);
            self.all(new, at, found)?;
            at.pop();
        }
        Ok(())
    }

    /// Every file that an entry is or holds.
    fn all(&self, entry: &TreeEntry, at: &mut PathBuf, found: &mut Vec<PathBuf>) -> io::Result<()> {
        if entry.kind != ObjectKind::Folder {
            found.push(at.clone());
            return Ok(());
        }
        for (name, entry) in self.tree(&entry.id)?.iter() {
            at.push(name);
            self.all(entry, at, found)?;
            at.pop();
        }
        Ok(())
    }
}

/// A tree as git stores it: mode, space, name, zero, id, over and over.
fn parse(mut bytes: &[u8], id_length: usize) -> Option<Tree> {
    let mut tree = Tree::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let zero = bytes.iter().position(|byte| *byte == 0)?;
        let kind = match &bytes[..space] {
            b"40000" => ObjectKind::Folder,
            b"120000" => ObjectKind::Link,
            b"160000" => ObjectKind::Submodule,
            b"100755" => ObjectKind::Program,
            _ => ObjectKind::File,
        };
        let name = bytes.get(space + 1..zero)?;
        let id = bytes.get(zero + 1..zero + 1 + id_length)?;
        let id = Id(krm_engine::files::hex(id).into());
        tree.insert(super::os_string(name.to_vec()), TreeEntry { kind, id });
        bytes = &bytes[zero + 1 + id_length..];
    }
    Some(tree)
}

fn corrupt(id: &Id) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the object {id} is not what git says"))
}

/// The program, waiting for names of objects.
struct Batch {
    child: Child,
    /// Taken when it is to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Batch {
    fn start(folder: &Path) -> io::Result<Self> {
        let mut command = super::git(folder);
        command.args(["cat-file", "--batch"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        Ok(Self { child, input, output })
    }

    /// Asks for an object; `None` if there is none of this name.
    fn ask(&mut self, name: &str) -> io::Result<Option<(Id, Vec<u8>)>> {
        let input = self.input.as_mut().expect("it is taken only at the end");
        input.write_all(format!("{name}\n").as_bytes())?;
        input.flush()?;
        let mut head = String::new();
        if self.output.read_line(&mut head)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "git ended"));
        }
        // `ID TYPE SIZE`; of what is not there `NAME missing`, of what has several meanings `NAME ambiguous`.
        let mut words = head.trim_end().rsplitn(3, ' ');
        let (size, _kind, id) = (words.next(), words.next(), words.next());
        let (Some(size), Some(id)) = (size.and_then(|size| size.parse::<usize>().ok()), id) else {
            return Ok(None);
        };
        let mut bytes = vec![0; size + 1];
        self.output.read_exact(&mut bytes)?;
        bytes.pop();
        Ok(Some((Id(id.into()), bytes)))
    }

    fn get(&mut self, id: &Id) -> io::Result<Vec<u8>> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the object {id} is missing"));
        self.ask(&id.0)?.map(|(_, bytes)| bytes).ok_or_else(missing)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // It ends when nobody can ask any more.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read_as_git_stores_them() {
        let mut bytes = b"100644 a b.yaml\0".to_vec();
        bytes.extend([0x0a; 20]);
        bytes.extend(b"40000 folder\0");
        bytes.extend([0xff; 20]);
        let tree = parse(&bytes, 20).unwrap();
        let kinds: Vec<(&str, ObjectKind)> =
            tree.iter().map(|(name, entry)| (name.to_str().unwrap(), entry.kind)).collect();
        assert_eq!(kinds, [("a b.yaml", ObjectKind::File), ("folder", ObjectKind::Folder)]);
        assert_eq!(tree[std::ffi::OsStr::new("folder")].id.to_string(), "ff".repeat(20));
        assert!(parse(&bytes[..40], 20).is_none());
    }
}
