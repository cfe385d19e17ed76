//! Answers on standard output: through a pager if they are long, and with links for terminals that follow them.

use std::io::IsTerminal;
use std::path::Path;

use krm_engine::Result;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::os;

/// Prints an answer, or has a pager show it if it is longer than the terminal.
pub fn show(text: &str, no_pager: bool) -> Result<()> {
    if !no_pager && os::page(text) { Ok(()) } else { os::print(text.as_bytes()) }
}

/// The same, and each `file:line` becomes a link to that file. Old pagers garble links, so what they show has none.
pub fn show_linked(text: &str, no_pager: bool) -> Result<()> {
    match !no_pager && os::page(text) {
        true => Ok(()),
        false if follows_links() => os::print(linked(text, address).as_bytes()),
        false => os::print(text.as_bytes()),
    }
}

/// Whether standard output is a terminal that is known to follow links.
fn follows_links() -> bool {
    std::io::stdout().is_terminal() && by_environment(os::variable)
}

/// `FORCE_HYPERLINK` decides, or else what terminals say about themselves.
fn by_environment(variable: impl Fn(&str) -> Option<String>) -> bool {
    if let Some(force) = variable("FORCE_HYPERLINK").filter(|force| !force.is_empty()) {
        return force != "0";
    }
    let term = variable("TERM").unwrap_or_default();
    // Screen knows nothing about links, and a terminal at the other end of a connection does not have the files.
    if term == "dumb" || term.starts_with("screen") || variable("SSH_CONNECTION").is_some() {
        return false;
    }
    let is = |name: &str, known: &[&str]| variable(name).is_some_and(|value| known.contains(&value.as_str()));
    // Its first version with links crashes on some of them.
    const FIRST_SAFE_VTE: u32 = 5001;
    let vte = variable("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
    vte.is_some_and(|version| version >= FIRST_SAFE_VTE)
        || ["xterm-kitty", "alacritty", "foot", "xterm-ghostty"].contains(&term.as_str())
        || is("TERM_PROGRAM", &["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"])
        || variable("WT_SESSION").is_some()
        || variable("KONSOLE_VERSION").is_some()
}

/// What a path in an address may not hold as it is.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`').add(b';');

/// The address of a line of a file, if there is such a file. Editors that open it take the fragment for the line.
fn address(file: &str, line: &str) -> Option<String> {
    let path = std::path::absolute(Path::new(file)).ok().filter(|path| path.is_file())?;
    let path = utf8_percent_encode(path.to_str()?, ESCAPED).to_string().replace('\\', "/");
    // The path of a drive begins with its letter.
    Some(format!("file:///{}#{line}", path.trim_start_matches('/')))
}

/// A text with its places as links (OSC 8).
fn linked(text: &str, address: impl Fn(&str, &str) -> Option<String>) -> String {
    let ends_word = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '`' | ',' | ';' | '\u{1b}');
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(ends_word).unwrap_or(rest.len()));
        let address = place(word).and_then(|(file, line)| address(file, line));
        match address {
            Some(address) => {
                out.push_str(&format!("\u{1b}]8;;{address}\u{1b}\\{word}\u{1b}]8;;\u{1b}\\"));
            }
            None => out.push_str(word),
        }
        // A colour is not part of the word that follows it.
        let colour = if after.starts_with('\u{1b}') { after.find('m').map(|end| end + 1) } else { None };
        let between = colour.or(after.chars().next().map(char::len_utf8)).unwrap_or(0);
        out.push_str(&after[..between]);
        rest = &after[between..];
    }
    out
}

/// The file and the line of a place: `file:line`, or `file:line:column`.
fn place(word: &str) -> Option<(&str, &str)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = word.rsplit_once(':').filter(|(_, last)| is_number(last))?;
    match rest.rsplit_once(':').filter(|(_, line)| is_number(line)) {
        Some((file, line)) => Some((file, line)),
        None => Some((rest, last)),
    }
    .filter(|(file, _)| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_links_and_nothing_else_changes() {
        let known =
            |file: &str, line: &str| (file == "base/web.yaml").then(|| format!("file:///r/{file}#{line}"));
        let link = |line: &str, shown: &str| {
            format!("\u{1b}]8;;file:///r/base/web.yaml#{line}\u{1b}\\{shown}\u{1b}]8;;\u{1b}\\")
        };
        let text =
            "  1  \u{1b}[36mbase/web.yaml:6:13\u{1b}[0m  nginx:1 (base/web.yaml:7), other.yaml:3 12:30\n";
        let wanted = format!(
            "  1  \u{1b}[36m{}\u{1b}[0m  nginx:1 ({}), other.yaml:3 12:30\n",
            link("6", "base/web.yaml:6:13"),
            link("7", "base/web.yaml:7")
        );
        assert_eq!(linked(text, known), wanted);
        assert_eq!(linked("no place\u{1b}", known), "no place\u{1b}");
    }

    #[test]
    fn terminals_say_that_they_follow_links() {
        for (variables, links) in [
            (&[][..], false),
            (&[("TERM", "xterm-256color")], false),
            (&[("TERM", "xterm-kitty")], true),
            (&[("TERM_PROGRAM", "WezTerm")], true),
            (&[("VTE_VERSION", "5000")], false),
            (&[("VTE_VERSION", "7200")], true),
            (&[("VTE_VERSION", "7200"), ("TERM", "screen-256color")], false),
            (&[("TERM", "xterm-kitty"), ("SSH_CONNECTION", "a")], false),
            (&[("TERM", "xterm-kitty"), ("FORCE_HYPERLINK", "0")], false),
            (&[("TERM", "xterm"), ("FORCE_HYPERLINK", "1")], true),
        ] {
            let variable = |name: &str| {
                variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(by_environment(variable), links, "{variables:?}");
        }
    }
}
