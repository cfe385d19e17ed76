//! `nameSuffix:` puts a text after every name.

use krm_yaml::{Node, Result, Spanned, Text};
use serde::Deserialize;

use super::prefix::{names_resources, rename, required};
use super::{Setup, refused, setter};
use crate::pipeline::{Context, Each, Transformer};
use crate::resource::fields::FieldSpecs;
use crate::resource::list::Resources;
use crate::resource::{Resource, lenient};

/// Puts a text after the name of every resource. Those that name it follow suit at the end of the build.
///
/// ```yaml
/// nameSuffix: -v2
/// ```
///
/// What keeps its name before a [prefix](super::Prefix) keeps it here too. Under `transformers:` of a kustomization it needs
/// `fieldSpecs`:
///
/// ```yaml
/// apiVersion: builtin
/// kind: SuffixTransformer
/// metadata: {name: any}
/// suffix: -v2
/// fieldSpecs:
/// - path: metadata/name
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Suffix {
    suffix: Spanned<Text>,
    field_specs: FieldSpecs,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    suffix: Spanned<Text>,
    field_specs: Option<FieldSpecs>,
}

impl Suffix {
    pub(crate) fn new(suffix: Spanned<Text>, field_specs: FieldSpecs) -> Self {
        Self { suffix, field_specs }
    }

    pub(super) fn read(config: &Node, setup: &Setup) -> Result<Self> {
        let Config { suffix, field_specs } = krm_yaml::from_node_with(config, lenient::EXACT_CONFIGURATION)?;
        let field_specs = required(field_specs, setup.defaults.map(|d| &d.name_suffix), config)?;
        if names_resources(&field_specs) {
            setup.warn(refused::suffix(&suffix));
        }
        Ok(Self::new(suffix, field_specs))
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        Ok(Box::new(Self::read(config, setup)?))
    }
}

impl Transformer for Suffix {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        items.edit_apart(|r| self.edit(r, cx))
    }

    fn each(&self) -> Option<&dyn Each> {
        Some(self)
    }
}

impl Each for Suffix {
    fn edit(&self, r: &mut Resource, cx: &Context) -> Result<()> {
        let Spanned { value: suffix, span } = &self.suffix;
        if suffix.is_empty() {
            return Ok(());
        }
        rename(r, &self.field_specs, cx, &|r| r.suffixes.push(suffix.clone()), &|name| {
            let new = format!("{}{suffix}", name.text().unwrap_or_default());
            setter::untyped(name, &new, *span)
        })
    }
}
