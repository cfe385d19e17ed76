//! What an editor asks: problems, completions, meanings and places, for texts that need not be saved.
//!
//! Nothing here knows a protocol. A question is a file and a byte in it; an answer is data. An [`Editor`] is one open folder
//! with everything below it. It runs no program and fetches nothing, whatever the files in the folder say.

mod buffers;
mod builtins;
mod complete;
mod cursor;
mod extract;
mod facts;
mod fields;
mod hints;
mod hover;
#[cfg(test)]
mod listed_fields;
mod navigate;
mod outline;
mod preview;
mod problems;
mod rename;
mod repair;
mod slot;
mod transformers;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, FileId, Sources, decode};

use crate::composition;
use crate::files::world::{DirEntry, World};
use crate::files::{KUSTOMIZATION_FILES, relative};
use crate::kpt::{self, Kptfile};
use crate::lint;
use crate::lint::tree::Tree;
use crate::session::{BuildOptions, Session};
use crate::workspace::{Layer, Workspace};

use buffers::Buffers;
pub use complete::{Completion, CompletionKind, Completions};
pub use extract::{Extraction, Inlining};
pub use hints::Hint;
pub use hover::Hover;
pub use outline::{Link, Symbol};
pub use preview::Usage;
pub use problems::{FileSpan, Level, Problem, Repair};

/// A folder that is open in an editor.
pub struct Editor {
    world: Arc<Buffers>,
    sources: Sources,
    session: Session,
    /// What the kustomizations of the folder name, including those that are being typed.
    workspace: Workspace,
    changed: Changed,
    /// `None` if something changed since they were found.
    problems: Option<BTreeMap<PathBuf, Vec<Problem>>>,
    /// What lint found when it last looked.
    findings: BTreeMap<PathBuf, Vec<Problem>>,
    /// Files that changed since it looked; `None` if it never did.
    unlinted: Option<BTreeSet<PathBuf>>,
    /// Lint is to look again when there is time.
    is_lint_due: bool,
    /// What is in the folder, as far as lint needs it.
    tree: Tree,
    schemas: fields::Schemas,
    facts: facts::Facts,
    /// How many questions there were.
    asked: u64,
}

/// What is out of date.
#[derive(Default)]
struct Changed {
    /// Files with another content, or that came or went; by their real paths.
    files: BTreeSet<PathBuf>,
    /// Files came or went: what names lead to may be something else.
    tree: bool,
}

/// With more resources than this, lint runs when no one types, and leaves out what takes a second build.
const MANY_RESOURCES: usize = 1000;

impl Editor {
    /// Opens a folder; nothing is read yet.
    pub fn new(disk: Arc<dyn World>, folder: &Path) -> Self {
        let root = disk.real_path(folder).unwrap_or_else(|_| folder.to_owned());
        let world = Arc::new(Buffers::new(disk, &root));
        let sources = Sources::new();
        // The default policy allows nothing to run.
        let session = Session::new(world.clone(), sources.clone(), BuildOptions::default());
        Self {
            world,
            sources,
            session,
            workspace: Workspace::default(),
            changed: Changed { files: BTreeSet::new(), tree: true },
            problems: None,
            findings: BTreeMap::new(),
            unlinted: None,
            is_lint_due: false,
            tree: Tree::default(),
            schemas: fields::Schemas::default(),
            facts: facts::Facts::default(),
            asked: 0,
        }
    }

    /// The real path of the folder.
    pub fn root(&self) -> &Path {
        self.world.root()
    }

    /// The real path of a file, which need not exist.
    pub fn place(&self, path: &Path) -> PathBuf {
        self.world.place(path)
    }

    /// A text was opened or edited.
    pub fn set_text(&mut self, path: &Path, text: Arc<str>) {
        let path = self.world.place(path);
        if self.world.text(&path).is_none() {
            // Most files are opened as they are saved.
            match self.world.read(&path) {
                Ok(bytes) if bytes == text.as_bytes() => {
                    self.world.set(&path, text);
                    if is_kptfile(&path) {
                        self.changed.files.insert(path);
                    }
                    return;
                }
                Ok(_) => {}
                Err(_) => self.changed.tree = true,
            }
        }
        self.world.set(&path, text);
        self.changed.files.insert(path);
    }

    /// A text was closed: what is saved counts again.
    pub fn close(&mut self, path: &Path) {
        let path = self.world.place(path);
        let Some(text) = self.world.text(&path) else { return };
        self.world.remove(&path);
        match self.world.read(&path) {
            Ok(bytes) if bytes == text.as_bytes() && !is_kptfile(&path) => {}
            saved => {
                self.changed.tree |= saved.is_err();
                self.changed.files.insert(path);
            }
        }
    }

    /// Files or folders changed, came or went outside the editor.
    pub fn changed_on_disk(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let path = self.world.place(path);
            // An open text counts, whatever is saved.
            if self.world.text(&path).is_none() {
                // A file that nothing looked at changes nothing, unless it is a kustomization.
                let affected = self.session.affected_by(std::slice::from_ref(&path));
                let is_used = !affected.targets.is_empty() || !affected.bases.is_empty();
                if is_layer_file(&path) || is_used || self.workspace.users(&path).next().is_some() {
                    self.changed.tree |= is_layer_file(&path) || !self.session_knows(&path);
                    self.changed.files.insert(path);
                }
            }
        }
    }

    fn session_knows(&self, path: &Path) -> bool {
        self.session.text_of(path).is_some() && self.world.is_file(path)
    }

    /// The text of a file, as it is open or saved.
    pub fn text(&self, path: &Path) -> Option<Arc<str>> {
        let path = self.world.place(path);
        self.world.text(&path).or_else(|| Some(decode(self.world.read(&path).ok()?).ok()?.into()))
    }

    /// Everything that is wrong in the folder, by file. Only what is out of date is found again. In a large folder, what
    /// lint would find in files that changed is left to [`finish`](Self::finish).
    pub fn problems(&mut self) -> &BTreeMap<PathBuf, Vec<Problem>> {
        self.sync();
        if self.problems.is_none() {
            let found = self.find_problems();
            self.problems = Some(found);
        }
        self.problems.as_ref().expect("they were just found")
    }

    /// Whether there may be more problems than those that were returned.
    pub fn is_unfinished(&self) -> bool {
        self.is_lint_due
    }

    /// Finds what takes longer than a key press.
    pub fn finish(&mut self) {
        if std::mem::take(&mut self.is_lint_due) {
            self.sync();
            let before = self.sources.last();
            let mut reporter = problems::Reporter::new(&self.world, &self.sources);
            self.report_findings(&mut reporter, lint::Options { quick: true, ..lint::Options::default() });
            self.findings = reporter.finish();
            self.forget_texts_after(before, &self.findings);
            self.unlinted = Some(BTreeSet::new());
            self.problems = None;
        }
    }

    /// Forgets what was derived from texts that changed since.
    fn sync(&mut self) {
        let Changed { files, tree } = std::mem::take(&mut self.changed);
        if files.is_empty() && !tree {
            return;
        }
        self.problems = None;
        let files: Vec<PathBuf> = files.into_iter().collect();
        self.unlinted.iter_mut().for_each(|unlinted| unlinted.extend(files.iter().cloned()));
        let affected = self.session.invalidate(&files);
        let world = Repaired(&self.world);
        if tree {
            self.workspace.forget_texts(&self.sources);
            // A folder that cannot be read has no layers.
            self.workspace = Workspace::scan(&world, &self.sources, Path::new(".")).unwrap_or_default();
            self.tree = Tree::read(&*self.world, Path::new("."));
        } else {
            let folders: BTreeSet<PathBuf> =
                files.iter().flat_map(|file| self.layers_read_from(file)).collect();
            if !folders.is_empty() {
                let folders = folders.into_iter().collect();
                self.workspace.update(&world, &self.sources, folders);
            }
            files.iter().for_each(|file| self.tree.update(&*self.world, file));
        }
        self.facts.forget(&files, &affected.targets, tree);
    }

    /// The folders whose layers are made from a file: the one it is in, and those that name it as a configuration, which may
    /// name further files.
    fn layers_read_from(&self, file: &Path) -> Vec<PathBuf> {
        if is_layer_file(file) {
            return file.parent().map(Path::to_owned).into_iter().collect();
        }
        const MAY_NAME_FILES: [&str; 5] =
            ["generators", "transformers", "transformersFrom", "validators", "transformerOverrides"];
        let users = self.workspace.users(file);
        let users = users.filter(|(_, reference)| MAY_NAME_FILES.contains(&reference.top_field()));
        users.map(|(layer, _)| layer.folder.clone()).collect()
    }

    fn find_problems(&mut self) -> BTreeMap<PathBuf, Vec<Problem>> {
        let before = self.sources.last();
        let mut reporter = problems::Reporter::new(&self.world, &self.sources);
        let is_large = self.report_builds(&mut reporter) > MANY_RESOURCES;
        if !is_large {
            self.report_findings(&mut reporter, lint::Options::default());
        }
        for file in self.world.open().iter().filter(|file| is_kptfile(file)) {
            if let Some(error) = self.kptfile_error(file) {
                reporter.add(&error, file, None);
            }
        }
        let mut problems = reporter.finish();
        self.forget_texts_after(before, &problems);
        self.is_lint_due = is_large && self.unlinted.as_ref().is_none_or(|files| !files.is_empty());
        if is_large && let Some(unlinted) = &self.unlinted {
            let known = self.findings.iter().filter(|(file, _)| !unlinted.contains(*file));
            known.for_each(|(file, found)| problems::merge(problems.entry(file.clone()).or_default(), found));
        }
        problems
    }

    /// Why builds fail, for each layer that can be built alone; returns how many resources the others have.
    fn report_builds(&self, reporter: &mut problems::Reporter) -> usize {
        let mut resources = 0;
        let mut known: BTreeSet<&Path> = BTreeSet::new();
        let mut open: Vec<&Layer> = self.workspace.roots();
        while !open.is_empty() {
            open.retain(|layer| known.insert(&layer.folder));
            let targets: Vec<String> = open.iter().map(|layer| layer.shown.clone()).collect();
            let built = self.session.build(&targets);
            let mut next = Vec::new();
            for ((layer, target), result) in open.iter().zip(&targets).zip(&built.targets) {
                let error = match result {
                    Ok(items) => {
                        resources += items.len();
                        continue;
                    }
                    Err(error) => error,
                };
                reporter.add(error, &layer.file, Some(target));
                if needs_more_than_files(error) {
                    // The layers it is built from can still be checked one by one.
                    next.extend(layer.layers_named().filter_map(|(_, folder)| self.workspace.layer(folder)));
                }
            }
            open = next;
        }
        resources
    }

    /// What lint finds, which is also what builds warn of.
    fn report_findings(&self, reporter: &mut problems::Reporter, options: lint::Options) {
        let world: Arc<dyn World> = self.world.clone();
        let Self { sources, session, workspace, tree, .. } = self;
        let found = lint::check(&lint::Lint { world: &world, sources, session, workspace, tree }, &options);
        for finding in &found.findings {
            reporter.add(finding, self.root(), None);
        }
    }

    /// Frees texts that were read only for this, so that asking again and again does not fill the memory.
    fn forget_texts_after(&self, id: FileId, problems: &BTreeMap<PathBuf, Vec<Problem>>) {
        let named: BTreeSet<FileId> =
            problems.values().flatten().map(|problem| problem.place.span.file).collect();
        for source in self.sources.after(id) {
            let path = self.world.real_path(Path::new(source.name()));
            let kept = path.ok().and_then(|path| self.session.text_of(&path));
            let is_kept = kept.is_some_and(|kept| kept.id() == source.id());
            if !is_kept && !named.contains(&source.id()) {
                self.sources.forget(source.id());
            }
        }
    }

    fn kptfile_error(&self, file: &Path) -> Option<Diagnostic> {
        let name = relative(file, self.root());
        let source = match self.sources.add_bytes(name, self.world.read(file).ok()?) {
            Ok(source) => source,
            Err(error) => return Some(error),
        };
        Kptfile::read(&source).err()
    }
}

/// Whether a build fails for lack of a program or the network: the files may well be right.
fn needs_more_than_files(error: &Diagnostic) -> bool {
    problems::is_not_here(error) || error.others().iter().any(needs_more_than_files)
}

/// Whether a file makes its folder a layer.
pub(crate) fn is_layer_file(path: &Path) -> bool {
    let names = KUSTOMIZATION_FILES.iter().chain(&composition::FILE_NAMES);
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| names.into_iter().any(|known| *known == name))
}

pub(crate) fn is_kptfile(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == kpt::FILE)
}

/// The world with kustomizations that can be read: what is being typed in them is left out.
struct Repaired<'a>(&'a Buffers);

impl World for Repaired<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let bytes = self.0.read(path)?;
        if !is_layer_file(path) {
            return Ok(bytes);
        }
        let text = decode(bytes.clone()).ok();
        Ok(text.and_then(|text| repair::repair(&text, None)).map_or(bytes, String::into_bytes))
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.0.is_dir(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.is_file(path)
    }

    fn list(&self, dir: &Path) -> std::io::Result<Vec<DirEntry>> {
        self.0.list(dir)
    }

    fn real_path(&self, path: &Path) -> std::io::Result<PathBuf> {
        self.0.real_path(path)
    }

    fn below(&self) -> Option<&dyn World> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::memory_world::MemoryWorld;

    fn editor(files: &[(&str, &str)]) -> Editor {
        let disk = MemoryWorld::new(files.iter().map(|(path, text)| (format!("/w/{path}"), *text)));
        Editor::new(Arc::new(disk), Path::new("/w"))
    }

    fn shown(editor: &mut Editor) -> Vec<String> {
        let problems = editor.problems();
        let all = problems.values().flatten().map(|problem| {
            let place = &problem.place;
            let at = place.source.position(place.span.start as usize);
            format!("{}:{}:{} {}", place.path.display(), at.line, at.column, problem.code)
        });
        all.collect()
    }

    #[test]
    fn unsaved_texts_are_checked_in_every_build_that_uses_them() {
        let mut editor = editor(&[
            ("base/kustomization.yaml", "resources: [web.yaml]\n"),
            ("base/web.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"),
            ("a/kustomization.yaml", "resources: [../base]\n"),
            ("b/kustomization.yaml", "resources: [../base]\nreplicas: [{name: wbe, count: 2}]\n"),
        ]);
        assert_eq!(shown(&mut editor), ["/w/b/kustomization.yaml:2:19 replicas-no-match"]);
        editor.set_text(Path::new("/w/base/web.yaml"), "apiVersion: v1\nkind: [\n".into());
        let found = shown(&mut editor);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("/w/base/web.yaml:"), "{found:?}");
        let problem = &editor.problems()[Path::new("/w/base/web.yaml")][0];
        let builds: Vec<&str> = problem.notes.iter().map(|(text, _)| text.as_str()).collect();
        assert!(
            builds.contains(&"in the build of `a`") && builds.contains(&"in the build of `b`"),
            "{builds:?}"
        );
        editor.close(Path::new("/w/base/web.yaml"));
        assert_eq!(shown(&mut editor), ["/w/b/kustomization.yaml:2:19 replicas-no-match"]);
    }

    #[test]
    fn what_would_be_run_or_fetched_is_named_and_the_rest_is_checked() {
        let mut editor = editor(&[
            ("base/kustomization.yaml", "resources: [none.yaml]\n"),
            ("top/kustomization.yaml", "resources:\n- ../base\n- https://example.com/x//y?ref=v1\n"),
            ("chart/kustomization.yaml", "helmCharts: [{name: x, repo: https://example.com}]\n"),
        ]);
        let found = shown(&mut editor);
        assert_eq!(
            found,
            [
                "/w/base/kustomization.yaml:1:13 file-not-found",
                "/w/chart/kustomization.yaml:1:21 helm-not-enabled",
                "/w/top/kustomization.yaml:3:3 no-network"
            ]
        );
        let mut level = |file: &str| editor.problems()[Path::new(file)][0].level;
        assert_eq!(level("/w/top/kustomization.yaml"), Level::Information);
        assert_eq!(level("/w/base/kustomization.yaml"), Level::Error);
    }

    #[test]
    fn in_a_large_folder_lint_waits_for_a_pause() {
        let one = |at: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{at}\n");
        let all: Vec<String> = (0..=MANY_RESOURCES).map(one).collect();
        let all = all.join("---\n");
        let mut editor = editor(&[("kustomization.yaml", "resources: [all.yaml]\n"), ("all.yaml", &all)]);
        assert_eq!(shown(&mut editor), Vec::<String>::new());
        assert!(editor.is_unfinished());
        editor.finish();
        assert_eq!(shown(&mut editor), Vec::<String>::new());
        assert!(!editor.is_unfinished());
        editor.set_text(Path::new("/w/all.yaml"), format!("{all}dta: {{a: b}}\n").into());
        assert_eq!(shown(&mut editor), Vec::<String>::new());
        assert!(editor.is_unfinished());
        editor.finish();
        let found = shown(&mut editor);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("/w/all.yaml:"), "{found:?}");
        // It stays while other files change.
        editor.set_text(Path::new("/w/kustomization.yaml"), "# more\nresources: [all.yaml]\n".into());
        assert_eq!(shown(&mut editor), found);
    }
}
