//! The one door programs go through.

use std::fmt;
use std::sync::Arc;

use krm_yaml::Result;

use super::{Action, EnvVar, Output, Program};
use crate::runtime::policy::Policy;

/// Runs programs: bytes in, bytes out.
///
/// Containers, executables, modules and tools each have one on this machine. An engine elsewhere is one more: it gets the
/// same calls, and [`describe`](Runner::describe) tells it by content what a call needs.
pub trait Runner: Send + Sync {
    /// What the output of a call depends on; `None` if that is not known, as of a program that sees the network.
    fn describe(&self, call: &Call) -> Option<Action>;

    /// Runs a program to its end. An error says that it could not be started; how it ended is in the output.
    fn run(&self, call: &Call) -> Result<Output>;
}

/// An engine elsewhere, which takes calls off this machine.
pub trait Elsewhere: fmt::Debug + Send + Sync {
    /// Whether programs of this kind go there at all.
    fn takes(&self, program: &Program) -> bool;

    /// Runs a program to its end; `None` if this call has to be made on this machine.
    fn run(&self, call: &Call) -> Option<Result<Output>>;

    /// How many calls may be made at the same time.
    fn at_once(&self) -> usize;
}

/// A program, what it is given, and what it may do. The policy has been consulted: the program may run.
#[derive(Clone)]
pub struct Call<'a> {
    /// What to run.
    pub program: &'a Program,
    /// Its standard input.
    pub input: Arc<Vec<u8>>,
    /// What the user allows, with limits and variables for all programs.
    pub policy: &'a Policy,
}

/// Variables every function gets: what the catalog's functions read to behave.
const STANDARD_ENV: [&str; 2] = ["LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true"];

impl Call<'_> {
    /// The variables set for a function, by name. Later ones win: ours, the function's own, the user's.
    pub fn environment(&self) -> Vec<EnvVar> {
        let own: &[EnvVar] = match self.program {
            Program::Image(image) => &image.env,
            Program::Exec(exec) => &exec.env,
            Program::Wasm(module) => &module.env,
            Program::Tool(_) => return Vec::new(),
        };
        let standard = STANDARD_ENV.map(EnvVar::parse);
        let all = standard.iter().chain(own).chain(&self.policy.env);
        let by_name: std::collections::BTreeMap<&str, &EnvVar> =
            all.map(|var| (var.name.as_str(), var)).collect();
        by_name.into_values().cloned().collect()
    }
}
