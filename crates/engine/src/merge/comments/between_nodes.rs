//! The comments of a tree by the gap they are in: the lines between two parts of the text.
//!
//! Whom a comment belongs to depends on what surrounds it: between a list and the next key it may be below the last
//! element, below the list, or above the key, and it changes hands when a neighbour comes or goes. What does not change
//! is the gap it is in, so that is where to look for whether something is said already.

use krm_yaml::{Node, Text};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which comment of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::merge) enum Side {
    Head,
    Foot,
}

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side::Head, Side::Foot];

    pub(crate) fn of(self, node: &Node) -> &Text {
        match self {
            Side::Head => &node.trivia().head,
            Side::Foot => &node.trivia().foot,
        }
    }

    pub(crate) fn set(self, node: &mut Node, comment: Text) {
        match self {
            Side::Head => node.trivia_mut().head = comment,
            Side::Foot => node.trivia_mut().foot = comment,
        }
    }
}

/// The comments of a document that belong to no part of its tree.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::merge) struct Margins<'d> {
    pub above: &'d str,
    pub below: &'d str,
}

/// All gaps of a tree, kept up to date with what is said and taken back.
pub(in crate::merge) struct Gaps {
    /// The gaps above and below each node.
    places: FxHashMap<*const Node, [u32; 2]>,
    /// Those that hold anything.
    gaps: FxHashMap<u32, Gap>,
    last: u32,
}

#[derive(Default)]
struct Gap {
    said: Vec<(*const Node, Side, Text)>,
    /// What was not said again because it is here.
    relied_on: Vec<Text>,
}

impl Gap {
    /// Whether every line of a comment is here, but for what a node says.
    fn says(&self, comment: &str, without: Option<(*const Node, Side)>) -> bool {
        let said = self.said.iter().filter(|(node, side, _)| without != Some((*node, *side)));
        let lines: FxHashSet<&str> = said.flat_map(|(_, _, text)| text.lines()).collect();
        comment.lines().all(|line| line.is_empty() || lines.contains(line))
    }

    /// Whether something was not said again because of what a node says.
    fn relies_on(&self, node: *const Node, side: Side) -> bool {
        self.relied_on.iter().any(|relied| !self.says(relied, Some((node, side))))
    }

    fn forget(&mut self, node: *const Node, side: Side) {
        self.said.retain(|(who, which, _)| (*who, *which) != (node, side));
    }
}

impl Gaps {
    pub(crate) fn of(root: &Node, margins: Margins) -> Self {
        let mut gaps = Self { places: FxHashMap::default(), gaps: FxHashMap::default(), last: 0 };
        let mut now = 0;
        gaps.read(root, &mut now);
        gaps.last = now;
        for (gap, comment) in [(0, margins.above), (now, margins.below)] {
            gaps.gaps.entry(gap).or_default().said.push((std::ptr::null(), Side::Head, comment.into()));
        }
        gaps
    }

    fn read(&mut self, node: &Node, now: &mut u32) {
        let above = *now;
        self.put(above, node, Side::Head);
        for entry in node.as_map().into_iter().flatten() {
            let above = *now;
            self.put(above, &entry.key, Side::Head);
            *now += 1;
            self.read(&entry.value, now);
            // What is below a key is below everything that is under it.
            self.put(*now, &entry.key, Side::Foot);
            self.places.insert(&entry.key, [above, *now]);
        }
        node.items().iter().for_each(|item| self.read(item, now));
        *now += u32::from(node.is_scalar() || node.is_empty());
        self.put(*now, node, Side::Foot);
        self.places.insert(node, [above, *now]);
    }

    fn put(&mut self, gap: u32, node: &Node, side: Side) {
        let comment = side.of(node);
        if !comment.is_empty() {
            self.gaps.entry(gap).or_default().said.push((node, side, comment.clone()));
        }
    }

    /// Says something on a side of a node in place of what is there, and gives what is there then; `None` if that
    /// is what was there before.
    pub(crate) fn say(&mut self, node: &Node, side: Side, comment: &Text) -> Option<Text> {
        let gap = self.gaps.entry(self.places.get(&std::ptr::from_ref(node))?[side as usize]).or_default();
        if gap.says(comment, None) {
            gap.relied_on.push(comment.clone());
            return None;
        }
        let comment = match gap.relies_on(node, side) {
            true => format!("{}\n{comment}", side.of(node)).into(),
            false => comment.clone(),
        };
        gap.forget(node, side);
        gap.said.push((node, side, comment.clone()));
        Some(comment)
    }

    /// Takes back what a side of a node says. `false` if it has to stay: others rely on it, or there is no telling which
    /// is meant, because it is here twice or at the end of the text, where the document may have a comment of its own.
    pub(crate) fn take_back(&mut self, node: &Node, side: Side) -> bool {
        let Some(places) = self.places.get(&std::ptr::from_ref(node)) else { return false };
        if places[side as usize] == self.last {
            return false;
        }
        let gap = self.gaps.entry(places[side as usize]).or_default();
        if gap.relies_on(node, side) || gap.says(side.of(node), Some((node, side))) {
            return false;
        }
        gap.forget(node, side);
        true
    }
}
