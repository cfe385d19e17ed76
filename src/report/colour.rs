//! Whether to use colours, and which.

use std::io::IsTerminal;

use krm_yaml::Part;

use crate::cli::ColorChoice;

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

/// Numbers of the terminal's own colours.
pub fn paint(part: Part, text: &str) -> String {
    let number = match part {
        Part::Error => 31,
        Part::Warning => 33,
        Part::Message => 1,
        Part::Note => 36,
        Part::Help => 32,
        Part::Frame => 34,
        _ => return text.to_owned(),
    };
    format!("\x1b[{number}m{text}\x1b[0m")
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
