#![no_main]
//! Any bytes: read all at once and one document after the other.

use krm_yaml::{Sources, documents, parse};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = Sources::new().add_bytes("fuzz", bytes.to_vec()) else { return };
    let all = parse(&source);
    let one_by_one: Result<Vec<_>, _> = documents(&source).collect();
    match (all, one_by_one) {
        (Ok(all), Ok(one_by_one)) => {
            assert!(all.iter().map(|d| &d.root).eq(one_by_one.iter().map(|d| &d.root)));
        }
        (Err(all), Err(one_by_one)) => assert_eq!(all.code(), one_by_one.code()),
        (all, one_by_one) => panic!("{:?} and {:?}", all.err(), one_by_one.err()),
    }
});
