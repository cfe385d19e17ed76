//! What is said while pipelines run, and what is kept of it. Packages may run side by side; what is said of them comes one
//! after the other.

use std::sync::Mutex;
use std::time::Duration;

use krm_yaml::{Diagnostic, Node, Span, Spanned};
use rustc_hash::{FxHashMap, FxHashSet};

use super::kptfile::Function;
use crate::pipeline::Role;

/// Hears of calls in the order of the packages' turns, after the observer of each step has.
pub trait CallListener: Send {
    /// The turn of a package has come.
    fn package(&mut self, shown: &str);
    /// A function starts; the count is of those it was given, if it has selectors.
    fn starts(&mut self, shown: &str, package: &str, count: Option<usize>);
    /// A function has ended, well or not.
    fn ended(&mut self, called: &Called);
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
    program: String,
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
    pub(super) not_ended: Option<String>,
    /// It was not even tried, because something else was wrong.
    pub(super) is_refused: bool,
    /// How long the call took; zero if it was not tried.
    pub elapsed: Duration,
    /// Nothing was started: it had run on the same input before.
    pub cached: bool,
}

impl Called {
    pub(super) fn new(function: &Spanned<Function>, program: &str, role: Role) -> Self {
        let (name, place, is_validator) = (function.name.to_string(), function.span(), role == Role::Inspect);
        Self { name, place, is_validator, ..Self::of(program, function.is_exec()) }
    }

    /// The call of a program that no Kptfile names.
    pub(super) fn of(program: &str, is_exec: bool) -> Self {
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

    pub(super) fn not_called(self, why: &Diagnostic) -> Self {
        Self { execution_error: Some(why.message().to_owned()), exit_code: 1, is_refused: true, ..self }
    }

    /// The same of one that failed, whatever its program says.
    pub(super) fn failed(self) -> Self {
        Self { exit_code: if self.exit_code == 0 { 1 } else { self.exit_code }, ..self }
    }

    /// The image or the program as run.
    pub fn shown(&self) -> &str {
        &self.program
    }
}

/// Something to be said.
pub(super) enum Event {
    Package(String),
    Starts {
        shown: String,
        package: String,
        count: Option<usize>,
    },
    Ended(Called),
    /// It is recorded; what is to be said about it is in the error.
    NotCalled(Called),
}

/// Passes events on in the order of turns: at once if the turn of a package has come, else when it comes.
pub(super) struct Recorder(Mutex<Said>);

struct Said {
    listener: Box<dyn CallListener>,
    turn: usize,
    waiting: FxHashMap<usize, Vec<Event>>,
    finished: FxHashSet<usize>,
    calls: Vec<Called>,
    packages: usize,
    /// A function failed: what comes later is not said.
    is_over: bool,
}

impl Recorder {
    pub(crate) fn new(listener: Box<dyn CallListener>) -> Self {
        Self(Mutex::new(Said {
            listener,
            turn: 0,
            waiting: FxHashMap::default(),
            finished: FxHashSet::default(),
            calls: Vec::new(),
            packages: 0,
            is_over: false,
        }))
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.0.lock().expect("no one panics while talking")
    }

    pub(crate) fn say(&self, turn: usize, event: Event) {
        let mut said = self.said();
        match said.turn == turn {
            true => said.say(event),
            false => said.waiting.entry(turn).or_default().push(event),
        }
    }

    /// A package has finished well. After one that did not, the turn of the others never comes.
    pub(crate) fn finished(&self, turn: usize) {
        let mut said = self.said();
        said.finished.insert(turn);
        loop {
            let turn = said.turn;
            if !said.finished.remove(&turn) {
                return;
            }
            said.turn += 1;
            let turn = said.turn;
            for event in said.waiting.remove(&turn).unwrap_or_default() {
                said.say(event);
            }
        }
    }

    /// Whose turn it is.
    pub(crate) fn turn(&self) -> usize {
        self.said().turn
    }

    /// The calls, and how many packages had their turn.
    pub(crate) fn finish(&self) -> (Vec<Called>, usize) {
        let mut said = self.said();
        (std::mem::take(&mut said.calls), said.packages)
    }
}

impl Said {
    fn say(&mut self, event: Event) {
        if self.is_over {
            return;
        }
        match event {
            Event::Package(shown) => {
                self.packages += 1;
                self.listener.package(&shown);
            }
            Event::Starts { shown, package, count } => self.listener.starts(&shown, &package, count),
            Event::Ended(called) => {
                self.listener.ended(&called);
                self.is_over |= called.exit_code != 0;
                self.calls.push(called);
            }
            Event::NotCalled(called) => {
                self.is_over = true;
                self.calls.push(called);
            }
        }
    }
}
