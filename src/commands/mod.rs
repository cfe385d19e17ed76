//! One file per verb. Each takes its arguments, and gives back the first thing that went wrong.

pub mod build;
pub mod cfg;
mod cfg_cat;
mod cfg_fmt;
mod cfg_tree;
pub mod completion;
pub mod fn_doc;
mod fn_progress;
pub mod fn_run;
pub mod fn_sink;
pub mod fn_source;
pub mod fn_wrap;
mod input;
pub mod merge;
pub mod merge3;
pub mod plan;
pub mod schema;
pub mod version;
