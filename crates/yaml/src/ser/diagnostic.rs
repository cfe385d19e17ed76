//! A diagnostic as a JSON object.

use crate::diag::{Diagnostic, Fix, Location, Severity, sanitize};
use crate::node::Node;
use crate::source::Sources;

impl Diagnostic {
    /// The diagnostic as data, without those joined to it: one JSON object for programs to read. It must be
    /// [located](Diagnostic::located).
    pub fn to_node(&self, sources: &Sources) -> Node {
        object(self, sources)
    }
}

fn object(diagnostic: &Diagnostic, sources: &Sources) -> Node {
    let mut object = Node::map();
    let severity = match diagnostic.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    object.set("severity", severity);
    object.set("code", diagnostic.code());
    object.set("message", &*sanitize::without_passwords(diagnostic.message()));
    if let Some(location) = diagnostic.location() {
        object.set("place", place(location));
    }
    let notes = diagnostic.notes().iter().map(|note| {
        let mut object = Node::map();
        object.set("message", &*sanitize::without_passwords(&note.message));
        if let Some(location) = note.location() {
            object.set("place", place(location));
        }
        object
    });
    set_list(&mut object, "notes", notes.collect());
    let help = diagnostic.advice().iter().map(|advice| Node::from(&*sanitize::without_passwords(advice)));
    set_list(&mut object, "help", help.collect());
    set_list(&mut object, "fixes", diagnostic.fixes().iter().map(|f| fix(f, sources)).collect());
    object
}

fn set_list(object: &mut Node, key: &str, items: Vec<Node>) {
    if !items.is_empty() {
        object.set(key, items);
    }
}

fn fix(fix: &Fix, sources: &Sources) -> Node {
    let edits = fix.edits().iter().filter_map(|edit| {
        let mut object = Node::map();
        object.set("place", place(&Location::of(edit.span, sources)?));
        object.set("text", edit.text.as_str());
        Some(object)
    });
    let edits: Vec<Node> = edits.collect();
    let mut object = Node::map();
    object.set("message", fix.message());
    object.set("safe", fix.is_safe());
    object.set("edits", edits);
    object
}

fn place(location: &Location) -> Node {
    let mut place = Node::map();
    place.set("file", &*sanitize::without_passwords(location.file()));
    let Some((start, end)) = location.range() else { return place };
    for (key, number) in
        [("line", start.line), ("column", start.column), ("endLine", end.line), ("endColumn", end.column)]
    {
        place.set(key, number as i64);
    }
    place
}
