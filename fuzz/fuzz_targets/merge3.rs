#![no_main]
//! Three trees, any of them anything: an update that changed nothing changes nothing.

use krm_engine::Schema;
use krm_engine::merge::{Merged, Options, Side, three_way};
use krm_yaml::Node;

libfuzzer_sys::fuzz_target!(|texts: (&str, &str, &str)| {
    let read = |text: &str| text.parse::<Node>();
    let (Ok(original), Ok(updated), Ok(dest)) = (read(texts.0), read(texts.1), read(texts.2)) else { return };
    let schema = Schema::default();
    let options = Options { infer: true, prepend: false, as_reference: false };
    let _ = three_way(Some(&original), &updated, &dest, Side::Theirs, &schema, options);
    if let Ok((merged, conflicts)) = three_way(Some(&dest), &dest, &dest, Side::Theirs, &schema, options) {
        assert!(conflicts.is_empty());
        if let Merged::Changed(merged) = merged {
            assert_eq!(merged, dest);
        }
    }
});
