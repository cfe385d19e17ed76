//! Nodes in the making.
//!
//! What is read goes onto one stack, `nodes`: scalars directly, keys and values in turn, and when a collection is
//! complete it takes its children off and takes their place. So vectors are made in one piece and just as large as they
//! need be, and nodes are written once instead of being handed up through every caller.

use std::sync::Arc;

use super::cursor::Parser;
use crate::diag::Result;
use crate::map::{Entry, Map};
use crate::node::{Node, Style, Tag, Value};
use crate::text::Text;

impl Parser<'_> {
    /// The node that was read last.
    #[inline]
    pub(crate) fn top(&mut self) -> &mut Node {
        self.nodes.last_mut().expect("something was read before it is asked for")
    }

    #[inline]
    pub(crate) fn push_scalar(&mut self, text: &str, tag: Tag, style: Style, start: usize, end: usize) {
        self.nodes.reserve(1);
        let text = Text::from(text);
        self.put(Value::Scalar(text), tag, style, start, end);
    }

    /// Pushes the scalar for nothing: where a value was left out.
    #[inline]
    pub(crate) fn push_nothing(&mut self, at: usize) {
        self.nodes.reserve(1);
        self.put(Value::Scalar(Text::new()), Tag::Null, Style::Plain, at, at);
    }

    pub(crate) fn nothing(&self, at: usize) -> Node {
        Node::scalar(Text::new(), Tag::Null, Style::Plain, self.span(at, at))
    }

    /// Makes a map of the keys and values from `first` on.
    pub(crate) fn take_map(
        &mut self,
        first: usize,
        first_hash: usize,
        style: Style,
        start: usize,
        end: usize,
    ) -> Result<()> {
        self.check_keys(first, first_hash)?;
        let entries = take_entries(&mut self.nodes, first);
        self.nodes.reserve(1);
        self.put(Value::Map(share(entries)), Tag::Map, style, start, end);
        Ok(())
    }

    /// Makes a sequence of the nodes from `first` on.
    pub(crate) fn take_seq(&mut self, first: usize, style: Style, start: usize, end: usize) {
        let items = take_items(&mut self.nodes, first);
        self.nodes.reserve(1);
        self.put(Value::Seq(Arc::new(items)), Tag::Seq, style, start, end);
    }

    /// Puts a node onto the stack, which has room for it.
    ///
    /// This and what is below do what `push`, `drain` and `Arc::new` do, and are why reading is twice as quick: a node is
    /// written where it stays. Otherwise it is put together elsewhere first, in pieces, and copied at once in other
    /// pieces, which processors are slow at.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn put(&mut self, value: Value, tag: Tag, style: Style, start: usize, end: usize) {
        let node = Node::new(value, tag, style, self.span(start, end));
        let len = self.nodes.len();
        debug_assert!(len < self.nodes.capacity());
        // SAFETY: every caller has reserved room for one more node; it is counted once it is written.
        unsafe {
            self.nodes.as_mut_ptr().add(len).write(node);
            self.nodes.set_len(len + 1);
        }
    }
}

// What `take_entries` relies on.
const _: () = assert!(
    size_of::<Entry>() == 2 * size_of::<Node>()
        && std::mem::offset_of!(Entry, key) == 0
        && std::mem::offset_of!(Entry, value) == size_of::<Node>()
);

/// Takes keys and values off the end of a stack, in pairs.
#[allow(unsafe_code)]
fn take_entries(nodes: &mut Vec<Node>, first: usize) -> Vec<Entry> {
    let count = (nodes.len() - first) / 2;
    let mut entries: Vec<Entry> = Vec::with_capacity(count);
    // SAFETY: an `Entry` is laid out as its key and then its value, as two nodes in a row are. From `first` on there are
    // at least twice `count` nodes; they are moved out and no longer counted as part of `nodes`, and `entries` has room
    // for `count`.
    unsafe {
        let from = nodes.as_ptr().add(first).cast::<Entry>();
        nodes.set_len(first);
        std::ptr::copy_nonoverlapping(from, entries.as_mut_ptr(), count);
        entries.set_len(count);
    }
    entries
}

/// Takes nodes off the end of a stack.
#[allow(unsafe_code)]
fn take_items(nodes: &mut Vec<Node>, first: usize) -> Vec<Node> {
    let count = nodes.len() - first;
    let mut items: Vec<Node> = Vec::with_capacity(count);
    // SAFETY: as for `take_entries`.
    unsafe {
        nodes.set_len(first);
        std::ptr::copy_nonoverlapping(nodes.as_ptr().add(first), items.as_mut_ptr(), count);
        items.set_len(count);
    }
    items
}

/// Makes a map that can be shared.
#[allow(unsafe_code)]
fn share(entries: Vec<Entry>) -> Arc<Map> {
    let map = Arc::<Map>::new_uninit();
    // SAFETY: nobody else has this map yet, so it may be written through its pointer; then it is a map.
    unsafe {
        Arc::as_ptr(&map).cast_mut().cast::<Map>().write(Map::from_entries(entries));
        map.assume_init()
    }
}
