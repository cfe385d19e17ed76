//! Who hears of what steps do while they run.

use std::time::Duration;

use krm_function::FunctionResult;
use krm_yaml::{Diagnostic, Node, Result, Span};

use super::Step;
use crate::resource::Resource;
use crate::runtime::Status;

/// Hears what happens while steps run: for progress, for results, and for failures that should not stop the others.
///
/// Steps may run side by side, hence `&self`.
pub trait Observer: Sync {
    /// A step is about to run on this many resources.
    fn step(&self, step: &Step, given: usize) {
        let _ = (step, given);
    }

    /// A program is about to run.
    fn starts(&self, call: &Call) {
        let _ = call;
    }

    /// A program has run, well or not. An error ends everything.
    fn ended(&self, call: &Call, ran: &Ran) -> Result<()> {
        let _ = (call, ran);
        Ok(())
    }

    /// A failure that does not stop the others: to be reported at the end.
    fn deferred(&self, failure: Diagnostic);
}

/// A program and what it is given.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The image or the path.
    pub program: &'a str,
    /// Where it was declared.
    pub place: Span,
    /// The resources it is given, in order.
    pub given: &'a [Resource],
}

/// What came of a call.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Ran<'a> {
    /// What it reported, as far as that could be read.
    pub results: &'a [FunctionResult],
    /// What is wrong with the results themselves.
    pub warnings: &'a [Diagnostic],
    /// The results as they came, whatever their shape.
    pub raw_results: Option<&'a Node>,
    /// Why it failed, if it did. There may be results all the same.
    pub failure: Option<&'a Diagnostic>,
    /// How it ended.
    pub status: &'a Status,
    /// What it wrote to standard error; the end of it, if it is long.
    pub stderr: &'a str,
    /// How long the call took.
    pub elapsed: Duration,
    /// Nothing was started: it had run on the same input before.
    pub cached: bool,
}
