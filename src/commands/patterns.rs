//! Folders named by patterns that no shell has expanded, as in `'apps/*/prod'`.

use std::path::Path;

use krm_engine::edit::expand;

use crate::commands::diff::is_layer;
use crate::os::Disk;

/// The folders with a kustomization or a Composition that a pattern means. None of a word that is not a pattern, or that
/// matches none: then it is a name like any other.
pub fn folders(word: &str) -> Vec<String> {
    if !word.contains(['*', '?', '[']) || Path::new(word).exists() || word.contains("://") {
        return Vec::new();
    }
    let disk = Disk::default();
    let mut found = expand(&disk, Path::new("."), word.trim_end_matches('/')).unwrap_or_default();
    found.retain(|folder| is_layer(&disk, folder));
    found
}

/// Words with the folders that patterns among them mean in their place.
pub fn expanded(words: Vec<String>) -> Vec<String> {
    let each = |word: String| match folders(&word) {
        found if found.is_empty() => vec![word],
        found => found,
    };
    words.into_iter().flat_map(each).collect()
}
