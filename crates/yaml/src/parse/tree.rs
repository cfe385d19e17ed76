//! Nodes in the making.
//!
//! What is read goes onto one stack, `nodes`: scalars directly, keys and values in turn, and when a collection is
//! complete it takes its children off and takes their place. So vectors are made in one piece and just as large as they
//! need be, and nodes are written once instead of being handed up through every caller.

use std::sync::Arc;

use super::cursor::Parser;
use crate::diag::Result;
use crate::map::{Entry, Map};
use crate::node::{Node, Style, Tag, Text, Value};

impl Parser<'_> {
    /// The node that was read last.
    #[inline]
    pub fn top(&mut self) -> &mut Node {
        self.nodes.last_mut().expect("something was read before it is asked for")
    }

    #[inline]
    pub fn push_scalar(&mut self, text: &str, tag: Tag, style: Style, start: usize, end: usize) {
        let span = self.span(start, end);
        self.nodes.push(Node::scalar(text, tag, style, span));
    }

    /// Pushes the scalar for nothing: where a value was left out.
    #[inline]
    pub fn push_nothing(&mut self, at: usize) {
        self.nodes.push(self.nothing(at));
    }

    pub fn nothing(&self, at: usize) -> Node {
        Node::scalar(Text::new(), Tag::Null, Style::Plain, self.span(at, at))
    }

    /// Makes a map of the keys and values from `first` on.
    pub fn take_map(
        &mut self,
        first: usize,
        first_hash: usize,
        style: Style,
        start: usize,
        end: usize,
    ) -> Result<()> {
        self.check_keys(first, first_hash)?;
        let mut entries = Vec::with_capacity((self.nodes.len() - first) / 2);
        let mut nodes = self.nodes.drain(first..);
        while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
            entries.push(Entry { key, value });
        }
        drop(nodes);
        let value = Value::Map(Arc::new(Map::from_entries(entries)));
        let span = self.span(start, end);
        self.nodes.push(Node::new(value, Tag::Map, style, span));
        Ok(())
    }

    /// Makes a sequence of the nodes from `first` on.
    pub fn take_seq(&mut self, first: usize, style: Style, start: usize, end: usize) {
        let mut items = Vec::with_capacity(self.nodes.len() - first);
        items.extend(self.nodes.drain(first..));
        let span = self.span(start, end);
        self.nodes.push(Node::new(Value::Seq(Arc::new(items)), Tag::Seq, style, span));
    }
}
