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

/// What was printed, with paths as they are from `dir`.
pub fn without_folder(printed: &[u8], dir: &Path) -> String {
    String::from_utf8_lossy(printed).replace(&format!("{}/", dir.display()), "")
}
