//! Graphs as pictures.

use std::fmt::Write as _;

use krm_engine::graph::{Graph, NodeKind};

use super::layout::layout;

const STYLE: &str = "\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}
.edge{fill:none;stroke:#8c959f}
rect{fill:#f6f8fa;stroke:#8c959f}
.kustomization{fill:#ddf4ff;stroke:#0969da}
.component{fill:#dafbe1;stroke:#1a7f37}
.composition{fill:#fbefff;stroke:#8250df}
.remote{stroke-dasharray:6 3}
.missing{fill:#ffebe9;stroke:#cf222e;stroke-dasharray:2 2}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
rect{fill:#161b22;stroke:#6e7681}
.edge{stroke:#6e7681}
.kustomization{fill:#0c2d6b;stroke:#58a6ff}
.component{fill:#033a16;stroke:#3fb950}
.composition{fill:#3c1e70;stroke:#bc8cff}
.missing{fill:#67060c;stroke:#ff7b72}
}
";

/// The graph as one self-contained picture. Nodes and edges have titles, which browsers show and screen readers read.
pub fn text(graph: &Graph) -> String {
    let drawn = layout(graph);
    let (width, height) = (drawn.width.ceil(), drawn.height.ceil());
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{} nodes, {} edges\">\n<style>\n{STYLE}</style>\n",
        graph.nodes.len(),
        graph.edges.len()
    );
    for edge in &graph.edges {
        let (from, to) = (drawn.boxes[edge.from], drawn.boxes[edge.to]);
        let (x1, y1) = (from.x + from.width, from.y + from.height / 2.0);
        let (x2, y2) = (to.x, to.y + to.height / 2.0);
        let bend = ((x2 - x1) / 2.0).abs().max(30.0);
        let title = format!("{} {} {}", graph.nodes[edge.from].label, edge.kind, graph.nodes[edge.to].label);
        let _ = writeln!(
            text,
            "<path class=\"edge\" d=\"M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}\"><title>{}</title></path>",
            x1 + bend,
            x2 - bend,
            escaped(&title)
        );
    }
    for (node, at) in graph.nodes.iter().zip(&drawn.boxes) {
        let round = match node.kind {
            NodeKind::Step | NodeKind::Resource => 14,
            _ => 4,
        };
        let label = escaped(&node.label);
        let _ = writeln!(
            text,
            "<g><title>{} {label}</title><rect class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round}\"/><text x=\"{:.1}\" y=\"{:.1}\">{label}</text></g>",
            node.kind.name(),
            node.kind.name(),
            at.x,
            at.y,
            at.width,
            at.height,
            at.x + 10.0,
            at.y + 19.0
        );
    }
    text.push_str("</svg>\n");
    text
}

/// A text of the user within markup. Characters that XML cannot hold are left out, and marks that turn the direction of a
/// text are shown as what they are.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_text() {
        assert_eq!(
            escaped("</text><script>\"'&\u{202e}\u{1b}"),
            "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\\u{202e} "
        );
    }
}
