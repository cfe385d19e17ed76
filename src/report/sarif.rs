//! SARIF 2.1.0, the exchange format of static analysis: code scanning of GitHub and others read it.

use krm_engine::{Diagnostic, Node, Sources};
use krm_yaml::{Fix, Location, Severity};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rustc_hash::FxHashMap;

use super::{ci, details, sanitize, word};

/// A log of one run.
pub fn log(found: &[&Diagnostic], sources: &Sources) -> Node {
    let mut codes: Vec<&str> = Vec::new();
    for diagnostic in found {
        if !codes.contains(&diagnostic.code()) {
            codes.push(diagnostic.code());
        }
    }
    let mut driver = Node::map();
    driver.set("name", "krm");
    driver.set("version", env!("CARGO_PKG_VERSION"));
    driver.set("rules", codes.iter().map(|code| object([("id", Node::from(*code))])).collect::<Vec<_>>());
    let has_errors = found.iter().any(|diagnostic| diagnostic.severity() == Severity::Error);
    let mut seen = FxHashMap::default();
    let results: Vec<Node> = found
        .iter()
        .map(|diagnostic| {
            let rule = codes.iter().position(|code| *code == diagnostic.code()).unwrap_or_default();
            result(diagnostic, rule, ci::fingerprint(diagnostic, &mut seen), sources)
        })
        .collect();
    let run = object([
        ("tool", object([("driver", driver)])),
        ("invocations", vec![object([("executionSuccessful", Node::from(!has_errors))])].into()),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", results.into()),
    ]);
    object([
        ("$schema", "https://json.schemastore.org/sarif-2.1.0.json".into()),
        ("version", "2.1.0".into()),
        ("runs", vec![run].into()),
    ])
}

fn result(diagnostic: &Diagnostic, rule: usize, fingerprint: String, sources: &Sources) -> Node {
    let mut result = object([
        ("ruleId", diagnostic.code().into()),
        ("ruleIndex", (rule as i64).into()),
        ("level", word(diagnostic.severity()).into()),
        ("message", message(&details(diagnostic))),
    ]);
    if let Some(location) = diagnostic.location() {
        result.set("locations", vec![object([("physicalLocation", physical(location))])]);
    }
    let related: Vec<Node> = diagnostic
        .notes()
        .iter()
        .filter_map(|note| {
            let location = physical(note.location()?);
            let text = message(&sanitize::shown(&note.message));
            Some(object([("message", text), ("physicalLocation", location)]))
        })
        .collect();
    if !related.is_empty() {
        result.set("relatedLocations", related);
    }
    result.set("partialFingerprints", object([("krm/v1", fingerprint.into())]));
    let fixes: Vec<Node> = diagnostic.fixes().iter().filter_map(|f| fix(f, sources)).collect();
    if !fixes.is_empty() {
        result.set("fixes", fixes);
    }
    result
}

/// `None` for a fix without an edit: the format wants one.
fn fix(fix: &Fix, sources: &Sources) -> Option<Node> {
    let mut changes: Vec<(String, Vec<Node>)> = Vec::new();
    for edit in fix.edits() {
        let Some(location) = Location::of(edit.span, sources) else { continue };
        let Some(region) = region(&location) else { continue };
        let mut replacement = object([("deletedRegion", region)]);
        if !edit.text.is_empty() {
            replacement.set("insertedContent", message(&edit.text));
        }
        let uri = uri(location.file());
        match changes.iter_mut().find(|(file, _)| *file == uri) {
            Some((_, replacements)) => replacements.push(replacement),
            None => changes.push((uri, vec![replacement])),
        }
    }
    if changes.is_empty() {
        return None;
    }
    let changes = changes.into_iter().map(|(uri, replacements)| {
        object([("artifactLocation", object([("uri", uri.into())])), ("replacements", replacements.into())])
    });
    Some(object([
        ("description", message(fix.message())),
        ("artifactChanges", changes.collect::<Vec<_>>().into()),
        ("properties", object([("safe", fix.is_safe().into())])),
    ]))
}

fn message(text: &str) -> Node {
    object([("text", text.into())])
}

fn physical(location: &Location) -> Node {
    let mut physical = object([("artifactLocation", object([("uri", uri(location.file()).into())]))]);
    if let Some(region) = region(location) {
        physical.set("region", region);
    }
    physical
}

/// `None` if all of a file is meant.
fn region(location: &Location) -> Option<Node> {
    let (start, end) = location.range()?;
    let number = |n: usize| Node::from(n as i64);
    Some(object([
        ("startLine", number(start.line)),
        ("startColumn", number(start.column)),
        ("endLine", number(end.line)),
        ("endColumn", number(end.column)),
    ]))
}

/// What is encoded in a path, and what in an address.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const ADDRESS: &AsciiSet =
    &PATH.remove(b':').remove(b'?').remove(b'=').remove(b'&').remove(b'@').remove(b'%').remove(b'+');

/// A path as a URI reference: what is not plain is percent-encoded. An address stays one.
fn uri(file: &str) -> String {
    let file = ci::file(file);
    let start = if file.starts_with('/') { "file://" } else { "" };
    let reserved = if file.contains("://") { ADDRESS } else { PATH };
    format!("{start}{}", utf8_percent_encode(&file, reserved))
}

fn object<const N: usize>(fields: [(&str, Node); N]) -> Node {
    let mut object = Node::map();
    fields.into_iter().for_each(|(key, value)| object.set(key, value));
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("./a b/ä.yaml"), "a%20b/%C3%A4.yaml");
        assert_eq!(uri("/etc/x.yaml"), "file:///etc/x.yaml");
        assert_eq!(uri("https://example.com/a?ref=v1"), "https://example.com/a?ref=v1");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }

    #[test]
    fn fixes_say_what_to_replace_by_what() {
        let sources = Sources::new();
        let source = sources.add("a.yaml", "knd: x\n");
        let error = Diagnostic::error("c", "m")
            .at(source.span(0, 3))
            .fix(Fix::safe("rename it").replace(source.span(0, 3), "kind"))
            .located(&sources);
        let text = krm_yaml::json::compact(&log(&[&error], &sources));
        let wanted = r#""replacements":[{"deletedRegion":{"endColumn":4,"endLine":1,"startColumn":1,"startLine":1},"insertedContent":{"text":"kind"}}]"#;
        assert!(text.contains(wanted), "{text}");
    }
}
