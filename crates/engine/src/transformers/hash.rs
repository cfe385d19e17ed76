//! The hash after the names of generated resources.

use krm_yaml::{Node, Result, json};
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use super::{Setup, read_config, setter};
use crate::pipeline::trace::Cause;
use crate::pipeline::{Context, Transformer};
use crate::resource::Resource;
use crate::resource::list::Resources;

/// Puts a hash of the content after the names of generated ConfigMaps and Secrets, so that workloads restart when it
/// changes.
///
/// It comes at the end of every build, for what generators made without `disableNameSuffixHash`, and then every reference is
/// brought up to date.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hash;

/// There is nothing to configure: any field is reported.
#[derive(Deserialize)]
struct Config {
    #[serde(rename = "metadata")]
    _metadata: Option<IgnoredAny>,
}

impl Hash {
    pub(super) fn make(config: &Node, _setup: &Setup) -> Result<Box<dyn Transformer>> {
        let _: Config = read_config(config)?;
        Ok(Box::new(Self))
    }
}

impl Transformer for Hash {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        if !items.iter().any(|r| r.needs_hash) {
            return Ok(());
        }
        items.edit_apart(|r| {
            if !r.needs_hash {
                return Ok(());
            }
            let hash = hash(r);
            let name = format!("{}-{hash}", r.name());
            // The one who asked for the resource asked for the hash.
            let place = r.span();
            r.remember_id();
            cx.note(r.track, place, || Cause::Hashed { hash: hash.as_str().into() });
            r.edit(cx.schema, |root| match root.at_mut(["metadata", "name"]) {
                Some(field) => setter::untyped(field, &name, place),
                None => Ok(()),
            })
        })
    }
}

/// The first ten digits of the SHA-256 of the content, none of them a vowel or easily taken for another.
pub(crate) fn hash(resource: &Resource) -> String {
    let digest = Sha256::digest(encode(resource.node()));
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(10);
    // In place of 0, 1, 3, a and e, so that no words come out.
    digits.map(|digit| char::from(b"gh2k456789mbcdtf"[digit as usize])).collect()
}

/// What of a resource counts: its data, and not its labels.
fn encode(root: &Node) -> String {
    let kind = root.get("kind").and_then(Node::text).unwrap_or_default();
    let (texts, extra): (&[&str], _) = match kind {
        "ConfigMap" => (&[], "binaryData"),
        "Secret" => (&["type"], "stringData"),
        // Not as kustomize, which hashes the tree it has read, lines and columns included: there a hash changes with
        // the layout of a file. The content is what matters.
        _ => return json::compact(root),
    };
    let mut content = Node::map();
    content.set("kind", kind);
    // quirk(hash-ignores-the-name): The name of a ConfigMap or Secret does not count for its hash: what is read is a
    // field called `metadata/name`, which there is not. (`hasher.encodeConfigMap`, `hasher.getNodeValues`)
    content.set("name", root.get("metadata/name").map_or(Node::from(""), value));
    for field in texts.iter().chain(&["data"]) {
        content.set(field, root.get(field).map_or(Node::from(""), value));
    }
    if let Some(node) = root.get(extra).filter(|node| !node.is_scalar()) {
        content.set(extra, value(node));
    }
    json::compact(&content)
}

/// A map as it is, a scalar as text, and a list, if none is expected, as null.
fn value(node: &Node) -> Node {
    match node.text() {
        Some(text) => Node::from(text),
        None if node.is_map() => node.clone(),
        None => Node::null(),
    }
}
