//! Block collections: structure by indentation.

use super::comment::After;
use super::cursor::Parser;
use super::property::Properties;
use crate::diag::Result;
use crate::node::Style;

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

/// Where the dashes of a block sequence may be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Dashes {
    /// Further in than what holds the sequence.
    Indented,
    /// Right below the key, too: the sequence is the value of a map.
    BelowKey,
}

impl Parser<'_> {
    /// Reads the node that begins here, and pushes it.
    pub(crate) fn block_node(&mut self, dashes: Dashes) -> Result<()> {
        if self.is_word() {
            return self.block_word();
        }
        if self.at_property() {
            return self.block_node_with_properties(dashes);
        }
        self.block_content(None, dashes)
    }

    /// The most frequent of nodes: a plain scalar, or a map that begins with a plain key.
    #[inline]
    fn block_word(&mut self) -> Result<()> {
        let start = self.pos;
        let key_allowed = std::mem::replace(&mut self.key_allowed, false);
        if self.plain()? {
            if !key_allowed || !self.is_key_length(start) {
                return Err(self.value_not_allowed(self.pos, start));
            }
            let end = self.top().span().end as usize;
            self.hash_word(start, end);
            return self.block_map(start, Some(start));
        }
        self.skip(After::other(start))?;
        self.comment_on();
        Ok(())
    }

    #[cold]
    fn block_node_with_properties(&mut self, dashes: Dashes) -> Result<()> {
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
            if self.has_no_content(dashes) {
                self.push_nothing(end);
                return self.apply_all(*written);
            }
        }
        self.block_content(Some(written), dashes)
    }

    /// Gives the node on top all properties that were written before it.
    #[cold]
    fn apply_all(&mut self, written: Written) -> Result<()> {
        let properties = self.join(written.above, written.line)?;
        self.apply(properties)
    }

    /// Whether what comes next is not part of the node that may begin here.
    #[inline]
    fn has_no_content(&self, dashes: Dashes) -> bool {
        if self.column() > self.indent {
            return self.at_document_end();
        }
        if self.column() < self.indent || self.at_document_end() {
            return true;
        }
        // go-yaml lets the signs of block scalars be below the key they belong to.
        let may_be_dash = dashes == Dashes::BelowKey;
        let has_content = matches!(self.here(), b'|' | b'>') || may_be_dash && self.is_indicator(b'-');
        !has_content
    }

    /// Reads a node whose properties have been read.
    fn block_content(&mut self, written: Option<Box<Written>>, dashes: Dashes) -> Result<()> {
        let here = self.pos;
        let key_start = match &written {
            Some(written) if written.key_start.is_some() => written.key_start,
            _ => self.key_allowed.then_some(here),
        };
        let mut last_token = here;
        let is_collection = match self.here() {
            b'-' if self.is_blank_or_end(here + 1) => {
                if !self.key_allowed {
                    return Err(self.entry_not_allowed(here));
                }
                let is_indented = self.column() != self.indent;
                self.block_seq(if is_indented { Dashes::Indented } else { dashes })?;
                true
            }
            b'?' if self.is_blank_or_end(here + 1) => {
                if !self.key_allowed {
                    return Err(self.key_not_allowed(here));
                }
                self.block_map(here, None)?;
                true
            }
            b':' if self.is_blank_or_end(here + 1) => {
                if key_start.is_none_or(|start| start == here) {
                    return Err(self.value_without_key(here));
                }
                self.push_nothing(here);
                false
            }
            b'|' | b'>' => {
                self.block_scalar()?;
                false
            }
            b'*' => {
                if written.as_ref().is_some_and(|w| !w.line.is_empty()) {
                    return Err(self.property_of_alias(here));
                }
                self.alias()?;
                false
            }
            b'[' | b'{' => {
                self.flow_collection()?;
                last_token = self.pos - 1;
                false
            }
            b'\'' | b'"' => {
                self.key_allowed = false;
                self.quoted()?;
                false
            }
            _ if self.starts_plain() => {
                self.key_allowed = false;
                self.plain()?;
                false
            }
            _ => return Err(self.no_token(here)),
        };
        if is_collection {
            return written.map_or(Ok(()), |written| self.apply_all(*written));
        }
        // A plain scalar may have gone on to the next line already; a block scalar has.
        if !self.key_allowed {
            self.skip_blanks();
            if self.is_indicator(b':') {
                let Some(start) = key_start.filter(|start| self.is_key_length(*start)) else {
                    return Err(self.value_not_allowed(self.pos, here));
                };
                return match written {
                    None => {
                        self.hash_key();
                        self.block_map(start, Some(last_token))
                    }
                    Some(written) => {
                        self.apply(written.line)?;
                        self.hash_key();
                        self.block_map(start, Some(last_token))?;
                        self.apply(written.above)
                    }
                };
            }
        }
        if let Some(written) = written {
            if self.top().trivia().alias.is_some() {
                return Err(self.property_of_alias(here));
            }
            self.apply_all(*written)?;
        }
        self.skip(After::other(last_token))?;
        self.comment_on();
        Ok(())
    }

    /// Reads the block sequence that begins with the `-` here.
    fn block_seq(&mut self, dashes: Dashes) -> Result<()> {
        let is_indented = dashes == Dashes::Indented;
        let start = self.pos;
        let column = self.column();
        let head = self.stem(start);
        self.descend(start)?;
        if is_indented {
            self.indents.push(self.indent);
            self.indent = column;
        }
        let first = self.nodes.len();
        loop {
            let dash = self.pos;
            self.begin_item(dash);
            self.pos += 1;
            self.key_allowed = true;
            self.skip(After::lead(dash))?;
            if self.has_no_content(Dashes::Indented) {
                self.push_nothing(dash + 1);
            } else {
                self.block_node(Dashes::Indented)?;
            }
            if self.at_document_end() || self.column() < column {
                break;
            }
            let fits = self.column() == column && self.key_allowed;
            if !fits || !self.is_indicator(b'-') {
                if fits && !is_indented {
                    break;
                }
                return Err(self.not_an_entry(self.pos, start));
            }
        }
        if is_indented {
            self.indent = self.indents.pop().expect("pushed above");
            self.end_seq();
        }
        self.depth -= 1;
        let end = self.top().span().end as usize;
        self.take_seq(first, Style::Block, start, end);
        self.give_head(head);
        Ok(())
    }

    /// Reads the block map that begins at `start`: with the `?` here, or with a key that is on top and hashed, whose `:`
    /// is here, and whose last token is given.
    fn block_map(&mut self, start: usize, key: Option<usize>) -> Result<()> {
        let column = (start - self.line_start) as i32;
        let head = self.stem(start);
        self.descend(start)?;
        self.indents.push(self.indent);
        self.indent = column;
        let first = self.nodes.len() - usize::from(key.is_some());
        let first_hash = self.hashes.len() - usize::from(key.is_some());
        let mut key = key;
        loop {
            match key {
                Some(token) => self.entry(first, token)?,
                None => self.explicit_entry(first)?,
            }
            if self.at_document_end() || self.column() < column {
                break;
            }
            if self.column() != column || !self.key_allowed {
                return Err(self.not_a_key(self.pos, start));
            }
            key = if self.is_indicator(b'?') { None } else { Some(self.block_key(start)?) };
        }
        self.indent = self.indents.pop().expect("pushed above");
        self.end_map();
        self.depth -= 1;
        let end = self.top().span().end as usize;
        self.take_map(first, first_hash, Style::Block, start, end)?;
        self.give_head(head);
        Ok(())
    }

    /// Reads the value for the key on top, whose `:` is here and whose last token is given.
    #[inline]
    fn entry(&mut self, first: usize, token: usize) -> Result<()> {
        let colon = self.pos;
        self.pos += 1;
        self.key_allowed = false;
        self.skip(After::value(colon, token))?;
        self.comment_on();
        self.settle_key(first);
        self.block_value(colon + 1)?;
        self.settle_value();
        Ok(())
    }

    /// Reads a key and its value that begin with `?`.
    fn explicit_entry(&mut self, first: usize) -> Result<()> {
        let mark = self.pos;
        self.pos += 1;
        self.key_allowed = true;
        self.skip(After::other(mark))?;
        self.block_value(mark + 1)?;
        self.hash_key();
        self.settle_key(first);
        if !self.key_allowed || self.column() != self.indent || !self.is_indicator(b':') {
            let end = self.top().span().end as usize;
            self.push_nothing(end);
            return Ok(());
        }
        let colon = self.pos;
        self.pos += 1;
        self.key_allowed = true;
        let token = self.last_token();
        self.skip(After::value(colon, token))?;
        self.block_value(colon + 1)?;
        self.settle_value();
        Ok(())
    }

    /// Reads the node after a `:` or `?` of a block map, which may be missing.
    #[inline]
    fn block_value(&mut self, at: usize) -> Result<()> {
        // On the line of its key there is a value, unless the text ends.
        let is_missing = if self.key_allowed { self.has_no_content(Dashes::BelowKey) } else { self.at_end() };
        if is_missing {
            self.push_nothing(at);
            return Ok(());
        }
        self.block_node(Dashes::BelowKey)
    }

    /// Reads a key of a block map, up to its `:`. The map began at `map`. Gives where the key's last token begins.
    #[inline]
    fn block_key(&mut self, map: usize) -> Result<usize> {
        let start = self.pos;
        if self.is_word() {
            self.key_allowed = false;
            let (end, has_colon) = self.plain_key();
            self.hash_word(start, end);
            if !has_colon || !self.is_key_length(start) {
                return Err(self.key_without_value(start, map));
            }
            return Ok(start);
        }
        if self.at_property() {
            return self.block_key_with_properties(map);
        }
        let token = self.block_key_content(map)?;
        self.hash_key();
        self.end_key(start, map)?;
        Ok(token)
    }

    #[cold]
    fn block_key_with_properties(&mut self, map: usize) -> Result<usize> {
        let start = self.pos;
        let mut properties = Properties::default();
        while self.at_property() {
            self.property(&mut properties)?;
            self.skip_blanks();
        }
        let token = match self.here() {
            b'*' => return Err(self.property_of_alias(self.pos)),
            b':' if self.is_indicator(b':') => {
                self.push_nothing(self.pos);
                start
            }
            _ => self.block_key_content(map)?,
        };
        self.end_key(start, map)?;
        self.apply(properties)?;
        self.hash_key();
        Ok(token)
    }

    /// Goes to the `:` of a key.
    #[inline]
    fn end_key(&mut self, start: usize, map: usize) -> Result<()> {
        self.skip_blanks();
        if self.is_indicator(b':') && self.is_key_length(start) {
            return Ok(());
        }
        Err(self.key_without_value(start, map))
    }

    fn block_key_content(&mut self, map: usize) -> Result<usize> {
        let start = self.pos;
        self.key_allowed = false;
        match self.here() {
            b'-' | b':' if self.is_blank_or_end(start + 1) => {
                self.key_allowed = true;
                return Err(self.not_a_key(start, map));
            }
            b'|' | b'>' => {
                self.key_allowed = true;
                return Err(self.not_a_key(start, map));
            }
            b'*' => self.alias()?,
            b'[' | b'{' => {
                self.flow_collection()?;
                return Ok(self.pos - 1);
            }
            b'\'' | b'"' => self.quoted()?,
            _ if self.starts_plain() => {
                self.plain_key();
            }
            _ => return Err(self.no_token(start)),
        }
        Ok(start)
    }
}
