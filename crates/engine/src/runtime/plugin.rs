//! Where programs lie that are found by the type of their configuration.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// What lies where a plugin should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Program(PathBuf),
    /// A file, but one that cannot be started.
    NotExecutable(PathBuf),
    /// A plugin written in Go, to be loaded into a program written in Go.
    Go(PathBuf),
    /// Nothing, here.
    Nothing(PathBuf),
    /// There is no folder of plugins at all.
    NoHome,
}

/// Looks for the plugin of a type, in the first of these folders that exists.
pub fn find(homes: &[PathBuf], group: &str, version: &str, kind: &str) -> Found {
    let Some(home) = homes.iter().find(|dir| dir.exists()) else { return Found::NoHome };
    let path = home.join(group).join(version).join(kind.to_lowercase()).join(kind);
    let beside = |ending: &str| Some(path.with_file_name(format!("{kind}{ending}"))).filter(|p| p.exists());
    match path.metadata() {
        Ok(meta) if meta.permissions().mode() & 0o111 != 0 => Found::Program(path),
        Ok(_) => Found::NotExecutable(path),
        Err(_) => match beside(".so").or_else(|| beside(".go")) {
            Some(go) => Found::Go(go),
            None => Found::Nothing(path),
        },
    }
}
