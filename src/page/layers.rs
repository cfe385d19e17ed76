//! Layers and files of several targets: who uses whom. There is nothing to compute, so there is no script either.

use std::fmt::Write as _;

use krm_engine::Sources;
use krm_engine::graph::{Edge, Graph};

use super::{counted, escaped, plain_page};

/// A picture that is wider than this is made to fit.
const WIDE: u32 = 900;
/// Longer lists are closed.
const MOST_OPEN: usize = 40;

/// The text of a page. The picture is the same graph, drawn.
pub fn layers(graph: &Graph, picture: Option<&str>, sources: &Sources) -> String {
    let all = Uses::new(graph);
    let is_layer = |at: &usize| graph.nodes[*at].kind.is_layer();
    let (layers, others): (Vec<usize>, Vec<usize>) = (0..graph.nodes.len()).partition(is_layer);
    let (targets, below): (Vec<usize>, Vec<usize>) =
        layers.iter().partition(|at| all.used_by[**at].is_empty());
    let title = match &targets[..] {
        [one] => graph.nodes[*one].label.clone(),
        _ => counted(targets.len(), "target"),
    };
    let facts = format!("{} · {}", counted(layers.len(), "layer"), counted(others.len(), "file"));
    let mut nav = String::new();
    for (heading, nodes) in [("Targets", &targets), ("What they are made of", &below), ("Files", &others)] {
        if nodes.is_empty() {
            continue;
        }
        let open = if nodes.len() <= MOST_OPEN { " open" } else { "" };
        let _ = writeln!(nav, "<details class=\"list\"{open}><summary>{heading}</summary><ol>");
        for at in nodes {
            let users = all.used_by[*at].len();
            let users =
                if users == 0 { String::new() } else { format!("<span class=\"badges\">←{users}</span>") };
            let _ = writeln!(
                nav,
                "<li><a class=\"row\" href=\"#n{at}\"><span class=\"label\"><bdi>{}</bdi></span>{users}</a></li>",
                escaped(&graph.nodes[*at].label)
            );
        }
        nav.push_str("</ol></details>\n");
    }
    let mut out = String::new();
    if let Some(picture) = picture {
        // Its colours are those of the page.
        let (before, after) = picture.split_once("<style>").unwrap_or((picture, ""));
        let after = after.split_once("</style>").map_or(after, |(_, after)| after);
        let width =
            before.split_once(" width=\"").and_then(|(_, rest)| rest.split('"').next()?.parse::<u32>().ok());
        let before = match width.is_some_and(|width| width > WIDE) {
            true => before.replacen("<svg ", "<svg class=\"wide\" ", 1),
            false => before.to_owned(),
        };
        let _ = writeln!(
            out,
            "<div class=\"picture\" tabindex=\"0\" role=\"group\" aria-label=\"Picture\">{before}{after}</div>"
        );
    }
    for at in targets.iter().chain(&below).chain(&others) {
        write_node(graph, *at, &all, &targets, sources, &mut out);
    }
    plain_page(&title, &facts, ("Layers and files", &nav), ("Who uses whom", &out))
}

/// The edges of each node.
struct Uses<'g> {
    uses: Vec<Vec<&'g Edge>>,
    used_by: Vec<Vec<&'g Edge>>,
}

impl<'g> Uses<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut all =
            Self { uses: vec![Vec::new(); graph.nodes.len()], used_by: vec![Vec::new(); graph.nodes.len()] };
        for edge in &graph.edges {
            all.uses[edge.from].push(edge);
            all.used_by[edge.to].push(edge);
        }
        all
    }

    /// The targets that a node is part of.
    fn reached(&self, node: usize, targets: &[usize]) -> Vec<usize> {
        let mut seen = vec![false; self.uses.len()];
        let mut open = vec![node];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                open.extend(self.used_by[at].iter().map(|edge| edge.from));
            }
        }
        targets.iter().copied().filter(|target| *target != node && seen[*target]).collect()
    }
}

fn write_node(graph: &Graph, at: usize, all: &Uses, targets: &[usize], sources: &Sources, out: &mut String) {
    let node = &graph.nodes[at];
    let _ = writeln!(
        out,
        "<article class=\"card node\" id=\"n{at}\"><h2><span class=\"kind\">{}</span> <bdi class=\"rname\">{}</bdi></h2>",
        node.kind.name(),
        escaped(&node.label)
    );
    let place = |edge: &Edge| {
        let source = sources.get(edge.place.file)?;
        Some(format!("{}:{}", source.name(), source.position(edge.place.start as usize).line))
    };
    let mut list = |heading: &str, edges: &[&Edge], other: &dyn Fn(&Edge) -> usize| {
        if edges.is_empty() {
            return;
        }
        let _ = writeln!(out, "<h3>{heading}</h3><ul class=\"fields\">");
        for edge in edges {
            let other = other(edge);
            let place = place(edge)
                .map(|place| format!("<span class=\"num\"><code>{}</code></span>", escaped(&place)));
            let _ = writeln!(
                out,
                "<li><a href=\"#n{other}\"><bdi>{}</bdi> <span class=\"facts\">{}</span>{}</a></li>",
                escaped(&graph.nodes[other].label),
                escaped(&edge.kind),
                place.unwrap_or_default()
            );
        }
        out.push_str("</ul>\n");
    };
    list("uses", &all.uses[at], &|edge| edge.to);
    list("is used by", &all.used_by[at], &|edge| edge.from);
    let reached = all.reached(at, targets);
    if !reached.is_empty() {
        let names: Vec<String> = reached
            .iter()
            .map(|target| {
                format!(
                    "<a class=\"reached\" href=\"#n{target}\">{}</a>",
                    escaped(&graph.nodes[*target].label)
                )
            })
            .collect();
        let open = if names.len() <= MOST_OPEN { " open" } else { "" };
        let _ = writeln!(
            out,
            "<details{open}><summary>a change reaches {}</summary><p>{}</p></details>",
            counted(names.len(), "target"),
            names.join(", ")
        );
    }
    out.push_str("</article>\n");
}
