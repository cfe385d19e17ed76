//! `fix`: deprecated fields become today's, and a missing type is added.

use krm_yaml::{Node, Result};

use super::{File, exists, fields};
use crate::files::world::Loader;

/// In which order the patches of deprecated fields join `patches:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchOrder {
    /// As kustomize's own fix writes them: after the others, JSON patches first.
    Reference,
    /// As they act in a build: strategic merges before the others, JSON patches after them.
    Acting,
}

impl File {
    /// Moves what is in deprecated fields to those that replaced them. Gives what was moved, as `old -> new`.
    pub fn fix(&mut self, order: PatchOrder) -> Result<Vec<&'static str>> {
        let mut done = Vec::new();
        let root = self.root_mut();
        for (key, value) in [("kind", "Kustomization"), ("apiVersion", api_version(root))] {
            if fields::text(root, key).is_empty()
                && let Some(map) = root.as_map_mut()
            {
                if let Some(at) = fields::position(map, key) {
                    map.remove_at(at);
                }
                map.insert_at(0, Node::from(key), Node::from(value));
                done.push(if key == "kind" { "kind" } else { "apiVersion" });
            }
        }
        done.extend(self.fix_fields(order)?);
        Ok(done)
    }

    /// The same for the fields alone: a missing type stays missing.
    pub(crate) fn fix_fields(&mut self, order: PatchOrder) -> Result<Vec<&'static str>> {
        let mut done = Vec::new();
        let root = self.root_mut();
        done.extend(join(root, "bases", "resources").then_some("bases -> resources"));
        done.extend(join(root, "imageTags", "images").then_some("imageTags -> images"));
        let mut envs = false;
        for list in ["configMapGenerator", "secretGenerator"] {
            envs |= fix_envs(root, list);
        }
        done.extend(envs.then_some("env -> envs"));
        done.extend(fix_charts(root).then_some("helmChartInflationGenerator -> helmCharts"));
        done.extend(self.fix_patches(order));
        done.extend(self.fix_labels()?.then_some("commonLabels -> labels"));
        Ok(done)
    }

    fn fix_patches(&mut self, order: PatchOrder) -> Vec<&'static str> {
        let mut done = Vec::new();
        let folder = self.folder().clone();
        let entry = |item: &Node| {
            let text = item.text().unwrap_or_default();
            let is_file = !text.contains('\n') && folder.files().world.is_file(&folder.root().join(text));
            let mut entry = Node::map();
            entry.set(if is_file { "path" } else { "patch" }, item.clone());
            entry
        };
        let root = self.root_mut();
        let json = fields::items(root, "patchesJson6902").to_vec();
        let merges: Vec<Node> = fields::items(root, "patchesStrategicMerge").iter().map(entry).collect();
        let others = fields::items(root, "patches").to_vec();
        if fields::get(root, "patchesJson6902").is_some() {
            done.push("patchesJson6902 -> patches");
        }
        if fields::get(root, "patchesStrategicMerge").is_some() {
            done.push("patchesStrategicMerge -> patches");
        }
        if done.is_empty() {
            return done;
        }
        let all = match order {
            PatchOrder::Reference => [others, json, merges].concat(),
            PatchOrder::Acting => [merges, others, json].concat(),
        };
        replace(root, &["patches", "patchesJson6902", "patchesStrategicMerge"], "patches", all);
        done
    }

    /// Labels for all become an entry that includes selectors. One that both fields set is an error: which of them counts
    /// would change.
    fn fix_labels(&mut self) -> Result<bool> {
        let root = self.root_mut();
        let Some(pairs) = fields::get(root, "commonLabels").filter(|pairs| !pairs.is_empty()).cloned() else {
            return Ok(false);
        };
        for entry in fields::items(root, "labels") {
            let own = fields::get(entry, "pairs").and_then(Node::as_map).into_iter().flatten();
            for label in own {
                let Some(key) = label.key.text().filter(|key| pairs.get(key).is_some()) else { continue };
                let message = format!("label `{key}` is in both `commonLabels` and `labels`");
                return Err(exists(message, label.key.span()).help("remove one of them"));
            }
        }
        let mut entry = Node::map();
        entry.set("includeSelectors", true);
        entry.set("pairs", pairs);
        let all = [fields::items(root, "labels"), &[entry]].concat();
        replace(root, &["labels", "commonLabels"], "labels", all);
        Ok(true)
    }
}

fn api_version(root: &Node) -> &'static str {
    match fields::text(root, "kind") {
        "Component" => "kustomize.config.k8s.io/v1alpha1",
        _ => "kustomize.config.k8s.io/v1beta1",
    }
}

/// Moves the items of one list to the end of another. If there is no other, the key alone changes.
fn join(root: &mut Node, old: &str, new: &str) -> bool {
    let Some(items) = fields::get(root, old).map(|list| list.items().to_vec()) else { return false };
    let all = [fields::items(root, new), &items].concat();
    replace(root, &[new, old], new, all);
    true
}

/// Puts a list into the first of some fields that is there, under its new name; the others go.
fn replace(root: &mut Node, olds: &[&str], new: &str, all: Vec<Node>) {
    let Some(map) = root.as_map_mut() else { return };
    let Some(at) = olds
        .iter()
        .find_map(|old| fields::position(map, old).filter(|at| !map.entries()[*at].value.is_null()))
    else {
        return;
    };
    if map.entries()[at].key.text() != Some(new) {
        map.rename(at, new);
    }
    let value = map.value_at_mut(at);
    match value.as_seq_mut() {
        Some(list) => *list = all,
        None => value.assign(Node::from(all)),
    }
    let kept = map.entries()[at].key.clone();
    map.retain(|entry| {
        let is_old = entry.key.text().is_some_and(|key| olds.iter().any(|old| old.eq_ignore_ascii_case(key)));
        !is_old || entry.key.span() == kept.span()
    });
}

/// `env: path` becomes an item of `envs:`.
fn fix_envs(root: &mut Node, list: &str) -> bool {
    let has_env = |entry: &Node| !fields::text(entry, "env").is_empty();
    if !fields::items(root, list).iter().any(has_env) {
        return false;
    }
    let entries = fields::get_mut(root, list).and_then(Node::as_seq_mut).into_iter().flatten();
    for entry in entries.filter(|entry| has_env(entry)) {
        if let Some(env) = fields::remove(entry, "env") {
            fields::push(entry, "envs", Node::from(env.text().unwrap_or_default()));
        }
    }
    true
}

/// What the fields of the older chart generator are called now; the others have no effect.
const CHART_FIELDS: [(&str, &str); 7] = [
    ("chartName", "name"),
    ("chartVersion", "version"),
    ("chartRepoUrl", "repo"),
    ("values", "valuesFile"),
    ("valuesLocal", "valuesInline"),
    ("valuesMerge", "valuesMerge"),
    ("releaseName", "releaseName"),
];

fn fix_charts(root: &mut Node) -> bool {
    let old = fields::items(root, "helmChartInflationGenerator").to_vec();
    if old.is_empty() {
        return false;
    }
    let mut globals = Node::map();
    let mut charts = fields::items(root, "helmCharts").to_vec();
    for chart in &old {
        let mut new = Node::map();
        for (from, to) in CHART_FIELDS {
            if let Some(value) = fields::get(chart, from).filter(|value| value.text() != Some("")) {
                new.set(to, value.clone());
            }
        }
        charts.push(new);
        for (from, to) in [("helmHome", "configHome"), ("chartHome", "chartHome")] {
            if let Some(value) = fields::get(chart, from).filter(|value| value.text() != Some("")) {
                globals.set(to, value.clone());
            }
        }
    }
    replace(root, &["helmCharts", "helmChartInflationGenerator"], "helmCharts", charts);
    if !globals.is_empty() && fields::get(root, "helmGlobals").is_none() {
        fields::set(root, "helmGlobals", globals);
    }
    true
}
