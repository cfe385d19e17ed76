//! A runtime for looking at a build rather than having it: what the user does not allow is skipped, not refused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use krm_yaml::Result;

use super::{Action, Call, Output, Runner, Runtime, Status};
use crate::runtime::policy::Policy;

const HELD: &str = "no one panics while holding the names";

/// The programs that were skipped, by name.
#[derive(Clone, Debug, Default)]
pub struct Skipped(Arc<Mutex<Vec<String>>>);

impl Skipped {
    fn note(&self, name: &str) {
        self.0.lock().expect(HELD).push(name.to_owned());
    }

    /// Their names, each once, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.0.lock().expect(HELD).clone();
        names.sort();
        names.dedup();
        names
    }
}

impl Runtime {
    /// Runs what a policy allows and skips everything else: a function that is skipped returns its input, and a program that
    /// makes resources makes none. With the default policy nothing is started, whatever the files say.
    pub fn skipping(policy: Policy) -> (Self, Skipped) {
        let skipped = Skipped::default();
        let all = Policy { functions: true, exec: true, network: true, ..policy.clone() };
        let runner = Skipping { allowed: Runtime::new(policy), skipped: skipped.clone() };
        let runtime = Self { skipped: Some(skipped.clone()), ..Self::with_runner(all, Arc::new(runner)) };
        (runtime, skipped)
    }

    /// Whether something that is not allowed is to be skipped, which is noted then.
    pub(crate) fn skips(&self, name: &str) -> bool {
        self.skipped.as_ref().map(|skipped| skipped.note(name)).is_some()
    }
}

struct Skipping {
    allowed: Runtime,
    skipped: Skipped,
}

impl Runner for Skipping {
    fn describe(&self, _: &Call) -> Option<Action> {
        None
    }

    fn run(&self, call: &Call) -> Result<Output> {
        if self.allowed.check(call.program).is_ok() {
            return self.allowed.run(call.program, call.input.clone());
        }
        self.skipped.note(call.program.name());
        let (stdout, stderr, elapsed) = (call.input.to_vec(), Vec::new(), Duration::ZERO);
        Ok(Output {
            stdout,
            stderr,
            stderr_dropped: 0,
            status: Status::Exited(0),
            elapsed,
            cached: false,
            fault: None,
        })
    }
}
