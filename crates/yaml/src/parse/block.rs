//! Block collections: structure by indentation.

use super::comment::{After, last_token};
use super::cursor::Parser;
use super::property::Properties;
use crate::diag::Result;
use crate::map::{Entry, Map};
use crate::node::{Node, Style, Tag, Value};
use std::sync::Arc;

/// The properties in front of a node.
#[derive(Default)]
struct Written {
    /// Those on earlier lines belong to the node.
    above: Properties,
    /// Those on the line of the content belong to its first key, where it turns out a map.
    line: Properties,
    /// Where that key begins, if one may begin there.
    key_start: Option<usize>,
}

impl Parser<'_> {
    /// Reads the node that begins here. `indentless` where it is the value of a map, below whose key a sequence may
    /// stand without further indentation.
    pub fn block_node(&mut self, indentless: bool) -> Result<Node> {
        if self.at_property() {
            return self.block_node_with_properties(indentless);
        }
        self.block_content(None, indentless)
    }

    #[cold]
    fn block_node_with_properties(&mut self, indentless: bool) -> Result<Node> {
        let mut written = Box::new(Written::default());
        self.comments.stem = 0;
        while self.at_property() {
            if self.key_allowed {
                written.key_start = Some(self.pos);
            }
            let at = self.pos;
            self.property(&mut written.line)?;
            let end = self.pos;
            self.skip(After::other(at))?;
            if self.key_allowed {
                written.above = self.join(written.above, std::mem::take(&mut written.line))?;
                written.key_start = None;
            }
            if self.has_no_content(indentless) {
                let nothing = self.nothing(end);
                return self.with_properties(Some(written), nothing);
            }
        }
        self.block_content(Some(written), indentless)
    }

    /// Gives a node all properties that were written before it.
    #[inline]
    fn with_properties(&mut self, written: Option<Box<Written>>, node: Node) -> Result<Node> {
        match written {
            None => Ok(node),
            Some(written) => {
                let properties = self.join(written.above, written.line)?;
                self.apply(properties, node)
            }
        }
    }

    /// Whether what comes next is no part of the node that may begin here.
    fn has_no_content(&self, indentless: bool) -> bool {
        if self.column() > self.indent {
            return self.at_document_end();
        }
        if self.column() < self.indent || self.at_document_end() {
            return true;
        }
        // go-yaml lets the signs of block scalars stand below the key they belong to.
        let continues = indentless && self.is_indicator(b'-') || matches!(self.here(), b'|' | b'>');
        !continues
    }

    /// Reads a node whose properties have been read.
    fn block_content(&mut self, written: Option<Box<Written>>, indentless: bool) -> Result<Node> {
        let here = self.pos;
        let key_start = match &written {
            Some(written) if written.key_start.is_some() => written.key_start,
            _ => self.key_allowed.then_some(here),
        };
        let node = match self.here() {
            b'-' if self.is_blank_or_end(here + 1) => {
                if !self.key_allowed {
                    return Err(self.entry_not_allowed(here));
                }
                let is_indentless = indentless && self.column() == self.indent;
                let node = self.block_seq(is_indentless)?;
                return self.with_properties(written, node);
            }
            b'?' if self.is_blank_or_end(here + 1) => {
                if !self.key_allowed {
                    return Err(self.key_not_allowed(here));
                }
                let node = self.block_map(here, None)?;
                return self.with_properties(written, node);
            }
            b':' if self.is_blank_or_end(here + 1) => {
                if key_start.is_none_or(|start| start == here) {
                    return Err(self.value_without_key(here));
                }
                self.nothing(here)
            }
            b'|' | b'>' => {
                let node = self.block_scalar()?;
                let mut node = self.with_properties(written, node)?;
                self.skip(After::other(here))?;
                self.comment_on(&mut node);
                return Ok(node);
            }
            b'*' if written.as_ref().is_some_and(|w| !w.line.is_empty()) => {
                return Err(self.property_of_alias(here));
            }
            b'*' => self.alias()?,
            b'[' | b'{' => self.flow_collection()?,
            b'\'' | b'"' => {
                self.key_allowed = false;
                self.quoted()?
            }
            _ if self.starts_plain() => {
                self.key_allowed = false;
                self.plain()?
            }
            _ => return Err(self.no_token(here)),
        };
        // A plain scalar may have gone on to the next line already.
        if !self.key_allowed {
            self.skip_blanks();
            if self.is_indicator(b':') {
                let Some(start) = key_start.filter(|start| self.is_key_length(*start)) else {
                    return Err(self.value_not_allowed(self.pos, here));
                };
                return match written {
                    None => self.block_map(start, Some(node)),
                    Some(written) => {
                        let key = self.apply(written.line, node)?;
                        let node = self.block_map(start, Some(key))?;
                        self.apply(written.above, node)
                    }
                };
            }
        }
        if written.is_some() && node.trivia().alias.is_some() {
            return Err(self.property_of_alias(here));
        }
        let mut node = self.with_properties(written, node)?;
        self.skip(After::other(last_token(&node)))?;
        self.comment_on(&mut node);
        Ok(node)
    }

    /// Reads the block sequence that begins with the `-` here.
    fn block_seq(&mut self, indentless: bool) -> Result<Node> {
        let start = self.pos;
        let column = self.column();
        let head = self.stem(start);
        self.descend(start)?;
        if !indentless {
            self.indents.push(self.indent);
            self.indent = column;
        }
        let first = self.nodes.len();
        let mut end;
        loop {
            let dash = self.pos;
            self.begin_item(dash);
            self.pos += 1;
            self.key_allowed = true;
            self.skip(After::lead(dash))?;
            let item =
                if self.has_no_content(false) { self.nothing(dash + 1) } else { self.block_node(false)? };
            end = item.span().end as usize;
            self.nodes.push(item);
            if self.at_document_end() || self.column() < column {
                break;
            }
            let fits = self.column() == column && self.key_allowed;
            if !fits || !self.is_indicator(b'-') {
                if fits && indentless {
                    break;
                }
                return Err(self.not_an_entry(self.pos, start));
            }
        }
        if !indentless {
            self.indent = self.indents.pop().expect("pushed above");
            self.end_seq();
        }
        self.depth -= 1;
        let node = self.take_seq(first, Style::Block, start, end);
        Ok(with_head(node, head))
    }

    /// Reads the block map that begins at `start`: with a key that was read already, and whose `:` is here, or with
    /// the `?` here.
    fn block_map(&mut self, start: usize, key: Option<Node>) -> Result<Node> {
        let column = (start - self.line_start) as i32;
        let head = self.stem(start);
        self.descend(start)?;
        self.indents.push(self.indent);
        self.indent = column;
        let first = self.entries.len();
        let mut next = key;
        let mut end;
        loop {
            let entry = match next.take() {
                Some(key) => self.entry(key, first)?,
                None => self.explicit_entry(first)?,
            };
            end = entry.value.span().end as usize;
            self.push_entry(entry);
            if self.at_document_end() || self.column() < column {
                break;
            }
            if self.column() != column || !self.key_allowed {
                return Err(self.not_a_key(self.pos, start));
            }
            if !self.is_indicator(b'?') {
                next = Some(self.block_key(start)?);
            }
        }
        self.indent = self.indents.pop().expect("pushed above");
        self.end_map(first);
        self.depth -= 1;
        let node = self.take_map(first, Style::Block, start, end)?;
        Ok(with_head(node, head))
    }

    /// Reads the value for a key whose `:` is here.
    #[inline]
    fn entry(&mut self, mut key: Node, first: usize) -> Result<Entry> {
        let colon = self.pos;
        self.pos += 1;
        self.key_allowed = false;
        self.skip(After::value(colon, last_token(&key)))?;
        self.comment_on(&mut key);
        self.settle_key(first, &mut key);
        let mut value = self.block_value(colon + 1)?;
        self.settle_value(&mut key, &mut value);
        Ok(Entry { key, value })
    }

    /// Reads a key and its value that begin with `?`.
    fn explicit_entry(&mut self, first: usize) -> Result<Entry> {
        let mark = self.pos;
        self.pos += 1;
        self.key_allowed = true;
        self.skip(After::other(mark))?;
        let mut key = self.block_value(mark + 1)?;
        self.settle_key(first, &mut key);
        if !self.key_allowed || self.column() != self.indent || !self.is_indicator(b':') {
            let value = self.nothing(key.span().end as usize);
            return Ok(Entry { key, value });
        }
        let colon = self.pos;
        self.pos += 1;
        self.key_allowed = true;
        self.skip(After::value(colon, last_token(&key)))?;
        let mut value = self.block_value(colon + 1)?;
        self.settle_value(&mut key, &mut value);
        Ok(Entry { key, value })
    }

    /// Reads the node behind a `:` or `?` of a block map, which may be missing.
    fn block_value(&mut self, at: usize) -> Result<Node> {
        if self.has_no_content(true) { Ok(self.nothing(at)) } else { self.block_node(true) }
    }

    /// Reads a key of a block map, up to its `:`. The map began at `map`.
    fn block_key(&mut self, map: usize) -> Result<Node> {
        let start = self.pos;
        let mut properties = Properties::default();
        while self.at_property() {
            self.property(&mut properties)?;
            self.skip_blanks();
        }
        self.key_allowed = false;
        let node = match self.here() {
            b':' if !properties.is_empty() && self.is_indicator(b':') => self.nothing(self.pos),
            b'-' | b':' if self.is_blank_or_end(self.pos + 1) => return Err(self.not_a_key(self.pos, map)),
            b'|' | b'>' => return Err(self.not_a_key(self.pos, map)),
            b'*' if properties.is_empty() => self.alias()?,
            b'*' => return Err(self.property_of_alias(self.pos)),
            b'[' | b'{' => self.flow_collection()?,
            b'\'' | b'"' => self.quoted()?,
            _ if self.starts_plain() => self.plain_key(),
            _ => return Err(self.no_token(self.pos)),
        };
        self.skip_blanks();
        if !self.is_indicator(b':') || !self.is_key_length(start) {
            return Err(self.key_without_value(start, map));
        }
        if properties.is_empty() { Ok(node) } else { self.apply(properties, node) }
    }

    /// Makes a map of the entries from `first` on, which it takes.
    pub fn take_map(&mut self, first: usize, style: Style, start: usize, end: usize) -> Result<Node> {
        self.check_keys(first)?;
        let map = Map::from_entries(take(&mut self.entries, first));
        Ok(Node::new(Value::Map(Arc::new(map)), Tag::Map, style, self.span(start, end)))
    }

    /// Makes a sequence of the nodes from `first` on, which it takes.
    pub fn take_seq(&mut self, first: usize, style: Style, start: usize, end: usize) -> Node {
        let items = take(&mut self.nodes, first);
        Node::new(Value::Seq(Arc::new(items)), Tag::Seq, style, self.span(start, end))
    }
}

/// Takes the end of a stack as a vector just as large.
fn take<T>(stack: &mut Vec<T>, first: usize) -> Vec<T> {
    let mut taken = Vec::with_capacity(stack.len() - first);
    taken.extend(stack.drain(first..));
    taken
}

/// Gives a node what stands above it.
#[inline]
pub fn with_head(mut node: Node, head: crate::node::Text) -> Node {
    if !head.is_empty() {
        node.trivia_mut().head = head;
    }
    node
}
