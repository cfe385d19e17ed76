//! What `krm plan` prints builds to the same bytes as what it was made of: for every case of a build that succeeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "support/scratch.rs"]
mod scratch;

use scratch::Scratch;

#[test]
fn plans_build_to_the_same_bytes() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut tried = 0;
    let mut faults = Vec::new();
    for area in ["build", "composition"] {
        for case in folders(&cases.join(area)) {
            match check(&case) {
                Ok(true) => tried += 1,
                Ok(false) => {}
                Err(fault) => faults.push(format!("{}: {fault}", case.display())),
            }
        }
    }
    assert!(faults.is_empty(), "{} plans differ\n\n{}", faults.len(), faults.join("\n\n"));
    assert!(tried > 40, "only {tried} cases were found");
}

/// Builds a case as it is and by its plan. `false` where the case is of another kind.
fn check(case: &Path) -> Result<bool, String> {
    let args = fs::read_to_string(case.join("args")).unwrap_or("build in".into());
    let args: Vec<&str> = args.split_whitespace().collect();
    let [verb, target, flags @ ..] = &args[..] else { return Ok(false) };
    if *verb != "build" || !case.join("stdout").exists() || flags.iter().any(|flag| !flag.starts_with("--")) {
        return Ok(false);
    }
    let scratch = Scratch::new("plan");
    copy(case, &scratch);
    let folder = scratch.join(target);
    // Where a resource was configured is reported by file, and the plan is another file.
    let written = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
    let tells_origins = |name: &&str| {
        fs::read_to_string(folder.join(name)).is_ok_and(|text| {
            text.contains("Annotations]")
                || text.contains("originAnnotations")
                || text.contains("transformerAnnotations")
        })
    };
    // A resource that is called like a Composition cannot be beside one.
    let is_taken = folder.join("kustomization.yaml").exists() && folder.join("composition.yaml").exists();
    if !folder.is_dir() || is_taken || written.iter().any(tells_origins) {
        return Ok(false);
    }
    let expected = krm(&scratch, &args)?;
    let plan = krm(&scratch, &["plan", target])?;
    for name in written.iter().chain(&["composition.yaml", "composition.yml"]) {
        let _ = fs::remove_file(folder.join(name));
    }
    fs::write(folder.join("composition.yaml"), &plan.stdout).map_err(|error| error.to_string())?;
    let planned = krm(&scratch, &args)?;
    match planned.stdout == expected.stdout {
        true => Ok(true),
        false => Err(format!(
            "--- plan\n{}--- expected\n{}--- got\n{}",
            String::from_utf8_lossy(&plan.stdout),
            String::from_utf8_lossy(&expected.stdout),
            String::from_utf8_lossy(&planned.stdout)
        )),
    }
}

fn krm(dir: &Path, args: &[&str]) -> Result<Output, String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_krm")).args(args).current_dir(dir).output().expect("krm starts");
    match output.status.success() {
        true => Ok(output),
        false => Err(format!("krm {} failed:\n{}", args.join(" "), String::from_utf8_lossy(&output.stderr))),
    }
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(dir).into_iter().flatten().map(|entry| entry.expect("a readable folder").path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.join("in").is_dir()).collect();
    folders.sort();
    folders
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a writable folder");
    for entry in fs::read_dir(from).expect("a readable folder") {
        let from = entry.expect("a readable folder").path();
        let to = to.join(from.file_name().expect("a file has a name"));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(&from, &to).expect("a readable file")),
        }
    }
}
