//! Flow collections: `[]` and `{}`.

use super::comment::After;
use super::cursor::Parser;
use super::property::Properties;
use crate::diag::Result;
use crate::node::Style;

impl Parser<'_> {
    /// Reads the flow collection that begins here, to right after its closing bracket.
    pub(crate) fn flow_collection(&mut self) -> Result<()> {
        let start = self.pos;
        self.descend(start)?;
        self.flow_level += 1;
        self.pos += 1;
        if self.at(start) == b'[' {
            self.flow_seq(start)?;
        } else {
            self.flow_map(start)?;
        }
        self.flow_level -= 1;
        self.depth -= 1;
        self.key_allowed = false;
        Ok(())
    }

    fn flow_seq(&mut self, start: usize) -> Result<()> {
        let first = self.nodes.len();
        self.skip(After::other(start))?;
        let head = self.flow_head(start);
        while self.here() != b']' {
            let item = self.pos;
            if self.here() == b'?' {
                self.explicit_flow_entry(b']', start)?;
                self.single_pair(item)?;
                continue;
            }
            self.flow_node(start)?;
            if self.here() == b':' && self.is_key_length(item) {
                self.flow_value(b']', start)?;
                self.single_pair(item)?;
            } else {
                self.flow_separator(b']', start)?;
                self.comment_on();
            }
        }
        self.pos += 1;
        self.take_seq(first, Style::Flow, start, self.pos);
        self.give_head(head);
        Ok(())
    }

    /// Makes a map of one entry, as `[a: b]` has it, of the key and the value on top.
    fn single_pair(&mut self, start: usize) -> Result<()> {
        let end = self.top().span().end as usize;
        let first = self.nodes.len() - 2;
        let first_hash = self.hashes.len() - 1;
        self.take_map(first, first_hash, Style::Flow, start, end)
    }

    fn flow_map(&mut self, start: usize) -> Result<()> {
        let first = self.nodes.len();
        let first_hash = self.hashes.len();
        self.skip(After::other(start))?;
        let head = self.flow_head(start);
        while self.here() != b'}' {
            let item = self.pos;
            if self.here() == b'?' {
                self.explicit_flow_entry(b'}', start)?;
                continue;
            }
            self.flow_node(start)?;
            if self.here() == b':' && self.is_key_length(item) {
                self.flow_value(b'}', start)?;
            } else {
                self.flow_no_value(b'}', start)?;
            }
        }
        self.pos += 1;
        self.take_map(first, first_hash, Style::Flow, start, self.pos)?;
        self.give_head(head);
        Ok(())
    }

    /// Reads `? key : value`, and what separates it from the next.
    fn explicit_flow_entry(&mut self, close: u8, start: usize) -> Result<()> {
        let mark = self.pos;
        self.pos += 1;
        self.skip(After::other(mark))?;
        if matches!(self.here(), b':' | b',') || self.here() == close {
            // quirk(question-mark-in-a-list): `[? : b]`, an empty key in a list between brackets, is refused: what
            // follows the question mark is taken for the key. (go-yaml `yaml_parser_parse_flow_sequence_entry`)
            if close == b']' {
                return Err(self.no_flow_node(self.pos, start));
            }
            self.push_nothing(mark + 1);
        } else {
            self.flow_node(start)?;
        }
        if self.here() == b':' { self.flow_value(close, start) } else { self.flow_no_value(close, start) }
    }

    /// Reads what is after the `:` here, for the key on top, and what separates it from the next.
    fn flow_value(&mut self, close: u8, start: usize) -> Result<()> {
        self.comment_on();
        self.hash_key();
        let colon = self.pos;
        self.pos += 1;
        self.skip(After::value(colon, colon))?;
        if self.here() == b',' || self.here() == close {
            self.push_nothing(colon + 1);
        } else {
            self.flow_node(start)?;
        }
        self.flow_separator(close, start)?;
        self.comment_on();
        self.settle_value();
        Ok(())
    }

    /// Reads what separates the key on top, which has no value, from the next.
    fn flow_no_value(&mut self, close: u8, start: usize) -> Result<()> {
        self.hash_key();
        self.flow_separator(close, start)?;
        self.comment_on();
        let end = self.top().span().end as usize;
        self.push_nothing(end);
        Ok(())
    }

    /// Goes over the comma after the node on top, to the next one or the closing bracket. Comments after the comma may
    /// still belong to the node.
    fn flow_separator(&mut self, close: u8, start: usize) -> Result<()> {
        match self.here() {
            b',' => {
                self.pos += 1;
                let token = self.last_token();
                self.skip(After::other(token))
            }
            byte if byte == close => Ok(()),
            _ => Err(self.no_separator(self.pos, start)),
        }
    }

    /// Reads a node within a flow collection that began at `start`, to the token after it.
    fn flow_node(&mut self, start: usize) -> Result<()> {
        let mut properties = Properties::default();
        let mut after = self.pos;
        while self.at_property() {
            let at = self.pos;
            self.property(&mut properties)?;
            after = self.pos;
            self.skip(After::other(at))?;
        }
        let here = self.pos;
        let at_marker = self.pos == self.line_start && (self.here() == b'%' || self.at_marker());
        if at_marker || self.at_end() {
            return Err(self.unclosed_flow(start));
        }
        match self.here() {
            b'*' if properties.is_empty() => self.alias()?,
            b'*' => return Err(self.property_of_alias(here)),
            b'[' | b'{' => self.flow_collection()?,
            b'\'' | b'"' => self.quoted()?,
            b'-' if self.is_blank_or_end(here + 1) => return Err(self.entry_in_flow(here)),
            _ if self.starts_plain() => drop(self.plain()?),
            b':' | b',' | b']' | b'}' | b'?' if !properties.is_empty() => self.push_nothing(after),
            _ => return Err(self.no_flow_node(here, start)),
        }
        let token = self.last_token();
        self.skip(After::other(token))?;
        if !properties.is_empty() {
            self.apply(properties)?;
        }
        Ok(())
    }
}
