//! Whether to use colours, and which.

use std::io::IsTerminal;

use clap::ValueEnum;
use krm_yaml::Part;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// Whether the standard streams get colours.
#[derive(Clone, Copy, Debug)]
pub struct Colours(ColorChoice);

impl Colours {
    pub fn new(choice: ColorChoice) -> Self {
        Self(choice)
    }

    pub fn on_stderr(self) -> bool {
        self.wanted(|| std::io::stderr().is_terminal())
    }

    pub fn on_stdout(self) -> bool {
        self.wanted(|| std::io::stdout().is_terminal())
    }

    fn wanted(self, is_terminal: impl FnOnce() -> bool) -> bool {
        match self.0 {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => by_environment(|name| std::env::var_os(name)).unwrap_or_else(is_terminal),
        }
    }
}

/// What the conventions say: `NO_COLOR` wins over `CLICOLOR_FORCE`, and that over a terminal that has no colours. A variable
/// that is empty is not set.
fn by_environment(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<bool> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return Some(false);
    }
    if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return Some(true);
    }
    if set("TERM").is_some_and(|term| term == "dumb") || set("CLICOLOR").is_some_and(|value| value == "0") {
        return Some(false);
    }
    None
}

/// What a terminal may be asked for: its own colours, by their numbers.
pub const BOLD: &str = "1";
pub const DIM: &str = "2";
pub const RED: &str = "31";
pub const GREEN: &str = "32";
pub const YELLOW: &str = "33";
const BLUE: &str = "34";
pub const CYAN: &str = "36";

/// Text in a colour, or in several styles that are separated by `;`.
pub fn paint(style: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\u{1b}[{style}m{text}\u{1b}[0m") }
}

/// Text within a colour that is underlined too.
pub fn underlined(text: &str) -> String {
    format!("\u{1b}[4m{text}\u{1b}[24m")
}

/// A part of a diagnostic.
pub fn paint_part(part: Part, text: &str) -> String {
    let style = match part {
        Part::Error => RED,
        Part::Warning => YELLOW,
        Part::Message => BOLD,
        Part::Note => CYAN,
        Part::Help => GREEN,
        Part::Frame => BLUE,
        _ => return text.to_owned(),
    };
    paint(style, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_what_its_conventions_say() {
        for (variables, colours) in [
            (&[][..], None),
            (&[("NO_COLOR", "1")], Some(false)),
            (&[("NO_COLOR", "")], None),
            (&[("CLICOLOR_FORCE", "1")], Some(true)),
            (&[("CLICOLOR_FORCE", "0")], None),
            (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], Some(false)),
            (&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], Some(true)),
            (&[("TERM", "dumb")], Some(false)),
            (&[("TERM", "xterm")], None),
            (&[("CLICOLOR", "0")], Some(false)),
        ] {
            let variable =
                |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
            assert_eq!(by_environment(variable), colours, "{variables:?}");
        }
    }
}
