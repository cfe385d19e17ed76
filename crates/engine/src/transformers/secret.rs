//! `secretGenerator:` makes Secrets.

use std::sync::Arc;

use krm_yaml::{Node, Result, Style};

use super::Setup;
use super::generator::{Generator, GeneratorArgs, GeneratorOptions, base64};
use crate::files::world::Loader;
use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;

/// Makes a Secret from literals and files.
///
/// ```yaml
/// secretGenerator:
/// - name: tls
///   type: kubernetes.io/tls
///   files:
///   - tls.crt
///   - tls.key
/// ```
///
/// All is as for a [ConfigMap](super::ConfigMapGenerator), except that every value is in base64, and that there is a `type`,
/// which is `Opaque` if nothing is said.
#[derive(Clone)]
pub(crate) struct SecretGenerator(Generator);

impl SecretGenerator {
    pub(crate) fn new(args: GeneratorArgs, options: &GeneratorOptions, loader: Arc<dyn Loader>) -> Self {
        Self(Generator::new(args, options, loader))
    }

    /// Whether all its data can be had, without making anything of it.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.start("Secret")?;
        self.0.data("Secret").map(drop)
    }

    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        Ok(Box::new(Self(Generator::from_config(config, setup)?)))
    }
}

impl Transformer for SecretGenerator {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let mut root = self.0.start("Secret")?;
        let kind = &self.0.args.kind_of_secret;
        root.set(
            "type",
            match kind.is_empty() {
                true => Node::from("Opaque").with_span(self.0.args.name.span),
                false => Node::from(kind.as_str()).with_span(kind.span),
            },
        );
        let data = self.0.data("Secret")?.into_iter().map(|(key, value)| {
            let text = base64(&value.bytes);
            let style = if text.contains('\n') { Style::Literal } else { Style::Any };
            (key, Node::string(text).with_style(style).with_span(value.span))
        });
        root.set("data", data.collect::<Node>());
        self.0.finish(root, items, cx)
    }
}
