//! Many paths at once: what they have in common is walked once.

use krm_yaml::path::{self, Segment};
use krm_yaml::{Node, Value};

use super::{FieldPath, Spec};

/// Paths, as the tree of their steps.
#[derive(Debug, Default)]
pub(crate) struct PathTree {
    /// The numbers of the paths that end here.
    ends: Vec<usize>,
    /// The paths that expect a list here.
    list: Option<Box<PathTree>>,
    fields: Vec<(Segment, PathTree)>,
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
        if *segment == Segment::List {
            return self.list.get_or_insert_default();
        }
        let at = self.fields.iter().position(|(known, _)| known == segment).unwrap_or_else(|| {
            self.fields.push((segment.clone(), Self::default()));
            self.fields.len() - 1
        });
        &mut self.fields[at].1
    }

    /// The numbers of the paths that lead anywhere in a tree, in order. Those that [fail](FieldPath::visit) are among them.
    pub(crate) fn reaching(&self, root: &Node) -> Vec<usize> {
        let mut found = Vec::new();
        self.reach(root, &mut found);
        // Lists lead to many fields by one path.
        found.sort_unstable();
        found.dedup();
        found
    }

    fn reach(&self, node: &Node, found: &mut Vec<usize>) {
        found.extend(&self.ends);
        match &self.list {
            Some(list) if node.is_null() => list.all(found),
            Some(list) => list.reach(node, found),
            None => {}
        }
        if !self.fields.is_empty() {
            self.follow(node, found);
        }
    }

    /// Goes on by name, as [`path::visit`] does for one path.
    fn follow(&self, node: &Node, found: &mut Vec<usize>) {
        match node.value() {
            Value::Map(map) => {
                for (segment, below) in &self.fields {
                    let Segment::Field(name) = segment else { continue };
                    match path::field(&Spec, segment, name, map) {
                        Ok(Some(at)) => below.reach(&map.entries()[at].value, found),
                        Ok(None) => {}
                        Err(_) => below.all(found),
                    }
                }
            }
            Value::Seq(items) => items.iter().for_each(|item| self.follow(item, found)),
            Value::Scalar(_) if node.is_null() => {}
            Value::Scalar(_) => self.fields.iter().for_each(|(_, below)| below.all(found)),
        }
    }

    fn all(&self, found: &mut Vec<usize>) {
        found.extend(&self.ends);
        self.list.iter().for_each(|list| list.all(found));
        self.fields.iter().for_each(|(_, below)| below.all(found));
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
