//! Who hears of what steps do while they run.

use std::time::Duration;

use krm_function::FunctionResult;
use krm_yaml::{Diagnostic, Node, Result, Span};

use super::Step;
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::runtime::Status;

/// Hears what happens while steps run: for progress, for results, and for failures that should not stop the others.
///
/// Steps may run side by side, so `&self`.
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

    /// Something happens in a package with a Kptfile, by its number in the tree. Packages may run side by side; who asks for
    /// a render hears of them one after the other.
    fn in_package(&self, package: usize, event: &PackageEvent) {
        let _ = (package, event);
    }

    /// What a package and those below it hold now, so that a render can keep it in case a later function fails. Who asks for
    /// the render does not hear of it: some of these packages never have their turn.
    fn package_holds(&self, package: usize, resources: &Resources) {
        let _ = (package, resources);
    }
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

/// What happens in a package with a Kptfile.
#[derive(Clone, Debug)]
pub enum PackageEvent {
    /// Its turn has come.
    Starts {
        /// The names of its folder and of those of the packages above.
        shown: String,
    },
    /// A function starts.
    CallStarts {
        /// The image or the program.
        shown: String,
        /// The package it runs for: the names of its folder and of those of the packages above.
        package: String,
        /// How many resources it is given, if it has selectors.
        count: Option<usize>,
    },
    /// A function has ended, well or not.
    CallEnded(Called),
    /// A function was not called; the error that ends everything says why.
    NotCalled(Called),
    /// All its functions have run, none of them failed.
    Ended,
}

/// A call of a function, and what came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Called {
    /// What the Kptfile calls it.
    pub name: String,
    /// Where the Kptfile asks for it.
    pub place: Span,
    /// The image or the program as run.
    pub(crate) program: String,
    /// It ran as an executable, not as a container.
    pub is_exec: bool,
    /// It was asked to look, not to change anything.
    pub is_validator: bool,
    /// What it wrote to standard error; the end of it, if it is long.
    pub stderr: String,
    /// 0 of a call that succeeded.
    pub exit_code: i32,
    /// The exit status of the program itself; none if it was not started or was stopped.
    pub exited: Option<i32>,
    /// What it reported, each result as it came.
    pub results: Vec<Node>,
    /// The results as errors and warnings, with the location of what each is about.
    pub findings: Vec<Diagnostic>,
    /// What is wrong with the call, though it did not fail.
    pub warnings: Vec<Diagnostic>,
    /// Why it failed, if its exit status does not say so.
    pub execution_error: Option<String>,
    /// Why the program has no exit status: it could not be started, or it was stopped.
    pub(crate) not_ended: Option<String>,
    /// It was not even tried, because something else was wrong.
    pub(crate) is_refused: bool,
    /// How long the call took; zero if it was not tried.
    pub elapsed: Duration,
    /// Nothing was started: it had run on the same input before.
    pub cached: bool,
}

impl Called {
    /// One of which nothing is known yet but its program.
    pub(crate) fn of(program: &str, is_exec: bool) -> Self {
        Self {
            name: String::new(),
            place: Span::NONE,
            program: program.to_owned(),
            is_exec,
            is_validator: false,
            stderr: String::new(),
            exit_code: 0,
            exited: None,
            results: Vec::new(),
            findings: Vec::new(),
            warnings: Vec::new(),
            execution_error: None,
            not_ended: None,
            is_refused: false,
            elapsed: Duration::ZERO,
            cached: false,
        }
    }

    pub(crate) fn not_called(mut self, why: &Diagnostic) -> Self {
        self.refuse(why);
        self
    }

    pub(crate) fn refuse(&mut self, why: &Diagnostic) {
        self.execution_error = Some(why.message().to_owned());
        (self.exit_code, self.is_refused) = (1, true);
    }

    /// The same of one that failed, whatever its program says.
    pub(crate) fn failed(self) -> Self {
        Self { exit_code: if self.exit_code == 0 { 1 } else { self.exit_code }, ..self }
    }

    /// The image or the program as run.
    pub fn shown(&self) -> &str {
        &self.program
    }
}
