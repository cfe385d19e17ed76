//! A prefix and a suffix in one step.

use krm_yaml::{Node, Result};

use super::{Prefix, Setup, Suffix};
use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;

/// Puts one text before every name and another after it: a [`Prefix`], then a [`Suffix`].
///
/// ```yaml
/// apiVersion: builtin
/// kind: PrefixSuffixTransformer
/// metadata: {name: any}
/// prefix: staging-
/// suffix: -v2
/// fieldSpecs:
/// - path: metadata/name
/// ```
#[derive(Clone, Debug)]
pub(crate) struct PrefixSuffix(Prefix, Suffix);

impl PrefixSuffix {
    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        Ok(Box::new(Self(Prefix::read(config, setup)?, Suffix::read(config, setup)?)))
    }
}

impl Transformer for PrefixSuffix {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        self.0.transform(items, cx)?;
        self.1.transform(items, cx)
    }
}
