//! Long answers at a terminal, through the user's pager, as git shows them.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use super::system::HoldSignals;

/// Has a pager show a text that is longer than the terminal it goes to. False if none did: the text is yet to be printed.
///
/// The pager is the program that `KRM_PAGER` or `PAGER` names, or else `less`. Nothing that krm reads can name one.
pub fn page(text: &str) -> bool {
    is_longer_than_terminal(text) && show(text)
}

/// How many columns the terminal has that standard output goes to, if it does.
pub fn terminal_width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

fn is_longer_than_terminal(text: &str) -> bool {
    let rows = || terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
    std::io::stdout().is_terminal() && rows().is_some_and(|rows| text.lines().count() >= rows)
}

/// Has the pager show a text; false if there is none. An empty name and `cat` both mean that none is wanted.
fn show(text: &str) -> bool {
    let named = super::variable("KRM_PAGER").or_else(|| super::variable("PAGER"));
    let words = shlex::split(named.as_deref().unwrap_or("less")).unwrap_or_default();
    let Some((program, args)) = words.split_first().filter(|(program, _)| *program != "cat") else {
        return false;
    };
    let mut pager = Command::new(program);
    pager.args(args).stdin(Stdio::piped());
    // Colours as they are, and no waiting at the end of a short text.
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if super::variable(name).is_none() {
            pager.env(name, value);
        }
    }
    // Ctrl-C is for the pager: krm has to outlive it, or two programs read the terminal.
    let _held = HoldSignals::new();
    let Ok(mut pager) = pager.spawn() else { return false };
    if let Some(mut stdin) = pager.stdin.take() {
        // Someone who leaves early has seen enough.
        let _ = stdin.write_all(text.as_bytes());
    }
    pager.wait().is_ok()
}
