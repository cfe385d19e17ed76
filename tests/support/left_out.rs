//! What a test leaves out on this machine.

use std::fmt::Display;
use std::io::Write;

/// Says what is left out. Of a test that passes `cargo test` shows nothing that goes through `eprintln!`.
pub fn left_out(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "left out: {what}");
}
