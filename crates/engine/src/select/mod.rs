//! What something applies to: fields of a resource, resources of a list, and the patterns both are chosen by.

pub mod fields;
pub mod go_regex;
pub mod labels;
pub mod near_miss;
pub mod resources;
