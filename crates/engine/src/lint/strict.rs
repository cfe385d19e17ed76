//! Strict builds: every warning is an error, unless `krm.toml` or a comment says otherwise.

use std::path::{Path, PathBuf};

use krm_yaml::{Diagnostic, Sources};
use rustc_hash::FxHashMap;

use super::settings::{Level, Settings};
use super::silence::Comments;
use crate::files::world::{World, clean};

/// Makes errors of warnings. Those that are off or silenced are left out, and those whose level is `warning` stay. What is
/// wrong with the settings is an error too.
pub fn judge(world: &dyn World, sources: &Sources, warnings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let here = world.real_path(Path::new(".")).unwrap_or_default();
    let mut known: FxHashMap<PathBuf, Settings> = FxHashMap::default();
    let mut judged = Vec::new();
    for warning in warnings {
        let source = sources.get(warning.place().file);
        let path = source.as_ref().and_then(|source| world.real_path(&clean(&here.join(source.name()))).ok());
        let (Some(source), Some(path)) = (source, path) else {
            judged.push(warning.into_error());
            continue;
        };
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let settings = known.entry(folder).or_insert_with_key(|folder| {
            let mut settings = Settings::around(world, sources, &here, folder);
            judged.append(&mut settings.faults);
            settings
        });
        let line = source.position(warning.place().start as usize).line;
        if settings.silences(warning.code(), &path)
            || Comments::of(&source, &path).silence(warning.code(), &path, line)
        {
            continue;
        }
        match settings.level(warning.code(), &path) {
            Some(Level::Off) => {}
            Some(Level::Warning) => judged.push(warning),
            _ => judged.push(warning.into_error()),
        }
    }
    let place = |fault: &Diagnostic| (fault.place().start, fault.message().to_owned());
    judged.dedup_by(|a, b| place(a) == place(b));
    judged.into_iter().map(|one| one.located(sources)).collect()
}
