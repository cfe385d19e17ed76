//! `--mask`: the fields whose values are not shown.

use krm_engine::explain::FieldPath;
use krm_engine::{Diagnostic, Result};

/// The fields that are named.
pub fn masked_fields(names: &[String]) -> Result<Vec<FieldPath>> {
    names.iter().map(|name| masked(name)).collect()
}

fn masked(name: &str) -> Result<FieldPath> {
    // With a kind in front, as `--ignore` takes it, it would hide nothing, and nobody would notice.
    if let Some((kind, field)) = name.split_once('/')
        && kind.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        let message = format!("`{name}` names a kind, and a field is hidden in every kind");
        return Err(Diagnostic::error("mask-kind", message).help(format!("write `--mask {field}`")));
    }
    FieldPath::parse(name)
}
