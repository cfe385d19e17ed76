//! Collections within brackets.

use super::pen::Gap;
use super::{Role, Writer, is_simple_key};
use crate::map::Entry;
use crate::node::Node;

impl<'w> Writer<'_, 'w> {
    pub(super) fn flow_items(&mut self, items: &'w [Node]) {
        let mut comma = false;
        for item in items {
            self.announce(item, "");
            self.flow_separator(comma);
            comma = self.flow_value(item, Role::Item);
        }
    }

    pub(super) fn flow_entries(&mut self, node: &'w Node, entries: &'w [Entry]) {
        let mut comma = false;
        let mut tail = "";
        for entry in entries {
            let foot = self.pending.foot;
            self.announce(&entry.key, tail);
            self.pending.foot = foot;
            tail = &entry.key.trivia().foot;
            self.flow_separator(comma);
            if is_simple_key(&entry.key) {
                self.node(&entry.key, Role::Key);
                self.indicator(":", Gap::None);
            } else {
                self.indicator("?", Gap::Space);
                self.node(&entry.key, Role::LongKey);
                self.indicator(":", Gap::Space);
            }
            self.announce(&entry.value, "");
            comma = self.flow_value(&entry.value, Role::Value);
        }
        if !tail.is_empty() {
            self.pending.tail = tail;
        }
        self.announce_end(node);
        let pending = &self.pending;
        if comma && !(pending.head.is_empty() && pending.foot.is_empty() && pending.tail.is_empty()) {
            self.indicator(",", Gap::None);
        }
        self.head_comment();
    }

    /// Opens a bracket; gives back the indentation outside of it.
    pub(super) fn flow_start(&mut self, bracket: &'static str, role: Role) -> isize {
        self.indicator(bracket, Gap::Space);
        self.whitespace = true;
        let role = if self.flow_level > 0 { Role::Value } else { role };
        let inner = self.scalar_indent(role);
        self.flow_level += 1;
        std::mem::replace(&mut self.indent, inner)
    }

    /// Writes the comma before an item, and the comment above it.
    pub(super) fn flow_separator(&mut self, comma: bool) {
        if comma {
            self.indicator(",", Gap::None);
        }
        self.head_comment();
        if self.column() == 0 {
            self.write_indent();
        }
    }

    /// Writes an item of a flow collection; gives back whether its comma is still to come.
    pub(super) fn flow_value(&mut self, node: &'w Node, role: Role) -> bool {
        // A comment ends the line, so the comma must be in front of it.
        let commented = !self.pending.line.is_empty() || !self.pending.foot.is_empty();
        self.node(node, role);
        !commented
    }

    pub(super) fn flow_end(&mut self, bracket: &'static str, outer: isize, node: &'w Node) {
        self.flow_level -= 1;
        self.indent = outer;
        // quirk(closing-brace-at-the-margin): After a comment, a closing brace is at the beginning of its line, however
        // deep its map is; a bracket is indented. (go-yaml `yaml_emitter_emit_flow_mapping_key`)
        if self.column() == 0 && bracket == "]" {
            self.write_indent();
        }
        self.indicator(bracket, Gap::None);
        self.announce_end(node);
        self.line_comment();
        self.foot_comment();
    }
}
