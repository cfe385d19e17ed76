//! What is silently wrong in a tree of kustomizations: everything a build warns of, and what no single build can see.
//!
//! A finding must hold in every root that uses the file it is in: a patch of a component that matches in one overlay and not
//! in another is right. Nothing is printed or written here. The rules, one file each, look at a [`Lint`]: the texts, the
//! layers, and every root as it was built. Callers with unsaved texts give a session over them.

mod build;
mod dangling;
mod dead_write;
mod deprecated;
mod duplicates;
pub mod fix;
mod image_names;
mod json_patch_position;
mod names;
mod no_op;
mod remote;
mod removal;
mod resource_fields;
mod roots;
pub(crate) mod rules;
mod same_in_overlays;
mod selectors;
pub(crate) mod settings;
mod silence;
pub mod stated;
mod steps;
pub mod tree;
mod unused_component;
mod unused_file;
mod unused_generator;
pub mod warnings;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use krm_yaml::{Diagnostic, Severity, Sources, Span, decode_lossy};

use crate::files::world::{World, clean};
use crate::session::Session;
use crate::workspace::Workspace;

pub use rules::{RULES, Rule};
pub use settings::Level;

use roots::Root;
use settings::Settings;
use tree::Tree;

/// What is looked at.
pub struct Lint<'a> {
    /// Where files are read.
    pub world: &'a Arc<dyn World>,
    /// The texts that spans point into: those of the session and of the workspace.
    pub sources: &'a Sources,
    /// Builds the roots.
    pub session: &'a Session,
    /// The layers of the tree.
    pub workspace: &'a Workspace,
    /// All files of the tree, including those that no layer names.
    pub tree: &'a Tree,
}

/// What is wanted of it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Files and folders, by their real paths, whose findings are wanted; all if there are none.
    pub only: Vec<PathBuf>,
    /// Codes that are wanted; all if there are none.
    pub select: Vec<String>,
    /// Codes that are not wanted.
    pub ignore: Vec<String>,
    /// Silences need a reason.
    pub strict: bool,
    /// Leave out what takes a second build of each root: what each step changes.
    pub quick: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// In the order of files and lines.
    pub findings: Vec<Diagnostic>,
    /// Roots that cannot be built here, because they need a program or the network, and why.
    pub unbuilt: Vec<(String, Diagnostic)>,
    /// How many roots were built.
    pub roots: usize,
}

/// Looks at everything. See [`Lint`].
pub fn check(lint: &Lint, options: &Options) -> Outcome {
    lint.check(options)
}

impl Lint<'_> {
    fn check(&self, options: &Options) -> Outcome {
        let here = self.world.real_path(Path::new(".")).unwrap_or_default();
        let cx = Check { lint: self, here, options, sets_images: OnceLock::new() };
        let roots = roots::build(&cx);
        let mut settings = Settings::read(&**self.world, self.sources, &cx.here, self.tree.settings());
        let mut comments = silence::Comments::read(&**self.world, self.sources, &cx.here, self.tree);

        let mut found = std::mem::take(&mut settings.faults);
        found.extend(build::findings(&cx, &roots));
        found.extend(remote::findings(&cx));
        found.extend(unused_file::findings(&cx, &roots));
        found.extend(resource_fields::findings(&cx, &roots));
        found.extend(names::findings(&cx, &roots));
        found.extend(dangling::findings(&cx, &roots));
        found.extend(selectors::findings(&cx, &roots));
        found.extend(duplicates::findings(&cx));
        found.extend(unused_component::findings(&cx));
        found.extend(unused_generator::findings(&cx, &roots));
        if !options.quick {
            found.extend(steps::findings(&cx, &roots));
            found.extend(same_in_overlays::findings(&cx, &roots));
        }
        let mut left = Vec::new();
        for finding in found {
            let Some(path) = cx.path_of(finding.place()) else {
                left.push(finding);
                continue;
            };
            let line = cx.line_of(finding.place());
            let is_silenced =
                settings.silences(finding.code(), &path) | comments.silence(finding.code(), &path, line);
            if !is_silenced {
                left.push(finding);
            }
        }
        // A run on a part of the tree does not see silences elsewhere, or codes that were not asked for.
        if options.select.is_empty() && options.ignore.is_empty() && !options.quick {
            let unsure = roots.iter().filter(|root| root.is_unbuilt());
            let unsure: Vec<&Root> = unsure.collect();
            let is_sure = |path: &Path| !unsure.iter().any(|root| root.uses(path));
            left.extend(comments.unused(options.strict, &is_sure));
            if options.only.is_empty() && unsure.is_empty() {
                left.extend(settings.unused(options.strict));
            }
        }
        let left = left.into_iter().filter_map(|finding| cx.judged(finding, &settings));
        let mut findings: Vec<Diagnostic> = left.map(|finding| finding.located(self.sources)).collect();
        cx.put_in_order(&mut findings);
        deprecated::add_fixes(&cx, &mut findings);
        image_names::add_fixes(&cx, &mut findings);
        let unbuilt = roots.iter().filter_map(Root::unbuilt).collect();
        Outcome { findings, unbuilt, roots: roots.iter().filter(|root| root.built.is_ok()).count() }
    }
}

/// One look at everything.
struct Check<'a> {
    lint: &'a Lint<'a>,
    here: PathBuf,
    options: &'a Options,
    sets_images: OnceLock<bool>,
}

impl Check<'_> {
    /// Whether a script, a workflow or a document of the tree runs `kustomize edit set image`.
    fn sets_images(&self) -> bool {
        *self.sets_images.get_or_init(|| {
            let tree = self.lint.tree;
            let yaml = tree.files.keys().filter(|path| tree::is_yaml(path));
            let mut all = tree.texts.iter().chain(yaml);
            all.any(|path| {
                let bytes = self.lint.world.read(path).unwrap_or_default();
                decode_lossy(bytes).contains("set image")
            })
        })
    }

    /// The file a span is in, by its real path; `None` for what is not a file of this machine.
    fn path_of(&self, span: Span) -> Option<PathBuf> {
        let source = self.lint.sources.get(span.file)?;
        if source.name().contains("://") {
            return None;
        }
        let path = clean(&self.here.join(source.name()));
        self.lint.world.real_path(&path).ok()
    }

    fn line_of(&self, span: Span) -> usize {
        self.lint.sources.get(span.file).map_or(0, |source| source.position(span.start as usize).line)
    }

    /// Whether findings in a file are wanted.
    fn is_wanted(&self, path: &Path) -> bool {
        let only = &self.options.only;
        path.starts_with(&self.lint.tree.root)
            && (only.is_empty() || only.iter().any(|only| path.starts_with(only)))
    }

    /// A finding with its level, if it is wanted at all.
    fn judged(&self, finding: Diagnostic, settings: &Settings) -> Option<Diagnostic> {
        let code = finding.code();
        let Options { select, ignore, .. } = self.options;
        if ignore.iter().any(|ignored| ignored == code) {
            return None;
        }
        let is_selected = select.iter().any(|selected| selected == code);
        if !select.is_empty() && !is_selected {
            return None;
        }
        let path = self.path_of(finding.place());
        match &path {
            Some(path) if !self.is_wanted(path) => return None,
            // What is fetched is someone else's to repair.
            None if !finding.place().is_none() => return None,
            _ => {}
        }
        let configured = path.and_then(|path| settings.level(code, &path));
        match configured.or(rules::level(code)) {
            // Asking for it by name is enough.
            Some(Level::Off) if !is_selected => None,
            Some(Level::Error) => Some(finding.into_error()),
            Some(Level::Warning) if finding.severity() == Severity::Error => Some(finding.into_warning()),
            _ => Some(finding),
        }
    }

    /// By file, line and column; of equal ones the first.
    fn put_in_order(&self, findings: &mut Vec<Diagnostic>) {
        let key = |finding: &Diagnostic| {
            let place = finding.place();
            let name = self.lint.sources.get(place.file).map(|source| source.name().to_owned());
            (name, place.start, place.end, finding.code())
        };
        findings.sort_by_cached_key(key);
        findings.dedup_by(|a, b| key(a) == key(b) && (a.message() == b.message() || !a.place().is_none()));
    }
}
