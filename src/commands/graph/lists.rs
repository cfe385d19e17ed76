//! What targets are made of, as lists for other programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use krm_engine::files::relative;
use krm_engine::graph::Inputs;
use krm_engine::{Diagnostic, World};

use crate::commands::targets::Targets;
use crate::report::Report;

/// Every file that decides the result of a target, one a line; a folder that is taken whole ends in `/`.
pub fn paths(inputs: &Inputs, targets: &Targets, world: &dyn World, here: &Path) -> String {
    let mut lines = BTreeSet::new();
    for at in 0..targets.names.len() {
        lines.extend(
            folded(&inputs.files(at, world), world).into_iter().map(|path| shown(&path, world, here)),
        );
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn shown(path: &Path, world: &dyn World, here: &Path) -> String {
    let way = relative(path, here);
    match (world.is_dir(path), way.is_empty()) {
        (true, true) => "./".to_owned(),
        (true, false) => way + "/",
        (false, _) => way,
    }
}

/// Without what is in a folder that is taken whole.
fn folded(files: &BTreeSet<PathBuf>, world: &dyn World) -> Vec<PathBuf> {
    let whole: Vec<&PathBuf> = files.iter().filter(|path| world.is_dir(path)).collect();
    let is_within = |path: &&PathBuf| whole.iter().any(|folder| path.starts_with(folder) && path != folder);
    files.iter().filter(|path| !is_within(path)).cloned().collect()
}

/// A rule for make or ninja: the folder of each target, and the files it depends on.
pub fn depfile(inputs: &Inputs, targets: &Targets, world: &dyn World, here: &Path) -> String {
    let mut text = String::new();
    for (at, name) in targets.names.iter().enumerate() {
        text.push_str(&escaped(name));
        text.push(':');
        for path in folded(&inputs.files(at, world), world) {
            let way = relative(&path, here);
            text.push_str(&format!(" \\\n  {}", escaped(if way.is_empty() { "." } else { &way })));
        }
        text.push('\n');
    }
    text
}

/// A name in a rule: make takes blanks, dollars and hashes for its own.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            ' ' | '#' | ':' | '\\' | '%' => text.extend(['\\', c]),
            '$' => text.push_str("$$"),
            // No rule can hold these.
            '\n' | '\r' | '\t' => text.push('?'),
            c => text.push(c),
        }
    }
    text
}

/// The value of the annotation of Argo CD, a line for each target: folders, as seen from the target. Files outside of the
/// folders of layers are named themselves, and what is outside the repository is left out.
pub fn argocd(inputs: &Inputs, targets: &Targets, world: &dyn World, report: &Report) -> String {
    let mut text = String::new();
    for (at, name) in targets.names.iter().enumerate() {
        let Some(own) = targets.layer(at).map(|layer| layer.folder.clone()) else { continue };
        let mut folders: BTreeSet<PathBuf> = inputs.folders(at);
        let outside = inputs.files(at, world);
        folders.extend(outside);
        let top = own
            .ancestors()
            .find(|folder| world.is_dir(&folder.join(".git")) || world.is_file(&folder.join(".git")));
        let (inside, elsewhere): (Vec<PathBuf>, Vec<PathBuf>) =
            folders.into_iter().partition(|path| top.is_none_or(|top| path.starts_with(top)));
        if let Some(first) = elsewhere.first() {
            let message = format!("`{name}` reads `{}`, which is outside the repository", first.display());
            report.show(
                &Diagnostic::warning("argocd-outside", message)
                    .help("Argo CD cannot watch it: move it into the repository"),
            );
        }
        let is_covered =
            |path: &&PathBuf| inside.iter().any(|folder| path.starts_with(folder) && *path != folder);
        let ways = inside.iter().filter(|path| !is_covered(path)).map(|path| match relative(path, &own) {
            way if way.is_empty() => ".".to_owned(),
            way => way,
        });
        let mut ways: Vec<String> = ways.collect();
        ways.sort();
        if targets.names.len() > 1 {
            text.push_str(&format!("{name}: "));
        }
        text.push_str(&(ways.join(";") + "\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_any_name() {
        assert_eq!(escaped("a b$c#d:e\nf"), "a\\ b$$c\\#d\\:e?f");
    }
}
