//! `namePrefix:` puts a text before every name.

use krm_yaml::{Node, Result, Spanned, Text};
use serde::Deserialize;

use super::{Setup, field_specs_missing, refused, setter};
use crate::pipeline::{Context, Each, Transformer};
use crate::resource::fields::{Create, FieldSpecs};
use crate::resource::list::Resources;
use crate::resource::{Gvk, Resource, lenient};

/// Puts a text before the name of every resource. Those that name it follow suit at the end of the build.
///
/// ```yaml
/// namePrefix: staging-
/// ```
///
/// CustomResourceDefinitions, APIServices and Namespaces keep their names: these are fixed by what they define.
///
/// Under `transformers:` of a kustomization it needs `fieldSpecs`:
///
/// ```yaml
/// apiVersion: builtin
/// kind: PrefixTransformer
/// metadata: {name: any}
/// prefix: staging-
/// fieldSpecs:
/// - path: metadata/name
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    prefix: Spanned<Text>,
    field_specs: FieldSpecs,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    prefix: Spanned<Text>,
    field_specs: Option<FieldSpecs>,
}

impl Prefix {
    pub(crate) fn new(prefix: Spanned<Text>, field_specs: FieldSpecs) -> Self {
        Self { prefix, field_specs }
    }

    pub(super) fn read(config: &Node, setup: &Setup) -> Result<Self> {
        let Config { prefix, field_specs } = krm_yaml::from_node_with(config, lenient::EXACT_CONFIGURATION)?;
        let field_specs = required(field_specs, setup.defaults.map(|d| &d.name_prefix), config)?;
        if names_resources(&field_specs) {
            setup.warn(refused::prefix(&prefix));
        }
        Ok(Self::new(prefix, field_specs))
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        Ok(Box::new(Self::read(config, setup)?))
    }
}

impl Transformer for Prefix {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        items.edit_apart(|r| self.edit(r, cx))
    }

    fn each(&self) -> Option<&dyn Each> {
        Some(self)
    }
}

impl Each for Prefix {
    fn edit(&self, r: &mut Resource, cx: &Context) -> Result<()> {
        let Spanned { value: prefix, span } = &self.prefix;
        if prefix.is_empty() {
            return Ok(());
        }
        rename(r, &self.field_specs, cx, &|r| r.prefixes.push(prefix.clone()), &|name| {
            let new = format!("{prefix}{}", name.text().unwrap_or_default());
            setter::untyped(name, &new, *span)
        })
    }
}

/// Whether resources get new names, rather than some other field a new text.
pub(super) fn names_resources(specs: &FieldSpecs) -> bool {
    specs.as_slice().iter().any(|spec| spec.path.as_str() == NAME)
}

const NAME: &str = "metadata/name";

/// Changes its name, and keeps the old one in mind.
pub(super) fn rename(
    r: &mut Resource,
    specs: &FieldSpecs,
    cx: &Context,
    note: &dyn Fn(&mut Resource),
    change: &dyn Fn(&mut Node) -> Result<()>,
) -> Result<()> {
    let original = r.original_id().gvk.clone();
    if keeps_its_name(&original) {
        return Ok(());
    }
    for spec in specs.fitting(&original) {
        if spec.path.as_str() == NAME {
            note(r);
            r.remember_id();
        }
        if spec.fits(r.gvk()) {
            r.edit(cx.schema, |root| spec.edit(root, Some(Create::Scalar), &mut |name| change(name)))?;
            r.follow_shared();
        }
    }
    Ok(())
}

/// Kinds whose name says what they define, so that it cannot change.
fn keeps_its_name(gvk: &Gvk) -> bool {
    match gvk.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => gvk.group == "apiregistration.k8s.io",
        _ => false,
    }
}

/// The field specs, which must be given here.
// quirk(prefix-transformer-needs-fields): A PrefixTransformer or SuffixTransformer of its own refuses to run without
// `fieldSpecs`; the others then change nothing. (`PrefixTransformerPlugin.Config`)
pub(super) fn required(
    written: Option<FieldSpecs>,
    default: Option<&FieldSpecs>,
    config: &Node,
) -> Result<FieldSpecs> {
    written
        .or_else(|| default.cloned())
        .ok_or_else(|| field_specs_missing(config, "names", "path: metadata/name"))
}
