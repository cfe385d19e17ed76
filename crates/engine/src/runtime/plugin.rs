//! Where programs are that are found by the type of their configuration.

use std::path::PathBuf;

/// What is where a plugin should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "run"), allow(dead_code))] // nothing is looked for where nothing can be started
pub(crate) enum Found {
    Program(PathBuf),
    /// A file, but one that cannot be started.
    NotExecutable(PathBuf),
    /// A plugin written in Go, to be loaded into a program written in Go.
    Go(PathBuf),
    /// Nothing.
    Nothing,
}

/// Looks for the plugin of a type, in the first of these folders that exists.
///
/// Group, version and kind are names: one that would lead elsewhere as part of a path has no plugin, so that nothing but
/// what the user put into that folder is ever started.
#[cfg(feature = "run")]
pub(crate) fn find(homes: &[PathBuf], group: &str, version: &str, kind: &str) -> Found {
    let Some(home) = homes.iter().find(|dir| dir.exists()) else { return Found::Nothing };
    if !is_name(version) || !is_name(kind) || !(group.is_empty() || is_name(group)) {
        return Found::Nothing;
    }
    let path = home.join(group).join(version).join(kind.to_lowercase()).join(kind);
    let beside = |ending: &str| Some(path.with_file_name(format!("{kind}{ending}"))).filter(|p| p.exists());
    match path.metadata() {
        Ok(meta) if !meta.is_file() => Found::Nothing,
        Ok(meta) if super::digests::is_executable(&meta) => Found::Program(path),
        Ok(_) => Found::NotExecutable(path),
        Err(_) => match beside(".so").or_else(|| beside(".go")) {
            Some(go) => Found::Go(go),
            None => Found::Nothing,
        },
    }
}

/// Without the means to start programs there are no plugins.
#[cfg(not(feature = "run"))]
pub(crate) fn find(_homes: &[PathBuf], _group: &str, _version: &str, _kind: &str) -> Found {
    Found::Nothing
}

/// Whether a text is one part of a path, and no other than itself.
#[cfg(feature = "run")]
fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\\', ':', '\0'])
}
