//! A folder that all tests of a file share.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Makes the folder. What is static is never dropped, so a shell removes it once this process has ended, however it ended.
pub fn shared_scratch(name: &str) -> PathBuf {
    let dir = tempfile::Builder::new().prefix(&format!("krm-{name}-")).tempdir();
    let dir = dir.expect("the temporary folder is writable").keep();
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT; read line; rm -rf \"$0\""]).arg(&dir).stdin(Stdio::piped());
    // Its input is open for as long as this process lives.
    std::mem::forget(shell.spawn().expect("a shell is there"));
    dir
}
