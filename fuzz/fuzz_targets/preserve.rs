#![no_main]
//! Untouched documents come out as they went in; edited ones read back as the edited tree.

use krm_yaml::emit::preserve;
use krm_yaml::{Node, parse_str};

libfuzzer_sys::fuzz_target!(|input: (&str, &str, &str)| {
    let (text, key, value) = input;
    let Ok(mut documents) = parse_str(text) else { return };
    assert_eq!(preserve::stream(&documents), text);
    let Some(document) = documents.first_mut().filter(|document| document.root.is_map()) else { return };
    document.root.set(key, Node::from(value));
    let again = parse_str(&document.text()).expect("an edited document is YAML");
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].root, document.root);
});
