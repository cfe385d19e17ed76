//! Commands as a reader types them: in bash, with krm in `PATH`, and a git whose commits are the same on every machine.

use std::path::Path;
use std::process::{Command, Stdio};

/// Bash, about to run `script` in `dir`, which is also the home folder.
pub fn bash(script: &str, dir: &Path) -> Command {
    let programs = Path::new(env!("CARGO_BIN_EXE_krm")).parent().expect("the program is in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(dir).stdin(Stdio::null());
    bash.env("PATH", format!("{}:{path}", programs.display()));
    bash.env("HOME", dir).env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "KRM_FN_RUNTIME"] {
        bash.env_remove(name);
    }
    bash.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        bash.env(format!("GIT_{who}_NAME"), "krm").env(format!("GIT_{who}_EMAIL"), "krm@example.com");
        bash.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
    }
    bash
}

/// What was printed, as it is in every folder and on every machine: paths as seen from `dir`, and for the time that a function
/// took, as in `3 resources in 4 ms`, a word.
pub fn plain(printed: &[u8], dir: &Path) -> String {
    let text = String::from_utf8_lossy(printed).replace(&format!("{}/", dir.display()), "");
    let lines = text.split_inclusive('\n').map(|line| {
        if let Some((key, _)) = line.split_once("\"milliseconds\": ") {
            return format!("{key}\"milliseconds\": 0,\n");
        }
        let of_function = line.starts_with("[PASS] ") || line.starts_with("[FAIL] ");
        let Some(at) = line.find(" in ").filter(|_| of_function) else {
            return line.to_owned();
        };
        let rest = line[at..].find([',', '\n']).map_or("", |end| &line[at + end..]);
        format!("{} in TIME{rest}", &line[..at])
    });
    lines.collect()
}
