//! Leaves out what is only there for tools: resources with the annotation `config.kubernetes.io/local-config`.

use krm_function::annotations::LOCAL_CONFIG;
use krm_yaml::{Diagnostic, Result};
use rayon::prelude::*;

use crate::pipeline::{Context, Transformer};
use crate::resource::Resource;
use crate::resource::list::Resources;

/// Drops every resource whose annotation `config.kubernetes.io/local-config` is not `false`.
///
/// It runs last of all, so until then such resources can be referred to and copied from. What has no kind or no name any
/// more is refused.
pub(crate) struct LocalConfig;

impl Transformer for LocalConfig {
    fn transform(&self, items: &mut Resources, _cx: &Context) -> Result<()> {
        let is_list = |r: &Resource| r.kind().ends_with("List");
        if let Some(r) = items.iter().find(|r| r.kind().is_empty() || (r.name().is_empty() && !is_list(r))) {
            let message = match r.kind() {
                "" => "this resource has no `kind` any more".to_owned(),
                kind => format!("this {kind} has no `metadata.name` any more"),
            };
            return Err(Diagnostic::error("resource-nameless", message)
                .at(r.span())
                .help("see which patch or replacement takes it away"));
        }
        let is_local = |r: &Resource| r.annotation(LOCAL_CONFIG).is_some_and(|value| value != "false");
        if items.as_slice().par_iter().with_min_len(256).any(is_local) {
            items.as_vec_mut().retain(|r| !is_local(r));
        }
        Ok(())
    }
}
