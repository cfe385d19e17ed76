//! One file per verb. Each takes its arguments, and gives back the first thing that went wrong.

pub mod affected;
pub mod build;
pub mod cache;
pub mod cfg;
pub mod completion;
pub mod create;
pub mod diff;
pub mod edit;
pub mod explain;
pub mod function;
pub mod graph;
pub mod help;
mod input;
pub mod lint;
pub mod localize;
pub mod lock;
pub mod lsp;
pub mod man;
pub mod merge;
pub mod merge3;
pub mod openapi;
pub mod pkg;
pub mod plan;
pub mod schema;
mod targets;
pub mod vendor;
pub mod version;
