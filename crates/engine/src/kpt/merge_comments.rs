//! By which a resource is known after it was renamed here: what upstream calls it, in a comment and an annotation.

use krm_function::Object;
use krm_function::annotations::UPSTREAM_IDENTIFIER;
use krm_yaml::emit::preserve;
use krm_yaml::{Document, Node, Result, Source, Style};

/// What upstream calls a resource, for the merge: a comment after `metadata:`.
const COMMENT: &str = "# kpt-merge:";

/// What upstream calls a resource: `NAMESPACE/NAME` of its comment, or else of itself.
pub(super) fn upstream_name(document: &Document) -> (String, String) {
    let source = document.source();
    let key =
        document.original().as_map().and_then(|map| map.entry("metadata")).map(|entry| entry.key.span());
    let line =
        key.filter(|span| !span.is_none()).map(|span| source.line(source.position(span.start as usize).line));
    let noted =
        line.and_then(|line| line.split_once(COMMENT)).and_then(|(_, name)| name.trim().split_once('/'));
    if let Some((namespace, name)) = noted {
        return (namespace.to_owned(), name.to_owned());
    }
    let object = Object::from(document.original().clone());
    let in_brackets = document.original().get("metadata").is_some_and(|m| m.style() == Style::Flow);
    identified(&object)
        .filter(|_| in_brackets)
        .unwrap_or_else(|| (object.namespace().to_owned(), object.name().to_owned()))
}

/// What the annotation says that upstream calls a resource. In `metadata: {..}` there is no place for the comment.
fn identified(object: &Object) -> Option<(String, String)> {
    let parts: Vec<&str> = object.annotation(UPSTREAM_IDENTIFIER)?.split('|').collect();
    let [group, kind, namespace, name] = parts[..] else { return None };
    let is_own = group == object.group() && kind == object.kind();
    // One without a namespace is noted as one of the default namespace.
    let namespace = if namespace == "default" && object.namespace() != "default" { "" } else { namespace };
    is_own.then(|| (namespace.to_owned(), name.to_owned()))
}

/// The text of a file in which every resource says what upstream calls it.
pub(crate) fn with_merge_comments(text: &str) -> Result<String> {
    let mut documents = krm_yaml::parse(&Source::detached("", text))?;
    let mut is_edited = false;
    for document in &mut documents {
        if !is_resource(&document.root) {
            continue;
        }
        let (namespace, name) = upstream_name(document);
        let namespace = if namespace.is_empty() { "default" } else { &namespace };
        let object = Object::from(document.root.clone());
        let identifier = format!("{}|{}|{namespace}|{name}", object.group(), object.kind());
        if object.annotation(UPSTREAM_IDENTIFIER) == Some(&identifier) {
            continue;
        }
        if let Some(all) =
            document.root.map_at("metadata").and_then(|metadata| metadata.map_at("annotations"))
        {
            all.set(UPSTREAM_IDENTIFIER, Node::from(identifier).with_style(Style::SingleQuoted));
            is_edited = true;
        }
    }
    let (mut text, noted) = match is_edited {
        false => (text.to_owned(), documents),
        true => {
            let text = preserve::stream(&documents);
            let noted = krm_yaml::parse(&Source::detached("", text.as_str()))?;
            (text, noted)
        }
    };
    let mut inserts = Vec::new();
    for document in noted.iter().filter(|document| is_resource(&document.root)) {
        let Some(entry) = document.root.as_map().and_then(|map| map.entry("metadata")) else { continue };
        let end = entry.key.span().range().end;
        let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at);
        // Only a block leaves room for a comment after its key.
        if text[end..line_end].trim() == ":" {
            let (namespace, name) = upstream_name(document);
            inserts
                .push((end + text[end..line_end].trim_end().len(), format!(" {COMMENT} {namespace}/{name}")));
        }
    }
    for (at, comment) in inserts.into_iter().rev() {
        text.insert_str(at, &comment);
    }
    Ok(text)
}

fn is_resource(root: &Node) -> bool {
    let has = |keys: &[&str]| {
        root.at(keys.iter().copied()).and_then(Node::text).is_some_and(|text| !text.is_empty())
    };
    has(&["apiVersion"]) && has(&["kind"]) && has(&["metadata", "name"])
}

/// A line without what kpt notes in it.
pub(super) fn without_comment(line: &str) -> &str {
    line.split_once(COMMENT).map_or(line, |(line, _)| line)
}

/// The resource without what kpt notes of it.
pub(super) fn without_notes(root: &Node) -> Node {
    let mut object = Object::from(root.clone());
    object.remove_annotation(UPSTREAM_IDENTIFIER);
    object.into_node()
}
