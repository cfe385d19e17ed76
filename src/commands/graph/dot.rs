//! Graphs for Graphviz.

use std::fmt::Write as _;

use krm_engine::graph::{Graph, NodeKind};

/// The graph in the DOT language. Every name is quoted.
pub fn text(graph: &Graph) -> String {
    let mut text = String::from(
        "digraph krm {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for node in &graph.nodes {
        let style = match node.kind {
            NodeKind::Kustomization => "style=\"filled\", fillcolor=\"#dbeafe\"",
            NodeKind::Component => "style=\"filled\", fillcolor=\"#dcfce7\"",
            NodeKind::Composition => "style=\"filled\", fillcolor=\"#ede9fe\"",
            NodeKind::File => "shape=note",
            NodeKind::Folder => "shape=folder",
            NodeKind::Remote => "style=\"dashed\"",
            NodeKind::Missing => "style=\"dotted\", color=\"#b91c1c\"",
            NodeKind::Step => "style=\"rounded\"",
            NodeKind::Resource => "shape=ellipse",
        };
        let _ = writeln!(text, "  {} [label={}, {style}];", quoted(&node.id), quoted(&node.label));
    }
    for edge in &graph.edges {
        let (from, to) = (quoted(&graph.nodes[edge.from].id), quoted(&graph.nodes[edge.to].id));
        let _ = writeln!(text, "  {from} -> {to} [label={}];", quoted(&edge.kind));
    }
    text.push_str("}\n");
    text
}

/// A name in quotes. A backslash would begin an escape of labels, and a line break end the line.
fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            c if c.is_control() => text.push(' '),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(quoted("a\"]; b [x=\\N"), r#""a\"]; b [x=\\N""#);
        assert_eq!(quoted("two\nlines\u{1b}[31m"), "\"two\\nlines [31m\"");
    }
}
