//! The built-ins, one file each, and the table that finds them by kind.

use std::sync::Arc;

use krm_yaml::{Node, Result};

use crate::pipeline::Transformer;
use crate::world::Loader;

pub mod build_metadata;
pub mod config;
pub mod local_config;
pub mod replacement;

pub use config::TransformerConfig;

/// What a built-in is made with, besides its own configuration.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Reads the files the configuration names.
    pub loader: &'a Arc<dyn Loader>,
    /// Field specs for configurations that name none. In `transformers:` of a kustomization there are no defaults, as in
    /// the reference; a Composition has them.
    pub defaults: Option<&'a TransformerConfig>,
}

/// Makes a built-in from its configuration: the whole object, `apiVersion`, `kind` and `metadata` included.
pub type Make = fn(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>>;

/// Every built-in by its kind, in alphabetical order.
const TABLE: &[(&str, Make)] = &[("ReplacementTransformer", replacement::Replacements::make)];

/// The built-in of this kind.
pub fn builtin(kind: &str) -> Option<Make> {
    TABLE.iter().find(|(name, _)| *name == kind).map(|(_, make)| *make)
}

/// The kinds there are, in alphabetical order.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}
