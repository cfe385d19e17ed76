//! What something applies to: fields of a resource, resources of a list, and the patterns both are chosen by.

pub(crate) mod fields;
pub(crate) mod go_regex;
pub(crate) mod labels;
pub(crate) mod near_miss;
pub(crate) mod resources;
