//! `replicas:` sets how many copies a workload runs.

use krm_yaml::{Diagnostic, Failure, Node, Result, Spanned, Text, nearest};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::{Setup, field_specs_missing, read_config, setter};
use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::Resource;
use crate::resource::fields::{Create, FieldSpecs};
use crate::resource::list::Resources;

/// Sets `count` on every workload called `name`, now or under an earlier name.
///
/// ```yaml
/// replicas:
/// - name: web
///   count: 5
/// ```
///
/// Deployments, ReplicaSets, ReplicationControllers and StatefulSets have such a number; other kinds are added through
/// `configurations:`. A name that matches nothing is an error.
///
/// Under `transformers:` of a kustomization it needs `fieldSpecs`:
///
/// ```yaml
/// apiVersion: builtin
/// kind: ReplicaCountTransformer
/// metadata: {name: any}
/// replica: {name: web, count: 5}
/// fieldSpecs:
/// - path: spec/replicas
///   kind: Deployment
///   create: true
/// ```
#[derive(Clone, Debug)]
pub(crate) struct ReplicaCount {
    replicas: Vec<Replica>,
    field_specs: FieldSpecs,
}

/// One entry of a kustomization's `replicas:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Replica {
    pub name: Spanned<Text>,
    pub count: Spanned<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    replica: Replica,
    field_specs: Option<FieldSpecs>,
}

impl ReplicaCount {
    /// All entries as one step: each resource is looked at once, however many there are.
    pub(crate) fn new(replicas: Vec<Replica>, field_specs: FieldSpecs) -> Self {
        Self { replicas, field_specs }
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { replica, field_specs } = read_config(config)?;
        let field_specs = setup.field_specs(field_specs, |defaults| &defaults.replicas);
        if field_specs.is_empty() {
            let example = "path: spec/replicas, kind: Deployment, create: true";
            return Err(field_specs_missing(config, "numbers of replicas", example));
        }
        Ok(Box::new(Self::new(vec![replica], field_specs)))
    }
}

impl Transformer for ReplicaCount {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (at, replica) in self.replicas.iter().enumerate() {
            by_name.entry(&replica.name.value).or_default().push(at);
        }
        let mut found = vec![false; self.replicas.len()];
        items.edit(|r| {
            let mut entries: Vec<usize> =
                r.all_ids().filter_map(|id| by_name.get(id.name.as_str())).flatten().copied().collect();
            // In the order they were written: of several for one workload the last one counts.
            entries.sort_unstable();
            entries.dedup();
            for at in entries {
                found[at] |= self.set(r, &self.replicas[at], cx)?;
                if self.replicas.len() > 1 {
                    cx.part(at, r);
                }
            }
            Ok(())
        })?;
        match found.iter().position(|found| !found) {
            None => Ok(()),
            Some(at) => Err(self.no_match(&self.replicas[at].name, items)),
        }
    }
}

impl ReplicaCount {
    /// Whether the resource, under that name, is of a kind that has a count.
    fn set(&self, r: &mut Resource, replica: &Replica, cx: &Context) -> Result<bool> {
        let Replica { name, count } = replica;
        let number = count.value.to_string();
        let mut found = false;
        let gvk = r.gvk().clone();
        for spec in self.field_specs.as_slice() {
            if !r.all_ids().any(|id| id.name == name.value && spec.fits(&id.gvk)) {
                continue;
            }
            found = true;
            if spec.fits(&gvk) {
                cx.note(r.track, count.span, || {
                    let met = r.node().at(["metadata", "name"]).map_or(r.span(), Node::span);
                    Cause::Matched { asked: name.span, met }
                });
                r.edit(cx.schema, |root| {
                    spec.edit(root, Some(Create::Scalar), &mut |field| {
                        setter::untyped(field, &number, count.span)
                    })
                })?;
            }
        }
        Ok(found)
    }

    fn no_match(&self, name: &Spanned<Text>, items: &Resources) -> Diagnostic {
        let specs = self.field_specs.as_slice();
        let workloads = items.iter().filter(|r| specs.iter().any(|spec| spec.fits(r.gvk())));
        let near = nearest(name, workloads.flat_map(Resource::all_ids).map(|id| id.name.as_str()));
        let error = Diagnostic::error("replicas-no-match", format!("no workload is named `{name}`"))
            .failing(Failure::NoMatch);
        let error = match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("use the name as written in the base, before any prefix or suffix"),
        };
        let error = error.at(name.span);
        let mut kinds: Vec<&str> = specs.iter().map(|spec| spec.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        match kinds.contains(&"") {
            // A field spec without a kind is for all of them.
            true => error,
            false => error.help(format!("kinds that have replicas: {}", kinds.join(", "))),
        }
    }
}
