//! The files of a folder of a repository, without a working tree: git hands out their contents in one go, which takes a
//! fraction of the time of writing thousands of files to read them back.

use std::collections::BTreeMap;

use krm_engine::Result;
use krm_engine::files::Repository;
use krm_engine::runtime::Scratch;

use super::remote::{fetch_head, git, git_with_input};

/// A folder of a repository at a commit.
pub struct RepositoryFiles {
    /// By their paths, relative to the folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Those that may be run.
    pub executable: Vec<String>,
    pub links: Vec<String>,
    pub revision: String,
}

/// What `git ls-tree` says of a file.
struct Listed {
    mode: String,
    object: String,
    path: String,
}

/// A commit of a repository, as git stores it. It is fetched once in a run, however many of its folders are asked for.
pub struct BareClone {
    scratch: Scratch,
    revision: String,
}

impl BareClone {
    pub fn fetch(repository: &Repository) -> Result<Self> {
        let scratch = Scratch::new("krm-git")?;
        let run =
            |args: &[&str]| git(scratch.path(), args, repository).map_err(|fault| fault.advised(repository));
        // Without the templates of this machine: nobody works in this repository.
        run(&["init", "--quiet", "--bare", "--template="])?;
        fetch_head(scratch.path(), repository)?;
        let revision = run(&["rev-parse", "FETCH_HEAD^{commit}"])?;
        let revision = String::from_utf8_lossy(&revision).trim().to_owned();
        Ok(Self { scratch, revision })
    }

    /// The files of a folder. `None` if they take a working tree: attributes may say that files are not checked out as they
    /// are stored.
    pub fn files(&self, repository: &Repository, folder: &str) -> Result<Option<RepositoryFiles>> {
        let folder = folder.trim_matches('/');
        let above = attributes_above(folder);
        let below = format!("{folder}/");
        let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", &self.revision];
        if !folder.is_empty() {
            args.push("--");
            args.push(&below);
            args.extend(above.iter().map(String::as_str));
        }
        let run = |args: &[&str], input: Vec<u8>| {
            git_with_input(self.scratch.path(), args, input, repository)
                .map_err(|fault| fault.advised(repository))
        };
        let Some(listed) = parse(&run(&args, Vec::new())?) else { return Ok(None) };
        if listed.iter().any(|file| file.path.rsplit('/').next() == Some(ATTRIBUTES)) {
            return Ok(None);
        }
        let mut found = RepositoryFiles {
            files: BTreeMap::new(),
            executable: Vec::new(),
            links: Vec::new(),
            revision: self.revision.clone(),
        };
        let mut wanted = Vec::new();
        for file in listed {
            let path =
                if folder.is_empty() { Some(file.path.as_str()) } else { file.path.strip_prefix(&below) };
            let Some(path) = path.map(str::to_owned) else { continue };
            match file.mode.as_str() {
                "120000" => found.links.push(path),
                // A submodule is another repository.
                "160000" => {}
                mode => {
                    if mode == "100755" {
                        found.executable.push(path.clone());
                    }
                    wanted.push((path, file.object));
                }
            }
        }
        let asked: String = wanted.iter().map(|(_, object)| format!("{object}\n")).collect();
        // Without `--buffer` git writes every file by itself.
        let contents = run(&["cat-file", "--batch", "--buffer"], asked.into_bytes())?;
        let mut rest = contents.as_slice();
        for (path, _) in wanted {
            let Some((content, after)) = next_content(rest) else { return Ok(None) };
            found.files.insert(path, content.to_vec());
            rest = after;
        }
        // A folder that git does not know has no files; the caller says what that means.
        Ok(Some(found))
    }
}

const ATTRIBUTES: &str = ".gitattributes";

/// The files of attributes in the folders around one.
fn attributes_above(folder: &str) -> Vec<String> {
    let ends = folder.match_indices('/').map(|(at, _)| &folder[..at]);
    let above = ends.map(|folder| format!("{folder}/{ATTRIBUTES}"));
    std::iter::once(ATTRIBUTES.to_owned()).chain(above).collect()
}

/// `MODE TYPE OBJECT<tab>PATH<zero>`, again and again; `None` if a path is not text.
fn parse(listing: &[u8]) -> Option<Vec<Listed>> {
    let entries = listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let parsed = entries.map(|entry| {
        let (about, path) = std::str::from_utf8(entry).ok()?.split_once('\t')?;
        let mut words = about.split(' ');
        let (mode, object) = (words.next()?.to_owned(), words.nth(1)?.to_owned());
        Some(Listed { mode, object, path: path.to_owned() })
    });
    parsed.collect()
}

/// `OBJECT blob SIZE`, a line; then the content, and a line break. Returns what comes after that, too.
fn next_content(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let size = std::str::from_utf8(&bytes[..end]).ok()?.rsplit(' ').next()?.parse::<usize>().ok()?;
    let content = bytes.get(end + 1..end + 1 + size)?;
    Some((content, bytes.get(end + size + 2..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_separated_by_their_sizes() {
        let batch = b"aa blob 3\na\nb\nbb blob 0\n\n";
        let (first, rest) = next_content(batch).expect("it is whole");
        assert_eq!(first, b"a\nb");
        assert_eq!(next_content(rest), Some((&b""[..], &b""[..])));
        assert_eq!(next_content(b"aa blob 9\nabc\n"), None);
    }

    #[test]
    fn attributes_of_all_folders_around_count() {
        assert_eq!(attributes_above("a/b"), [".gitattributes", "a/.gitattributes"]);
    }
}
