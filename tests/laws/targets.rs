//! What is built: the folders of cases and examples, and files made up, all in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::explain::shown_path;
use krm_engine::trace::Segment;
use krm_engine::{BuildOptions, MemoryWorld, Session, Sources, Trace};

use crate::mutations::Mutation;

/// Files, and the folder of them that is built.
pub struct Target {
    pub name: String,
    pub folder: String,
    pub files: Vec<(String, Vec<u8>)>,
}

/// A build and how it came about.
pub struct Built {
    pub sources: Sources,
    pub trace: Arc<Trace>,
}

impl Target {
    /// Builds it, with a text changed; nothing if that fails.
    pub fn build(&self, mutation: Option<&Mutation>) -> Option<Built> {
        let files = self.files.iter().map(|(name, bytes)| match mutation {
            Some(mutation) if mutation.file == *name => (name, mutation.apply(bytes)),
            _ => (name, bytes.clone()),
        });
        let sources = Sources::new();
        let world = Arc::new(MemoryWorld::new(files));
        let session = Session::new(world, sources.clone(), BuildOptions::default());
        let (result, trace) = session.trace(&self.folder);
        result.ok()?;
        Some(Built { sources, trace })
    }
}

impl Built {
    pub fn shown(&self, resource: usize, path: &[Segment]) -> String {
        let seen = &self.trace.result[resource].1;
        format!("{}/{} {}", seen.id.gvk.kind, seen.id.name, shown_path(&seen.node, path))
    }
}

/// The folders that cases build without any option.
pub fn of_cases() -> Vec<Target> {
    fn visit(dir: &Path, found: &mut Vec<Target>, root: &Path) {
        if dir.join("in").is_dir() {
            let args = fs::read_to_string(dir.join("args")).unwrap_or_else(|_| "build in".into());
            if let ["build", folder] = args.split_whitespace().collect::<Vec<_>>()[..]
                && !folder.starts_with('-')
            {
                let name = dir.strip_prefix(root).expect("below").display().to_string();
                found.extend(read(&dir.join("in"), "in", name, folder));
            }
            return;
        }
        let mut entries: Vec<PathBuf> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().filter(|path| path.is_dir()).for_each(|path| visit(path, found, root));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut found = Vec::new();
    visit(&root, &mut found, &root);
    found
}

/// Examples that need no program.
pub fn of_examples() -> Vec<Target> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    ["overlays/staging", "regions/europe", "base"]
        .into_iter()
        .filter_map(|folder| read(&root.join("answers"), "", format!("answers/{folder}"), folder))
        .collect()
}

/// More than this is for measuring, and takes long.
const MOST_BYTES: usize = 60_000;

fn read(root: &Path, prefix: &str, name: String, folder: &str) -> Option<Target> {
    fn visit(dir: &Path, shown: &str, files: &mut Vec<(String, Vec<u8>)>) -> Option<()> {
        for entry in fs::read_dir(dir).ok()? {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let shown = if shown.is_empty() { name.to_owned() } else { format!("{shown}/{name}") };
            match path.is_dir() {
                true => visit(&path, &shown, files)?,
                false => files.push((shown, fs::read(&path).ok()?)),
            }
        }
        Some(())
    }
    let mut files = Vec::new();
    visit(root, prefix, &mut files)?;
    files.sort();
    let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    (size <= MOST_BYTES).then(|| Target { name, folder: folder.to_owned(), files })
}
