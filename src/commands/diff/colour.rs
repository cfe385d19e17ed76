//! Differences in colours, for a terminal.

use crate::report::colour::{BOLD, CYAN, GREEN, RED, paint};

/// The text for people, with what goes in red, what comes in green, and where it is caused in bold.
pub fn text(text: &str) -> String {
    painted(text, |line| match line {
        _ if line.starts_with("    - ") => Some(RED),
        _ if line.starts_with("    + ") => Some(GREEN),
        _ => (!line.is_empty() && !line.starts_with(' ')).then_some(BOLD),
    })
}

/// A unified difference, as git colours it.
pub fn unified(text: &str) -> String {
    painted(text, |line| match line {
        _ if line.starts_with("--- ") || line.starts_with("+++ ") => Some(BOLD),
        _ if line.starts_with("@@") => Some(CYAN),
        _ if line.starts_with('-') => Some(RED),
        _ if line.starts_with('+') => Some(GREEN),
        _ => None,
    })
}

fn painted(text: &str, colour: impl Fn(&str) -> Option<&'static str>) -> String {
    let line = |line: &str| match colour(line) {
        Some(colour) => paint(colour, line) + "\n",
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}
