//! Which resources of a list something applies to, and the patterns they are chosen by.

pub(crate) mod go_regex;
pub(crate) mod labels;
pub(crate) mod near_miss;
pub(crate) mod resources;
