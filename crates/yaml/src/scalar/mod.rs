//! Scalars: what a plain text means, and how numbers, dates and bytes are written.

pub mod binary;
pub(crate) mod number;
pub mod resolve;
mod timestamp;
