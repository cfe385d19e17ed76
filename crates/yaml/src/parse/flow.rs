//! Flow collections: `[]` and `{}`.

use super::block::with_head;
use super::comment::{After, last_token};
use super::cursor::Parser;
use super::property::Properties;
use crate::diag::Result;
use crate::map::Entry;
use crate::node::{Node, Style};

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
        self.skip(After::other(start))?;
        let head = self.flow_head(start);
        while self.here() != b']' {
            let item = self.pos;
            let node = if self.here() == b'?' {
                let entry = self.explicit_flow_entry(b']')?;
                self.single_pair(entry, item, start)?
            } else {
                let mut node = self.flow_node(start)?;
                if self.here() == b':' && self.is_key_length(item) {
                    self.comment_on(&mut node);
                    let value = self.flow_value(b']', start)?;
                    self.single_pair(Entry { key: node, value }, item, start)?
                } else {
                    self.flow_separator(b']', start, last_token(&node))?;
                    self.comment_on(&mut node);
                    node
                }
            };
            self.nodes.push(node);
        }
        self.pos += 1;
        let node = self.take_seq(first, Style::Flow, start, self.pos);
        Ok(with_head(node, head))
    }

    /// A map of one entry, as `[a: b]` has it.
    fn single_pair(&mut self, mut entry: Entry, item: usize, start: usize) -> Result<Node> {
        let end = entry.value.span().end as usize;
        self.end_flow_entry(&mut entry, b']', start)?;
        let first = self.entries.len();
        self.push_entry(entry);
        self.take_map(first, Style::Flow, item, end)
    }

    fn flow_map(&mut self, start: usize) -> Result<Node> {
        let first = self.entries.len();
        self.skip(After::other(start))?;
        let head = self.flow_head(start);
        while self.here() != b'}' {
            let item = self.pos;
            let mut entry = if self.here() == b'?' {
                self.explicit_flow_entry(b'}')?
            } else {
                let mut key = self.flow_node(start)?;
                let value = if self.here() == b':' && self.is_key_length(item) {
                    self.comment_on(&mut key);
                    self.flow_value(b'}', start)?
                } else {
                    self.nothing(key.span().end as usize)
                };
                Entry { key, value }
            };
            self.end_flow_entry(&mut entry, b'}', start)?;
            self.push_entry(entry);
        }
        self.pos += 1;
        let node = self.take_map(first, Style::Flow, start, self.pos)?;
        Ok(with_head(node, head))
    }

    /// Goes over the comma behind an entry. Comments behind it may still belong to the entry.
    fn end_flow_entry(&mut self, entry: &mut Entry, close: u8, start: usize) -> Result<()> {
        let last = if entry.value.span().is_empty() { &mut entry.key } else { &mut entry.value };
        self.flow_separator(close, start, last_token(last))?;
        self.comment_on(last);
        self.settle_value(&mut entry.key, &mut entry.value);
        Ok(())
    }

    /// Goes over the comma behind an item, to the next one or the closing bracket. The item's last token began at
    /// `token`.
    fn flow_separator(&mut self, close: u8, start: usize, token: usize) -> Result<()> {
        match self.here() {
            b',' => {
                self.pos += 1;
                self.skip(After::other(token))
            }
            byte if byte == close => Ok(()),
            _ => Err(self.no_separator(self.pos, start)),
        }
    }

    /// Reads `? key : value`.
    fn explicit_flow_entry(&mut self, close: u8) -> Result<Entry> {
        let mark = self.pos;
        self.pos += 1;
        self.skip(After::other(mark))?;
        let mut key = if matches!(self.here(), b':' | b',') || self.here() == close {
            self.nothing(mark + 1)
        } else {
            self.flow_node(mark)?
        };
        let value = if self.here() == b':' {
            self.comment_on(&mut key);
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
        self.skip(After::value(colon, colon))?;
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
            self.skip(After::other(at))?;
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
        self.skip(After::other(last_token(&node)))?;
        if properties.is_empty() { Ok(node) } else { self.apply(properties, node) }
    }
}
