//! What CI systems read: workflow commands of GitHub, Code Quality reports of GitLab, JUnit reports of everyone.

use std::fmt::Write;

use krm_engine::{Diagnostic, Node};
use krm_yaml::Severity;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::{details, sanitize, word};

/// One workflow command per diagnostic: `::error file=a.yaml,line=1::message`. GitHub shows them beside the lines.
pub fn github(found: &[&Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in found {
        let mut properties = Vec::new();
        if let Some(location) = diagnostic.location() {
            properties.push(format!("file={}", property(&file(location.file()))));
            if let Some((start, end)) = location.range() {
                properties.push(format!("line={},endLine={}", start.line, end.line));
                // Columns count within one line only.
                if start.line == end.line {
                    properties.push(format!("col={},endColumn={}", start.column, end.column));
                }
            }
        }
        properties.push(format!("title={}", property(diagnostic.code())));
        let (word, properties) = (word(diagnostic.severity()), properties.join(","));
        writeln!(out, "::{word} {properties}::{}", data(&details(diagnostic))).expect("memory is writable");
    }
    out
}

/// The message of a command ends at the line.
pub fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property ends at a comma or a colon, too.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A Code Quality report: a list of issues. An issue must have a location and a fingerprint of its own.
pub fn gitlab(found: &[&Diagnostic]) -> Node {
    let mut seen = FxHashMap::default();
    let issue = |diagnostic: &&Diagnostic| {
        let (path, line) = match diagnostic.location() {
            // All of a file begins with its first line.
            Some(location) => (file(location.file()), location.range().map_or(1, |(start, _)| start.line)),
            None => (".".to_owned(), 1),
        };
        let mut lines = Node::map();
        lines.set("begin", line as i64);
        let mut location = Node::map();
        location.set("path", path);
        location.set("lines", lines);
        let mut issue = Node::map();
        issue.set("description", details(diagnostic));
        issue.set("check_name", diagnostic.code());
        issue.set("fingerprint", fingerprint(diagnostic, &mut seen));
        issue.set("severity", if diagnostic.severity() == Severity::Error { "major" } else { "minor" });
        issue.set("location", location);
        issue
    };
    Node::from(found.iter().map(issue).collect::<Vec<_>>())
}

/// A JUnit report: every diagnostic is a test case, and those that are errors fail. Without any there is one that passes,
/// because readers refuse a report of nothing.
pub fn junit(found: &[&Diagnostic]) -> String {
    let failures = found.iter().filter(|d| d.severity() == Severity::Error).count();
    let tests = found.len().max(1);
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out +=
        &format!("<testsuites name=\"krm\" {counts}>\n  <testsuite name=\"krm\" {counts} skipped=\"0\">\n");
    for diagnostic in found {
        let (class, at) = match diagnostic.location() {
            Some(location) => (file(location.file()), format!(" at {location}")),
            None => ("krm".to_owned(), String::new()),
        };
        let name = xml(&format!("{}{at}", diagnostic.code()));
        let text = xml(&details(diagnostic));
        out += &format!("    <testcase classname=\"{}\" name=\"{name}\">\n", xml(&class));
        out += &match diagnostic.severity() {
            Severity::Error => format!(
                "      <failure type=\"{}\" message=\"{}\">{text}</failure>\n",
                xml(diagnostic.code()),
                xml(&sanitize::shown(diagnostic.message())),
            ),
            Severity::Warning => format!("      <system-out>warning: {text}</system-out>\n"),
        };
        out += "    </testcase>\n";
    }
    if found.is_empty() {
        out += "    <testcase classname=\"krm\" name=\"nothing found\"/>\n";
    }
    out + "  </testsuite>\n</testsuites>\n"
}

/// Some characters cannot be written in XML at all, not even escaped.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c if (c as u32) < 0x20 || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A path as repositories write it.
pub fn file(name: &str) -> String {
    let name = sanitize::shown(name);
    name.strip_prefix("./").map(str::to_owned).unwrap_or(name)
}

/// The same for the same finding in the next run, even when lines were added above it; a finding that appears twice gets a
/// number.
pub fn fingerprint(diagnostic: &Diagnostic, seen: &mut FxHashMap<String, usize>) -> String {
    let path = diagnostic.location().map(|location| file(location.file())).unwrap_or_default();
    let what = format!("{}\0{path}\0{}", diagnostic.code(), diagnostic.message());
    let count = seen.entry(what.clone()).or_default();
    *count += 1;
    let digest = Sha256::digest(format!("{what}\0{count}"));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_a_workflow_command_early() {
        let text = github(&[&Diagnostic::error("code", "100 % of\n::error::a, b: c").help("d\re")]);
        assert_eq!(text, "::error title=code::100 %25 of%0A::error::a, b: c%0Ahelp: d\u{fffd}e\n");
        assert_eq!(property("a,b:c%\n"), "a%2Cb%3Ac%25%0A");
    }

    #[test]
    fn xml_has_no_character_it_may_not_have() {
        assert_eq!(xml("<a b=\"c\">&\u{1}\u{ffff}\n"), "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}\u{fffd}&#10;");
    }
}
