#![no_main]
//! A kustomization and the files it may name, all of them anything.

use std::sync::Arc;

use krm_engine::{BuildOptions, MemoryWorld, Session, Sources};

libfuzzer_sys::fuzz_target!(|files: [&[u8]; 4]| {
    let names = ["app/kustomization.yaml", "app/a.yaml", "app/b.yaml", "app/base/kustomization.yaml"];
    let build = || -> String {
        let world = Arc::new(MemoryWorld::new(names.into_iter().zip(files)));
        let session = Session::new(world, Sources::new(), BuildOptions::default());
        match session.build(&["/app".to_owned()]).into_result() {
            Ok(built) => built.iter().map(|target| format!("{target:?}")).collect(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(build(), build());
});
