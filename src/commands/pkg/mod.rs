//! `krm pkg`: one file per verb.

pub mod cat;
pub mod diff;
pub mod get;
pub mod init;
pub mod tree;
pub mod update;
mod updating;
mod upstream;
