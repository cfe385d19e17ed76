//! Many paths at once: what they have in common is walked once.

use krm_yaml::Node;
use krm_yaml::path::{Children, Segment, child, step};

use super::{FieldPath, Spec};

/// Paths, as the tree of their steps.
#[derive(Debug, Default)]
pub struct PathTree {
    /// The numbers of the paths that end here.
    ends: Vec<usize>,
    below: Vec<(Segment, PathTree)>,
}

impl<'p> FromIterator<&'p FieldPath> for PathTree {
    fn from_iter<I: IntoIterator<Item = &'p FieldPath>>(paths: I) -> Self {
        let mut tree = Self::default();
        for (number, path) in paths.into_iter().enumerate() {
            let end = path.segments().iter().fold(&mut tree, |tree, segment| tree.child(segment));
            end.ends.push(number);
        }
        tree
    }
}

impl PathTree {
    fn child(&mut self, segment: &Segment) -> &mut Self {
        let at = self.below.iter().position(|(known, _)| known == segment).unwrap_or_else(|| {
            self.below.push((segment.clone(), Self::default()));
            self.below.len() - 1
        });
        &mut self.below[at].1
    }

    /// The numbers of the paths that lead anywhere in a tree, in order. Those that [fail](FieldPath::visit) are among them.
    pub fn reaching(&self, root: &Node) -> Vec<usize> {
        let mut found = Vec::new();
        self.reach(root, &mut found);
        // Lists lead to many fields by one path.
        found.sort_unstable();
        found.dedup();
        found
    }

    fn reach(&self, node: &Node, found: &mut Vec<usize>) {
        found.extend(&self.ends);
        self.enter(node, found);
    }

    fn enter(&self, node: &Node, found: &mut Vec<usize>) {
        for (segment, below) in &self.below {
            match segment {
                Segment::List if node.is_null() => below.all(found),
                Segment::List => below.reach(node, found),
                _ => follow(segment, below, node, found),
            }
        }
    }

    fn all(&self, found: &mut Vec<usize>) {
        found.extend(&self.ends);
        self.below.iter().for_each(|(_, below)| below.all(found));
    }
}

fn follow(segment: &Segment, below: &PathTree, node: &Node, found: &mut Vec<usize>) {
    if let Some(items) = node.as_seq() {
        return items.iter().for_each(|item| follow(segment, below, item, found));
    }
    match step(&Spec, segment, node) {
        Ok(Children::One(at)) => below.reach(child(node, at), found),
        Ok(_) => {}
        Err(_) => below.all(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_nowhere_is_left_out() {
        let paths = ["a/b/c", "a/b", "a/x", "l/n", "m[]/n", "s/t", "l/n/o"].map(FieldPath::new);
        let tree: PathTree = paths.iter().collect();
        let text = "a: {b: {d: 1}}\nl: [{n: 1}, {n: {o: 2}}, {}]\nm: ~\ns: text\n";
        let root = krm_yaml::parse_str(text).expect("it is YAML").remove(0).root;
        assert_eq!(tree.reaching(&root), [1, 3, 4, 5, 6]);
    }
}
