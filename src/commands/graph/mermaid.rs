//! Graphs for pages written in Markdown.

use std::fmt::Write as _;

use krm_engine::graph::{Graph, NodeKind};

/// The graph as a Mermaid flowchart. Nodes have numbers, since a name may be a word of the language; labels are quoted.
pub fn text(graph: &Graph) -> String {
    let mut text = String::from("flowchart LR\n");
    for (at, node) in graph.nodes.iter().enumerate() {
        let label = quoted(&node.label);
        let _ = match node.kind {
            NodeKind::Component => writeln!(text, "  n{at}([{label}])"),
            NodeKind::Composition => writeln!(text, "  n{at}{{{{{label}}}}}"),
            NodeKind::Remote => writeln!(text, "  n{at}[({label})]"),
            NodeKind::Step | NodeKind::Resource => writeln!(text, "  n{at}({label})"),
            _ => writeln!(text, "  n{at}[{label}]"),
        };
    }
    for edge in &graph.edges {
        let _ = writeln!(text, "  n{} -->|{}| n{}", edge.from, quoted(&edge.kind), edge.to);
    }
    for kind in [NodeKind::Missing, NodeKind::File] {
        let of_kind = graph.nodes.iter().enumerate().filter(|(_, node)| node.kind == kind);
        let names: Vec<String> = of_kind.map(|(at, _)| format!("n{at}")).collect();
        if !names.is_empty() {
            let style = if kind == NodeKind::Missing { "stroke-dasharray:3" } else { "stroke-width:1px" };
            let _ = writeln!(
                text,
                "  classDef {} {style}\n  class {} {}",
                kind.name(),
                names.join(","),
                kind.name()
            );
        }
    }
    text
}

/// A label in quotes. Whatever could mean something to Mermaid or to the page is written as a code.
fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            c if c.is_control() => text.push(' '),
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' | '|' | '{' | '}' | '[' | ']' => {
                let _ = write!(text, "#{};", c as u32);
            }
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
        assert_eq!(quoted("a\"]<script>\n`b`#1;"), "\"a#34;#93;#60;script#62; #96;b#96;#35;1#59;\"");
    }
}
