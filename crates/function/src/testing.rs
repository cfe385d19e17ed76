//! Testing a function against files.

// The golden files of a test are on the disk: this is the one part of the crate that touches it.
#![allow(clippy::disallowed_methods)]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::list::ResourceList;
use crate::run::Outcome;

/// Calls a function on every case in a folder, and panics where it does not give what is expected.
///
/// A case is a folder with a list in `input.yaml` and the list that must come out in `expected.yaml`; if the function must
/// fail, `error.txt` holds what it says instead. With the environment variable `UPDATE` set, what comes out is written:
/// read the difference before you commit it.
///
/// ```no_run
/// # use krm_function::{Outcome, ResourceList};
/// # fn require_limits(list: &mut ResourceList) -> Outcome { Ok(()) }
/// #[test]
/// fn cases() {
///     krm_function::testing::golden("tests/cases", require_limits);
/// }
/// ```
pub fn golden(folder: impl AsRef<Path>, function: impl Fn(&mut ResourceList) -> Outcome) {
    let folder = folder.as_ref();
    let mut cases: Vec<PathBuf> = read(fs::read_dir(folder), folder)
        .map(|entry| read(entry, folder).path())
        .filter(|case| case.join("input.yaml").is_file())
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "{} has no folder with an input.yaml", folder.display());
    let update = std::env::var_os("UPDATE").is_some();
    let mut faults = String::new();
    for case in &cases {
        if let Some(fault) = run(case, &function, update) {
            writeln!(faults, "{}: {fault}", case.display()).expect("a String takes everything");
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

/// Runs one case; says what is wrong.
fn run(case: &Path, function: &impl Fn(&mut ResourceList) -> Outcome, update: bool) -> Option<String> {
    let input = case.join("input.yaml");
    let outcome = ResourceList::parse(&read(fs::read_to_string(&input), &input))
        .map_err(Into::into)
        .and_then(|mut list| function(&mut list).map(|()| list.to_string()));
    let (name, other, got) = match outcome {
        Ok(text) => ("expected.yaml", "error.txt", text),
        Err(error) => ("error.txt", "expected.yaml", format!("{error}\n")),
    };
    let file = case.join(name);
    if update {
        read(fs::write(&file, got), &file);
        let _ = fs::remove_file(case.join(other));
        return None;
    }
    match fs::read_to_string(&file) {
        Ok(expected) if expected == got => None,
        Ok(expected) => Some(format!("{name} differs\n--- expected\n{expected}--- got\n{got}")),
        Err(_) => Some(format!("there is no {name}, and this came out\n{got}")),
    }
}

fn read<T>(result: io::Result<T>, place: &Path) -> T {
    result.unwrap_or_else(|error| panic!("{}: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(list: &mut ResourceList) -> Outcome {
        if list.items.is_empty() {
            return Err("there is nothing to label".into());
        }
        list.items.iter_mut().for_each(|object| object.set_label("a", "b"));
        Ok(())
    }

    #[test]
    fn cases_hold_or_say_what_differs() {
        golden(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"), label);
        let case = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/labels"));
        let fault = run(case, &|_: &mut ResourceList| Ok(()), false).unwrap();
        assert!(fault.starts_with("expected.yaml differs"), "{fault}");
        let fault = run(case, &|_: &mut ResourceList| Err("no".into()), false).unwrap();
        assert_eq!(fault, "there is no error.txt, and this came out\nno\n");
    }

    #[test]
    fn errors_go_from_thread_to_thread() {
        fn sends<T: Send + Sync>() {}
        sends::<Outcome>();
        sends::<krm_yaml::Diagnostic>();
    }
}
