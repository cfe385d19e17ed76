//! `krm pkg`: one file per verb.

pub mod cat;
pub mod init;
pub mod tree;
