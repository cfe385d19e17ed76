#![no_main]
//! The canonical form reads back, and is its own canonical form.

use krm_yaml::{canonical, parse_str, try_canonical_into};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(documents) = parse_str(text) else { return };
    for document in documents {
        // Some trees have no canonical form, and say so.
        let mut written = String::new();
        if try_canonical_into(&document.root, &mut written).is_err() {
            continue;
        }
        let again = parse_str(&written).expect("the canonical form is YAML");
        let root = again.into_iter().next().map(|document| document.root).unwrap_or_else(krm_yaml::Node::null);
        assert_eq!(canonical(&root), written);
    }
});
