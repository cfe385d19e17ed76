//! What is wrong with a command line, in the format it asks for.

use std::ffi::OsString;

use clap::error::ErrorKind;
use krm_engine::Diagnostic;

use super::{ErrorFormat, as_kustomize};
use crate::report::Report;

/// A command line that is no command: a mistake, or a wish for help.
pub struct Usage {
    pub error: clap::Error,
    pub format: ErrorFormat,
}

impl Usage {
    /// Shows it, and gives the exit code.
    pub fn show(self) -> i32 {
        match self.format {
            ErrorFormat::Json if self.error.use_stderr() => Report::new(self.format).show(&self.diagnostic()),
            // Asked for nothing, kustomize shows what could be asked for.
            _ if as_kustomize::is_called()
                && self.error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
            {
                print!("{}", self.error.render());
            }
            // Nobody is left to tell when it cannot be written.
            _ => drop(self.error.print()),
        }
        match as_kustomize::is_called() {
            true => as_kustomize::exit_code(self.error.kind()),
            false => self.error.exit_code(),
        }
    }

    /// Its first paragraph is what is wrong, the others are advice.
    fn diagnostic(&self) -> Diagnostic {
        if self.error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Diagnostic::error("usage", "a command is missing").help("see `krm --help`");
        }
        let text = self.error.to_string();
        let mut paragraphs = text.split("\n\n").map(|paragraph| {
            let lines: Vec<&str> = paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            lines.join(" ")
        });
        let message = paragraphs.next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let advice =
            paragraphs.filter(|advice| !advice.is_empty() && !advice.starts_with("For more information"));
        advice.fold(Diagnostic::error("usage", message), |error, advice| {
            error.help(advice.strip_prefix("tip: ").unwrap_or(&advice))
        })
    }
}

/// The format a command line asks for, whether or not it can be read.
pub fn format_of(args: &[OsString]) -> ErrorFormat {
    let ours =
        || args.iter().skip(1).map(|arg| arg.to_str().unwrap_or_default()).take_while(|arg| *arg != "--");
    let json = ours().any(|arg| arg == "--error-format=json")
        || ours().zip(ours().skip(1)).any(|pair| pair == ("--error-format", "json"));
    if json { ErrorFormat::Json } else { ErrorFormat::Text }
}
