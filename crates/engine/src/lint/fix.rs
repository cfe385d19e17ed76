//! Applying fixes: those that are safe leave what every root builds to as it is, byte for byte, which is seen to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_yaml::{Diagnostic, Edit, Fix, Source, Sources, apply_edits};
use rayon::prelude::*;

use crate::edit::overlay::Overlay;
use crate::files::world::{World, clean};
use crate::session::{BuildOptions, Session, emit};
use crate::workspace::Workspace;

/// Files that change: the text as read, and as it will be.
pub type Texts = BTreeMap<PathBuf, (String, String)>;

/// What fixes come to.
#[derive(Default)]
pub struct Fixed {
    /// All files that change.
    pub texts: Texts,
    /// Findings that are settled.
    pub applied: usize,
    /// Findings whose fix was left out, and why.
    pub refused: Vec<(Diagnostic, String)>,
    /// Folders that build to something else afterwards, as they are shown. Only unsafe fixes do that.
    pub changed: BTreeSet<String>,
}

/// How fixes are tried.
pub struct Trial<'a> {
    /// Where files are read.
    pub world: &'a Arc<dyn World>,
    /// The texts that the findings point into.
    pub sources: &'a Sources,
    /// The layers whose roots are built to compare.
    pub workspace: &'a Workspace,
    /// How roots are built.
    pub options: &'a BuildOptions,
    /// Fixes that may change outputs too. Roots must still build.
    pub with_unsafe: bool,
}

/// One way to settle a finding: what to write in which files.
type Changes = BTreeMap<PathBuf, Vec<Edit>>;

impl Trial<'_> {
    /// Tries the fixes of findings. First all together; if a root then differs, one after the other.
    pub fn apply(&self, findings: &[Diagnostic]) -> Fixed {
        let here = self.world.real_path(Path::new(".")).unwrap_or_default();
        let mut fixed = Fixed::default();
        let mut ways: Vec<(&Diagnostic, Vec<(Changes, bool)>)> = Vec::new();
        for finding in findings {
            let usable = finding.fixes().iter().filter(|fix| fix.is_safe() || self.with_unsafe);
            let usable: Vec<(Changes, bool)> =
                usable.filter_map(|fix| Some((self.changes(fix, &here)?, fix.is_safe()))).collect();
            if !usable.is_empty() {
                ways.push((finding, usable));
            }
        }
        if ways.is_empty() {
            return fixed;
        }
        let mut chosen = Chosen { texts: BTreeMap::new(), edits: BTreeMap::new() };
        let mut before = Before { trial: self, built: BTreeMap::new() };
        // All at once: most trees take it, and then every root is built twice and no more.
        let mut all = Chosen { texts: BTreeMap::new(), edits: BTreeMap::new() };
        let taken: Vec<bool> = ways.iter().map(|(_, ways)| all.add(&ways[0].0, self)).collect();
        let are_safe = ways.iter().zip(&taken).all(|((_, ways), taken)| !taken || ways[0].1);
        if let Ok(changed) = before.allows(&all, are_safe) {
            fixed.changed.extend(changed);
            fixed.applied = taken.iter().filter(|taken| **taken).count();
            fixed.texts = all.texts();
            return fixed;
        }
        let mut done: Vec<Changes> = Vec::new();
        let mut refused: Vec<(Changes, String)> = Vec::new();
        for (finding, ways) in &ways {
            if ways.iter().any(|(changes, _)| done.contains(changes)) {
                fixed.applied += 1;
                continue;
            }
            let mut why = String::new();
            let mut is_done = false;
            for (changes, is_safe) in ways {
                if let Some((_, known)) = refused.iter().find(|(other, _)| other == changes) {
                    why = known.clone();
                    continue;
                }
                let mut more = chosen.clone();
                if !more.add(changes, self) {
                    // It is tried again when the others are written.
                    continue;
                }
                match before.allows_only(&more, changes, *is_safe) {
                    Ok(changed) => {
                        fixed.changed.extend(changed);
                        (chosen, is_done) = (more, true);
                        done.push(changes.clone());
                        break;
                    }
                    Err(reason) => {
                        refused.push((changes.clone(), reason.clone()));
                        why = reason;
                    }
                }
            }
            match is_done {
                true => fixed.applied += 1,
                false if !why.is_empty() => fixed.refused.push(((*finding).clone(), why)),
                false => {}
            }
        }
        fixed.texts = chosen.texts();
        fixed
    }

    fn changes(&self, fix: &Fix, here: &Path) -> Option<Changes> {
        let mut changes = Changes::new();
        for edit in fix.edits() {
            let source = self.sources.get(edit.span.file)?;
            let path = self.world.real_path(&clean(&here.join(source.name()))).ok()?;
            changes.entry(path).or_default().push(edit.clone());
        }
        (!changes.is_empty()).then_some(changes)
    }
}

/// Edits that do not get in each other's way.
#[derive(Clone)]
struct Chosen {
    texts: Texts,
    edits: Changes,
}

impl Chosen {
    /// Adds edits, unless they change what others change, or a file is not what it was when they were made.
    fn add(&mut self, changes: &Changes, trial: &Trial) -> bool {
        let mut new = self.clone();
        for (path, edits) in changes {
            let Some(source) = edits.first().and_then(|edit| trial.sources.get(edit.span.file)) else {
                return false;
            };
            let all = new.edits.entry(path.clone()).or_default();
            // The spans of two readings of a file differ in the number of the file alone.
            let same = |a: &Edit, b: &Edit| a.span.range() == b.span.range() && a.text == b.text;
            for edit in edits {
                if !all.iter().any(|known| same(known, edit)) {
                    all.push(edit.clone());
                }
            }
            let Ok(text) = apply_edits(source.text(), all.iter()) else { return false };
            let known =
                new.texts.entry(path.clone()).or_insert_with(|| (source.text().to_owned(), String::new()));
            if known.0 != source.text() {
                return false;
            }
            known.1 = text;
        }
        *self = new;
        true
    }

    fn texts(self) -> Texts {
        self.texts.into_iter().filter(|(_, (before, after))| before != after).collect()
    }
}

/// What roots built to before any fix.
struct Before<'t> {
    trial: &'t Trial<'t>,
    built: BTreeMap<String, Result<String, String>>,
}

impl Before<'_> {
    /// Whether every root may be what the changes make of it. Gives those that build to something else then.
    fn allows(&mut self, chosen: &Chosen, is_safe: bool) -> Result<Vec<String>, String> {
        let paths: Vec<PathBuf> = chosen.texts.keys().cloned().collect();
        self.compare(chosen, &paths, is_safe)
    }

    /// The same for the roots that the last changes can have reached.
    fn allows_only(&mut self, chosen: &Chosen, last: &Changes, is_safe: bool) -> Result<Vec<String>, String> {
        let paths: Vec<PathBuf> = last.keys().cloned().collect();
        self.compare(chosen, &paths, is_safe)
    }

    fn compare(&mut self, chosen: &Chosen, paths: &[PathBuf], is_safe: bool) -> Result<Vec<String>, String> {
        let workspace = self.trial.workspace;
        let reached = workspace.reached_from(paths);
        // Folders that others include may be deployed as well, so whatever is reached is built.
        let targets: Vec<String> = workspace
            .layers()
            .filter(|layer| reached.contains(&*layer.folder))
            .filter(|layer| layer.kind != crate::workspace::LayerKind::Component)
            .map(|layer| layer.shown.clone())
            .collect();
        let is_configuration = |path: &PathBuf| workspace.layers().any(|layer| layer.file == **path);
        if targets.is_empty() && is_safe && paths.iter().any(is_configuration) {
            return Err("no root uses it, so nothing can be compared".into());
        }
        let unknown: Vec<String> =
            targets.iter().filter(|target| !self.built.contains_key(*target)).cloned().collect();
        let first = self.trial.build(self.trial.world.clone(), &unknown);
        self.built.extend(unknown.into_iter().zip(first));
        let new =
            chosen.texts.iter().map(|(path, (_, text))| (path.clone(), Some(text.clone().into_bytes())));
        let world: Arc<dyn World> = Arc::new(Overlay::new(self.trial.world.clone(), new.collect()));
        let after = self.trial.build(world, &targets);
        let mut changed = Vec::new();
        for (target, after) in targets.into_iter().zip(after) {
            match (&self.built[&target], after) {
                (Ok(before), Ok(after)) if *before == after => {}
                (Ok(_), Ok(_)) if !is_safe => changed.push(target),
                (Ok(_), Ok(_)) => return Err(format!("it would change what `{target}` builds to")),
                (Err(why), _) if is_safe => {
                    return Err(format!(
                        "`{target}` cannot be built here, so nothing can be compared: {why}"
                    ));
                }
                (Err(_), _) => {}
                (Ok(_), Err(why)) => return Err(format!("`{target}` would no longer build: {why}")),
            }
        }
        Ok(changed)
    }
}

impl Trial<'_> {
    fn build(&self, world: Arc<dyn World>, targets: &[String]) -> Vec<Result<String, String>> {
        let session = Session::new(world, Sources::new(), self.options.clone());
        let built = session.build(targets).targets.into_par_iter().map(|built| {
            let text = built.and_then(|resources| Ok(emit([&resources])?.concat()));
            text.map_err(|error| error.message().to_owned())
        });
        built.collect()
    }
}

/// Adds to a fix what turns one text into another: the lines from the first to the last that differ.
pub(crate) fn as_edits(fix: Fix, source: &Arc<Source>, new: &str) -> Fix {
    let old = source.text();
    if old == new {
        return fix;
    }
    let lines = |text: &str| text.split_inclusive('\n').map(str::len).collect::<Vec<_>>();
    let (a, b) = (lines(old), lines(new));
    let (mut start, mut at) = (0, 0);
    while at < a.len().min(b.len()) && old[start..start + a[at]] == new[start..start + b[at]] {
        start += a[at];
        at += 1;
    }
    let (mut old_end, mut new_end) = (old.len(), new.len());
    for (x, y) in a[at..].iter().rev().zip(b[at..].iter().rev()) {
        if old[old_end - x..old_end] != new[new_end - y..new_end] {
            break;
        }
        (old_end, new_end) = (old_end - x, new_end - y);
    }
    fix.replace(source.span(start, old_end), &new[start..new_end])
}
