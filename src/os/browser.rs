//! Shows an address in the user's browser.

use std::process::{Command, Stdio};

/// Asks the system to open an address. A machine without a browser shows nothing: the address is printed all the same.
pub fn open(address: &str) {
    let (program, args): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(args).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut started) = command.spawn() {
        // It may take its time; what it comes to is nobody's concern.
        std::thread::spawn(move || drop(started.wait()));
    }
}
