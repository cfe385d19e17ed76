//! Graphs as data. A new minor of the format adds fields and changes none.

use krm_engine::graph::{Graph, Hop};
use krm_engine::workspace::Layer;
use krm_engine::{Node, Span};

use crate::report::{Report, sanitize};

const FORMAT: &str = "krm.graph/1";

pub fn graph(graph: &Graph, report: &Report) -> String {
    let nodes = graph.nodes.iter().map(|node| {
        let mut data = Node::map();
        data.set("id", &*sanitize::without_passwords(&node.id));
        data.set("kind", node.kind.name());
        data.set("label", &*sanitize::without_passwords(&node.label));
        set_place(&mut data, node.place, report);
        data
    });
    let edges = graph.edges.iter().map(|edge| {
        let mut data = Node::map();
        data.set("from", &*sanitize::without_passwords(&graph.nodes[edge.from].id));
        data.set("to", &*sanitize::without_passwords(&graph.nodes[edge.to].id));
        data.set("kind", edge.kind.as_str());
        set_place(&mut data, edge.place, report);
        data
    });
    let mut object = Node::map();
    object.set("format", FORMAT);
    object.set("nodes", Node::from(nodes.collect::<Vec<_>>()));
    object.set("edges", Node::from(edges.collect::<Vec<_>>()));
    krm_yaml::json::pretty(&object) + "\n"
}

/// Every way to a file, each with the target it begins at.
pub fn ways(all: &[(&Layer, Vec<Hop>)], file: &str, report: &Report) -> String {
    let ways = all.iter().map(|(layer, hops)| {
        let places = hops.iter().map(|hop| {
            let mut data = Node::map();
            set_place(&mut data, hop.place, report);
            data
        });
        let mut data = Node::map();
        data.set("directory", layer.shown.as_str());
        data.set("hops", Node::from(places.collect::<Vec<_>>()));
        data
    });
    let mut object = Node::map();
    object.set("format", FORMAT);
    object.set("file", file);
    object.set("ways", Node::from(ways.collect::<Vec<_>>()));
    krm_yaml::json::pretty(&object) + "\n"
}

fn set_place(object: &mut Node, span: Span, report: &Report) {
    if !span.is_none() {
        krm_engine::explain::json::set_place(object, "place", span, &report.sources);
    }
}
