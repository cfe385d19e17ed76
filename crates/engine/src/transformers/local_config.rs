//! Leaves out what is only there for tools: resources with the annotation `config.kubernetes.io/local-config`.

use krm_function::annotations::LOCAL_CONFIG;
use krm_yaml::{Diagnostic, Node, Result, nearest};
use rayon::prelude::*;

use crate::pipeline::{Context, Transformer};
use crate::resource::Resource;
use crate::resource::list::Resources;

/// Drops every resource whose annotation `config.kubernetes.io/local-config` is not `false`.
///
/// It runs last of all, so until then such resources can be referred to and copied from. What has no kind or no name any
/// more is refused. An annotation that is nearly called so is a warning: the resource it is meant to keep out stays in.
pub(crate) struct LocalConfig;

impl Transformer for LocalConfig {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let is_list = |r: &Resource| r.kind().ends_with("List");
        if let Some(r) = items.iter().find(|r| r.kind().is_empty() || (r.name().is_empty() && !is_list(r))) {
            let message = match r.kind() {
                "" => "this resource no longer has a `kind`".to_owned(),
                kind => format!("this {kind} no longer has a `metadata.name`"),
            };
            return Err(Diagnostic::error("resource-nameless", message)
                .at(r.span())
                .help("find the patch or replacement that removes it"));
        }
        // Few resources have such annotations, and only those are looked at closely.
        let is_concerned = |r: &Resource| keys(r).filter_map(Node::text).any(resembles);
        if items.as_slice().par_iter().with_min_len(256).any(is_concerned) {
            items.iter().flat_map(keys).filter_map(misspelled).for_each(|warning| cx.warn(warning));
            let is_local = |r: &Resource| r.annotation(LOCAL_CONFIG).is_some_and(|value| value != "false");
            items.as_vec_mut().retain(|r| !is_local(r));
        }
        Ok(())
    }
}

fn keys(r: &Resource) -> impl Iterator<Item = &Node> {
    let annotations = r.node().at(["metadata", "annotations"]).and_then(Node::as_map);
    annotations.into_iter().flatten().map(|entry| &entry.key)
}

/// Whether an annotation may be meant as the one that keeps a resource local, at a glance.
fn resembles(key: &str) -> bool {
    key.starts_with("config.k") || key.ends_with("local-config")
}

/// The warning for an annotation that is meant to keep a resource local and has another name.
fn misspelled(key: &Node) -> Option<Diagnostic> {
    let text = key.text().filter(|text| resembles(text) && *text != LOCAL_CONFIG)?;
    let (domain, name) = text.split_once('/').unwrap_or(("", text));
    let (right_domain, right_name) = LOCAL_CONFIG.split_once('/')?;
    // Anyone may use the name in a domain of their own.
    let is_ours = ["", "k8s.io", "kubernetes.io", "config.k8s.io", right_domain].contains(&domain);
    if !is_ours && nearest(domain, [right_domain]).is_none() || nearest(name, [right_name]).is_none() {
        return None;
    }
    let message = format!("the annotation `{text}` does not keep a resource out of the result");
    let warning = Diagnostic::warning("local-config-misspelled", message).at(key.span());
    Some(warning.help(format!("write `{LOCAL_CONFIG}` if that is meant")))
}
