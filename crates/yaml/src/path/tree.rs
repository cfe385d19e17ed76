//! Many paths at once: what they have in common is walked once.

use super::walk::{Rules, field};
use super::{Path, Segment};
use crate::node::{Node, Value};

/// [Paths of field specs](Path::slashed), as the tree of their steps.
///
/// ```
/// use krm_yaml::path::{Path, PathTree, Rules};
/// struct Plain;
/// impl Rules for Plain {}
/// let paths = [Path::slashed("spec/replicas")?, Path::slashed("spec/containers/image")?];
/// let paths: PathTree = paths.iter().collect();
/// let pod = krm_yaml::parse_str("spec: {containers: [{name: web}, {image: nginx}]}")?.remove(0).root;
/// assert_eq!(paths.reaching(&Plain, &pod), [1]);
/// # Ok::<(), krm_yaml::Diagnostic>(())
/// ```
#[derive(Debug, Default)]
pub struct PathTree {
    /// The numbers of the paths that end here.
    ends: Vec<usize>,
    /// The paths that expect a list here.
    list: Option<Box<PathTree>>,
    fields: Vec<(Segment, PathTree)>,
}

impl<'p> FromIterator<&'p Path> for PathTree {
    fn from_iter<I: IntoIterator<Item = &'p Path>>(paths: I) -> Self {
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

    /// The numbers of the paths that [lead anywhere or fail](super::reaches) in a tree, in order.
    pub fn reaching<R: Rules>(&self, rules: &R, root: &Node) -> Vec<usize> {
        let mut found = Vec::new();
        self.reach(rules, root, &mut found);
        // Lists lead to many fields by one path.
        found.sort_unstable();
        found.dedup();
        found
    }

    fn reach<R: Rules>(&self, rules: &R, node: &Node, found: &mut Vec<usize>) {
        found.extend(&self.ends);
        match &self.list {
            Some(list) if node.is_null() => list.all(found),
            Some(list) => list.reach(rules, node, found),
            None => {}
        }
        if !self.fields.is_empty() {
            self.follow(rules, node, found);
        }
    }

    /// Goes on by name, as [`visit`](super::visit) does for one path.
    fn follow<R: Rules>(&self, rules: &R, node: &Node, found: &mut Vec<usize>) {
        match node.value() {
            Value::Map(map) => {
                for (segment, below) in &self.fields {
                    let Segment::Field(name) = segment else { continue };
                    match field(rules, segment, name, map) {
                        Ok(Some(at)) => below.reach(rules, &map.entries()[at].value, found),
                        Ok(None) => {}
                        Err(_) => below.all(found),
                    }
                }
            }
            Value::Seq(items) => items.iter().for_each(|item| self.follow(rules, item, found)),
            Value::Scalar(_) if node.is_null() => {}
            Value::Scalar(_) => {
                let fails = |segment: &Segment| rules.mismatch(segment, node).is_err();
                self.fields
                    .iter()
                    .filter(|(segment, _)| fails(segment))
                    .for_each(|(_, below)| below.all(found));
            }
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
    use crate::diag::{Diagnostic, Result};

    /// What leads nowhere is passed over, or fails at scalars.
    struct Strict(bool);

    impl Rules for Strict {
        fn mismatch(&self, _: &Segment, _: &Node) -> Result<()> {
            if self.0 { Err(Diagnostic::error("test", "a scalar")) } else { Ok(()) }
        }
    }

    #[test]
    fn many_paths_reach_what_each_of_them_reaches() {
        let paths = ["a/b/c", "a/b", "a/x", "l/n", "m[]/n", "s/t", "l/n/o"].map(Path::slashed_loosely);
        let tree: PathTree = paths.iter().collect();
        let text = "a: {b: {d: 1}}\nl: [{n: 1}, {n: {o: 2}}, {}]\nm: ~\ns: text\n";
        let root = crate::parse::parse_str(text).expect("it is YAML").remove(0).root;
        assert_eq!(tree.reaching(&Strict(true), &root), [1, 3, 4, 5, 6]);
        for rules in [Strict(true), Strict(false)] {
            let reaches = |at: &usize| super::super::reaches(&rules, paths[*at].segments(), &root);
            let one_by_one: Vec<usize> = (0..paths.len()).filter(reaches).collect();
            assert_eq!(tree.reaching(&rules, &root), one_by_one);
        }
    }
}
