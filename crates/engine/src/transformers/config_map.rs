//! `configMapGenerator:` makes ConfigMaps.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Node, Result, Style};

use super::Setup;
use super::generator::{Generator, GeneratorArgs, GeneratorOptions, base64};
use crate::files::world::Loader;
use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;

/// Makes a ConfigMap from literals and files.
///
/// ```yaml
/// configMapGenerator:
/// - name: settings
///   literals:
///   - LOG_LEVEL=debug
///   files:
///   - nginx.conf
///   - motd=texts/message.txt
///   envs:
///   - defaults.env
///   options:
///     disableNameSuffixHash: true
///     labels: {team: payments}
/// ```
///
/// A hash of the content goes after the name unless `disableNameSuffixHash` is set here or in `generatorOptions`, and
/// whatever refers to the ConfigMap follows. Files that are not UTF-8 go to `binaryData`. With `behavior: merge` or `replace`
/// it changes one that a base has made.
#[derive(Clone)]
pub(crate) struct ConfigMapGenerator(Generator);

impl ConfigMapGenerator {
    pub(crate) fn new(
        args: GeneratorArgs,
        options: &GeneratorOptions,
        loader: Arc<dyn Loader>,
    ) -> Result<Self> {
        if !args.kind_of_secret.is_empty() {
            return Err(Diagnostic::error("config-map-type", "a ConfigMap has no `type`")
                .at(args.kind_of_secret.span)
                .help("remove it, or move the entry to `secretGenerator:`"));
        }
        Ok(Self(Generator::new(args, options, loader)))
    }

    /// Whether all its data can be had, without making anything of it.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.start("ConfigMap")?;
        self.0.data("ConfigMap").map(drop)
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        Ok(Box::new(Self(Generator::from_config(config, setup)?)))
    }
}

impl Transformer for ConfigMapGenerator {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let mut root = self.0.start("ConfigMap")?;
        for (key, value) in self.0.data("ConfigMap")? {
            let (field, text) = match String::from_utf8(value.bytes) {
                Ok(text) => ("data", text),
                Err(e) => ("binaryData", base64(e.as_bytes())),
            };
            let style = if text.contains('\n') { Style::Literal } else { Style::Any };
            let node = Node::string(text).with_style(style).with_span(value.span);
            root.map_at(field)
                .expect("it is a map")
                .as_map_mut()
                .expect("it is a map")
                .push(key.into(), node);
        }
        self.0.finish(root, items, cx)
    }
}
