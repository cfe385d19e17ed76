//! Two trees, field by field. Elements of lists are paired by their keys, or by what they have in common.

use krm_function::elements::{ASSOCIATIVE_KEYS, Keys, Pairing, Repeated, USUAL_KEYS};
use krm_yaml::Node;
use rustc_hash::FxHashMap;

use super::ChangeKind;
use super::lines::hunks;
use crate::pipeline::trace::Segment;

/// A field that differs.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub kind: ChangeKind,
    /// The way to it on the first side; of one that does not exist, to where it would be.
    pub old_path: Vec<Segment>,
    pub new_path: Vec<Segment>,
    pub before: Option<Node>,
    pub after: Option<Node>,
}

impl Difference {
    /// Both values as texts; empty if one is not a scalar, or is not there.
    pub(crate) fn texts(&self) -> (String, String) {
        let text = |node: &Option<Node>| node.as_ref().and_then(Node::text).unwrap_or_default().to_owned();
        (text(&self.before), text(&self.after))
    }
}

/// Everything that differs between two trees, in the order of the fields.
pub(crate) fn differences(old: &Node, new: &Node) -> Vec<Difference> {
    let mut walk = Walk { old_path: Vec::new(), new_path: Vec::new(), found: Vec::new() };
    walk.compare(old, new);
    walk.found
}

struct Walk {
    old_path: Vec<Segment>,
    new_path: Vec<Segment>,
    found: Vec<Difference>,
}

impl Walk {
    fn compare(&mut self, old: &Node, new: &Node) {
        if old == new {
            return;
        }
        match (old.as_map(), new.as_map()) {
            (Some(a), Some(b)) => {
                let mut keys: Vec<&str> =
                    a.iter().chain(b.iter()).filter_map(|entry| entry.key.text()).collect();
                keys.sort_unstable();
                keys.dedup();
                for key in keys {
                    self.step(Segment::Key(key.into()), Segment::Key(key.into()), |walk| {
                        match (old.get(key), new.get(key)) {
                            // That there are labels at all says nothing: each of them does.
                            (None, Some(new)) if is_texts(key, new) => walk.compare(&Node::map(), new),
                            (Some(old), None) if is_texts(key, old) => walk.compare(old, &Node::map()),
                            (old, new) => walk.either(old, new),
                        }
                    });
                }
            }
            _ if old.is_seq() && new.is_seq() => self.lists(old, new),
            _ => self.push(ChangeKind::Changed, Some(old), Some(new)),
        }
    }

    fn either(&mut self, old: Option<&Node>, new: Option<&Node>) {
        match (old, new) {
            (Some(old), Some(new)) => self.compare(old, new),
            (Some(_), None) => self.push(ChangeKind::Removed, old, None),
            (None, Some(_)) => self.push(ChangeKind::Added, None, new),
            (None, None) => {}
        }
    }

    fn lists(&mut self, old: &Node, new: &Node) {
        let (a, b) = (old.items(), new.items());
        let pairs = pairs(a, b);
        let both: Vec<(usize, usize)> = pairs.iter().filter_map(|(x, y)| Some(((*x)?, (*y)?))).collect();
        if !both.is_sorted_by_key(|(x, _)| *x) {
            self.push(ChangeKind::Moved, Some(old), Some(new));
        }
        for (x, y) in pairs {
            let index = |at: Option<usize>, other: Option<usize>| {
                Segment::Index(at.or(other).expect("one of the two is there"))
            };
            self.step(index(x, y), index(y, x), |walk| {
                walk.either(x.map(|x| &a[x]), y.map(|y| &b[y]));
            });
        }
    }

    fn step(&mut self, old: Segment, new: Segment, go: impl FnOnce(&mut Self)) {
        self.old_path.push(old);
        self.new_path.push(new);
        go(self);
        self.old_path.pop();
        self.new_path.pop();
    }

    fn push(&mut self, kind: ChangeKind, before: Option<&Node>, after: Option<&Node>) {
        self.found.push(Difference {
            kind,
            old_path: self.old_path.clone(),
            new_path: self.new_path.clone(),
            before: before.cloned(),
            after: after.cloned(),
        });
    }
}

/// Whether a field is a map from names to texts that people add to and take from.
fn is_texts(key: &str, node: &Node) -> bool {
    matches!(key, "annotations" | "labels" | "data" | "stringData") && node.is_map() && !node.is_empty()
}

/// Which elements of two lists belong together, in the order of the second list; those of the first alone come last.
fn pairs(a: &[Node], b: &[Node]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut pairing = Pairing::new(a, b);
    let mut gaps: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    let keys = Keys { declared: &[], usual: &ASSOCIATIVE_KEYS, repeated: Repeated::IsNoKey };
    if let Some(key) = pairing.by_key(&keys) {
        // An element with another name may be known by something else: a port by its number, a mount by its volume.
        for other in USUAL_KEYS.into_iter().filter(|other| !key.contains(other)) {
            pairing.by_field(other);
        }
        gaps.push(pairing.left());
    } else {
        // Without a key the order says what is what: as few elements as possible come and go.
        let (mut x, mut y) = (0, 0);
        for part in hunks(a, b) {
            (x..part.old.start).zip(y..).for_each(|(x, y)| pairing.pair(x, y));
            (x, y) = (part.old.end, part.new.end);
            match part.old.len() == part.new.len() {
                // As many went as came in one place: they were changed.
                true => part.old.zip(part.new).for_each(|(x, y)| pairing.pair(x, y)),
                false => gaps.push((part.old.collect(), part.new.collect())),
            }
        }
        (x..a.len()).zip(y..b.len()).for_each(|(x, y)| pairing.pair(x, y));
    }
    let is_small = |(old, new): &(Vec<usize>, Vec<usize>)| old.len() <= MOST && new.len() <= MOST;
    for (old, new) in gaps.into_iter().filter(is_small) {
        let leaves_of: Vec<(usize, Leaves)> = old.into_iter().map(|x| (x, leaves(&a[x]))).collect();
        for y in new {
            let its = leaves(&b[y]);
            let left = leaves_of.iter().filter(|(x, _)| !pairing.is_taken(*x));
            let best = left.map(|(x, of)| (shared(of, &its), *x));
            let best = best.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            if let Some((_, x)) = best.filter(|(alike, _)| *alike >= ALIKE) {
                pairing.pair(x, y);
            }
        }
    }
    let (gone, _) = pairing.left();
    let found = pairing.into_found().into_iter().enumerate().map(|(at, old)| (old, Some(at)));
    found.chain(gone.into_iter().map(|at| (Some(at), None))).collect()
}

/// The most elements of a list to compare each with each.
const MOST: usize = 100;

/// From here on two things are taken for one that was changed.
pub(crate) const ALIKE: f64 = 0.6;

/// How much two trees have in common: 0 nothing, 1 everything. Scalars alone have nothing or everything.
pub(crate) fn similarity(a: &Node, b: &Node) -> f64 {
    shared(&leaves(a), &leaves(b))
}

fn shared(a: &Leaves, b: &Leaves) -> f64 {
    let total: usize = a.values().sum::<usize>() + b.values().sum::<usize>();
    let shared: usize =
        a.iter().map(|(leaf, count)| (*count).min(b.get(leaf).copied().unwrap_or_default())).sum();
    if total == 0 { 1.0 } else { 2.0 * shared as f64 / total as f64 }
}

/// Every scalar with the keys that lead to it, and how often it is there.
type Leaves = FxHashMap<(String, String), usize>;

fn leaves(node: &Node) -> Leaves {
    fn collect(node: &Node, path: &mut String, found: &mut FxHashMap<(String, String), usize>) {
        if let Some(text) = node.text() {
            *found.entry((path.clone(), text.to_owned())).or_default() += 1;
        }
        let length = path.len();
        for entry in node.as_map().into_iter().flatten() {
            path.push('/');
            path.push_str(entry.key.text().unwrap_or_default());
            collect(&entry.value, path, found);
            path.truncate(length);
        }
        node.items().iter().for_each(|item| collect(item, path, found));
    }
    let mut found = FxHashMap::default();
    collect(node, &mut String::new(), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> Vec<String> {
        let parse = |text: &str| krm_yaml::parse_str(text).unwrap().remove(0).root;
        let value = |node: &Option<Node>| node.as_ref().map_or("-".to_owned(), krm_yaml::json::compact);
        let (old, new) = (parse(old), parse(new));
        let line = |d: &Difference| {
            let path: String = d
                .new_path
                .iter()
                .map(|segment| match segment {
                    Segment::Key(key) => format!(".{key}"),
                    Segment::Index(index) => format!("[{index}]"),
                })
                .collect();
            format!("{} {path} {} {}", d.kind.name(), value(&d.before), value(&d.after))
        };
        differences(&old, &new).iter().map(line).collect()
    }

    #[test]
    fn elements_are_paired_by_key_or_by_what_they_have_in_common() {
        for (old, new, wanted) in [
            ("{a: 1, b: 2}", "{a: 1, b: 3}", vec!["changed .b 2 3"]),
            ("{a: 1}", "{b: 1}", vec!["removed .a 1 -", "added .b - 1"]),
            (
                "[{port: 80, targetPort: 8080}]",
                "[{port: 81, targetPort: 8080}]",
                vec!["changed [0].port 80 81"],
            ),
            (
                "[{name: a, x: 1}, {name: b, x: 2}]",
                "[{name: b, x: 2}, {name: a, x: 3}]",
                vec![
                    r#"moved  [{"name":"a","x":1},{"name":"b","x":2}] [{"name":"b","x":2},{"name":"a","x":3}]"#,
                    "changed [1].x 1 3",
                ],
            ),
            (
                "[{containerPort: 80, name: http}, {containerPort: 443, name: tls}]",
                "[{containerPort: 443, name: https}, {containerPort: 80, name: http}]",
                vec![
                    r#"moved  [{"containerPort":80,"name":"http"},{"containerPort":443,"name":"tls"}] [{"containerPort":443,"name":"https"},{"containerPort":80,"name":"http"}]"#,
                    r#"changed [0].name "tls" "https""#,
                ],
            ),
            ("[a, b, c]", "[a, c]", vec![r#"removed [1] "b" -"#]),
            ("[a, b]", "[a, x, b]", vec![r#"added [1] - "x""#]),
            ("[--a, --b]", "[--a, --c]", vec![r#"changed [1] "--b" "--c""#]),
            ("{a: {x: 1}}", "{a: [1]}", vec![r#"changed .a {"x":1} [1]"#]),
        ] {
            assert_eq!(shown(old, new), wanted, "{old} {new}");
        }
    }
}
