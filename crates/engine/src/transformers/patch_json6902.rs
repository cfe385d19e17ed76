//! `patchesJson6902:` applies JSON patches to the resources a target chooses.

use krm_yaml::{Diagnostic, Node, Result, Span};
use serde::Deserialize;

use super::patch::{Chosen, PatchSpec, Text};
use super::{Setup, read_config};
use crate::files::world::Loader;
use crate::patch::JsonPatch;
use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;
use crate::select::resources::Selector;

/// Applies a [JSON patch](JsonPatch) to the resources chosen by `target`, whose `name` must be given.
///
/// ```yaml
/// patchesJson6902:
/// - target: {group: apps, version: v1, kind: Deployment, name: web}
///   patch: |-
///     - {op: replace, path: /spec/replicas, value: 3}
/// ```
///
/// The field is deprecated: `patches` does the same, and more. One thing they differ in: a resource renamed here is not
/// remembered under its old name, so what refers to it is not renamed.
#[derive(Clone, Debug)]
pub(crate) struct PatchJson6902 {
    chosen: Chosen,
    patch: JsonPatch,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    target: Option<Selector>,
    path: Option<Node>,
    json_op: Option<Node>,
}

impl PatchJson6902 {
    /// Reads an entry of `patchesJson6902:`.
    pub(crate) fn new(entry: &PatchSpec, place: Span, loader: &dyn Loader) -> Result<Self> {
        Self::read(entry.target.as_ref(), entry.path.as_ref(), entry.patch.as_ref(), place, loader)
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let Config { target, path, json_op } = read_config(config)?;
        Ok(Box::new(Self::read(
            target.as_ref(),
            path.as_ref(),
            json_op.as_ref(),
            config.span(),
            &**setup.loader,
        )?))
    }

    fn read(
        target: Option<&Selector>,
        path: Option<&Node>,
        inline: Option<&Node>,
        place: Span,
        loader: &dyn Loader,
    ) -> Result<Self> {
        let Some(target) = target.filter(|target| !target.name.is_empty()) else {
            return Err(Diagnostic::error("json-patch-no-name", "the target of a JSON patch needs a name")
                .at(place)
                .help("write `target: {kind: ..., name: ...}`, or move the patch to `patches`"));
        };
        let trees = Text::new(path, inline, place)?.parse_whole(loader)?;
        let empty = || {
            let named = path.map_or(place, Node::span);
            Diagnostic::error("json-patch-empty", "this JSON patch has no operations")
                .at(named)
                .help("write the operations, or remove this entry")
        };
        let tree = trees.into_iter().next().filter(|tree| !tree.is_null()).ok_or_else(empty)?;
        let patch = JsonPatch::read(&tree).map_err(|d| d.at(place))?;
        if patch.is_empty() {
            return Err(empty());
        }
        Ok(Self { chosen: Chosen::new(target, place)?, patch })
    }
}

impl Transformer for PatchJson6902 {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        self.patch.paths_without_slash().for_each(|warning| cx.warn(warning));
        let chosen = self.chosen.find(items, cx)?;
        for at in &chosen {
            items.edit_at(*at, |r| super::patch::apply_json(&self.patch, r, &self.chosen, cx))?;
        }
        super::patch::drop_deleted(items, &chosen);
        Ok(())
    }
}
