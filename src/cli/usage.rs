//! What is wrong with a command line, in the format it asks for.

use std::ffi::OsString;

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use krm_engine::Diagnostic;

use super::as_kustomize;
use crate::report::{ColorChoice, ErrorFormat, Report};

/// Commands of other tools, and of groups of krm, and what does the same here.
const ELSEWHERE: [(&[&str], &str); 12] = [
    (&["run", "source", "sink", "wrap", "xargs", "doc", "eval"], "it is `krm fn NAME`"),
    (&["cat", "grep", "count", "fmt"], "it is `krm cfg NAME`"),
    (
        &["tree"],
        "files are shown by `krm cfg tree DIR`, packages by `krm pkg tree DIR`, and what a build is made of by `krm graph DIR`",
    ),
    (&["fix"], "one kustomization is fixed by `krm edit fix`, and a whole repository by `krm lint --fix`"),
    (&["add", "set", "remove"], "it is `krm edit NAME`"),
    (
        &["render"],
        "a kustomization is built by `krm build DIR`, and a package is rendered by `krm fn render DIR`",
    ),
    (&["kustomize", "template"], "kustomizations are built by `krm build DIR`"),
    (&["watch"], "it is `krm build --watch DIR`"),
    (&["check", "validate", "verify"], "it is `krm lint`"),
    (&["describe", "why", "blame"], "it is `krm explain DIR Kind/name field`"),
    (&["apply", "get", "delete"], "krm does not talk to a cluster: `krm build DIR | kubectl NAME -f -`"),
    (
        &["live", "install", "upgrade"],
        "krm does not talk to a cluster: `krm build DIR | kubectl apply -f -`, or leave it to Argo CD or Flux",
    ),
];

/// A command line that is not a command: a mistake, or a wish for help.
pub struct Usage {
    pub error: clap::Error,
    pub format: ErrorFormat,
}

impl Usage {
    /// Shows it, and gives the exit code.
    pub fn show(mut self) -> i32 {
        // What we know is better than what is merely spelt alike.
        if let Some(advice) = self.advice() {
            self.error.remove(ContextKind::SuggestedSubcommand);
            self.error.remove(ContextKind::SuggestedArg);
            self.error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
        }
        match self.format {
            format if format != ErrorFormat::Text && self.error.use_stderr() => {
                let report = Report::new(format, ColorChoice::Auto);
                report.show(&self.diagnostic());
                report.finish();
            }
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

    /// What was probably meant, if that is further off than a slip of the hand.
    fn advice(&self) -> Option<String> {
        let text = |kind| match self.error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.as_str()),
            _ => None,
        };
        match self.error.kind() {
            ErrorKind::UnknownArgument if self.error.to_string().contains("krm fn run") => {
                pair_in(std::env::args_os()).as_deref().map(pair_advice)
            }
            ErrorKind::UnknownArgument => {
                let argument = text(ContextKind::InvalidArg)?;
                let takes_folder = self.error.to_string().contains("[DIR]");
                (takes_folder && matches!(argument, "-k" | "-f"))
                    .then(|| format!("name the folder without `{argument}`"))
            }
            ErrorKind::InvalidSubcommand => {
                let command = text(ContextKind::InvalidSubcommand)?;
                let (_, meant) = ELSEWHERE.iter().find(|(names, _)| names.contains(&command))?;
                Some(meant.replace("NAME", command))
            }
            _ => None,
        }
    }
}

/// What to do with a word that configures a function, in the place of a folder.
pub fn pair_advice(pair: &str) -> String {
    format!("arguments of the function go after `--`: `-- {pair}`")
}

/// The first word before `--` that is written `KEY=VALUE` and is not the value of an option.
fn pair_in(args: impl Iterator<Item = OsString>) -> Option<String> {
    let words: Vec<String> =
        args.map_while(|arg| arg.into_string().ok().filter(|word| word != "--")).collect();
    let pair = words.windows(2).find(|pair| is_pair(&pair[1]) && !pair[0].starts_with('-'));
    pair.map(|pair| pair[1].clone())
}

pub fn is_pair(word: &str) -> bool {
    word.contains('=') && !word.starts_with('-')
}

/// The format a command line asks for, whether or not it can be read.
pub fn format_of(args: &[OsString]) -> ErrorFormat {
    value_of(args, "--error-format").unwrap_or_default()
}

/// The same for colours.
pub fn color_of(args: &[OsString]) -> clap::ColorChoice {
    match value_of(args, "--color").unwrap_or_default() {
        ColorChoice::Auto => clap::ColorChoice::Auto,
        ColorChoice::Always => clap::ColorChoice::Always,
        ColorChoice::Never => clap::ColorChoice::Never,
    }
}

/// The value of an option, written as `--option=value` or `--option value`.
fn value_of<T: ValueEnum>(args: &[OsString], option: &str) -> Option<T> {
    let args: Vec<&str> = args.iter().skip(1).map(|arg| arg.to_str().unwrap_or_default()).collect();
    let ours = &args[..args.iter().position(|arg| *arg == "--").unwrap_or(args.len())];
    let joined = |arg: &&str| arg.strip_prefix(option)?.strip_prefix('=').map(str::to_owned);
    let apart = || ours.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1].to_owned());
    let value = ours.iter().find_map(joined).or_else(apart)?;
    T::from_str(&value, false).ok()
}
