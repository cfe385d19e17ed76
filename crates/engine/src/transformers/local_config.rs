//! Leaves out what is only there for tools: resources with the annotation `config.kubernetes.io/local-config`.

use krm_yaml::Result;

use crate::pipeline::{Context, Transformer};
use crate::resources::Resources;

const ANNOTATION: &str = "config.kubernetes.io/local-config";

/// Drops every resource whose annotation `config.kubernetes.io/local-config` is not `false`.
///
/// It runs last of all, so until then such resources can be referred to and copied from.
pub struct LocalConfig;

impl Transformer for LocalConfig {
    fn transform(&self, items: &mut Resources, _cx: &Context) -> Result<()> {
        let is_local = |r: &crate::Resource| r.annotation(ANNOTATION).is_some_and(|value| value != "false");
        if items.iter().any(is_local) {
            items.as_vec_mut().retain(|r| !is_local(r));
        }
        Ok(())
    }
}
