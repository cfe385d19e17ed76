//! `krm help`: of a command, or of the code of an error.

use clap::{Args, CommandFactory};
use krm_engine::{Diagnostic, Result};

use crate::cli::{Cli, examples};
use crate::os;

/// Show the help of a command, or what the code of an error means
///
/// A code is the word in brackets after `error` or `warning`. Its page says what it means and what to do, with an example.
#[derive(Debug, Args)]
#[command(after_help = examples::HELP)]
pub struct HelpArgs {
    /// A command, such as `build` or `fn run`, or a code
    #[arg(value_name = "COMMAND|CODE")]
    topic: Vec<String>,
}

/// What each code means, with examples.
const CODES: &str = include_str!("../../docs/reference/codes.md");

pub fn run(args: &HelpArgs) -> Result<()> {
    let mut command = Cli::command();
    command.build();
    if let [code] = &args.topic[..] {
        let code = code.trim_matches(['[', ']']);
        if let Some(page) = page(code) {
            return os::print(readable(page).as_bytes());
        }
    }
    let mut found = &mut command;
    for name in &args.topic {
        let known: Vec<String> = found.get_subcommands().map(|c| c.get_name().to_owned()).collect();
        found = match found.find_subcommand_mut(name) {
            Some(below) => below,
            None => return Err(unknown(&args.topic.join(" "), &known)),
        };
    }
    os::print(found.render_long_help().to_string().as_bytes())
}

/// The part of the page that is about one code.
fn page(code: &str) -> Option<&'static str> {
    let title = format!("\n## {code}\n");
    let start = CODES.find(&title)? + 1;
    let end = CODES[start + 1..].find("\n## ").map_or(CODES.len(), |end| start + 2 + end);
    Some(CODES[start..end].trim_end_matches('\n')).map(|page| &CODES[start..start + page.len() + 1])
}

/// Every code.
pub fn codes() -> impl Iterator<Item = &'static str> {
    CODES.lines().filter_map(|line| line.strip_prefix("## "))
}

/// Suggests a code with a similar spelling, or one that contains this word.
pub fn did_you_mean(code: &str) -> Option<String> {
    const MOST: usize = 4;
    // A part of a code is meant more often than a code of about the same letters.
    let words = format!("-{code}-");
    let mut named: Vec<&str> = codes().filter(|other| format!("-{other}-").contains(&words)).collect();
    if !(1..=MOST).contains(&named.len()) {
        named = krm_yaml::nearest(code, codes()).into_iter().collect();
    }
    (!named.is_empty()).then(|| format!("did you mean `{}`?", named.join("` or `")))
}

/// The page without the marks of Markdown: files and output are indented instead.
fn readable(page: &str) -> String {
    let mut text = String::new();
    let mut is_fenced = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        let line = if is_fenced { line } else { line.trim_start_matches("## ") };
        let indent = if is_fenced && !line.is_empty() { "    " } else { "" };
        text.extend([indent, line, "\n"]);
    }
    text
}

fn unknown(topic: &str, commands: &[String]) -> Diagnostic {
    let error = Diagnostic::error("help-unknown", format!("there is neither a command nor a code `{topic}`"));
    let near = krm_yaml::nearest(topic, commands.iter().map(String::as_str));
    match near.map(|near| format!("did you mean `{near}`?")).or_else(|| did_you_mean(topic)) {
        Some(question) => error.help(question),
        None => error.help(
            "`krm help` lists the commands; codes are the words in brackets after `error` and `warning`",
        ),
    }
}
