#![no_main]
//! What a function prints: accepted lists come out as lists that mean the same.

use krm_function::ResourceList;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(list) = ResourceList::parse(text) else { return };
    let again = ResourceList::parse(&list.to_string()).expect("a list is written as a list");
    let nodes = |list: &ResourceList| list.items.iter().map(|object| (**object).clone()).collect::<Vec<_>>();
    assert_eq!(nodes(&again), nodes(&list));
});
