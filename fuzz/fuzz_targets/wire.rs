#![no_main]
//! What a function prints: accepted lists come out as lists that mean the same.

use krm_function::ResourceList;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(list) = ResourceList::parse(text) else { return };
    let again = ResourceList::parse(&list.to_string()).expect("a list is written as a list");
    // What came in braces is written as JSON, which has no tags: what the values mean is compared.
    let values = |list: &ResourceList| list.items.iter().map(|o| krm_yaml::json::compact(o)).collect::<Vec<_>>();
    assert_eq!(values(&again), values(&list));
});
