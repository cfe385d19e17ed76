//! What becomes of the warnings of a build, by `krm.toml` and by comments.

use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, FileId, Sources};
use rustc_hash::FxHashMap;

use super::settings::{Level, Settings};
use super::silence::Comments;
use crate::files::world::{World, clean};

/// What a warning of a build amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// A build whose output is right does not fail.
    Lenient,
    /// A warning is an error unless `krm.toml` sets its level to `warning`: `--strict`.
    Strict,
}

/// Leaves out warnings that are off or silenced, and turns the others into errors if that is asked for. The same goes for
/// what is wrong with the settings.
pub fn judge(
    world: &dyn World,
    sources: &Sources,
    warnings: Vec<Diagnostic>,
    strictness: Strictness,
) -> Vec<Diagnostic> {
    if warnings.is_empty() {
        return Vec::new();
    }
    let counted = |warning: Diagnostic| match strictness {
        Strictness::Strict => warning.into_error(),
        Strictness::Lenient => warning.into_warning(),
    };
    let here = world.real_path(Path::new(".")).unwrap_or_default();
    let mut known: FxHashMap<PathBuf, Settings> = FxHashMap::default();
    // A file is looked through once, however many warnings it has.
    let mut files: FxHashMap<FileId, Option<(PathBuf, Comments)>> = FxHashMap::default();
    let mut judged = Vec::new();
    for warning in warnings {
        let source = sources.get(warning.place().file);
        let file = files.entry(warning.place().file).or_insert_with(|| {
            let source = source.as_ref()?;
            let path = world.real_path(&clean(&here.join(source.name()))).ok()?;
            let comments = Comments::of(source, &path);
            Some((path, comments))
        });
        let (Some(source), Some((path, comments))) = (source, file) else {
            judged.push(counted(warning));
            continue;
        };
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let settings = known.entry(folder).or_insert_with_key(|folder| {
            let mut settings = Settings::around(world, sources, &here, folder);
            judged.extend(settings.faults.drain(..).map(counted));
            settings
        });
        let line = source.position(warning.place().start as usize).line;
        if settings.silences(warning.code(), path) || comments.silence(warning.code(), path, line) {
            continue;
        }
        match settings.level(warning.code(), path) {
            Some(Level::Off) => {}
            Some(Level::Warning) => judged.push(warning),
            _ => judged.push(counted(warning)),
        }
    }
    let place = |fault: &Diagnostic| (fault.place(), fault.message().to_owned());
    judged.dedup_by(|a, b| place(a) == place(b));
    judged.into_iter().map(|one| one.located(sources)).collect()
}
