//! Files as the Remote Execution API has them: folders of names and digests, each folder known by its own digest.

use std::collections::BTreeMap;

use prost::Message;

use super::File;
use super::reapi::{Digest, Directory, DirectoryNode, FileNode, SymlinkNode};

/// A folder with everything that is below it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The digest of the folder.
    pub root: Digest,
    /// Every folder of it as a message, by digest.
    pub folders: BTreeMap<Digest, Vec<u8>>,
}

/// A folder that is being filled.
#[derive(Default)]
struct Folder<'f> {
    folders: BTreeMap<&'f str, Folder<'f>>,
    others: BTreeMap<&'f str, &'f File>,
}

impl Tree {
    /// Files by path; folders above them are implied. Of a path that is both a file and a folder, the folder counts: the
    /// later mount covers the earlier one.
    pub fn new<'f>(files: impl IntoIterator<Item = (&'f str, &'f File)>) -> Self {
        let mut top = Folder::default();
        for (path, file) in files {
            let mut names: Vec<&str> =
                path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
            let last = match file {
                File::Folder | File::Scratch => None,
                _ => names.pop(),
            };
            let folder =
                names.into_iter().fold(&mut top, |folder, name| folder.folders.entry(name).or_default());
            if let Some(name) = last {
                folder.others.insert(name, file);
            }
        }
        let mut folders = BTreeMap::new();
        let root = top.finish(&mut folders);
        Self { root, folders }
    }
}

impl Folder<'_> {
    fn finish(self, done: &mut BTreeMap<Digest, Vec<u8>>) -> Digest {
        let mut message = Directory::default();
        for (name, file) in self.others {
            if self.folders.contains_key(name) {
                continue;
            }
            let name = name.to_owned();
            match file {
                File::Content { digest, executable } => message.files.push(FileNode {
                    name,
                    digest: Some(digest.clone()),
                    is_executable: *executable,
                }),
                File::Link(target) => message.symlinks.push(SymlinkNode { name, target: target.clone() }),
                File::Folder | File::Scratch => {}
            }
        }
        for (name, folder) in self.folders {
            let digest = Some(folder.finish(done));
            message.directories.push(DirectoryNode { name: name.to_owned(), digest });
        }
        let bytes = message.encode_to_vec();
        let digest = Digest::of(&bytes);
        done.insert(digest.clone(), bytes);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_its_content() {
        let content = |text: &str| File::Content { digest: Digest::of(text.as_bytes()), executable: false };
        let (a, link) = (content("a"), File::Link("a".into()));
        let one = Tree::new([("/local", &File::Folder), ("/local/x/a", &a), ("/local/l", &link)]);
        let two = Tree::new([("local/l", &link), ("local/x/a", &a)]);
        assert_eq!(one.root, two.root);
        assert_eq!(one.folders.len(), 3, "the root, `local` and `x`");
        let root = Directory::decode(&one.folders[&one.root][..]).unwrap();
        assert_eq!(root.directories[0].name, "local");
        let local = root.directories[0].digest.as_ref().unwrap();
        let local = Directory::decode(&one.folders[local][..]).unwrap();
        assert_eq!((&*local.symlinks[0].name, &*local.symlinks[0].target), ("l", "a"));
        assert_eq!(local.directories[0].name, "x");
        for other in [
            Tree::new([("/local/x/a", &content("b")), ("/local/l", &link)]),
            Tree::new([("/local/x/a", &a)]),
            Tree::new([("/local/x/a", &a), ("/local/l", &link), ("/local/empty", &File::Folder)]),
        ] {
            assert_ne!(other.root, one.root);
        }
    }
}
