//! Many paths at once: what they have in common is walked once.

use krm_yaml::Node;

use super::{FieldPath, Step};

/// Paths, as the tree of their steps.
#[derive(Debug, Default)]
pub struct PathTree {
    /// The numbers of the paths that end here.
    ends: Vec<usize>,
    below: Vec<(Step, PathTree)>,
}

impl<'p> FromIterator<&'p FieldPath> for PathTree {
    fn from_iter<I: IntoIterator<Item = &'p FieldPath>>(paths: I) -> Self {
        let mut tree = Self::default();
        for (number, path) in paths.into_iter().enumerate() {
            let end = path.steps().iter().fold(&mut tree, |tree, step| tree.child(step));
            end.ends.push(number);
        }
        tree
    }
}

impl PathTree {
    fn child(&mut self, step: &Step) -> &mut Self {
        let at = self.below.iter().position(|(known, _)| known == step).unwrap_or_else(|| {
            self.below.push((step.clone(), Self::default()));
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
        if self.below.is_empty() || node.is_null() {
            return;
        }
        if let Some(items) = node.as_seq() {
            return items.iter().for_each(|item| self.enter(item, found));
        }
        for (step, below) in &self.below {
            match node.get(&step.name) {
                Some(field) if step.list && field.is_null() => below.all(found),
                Some(field) => below.reach(field, found),
                None if step.enters(node).is_err() => below.all(found),
                None => {}
            }
        }
    }

    fn all(&self, found: &mut Vec<usize>) {
        found.extend(&self.ends);
        self.below.iter().for_each(|(_, below)| below.all(found));
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
