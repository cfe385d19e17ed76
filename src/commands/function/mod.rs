//! `krm fn`: one file per verb.

pub mod doc;
mod progress;
pub mod run;
pub mod sink;
pub mod source;
pub mod wrap;
