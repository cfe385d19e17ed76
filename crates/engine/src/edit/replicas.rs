//! `set replicas`: how many copies a workload runs.

use krm_yaml::{Node, Result};

use super::{File, bad_argument, fields};

/// What an argument of `set replicas` asks for, written `name=count`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicasChange {
    /// The workload, by the name in the base.
    pub name: String,
    /// How many copies it runs.
    pub count: i64,
}

impl ReplicasChange {
    /// Reads `name=count`.
    pub fn parse(text: &str) -> Result<Self> {
        let parts = text.split_once('=').filter(|(_, count)| !count.contains('='));
        match parts.and_then(|(name, count)| Some((name, count.parse().ok()?))) {
            Some(("", _)) => Err(bad_argument(format!("`{text}` does not name a workload"))
                .help("write it as `NAME=COUNT`, such as `web=3`")),
            Some((name, count)) => Ok(Self { name: name.into(), count }),
            None => Err(bad_argument(format!("`{text}` does not say how many replicas there should be"))
                .help("write it as `NAME=COUNT`, such as `web=3`")),
        }
    }
}

impl File {
    /// Sets the count of workloads, each in its place in the list; new ones come in the order of their names.
    pub fn set_replicas(&mut self, mut changes: Vec<ReplicasChange>) {
        changes.sort_by(|one, other| one.name.cmp(&other.name));
        for change in &changes {
            let is_it = |item: &Node| fields::text(item, "name") == change.name;
            let count = fields::items(self.root(), "replicas").iter().filter(|item| is_it(item)).count();
            if count == 0 {
                let mut item = Node::map();
                item.set("name", change.name.as_str());
                item.set("count", change.count);
                fields::push_by_name(self.root_mut(), "replicas", item);
                continue;
            }
            let items = fields::get_mut(self.root_mut(), "replicas").and_then(Node::as_seq_mut);
            let Some(items) = items else { continue };
            if let Some(item) = items.iter_mut().find(|item| is_it(item))
                && fields::get(item, "count").and_then(Node::as_i64) != Some(change.count)
            {
                fields::set(item, "count", Node::from(change.count));
            }
            if count > 1 {
                let mut first = true;
                items.retain(|item| !is_it(item) || std::mem::take(&mut first));
            }
        }
    }
}
