//! `krm fn`: one file per verb.

pub mod doc;
pub mod eval;
pub mod packages;
mod progress;
pub mod render;
pub mod run;
pub mod sink;
pub mod source;
pub mod wrap;
