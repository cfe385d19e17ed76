//! Flow collections: `[]` and `{}`.

use std::sync::Arc;

use super::comment::{After, Kind};
use super::cursor::Parser;
use super::property::Properties;
use crate::diag::Result;
use crate::map::Entry;
use crate::node::{Node, Style, Tag, Value};

impl Parser<'_> {
    /// Reads the flow collection that begins here, to behind its closing bracket.
    pub fn flow_collection(&mut self) -> Result<Node> {
        let start = self.pos;
        self.descend(start)?;
        self.flow_level += 1;
        self.pos += 1;
        let node = if self.at(start) == b'[' { self.flow_seq(start) } else { self.flow_map(start) }?;
        self.flow_level -= 1;
        self.depth -= 1;
        self.key_allowed = false;
        Ok(node)
    }

    fn flow_seq(&mut self, start: usize) -> Result<Node> {
        let first = self.nodes.len();
        self.skip(After { kind: Kind::Other, start })?;
        while self.here() != b']' {
            let item = self.pos;
            let node = if self.here() == b'?' {
                let entry = self.explicit_flow_entry(b']')?;
                self.single_pair(entry, item)?
            } else {
                let key = self.flow_node(start)?;
                if self.here() != b':' || !self.is_key_length(item) {
                    key
                } else {
                    let value = self.flow_value(b']', start)?;
                    self.single_pair(Entry { key, value }, item)?
                }
            };
            self.nodes.push(node);
            self.flow_separator(b']', start)?;
        }
        self.pos += 1;
        let items: Vec<Node> = self.nodes.drain(first..).collect();
        Ok(Node::new(Value::Seq(Arc::new(items)), Tag::Seq, Style::Flow, self.span(start, self.pos)))
    }

    /// A map of one entry, as `[a: b]` has it.
    fn single_pair(&mut self, entry: Entry, start: usize) -> Result<Node> {
        let end = entry.value.span().end as usize;
        let first = self.entries.len();
        self.entries.push(entry);
        self.take_map(first, Style::Flow, start, end)
    }

    fn flow_map(&mut self, start: usize) -> Result<Node> {
        let first = self.entries.len();
        self.skip(After { kind: Kind::Other, start })?;
        while self.here() != b'}' {
            let item = self.pos;
            let entry = if self.here() == b'?' {
                self.explicit_flow_entry(b'}')?
            } else {
                let key = self.flow_node(start)?;
                let value = if self.here() == b':' && self.is_key_length(item) {
                    self.flow_value(b'}', start)?
                } else {
                    self.nothing(key.span().end as usize)
                };
                Entry { key, value }
            };
            self.entries.push(entry);
            self.flow_separator(b'}', start)?;
        }
        self.pos += 1;
        self.take_map(first, Style::Flow, start, self.pos)
    }

    /// Goes over the comma behind an item, to the next one or the closing bracket.
    fn flow_separator(&mut self, close: u8, start: usize) -> Result<()> {
        match self.here() {
            b',' => {
                let comma = self.pos;
                self.pos += 1;
                self.skip(After { kind: Kind::Other, start: comma })
            }
            byte if byte == close => Ok(()),
            _ => Err(self.no_separator(self.pos, start)),
        }
    }

    /// Reads `? key : value`.
    fn explicit_flow_entry(&mut self, close: u8) -> Result<Entry> {
        let mark = self.pos;
        self.pos += 1;
        self.skip(After { kind: Kind::Other, start: mark })?;
        let key = if matches!(self.here(), b':' | b',') || self.here() == close {
            self.nothing(mark + 1)
        } else {
            self.flow_node(mark)?
        };
        let value = if self.here() == b':' {
            self.flow_value(close, mark)?
        } else {
            self.nothing(key.span().end as usize)
        };
        Ok(Entry { key, value })
    }

    /// Reads what is behind the `:` here.
    fn flow_value(&mut self, close: u8, start: usize) -> Result<Node> {
        let colon = self.pos;
        self.pos += 1;
        self.skip(After { kind: Kind::Value, start: colon })?;
        if self.here() == b',' || self.here() == close {
            Ok(self.nothing(colon + 1))
        } else {
            self.flow_node(start)
        }
    }

    /// Reads a node within a flow collection that began at `start`, to the token behind it.
    fn flow_node(&mut self, start: usize) -> Result<Node> {
        let mut properties = Properties::default();
        let mut behind = self.pos;
        while self.at_property() {
            let at = self.pos;
            self.property(&mut properties)?;
            behind = self.pos;
            self.skip(After { kind: Kind::Other, start: at })?;
        }
        let here = self.pos;
        if self.pos == self.line_start && (self.here() == b'%' || self.at_marker()) || self.at_end() {
            return Err(self.unclosed_flow(start));
        }
        let node = match self.here() {
            b'*' if properties.is_empty() => self.alias()?,
            b'*' => return Err(self.property_of_alias(here)),
            b'[' | b'{' => self.flow_collection()?,
            b'\'' | b'"' => self.quoted()?,
            b'-' if self.is_blank_or_end(here + 1) => return Err(self.entry_in_flow(here)),
            _ if self.starts_plain() => self.plain()?,
            b':' | b',' | b']' | b'}' | b'?' if !properties.is_empty() => self.nothing(behind),
            _ => return Err(self.no_flow_node(here, start)),
        };
        self.skip(After { kind: Kind::Other, start: here })?;
        if properties.is_empty() { Ok(node) } else { self.apply(properties, node) }
    }
}
