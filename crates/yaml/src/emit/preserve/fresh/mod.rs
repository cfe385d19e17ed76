//! Trees without a text of their own.
//!
//! This is a port in spirit of the habits of go-yaml's emitter: where it puts comments, when it breaks a line,
//! which quotes it takes. It keeps the same few facts about the line being written, because its blank lines around
//! comments follow from them.

mod flow;
mod pen;
mod scalars;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use self::pen::Gap;
use super::Layout;
use super::ending::Ending;
use super::scalar::is_break;
use crate::map::Entry;
use crate::node::{Node, Style, Tag, Value};
use crate::scalar::resolve;
use crate::text::Text;

/// The anchors that are in the text so far, with what they name there.
pub(super) type Anchors = FxHashMap<Text, Node>;

/// Keys longer than this are written in the long form, `? key`.
pub(super) const LONGEST_SIMPLE_KEY: usize = 128;

/// Writes trees at the end of a text.
pub(super) struct Writer<'o, 'w> {
    out: &'o mut String,
    anchors: &'o mut Anchors,
    layout: Layout,
    newline: &'static str,
    /// Where the present line begins in `out`.
    line_start: usize,
    /// The column of the collection being written; -1 at the root.
    indent: isize,
    flow_level: usize,
    /// Whether the last thing written was white space, or needs none after it.
    whitespace: bool,
    /// Whether there is only indentation (`- ` included) on the line so far.
    indention: bool,
    /// The indentation of a comment below a block just written: the next line of that indentation keeps its distance.
    foot_indent: isize,
    pending: Pending<'w>,
    /// How deep we are in copies of what an anchor names: comments and anchors in there would appear twice.
    copying: usize,
    /// Strings and keys in double quotes throughout, as in JSON.
    json: bool,
    /// A whole document is being written.
    whole: bool,
    /// The indentation of the lines of a block scalar, if that is given.
    inner: Option<isize>,
}

/// Comments on their way to the place where they are written.
#[derive(Default)]
struct Pending<'w> {
    head: &'w str,
    line: &'w str,
    foot: &'w str,
    /// The comment below the previous entry of a map.
    tail: &'w str,
    key_line: &'w str,
}

impl<'o, 'w> Writer<'o, 'w> {
    /// A writer at the start of a line.
    pub(crate) fn new(
        out: &'o mut String,
        anchors: &'o mut Anchors,
        layout: Layout,
        newline: &'static str,
    ) -> Self {
        let line_start = out.len();
        Self {
            out,
            anchors,
            layout,
            newline,
            line_start,
            indent: -1,
            flow_level: 0,
            whitespace: true,
            indention: true,
            foot_indent: -1,
            pending: Pending::default(),
            copying: 0,
            json: false,
            whole: false,
            inner: None,
        }
    }

    /// Writes a whole document, and ends its last line.
    pub(crate) fn document(&mut self, head: &'w str, root: &'w Node, foot: &'w str) {
        self.whole = true;
        self.pending.head = head;
        if !head.is_empty() {
            self.head_comment();
            self.put_break();
        }
        self.announce(root, "");
        self.head_comment();
        self.node(root, Role::Root);
        if !foot.is_empty() {
            self.pending.foot = foot;
            // A blank line parts it from the content, unless it would become part of that.
            self.foot_indent = if Ending::of(root) == Ending::KeptBreaks { -1 } else { 0 };
        }
        self.finish();
    }

    /// Writes what is still on its way, and ends the line.
    pub(crate) fn finish(&mut self) {
        self.head_comment();
        if !self.pending.line.is_empty() {
            self.line_comment();
        }
        self.foot_comment();
        if self.column() > 0 || self.whole && self.out.is_empty() {
            self.put_break();
        }
    }

    /// Writes the entries of a map at a column, on lines of their own.
    pub(crate) fn entries(&mut self, entries: impl IntoIterator<Item = (&'w Node, &'w Node)>, column: usize) {
        self.indent = column as isize;
        let mut tail = "";
        for (key, value) in entries {
            self.entry(key, value, tail);
            tail = &key.trivia().foot;
        }
        self.pending.tail = tail;
        self.finish();
    }

    /// Writes the items of a sequence at a column, on lines of their own.
    pub(crate) fn items(&mut self, items: impl IntoIterator<Item = &'w Node>, column: usize) {
        self.indent = column as isize;
        for item in items {
            self.item(item);
        }
        self.finish();
    }

    /// Writes what a collection holds at a column, on lines of its own; `copies` where it is a copy of what an anchor
    /// names.
    pub(crate) fn contents(&mut self, node: &'w Node, column: usize, copies: bool) {
        self.copying += usize::from(copies);
        match node.value() {
            Value::Map(map) => self.entries(map.iter().map(|entry| (&entry.key, &entry.value)), column),
            Value::Seq(items) => self.items(items.iter(), column),
            Value::Scalar(_) => {}
        }
    }

    /// Writes a node that begins on a line with what holds it, which is at `column`. The further lines of a block
    /// scalar get the indentation `inner`.
    pub(crate) fn inline(&mut self, node: &'w Node, role: Role, column: isize, inner: Option<isize>) {
        (self.indent, self.inner) = (column, inner);
        self.node(node, role);
    }

    /// Writes a node as it is written within brackets or braces, on one line unless there are comments in it. Further lines
    /// are deeper than `column`.
    pub(crate) fn flow_node(&mut self, node: &'w Node, role: Role, column: usize, json: bool) {
        (self.flow_level, self.indent, self.json) = (1, column as isize, json);
        self.node(node, role);
    }

    /// Writes `key: value` as it is written within braces: see [`Writer::flow_node`].
    pub(crate) fn flow_entry(&mut self, key: &'w Node, value: &'w Node, column: usize, json: bool) {
        self.flow_node(key, Role::Key, column, json);
        self.indicator(":", Gap::None);
        self.node(value, Role::Value);
    }
}

/// What a node is to the one that holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Root,
    Item,
    /// A key on one line with its value.
    Key,
    /// A key after a `?`.
    LongKey,
    Value,
}

/// Nodes.
impl<'w> Writer<'_, 'w> {
    /// Records a node's comments before anything of it is written.
    fn announce(&mut self, node: &'w Node, tail: &'w str) {
        if self.copying > 0 {
            return;
        }
        let trivia = node.trivia();
        let set = |slot: &mut &'w str, comment: &'w str| {
            if !comment.is_empty() {
                *slot = comment;
            }
        };
        set(&mut self.pending.head, &trivia.head);
        set(&mut self.pending.tail, tail);
        if node.is_scalar() || trivia.alias.is_some() {
            set(&mut self.pending.line, &trivia.line);
            set(&mut self.pending.foot, &trivia.foot);
        }
    }

    /// Records the comments that are after or below a collection.
    fn announce_end(&mut self, node: &'w Node) {
        if self.copying > 0 {
            return;
        }
        let trivia = node.trivia();
        if !trivia.line.is_empty() && !self.is_commented_above(node) {
            self.pending.line = &trivia.line;
        }
        if !trivia.foot.is_empty() {
            self.pending.foot = &trivia.foot;
        }
    }

    fn node(&mut self, node: &'w Node, role: Role) {
        let trivia = node.trivia();
        if let Some(name) = &trivia.alias {
            if self.anchors.get(name).is_some_and(|named| named == node) {
                self.indicator("*", Gap::Space);
                self.word(name);
                self.comments_after(role);
                return;
            }
            self.copying += 1;
            self.node_itself(node, role);
            self.copying -= 1;
            return;
        }
        if let Some(name) = trivia.anchor.as_ref().filter(|_| self.copying == 0) {
            self.indicator("&", Gap::Space);
            self.word(name);
        }
        self.node_itself(node, role);
        if let Some(name) = trivia.anchor.as_ref().filter(|_| self.copying == 0) {
            self.anchors.insert(name.clone(), node.clone());
        }
    }

    fn node_itself(&mut self, node: &'w Node, role: Role) {
        if let Some(tag) = tag(node) {
            if !self.whitespace {
                self.put(" ");
            }
            self.word(&tag);
        }
        match node.value() {
            Value::Scalar(_) => {
                self.scalar(node, role);
                self.comments_after(role);
            }
            Value::Seq(items) if self.is_flow(node, items.is_empty()) => {
                let outer = self.flow_start("[", role);
                self.flow_items(items);
                self.flow_end("]", outer, node);
            }
            Value::Map(map) if self.is_flow(node, map.is_empty()) => {
                let outer = self.flow_start("{", role);
                self.flow_entries(node, map.entries());
                self.flow_end("}", outer, node);
            }
            Value::Seq(items) => {
                self.comments_above(node, role);
                self.block_seq(node, items, role);
            }
            Value::Map(map) => {
                self.comments_above(node, role);
                self.block_map(node, map.entries(), role);
            }
        }
    }

    fn is_flow(&self, node: &Node, empty: bool) -> bool {
        self.flow_level > 0 || empty || node.style() == Style::Flow
    }

    /// The comments that belong directly after a scalar or the start of a block.
    fn comments_after(&mut self, role: Role) {
        if matches!(role, Role::Key | Role::LongKey) {
            return;
        }
        let pending =
            !self.pending.line.is_empty() || !self.pending.foot.is_empty() || !self.pending.tail.is_empty();
        if self.flow_level > 0 && pending {
            self.indicator(",", Gap::None);
        }
        self.line_comment();
        self.foot_comment();
    }

    /// The comments that belong above a block, after what holds it.
    fn comments_above(&mut self, node: &'w Node, role: Role) {
        if self.copying == 0 && self.is_commented_above(node) {
            self.pending.line = &node.trivia().line;
        }
        self.comments_after(role);
    }

    /// Whether the comment of a block is above it, since at its end it would become part of a block scalar.
    fn is_commented_above(&self, node: &Node) -> bool {
        let commented = !node.trivia().line.is_empty() && !self.is_flow(node, node.is_empty());
        commented && Ending::of(node).is_block_scalar()
    }

    fn block_map(&mut self, node: &'w Node, entries: &'w [Entry], role: Role) {
        let outer = self.indent;
        self.indent = self.deeper(role);
        let mut tail = "";
        for entry in entries {
            self.entry(&entry.key, &entry.value, tail);
            tail = &entry.key.trivia().foot;
        }
        if !tail.is_empty() {
            self.pending.tail = tail;
        }
        self.announce_end(node);
        self.head_comment();
        self.indent = outer;
    }

    fn entry(&mut self, key: &'w Node, value: &'w Node, tail: &'w str) {
        let foot = self.pending.foot;
        self.announce(key, tail);
        // The comment below a key is below its whole value: the caller writes it as the tail.
        self.pending.foot = foot;
        self.head_comment();
        self.write_indent();
        if !self.pending.line.is_empty() {
            self.pending.key_line = std::mem::take(&mut self.pending.line);
        }
        if is_simple_key(key) {
            self.node(key, Role::Key);
            self.indicator(":", Gap::None);
        } else {
            self.indicator("?", Gap::Space);
            self.indention = true;
            self.node(key, Role::LongKey);
            self.write_indent();
            self.indicator(":", Gap::Space);
            self.indention = true;
        }
        self.announce(value, "");
        self.give_key_comment(value);
        self.node(value, Role::Value);
    }

    /// A comment on a key is after it if a block follows, else after the value.
    fn give_key_comment(&mut self, value: &Node) {
        if self.pending.key_line.is_empty() {
            return;
        }
        let trivia = value.trivia();
        // After an anchor or a tag the comment does not come between them and the key.
        let named = trivia.anchor.is_some() || trivia.tag.is_some();
        let block = !value.is_scalar() && !self.is_flow(value, value.is_empty());
        if value.is_scalar() || trivia.alias.is_some() || named && block {
            if self.pending.line.is_empty() {
                self.pending.line = std::mem::take(&mut self.pending.key_line);
            }
        } else if !self.is_flow(value, value.is_empty()) {
            let line = std::mem::replace(&mut self.pending.line, std::mem::take(&mut self.pending.key_line));
            self.line_comment();
            self.pending.line = line;
        }
    }

    fn block_seq(&mut self, node: &'w Node, items: &'w [Node], role: Role) {
        let outer = self.indent;
        self.indent = match role {
            // After a `:` on a line of its own the first item is beside it.
            Role::Value if outer >= 0 && (self.column() == 0 || !self.indention) => {
                outer + self.layout.seq as isize
            }
            _ => self.deeper(role),
        };
        for item in items {
            self.item(item);
        }
        self.announce_end(node);
        self.indent = outer;
    }

    fn item(&mut self, item: &'w Node) {
        self.announce(item, "");
        self.head_comment();
        self.write_indent();
        self.indicator_after_indent("-");
        self.node(item, Role::Item);
    }

    /// The column of what a node holds.
    fn deeper(&self, role: Role) -> isize {
        match role {
            _ if self.indent < 0 => 0,
            // After the `- `.
            Role::Item => self.indent + 2,
            _ => self.indent + self.layout.step as isize,
        }
    }
}

/// The tag that must be written: one that was, or one without which the text would mean something else.
fn tag(node: &Node) -> Option<Cow<'_, str>> {
    match node.trivia().tag.as_deref() {
        Some("!") | None => {}
        Some(tag) => {
            let long = tag.strip_prefix("!<").and_then(|tag| tag.strip_suffix('>'));
            return Some(match long.map(|long| (long, long.strip_prefix("tag:yaml.org,2002:"))) {
                Some((_, Some(core))) => Cow::Owned(format!("!!{core}")),
                Some((local, None)) if local.starts_with('!') => Cow::Borrowed(local),
                _ => Cow::Borrowed(tag),
            });
        }
    }
    let text = node.text()?;
    let name = match node.tag() {
        Tag::Binary => "!!binary",
        Tag::Float if resolve::plain(text) != Tag::Float => "!!float",
        Tag::Int if resolve::plain(text) != Tag::Int => "!!int",
        Tag::Bool if resolve::plain(text) != Tag::Bool => "!!bool",
        Tag::Timestamp if resolve::plain(text) != Tag::Timestamp => "!!timestamp",
        _ => return None,
    };
    Some(Cow::Borrowed(name))
}

fn is_simple_key(key: &Node) -> bool {
    let trivia = key.trivia();
    if trivia.alias.is_some() {
        return true;
    }
    let properties =
        trivia.anchor.as_ref().map_or(0, |a| a.len()) + trivia.tag.as_ref().map_or(0, |t| t.len());
    match key.value() {
        Value::Scalar(text) => !text.contains(is_break) && properties + text.len() <= LONGEST_SIMPLE_KEY,
        Value::Seq(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
    }
}
