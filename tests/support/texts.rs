//! What a folder holds, to compare before and after.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every file below a folder, all of them texts, by its path within the folder.
pub fn texts(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            match path.is_dir() {
                true => waiting.push(path),
                false => {
                    let name = path.strip_prefix(root).expect("below the root").display().to_string();
                    found.insert(name, fs::read_to_string(&path).expect("a text"));
                }
            }
        }
    }
    found
}
