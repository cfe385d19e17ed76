//! What starts programs on a server: the Remote Execution API knows no standard input and, for images, neither an entry
//! point nor a folder to start in; and images of functions often have no shell.
//!
//! So every call begins with a program of a few hundred bytes that needs nothing but the kernel. Its source is beside this
//! file, in assembly language; `starter/x86_64.s` says what it does.

/// The program for a kind of machine, as Rust names it.
pub fn for_machine(architecture: &str) -> Option<&'static [u8]> {
    match architecture {
        "x86_64" => Some(include_bytes!("starter/x86_64.bin")),
        "aarch64" => Some(include_bytes!("starter/aarch64.bin")),
        _ => None,
    }
}

/// The arguments to start a program: the first of `candidates` that can be started, called by the first of `arguments`.
pub fn arguments(
    starter: &str,
    input: &str,
    folder: &str,
    candidates: Vec<String>,
    arguments: Vec<String>,
) -> Vec<String> {
    // An empty text ends the candidates, and cannot be one of them.
    let candidates = candidates.into_iter().filter(|candidate| !candidate.is_empty());
    let mut all = vec![starter.to_owned(), input.to_owned(), folder.to_owned()];
    all.extend(candidates);
    all.push(String::new());
    all.extend(arguments);
    all
}

/// The arguments to print files: see [`parts`].
pub fn to_print<'f>(starter: &'f str, files: &[&'f str]) -> Vec<String> {
    [starter, ""].iter().chain(files).map(|text| (*text).to_owned()).collect()
}

/// What was printed of a file; nothing if it could not be opened.
pub fn printed<'o>(output: &'o [u8], file: &str) -> &'o [u8] {
    let mut parts = output.split(|byte| *byte == 0);
    parts.find_map(|part| part.strip_prefix(file.as_bytes())?.strip_prefix(b"\n")).unwrap_or_default()
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Output};

    use tempfile::TempDir;

    use super::*;

    /// The program in a folder of its own, with an input.
    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        fs::create_dir(dir.join("below")).unwrap();
        fs::write(dir.join("start"), for_machine("x86_64").unwrap()).unwrap();
        fs::set_permissions(dir.join("start"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(dir.join("input"), "the input\n").unwrap();
        folder
    }

    fn run(dir: &TempDir, all: &[String]) -> Output {
        Command::new(dir.path().join("start")).args(&all[1..]).current_dir(dir).output().unwrap()
    }

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn programs_get_their_input_folder_and_arguments() {
        let dir = folder();
        let candidates = texts(&["/there/is/none", "/bin/sh"]);
        let script = "pwd; echo $0 $1 $2; cat";
        let called = texts(&["sh", "-c", script, "a", "b c", "d"]);
        let output = run(&dir, &arguments("start", "input", "below", candidates, called));
        let stdout = String::from_utf8(output.stdout).unwrap();
        let (folder, rest) = stdout.split_once('\n').unwrap();
        assert!(folder.ends_with("/below"), "{folder}");
        assert_eq!(rest, "a b c d\nthe input\n");
    }

    #[test]
    fn what_cannot_be_started_says_so() {
        let dir = folder();
        let none = run(&dir, &arguments("start", "input", "", texts(&["/there/is/none"]), texts(&["none"])));
        assert_eq!(none.status.code(), Some(127));
        assert!(String::from_utf8_lossy(&none.stderr).contains("cannot be started"));
        for (input, folder) in [("none", ""), ("input", "none")] {
            let output = run(&dir, &arguments("start", input, folder, texts(&["/bin/cat"]), texts(&["cat"])));
            assert_eq!(output.status.code(), Some(126));
        }
    }

    #[test]
    fn files_are_printed() {
        let dir = folder();
        fs::write(dir.path().join("long"), "x".repeat(10_000)).unwrap();
        let output = run(&dir, &to_print("start", &["none", "long", "input"])).stdout;
        assert_eq!(printed(&output, "none"), b"");
        assert_eq!(printed(&output, "long").len(), 10_000);
        assert_eq!(printed(&output, "input"), b"the input\n");
        assert_eq!(printed(&output, "other"), b"");
    }

    /// The bytes are what the source says; left out if there is no assembler.
    #[test]
    fn the_program_is_made_from_its_source() {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/remote/starter/");
        let dir = folder();
        for (machine, prefix) in [("x86_64", ""), ("aarch64", "aarch64-linux-gnu-")] {
            let (object, binary) = (dir.path().join("made.o"), dir.path().join("made.bin"));
            let assembled = Command::new(format!("{prefix}as"))
                .arg("-o")
                .arg(&object)
                .arg(format!("{source}{machine}.s"))
                .status();
            let Ok(assembled) = assembled else {
                eprintln!("left out: there is no assembler for {machine}");
                continue;
            };
            assert!(assembled.success());
            let mut copy = Command::new(format!("{prefix}objcopy"));
            copy.args(["-O", "binary", "-j", ".text"]).arg(&object).arg(&binary);
            assert!(copy.status().unwrap().success());
            assert_eq!(fs::read(&binary).unwrap(), for_machine(machine).unwrap(), "{machine}");
        }
    }
}
