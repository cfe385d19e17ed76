//! Where the nodes of a graph are drawn: in columns, users on the left of what they use.

use krm_engine::graph::Graph;

use crate::report::columns::width as columns_of;

/// A node as a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

pub struct Layout {
    /// By node.
    pub boxes: Vec<Placed>,
    pub width: f64,
    pub height: f64,
}

/// The widest of the fonts that a picture asks for, at its size of 13 pixels.
const CHARACTER: f64 = 7.9;
const HEIGHT: f64 = 28.0;
const BETWEEN_ROWS: f64 = 14.0;
const BETWEEN_COLUMNS: f64 = 90.0;
const MARGIN: f64 = 16.0;
/// So often columns are put in order by what they are connected to.
const SWEEPS: usize = 4;

/// The same graph always gets the same layout.
pub fn layout(graph: &Graph) -> Layout {
    let columns = columns(graph);
    let count = columns.iter().max().map_or(0, |last| last + 1);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    columns.iter().enumerate().for_each(|(node, column)| rows[*column].push(node));
    order(graph, &columns, &mut rows);
    let width = |node: usize| 20.0 + CHARACTER * columns_of(&graph.nodes[node].label) as f64;
    let mut boxes = vec![Placed { x: 0.0, y: 0.0, width: 0.0, height: HEIGHT }; graph.nodes.len()];
    let tallest = rows.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let height = 2.0 * MARGIN + tallest * HEIGHT + (tallest - 1.0).max(0.0) * BETWEEN_ROWS;
    let mut x = MARGIN;
    for column in &rows {
        let widest = column.iter().map(|node| width(*node)).fold(0.0, f64::max);
        let own = column.len() as f64 * (HEIGHT + BETWEEN_ROWS) - BETWEEN_ROWS;
        let top = (height - own) / 2.0;
        for (at, node) in column.iter().enumerate() {
            let y = top + at as f64 * (HEIGHT + BETWEEN_ROWS);
            boxes[*node] = Placed { x, y, width: width(*node), height: HEIGHT };
        }
        x += widest + BETWEEN_COLUMNS;
    }
    Layout { boxes, width: (x - BETWEEN_COLUMNS + MARGIN).max(2.0 * MARGIN), height }
}

/// The column of each node: right of all those that use it. An edge that closes a circle does not count.
fn columns(graph: &Graph) -> Vec<usize> {
    let count = graph.nodes.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut users = vec![0_usize; count];
    for edge in graph.edges.iter().filter(|edge| edge.from != edge.to) {
        below[edge.from].push(edge.to);
        users[edge.to] += 1;
    }
    let mut columns = vec![0; count];
    let mut done = vec![false; count];
    let mut ready: Vec<usize> = (0..count).rev().filter(|node| users[*node] == 0).collect();
    let mut next = 0;
    loop {
        while let Some(node) = ready.pop() {
            if std::mem::replace(&mut done[node], true) {
                continue;
            }
            for to in &below[node] {
                if !done[*to] {
                    columns[*to] = columns[*to].max(columns[node] + 1);
                    users[*to] -= 1;
                    if users[*to] == 0 {
                        ready.push(*to);
                    }
                }
            }
        }
        // What is left is in circles: begin with the first.
        while next < count && done[next] {
            next += 1;
        }
        match next < count {
            true => ready.push(next),
            false => return columns,
        }
    }
}

/// Puts the nodes of each column in the order of the mean of what they are connected to, so that few lines cross.
fn order(graph: &Graph, columns: &[usize], rows: &mut [Vec<usize>]) {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        near[edge.from].push(edge.to);
        near[edge.to].push(edge.from);
    }
    let mut position = vec![0.0; graph.nodes.len()];
    let place = |rows: &[Vec<usize>], position: &mut Vec<f64>| {
        for column in rows {
            for (at, node) in column.iter().enumerate() {
                position[*node] = (at as f64 + 0.5) / column.len() as f64;
            }
        }
    };
    place(rows, &mut position);
    for sweep in 0..SWEEPS {
        let forwards = sweep % 2 == 0;
        let order: Vec<usize> = match forwards {
            true => (0..rows.len()).collect(),
            false => (0..rows.len()).rev().collect(),
        };
        for column in order {
            let mean = |node: usize| {
                let is_before = |other: &&usize| match forwards {
                    true => columns[**other] < column,
                    false => columns[**other] > column,
                };
                let (sum, count) = near[node]
                    .iter()
                    .filter(is_before)
                    .fold((0.0, 0), |(sum, count), other| (sum + position[*other], count + 1));
                if count == 0 { position[node] } else { sum / f64::from(count) }
            };
            let mut keyed: Vec<(f64, usize)> = rows[column].iter().map(|node| (mean(*node), *node)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[column] = keyed.into_iter().map(|(_, node)| node).collect();
            place(&rows[column..=column], &mut position);
        }
    }
}

#[cfg(test)]
mod tests {
    use krm_engine::Span;
    use krm_engine::graph::{Node, NodeKind};

    use super::*;

    #[test]
    fn boxes_are_wide_enough_for_their_labels() {
        let node = |label: &str| Node {
            id: label.to_owned(),
            kind: NodeKind::File,
            label: label.to_owned(),
            place: Span::NONE,
        };
        let label = "overlays/production/clusters/europe-west/annotate-owner-and-team.yaml";
        let mut graph = Graph::default();
        graph.nodes.extend([label, "東京", "ab"].map(node));
        let boxes = layout(&graph).boxes;
        // Characters of the common fonts are 0.602 of their size wide, and there are 10 pixels before the first.
        assert!(boxes[0].width >= 20.0 + label.len() as f64 * 13.0 * 0.602, "{boxes:?}");
        assert!(boxes[1].width > boxes[2].width, "{boxes:?}");
    }
}
