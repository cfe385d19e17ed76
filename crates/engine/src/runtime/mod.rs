//! Starting programs: bytes in, bytes out.
//!
//! A [`Program`] says what to start; a [`Runtime`] has it started by a [`Runner`], within what its [`Policy`] allows and
//! its limits leave room for. This is the one place of the engine that touches processes, the environment and files of
//! its own (the cache), and it knows nothing about resources. Without the feature `run` there are no runners of this
//! machine, and every call is refused.

// Everywhere else in the engine these are forbidden.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod action;
mod cache;
mod images;
mod output;
pub(crate) mod plugin;
pub(crate) mod policy;
mod program;
pub mod reapi;
mod runner;
mod skipping;
mod store;
mod tree;

#[cfg(feature = "run")]
mod container;
#[cfg(feature = "run")]
mod digests;
#[cfg(feature = "run")]
mod disk_store;
#[cfg(feature = "run")]
mod exec;
#[cfg(feature = "run")]
mod process;
#[cfg(all(feature = "run", target_os = "linux"))]
mod sandbox;
#[cfg(feature = "run")]
mod signals;
#[cfg(feature = "run")]
#[cfg_attr(not(unix), path = "streams_by_threads.rs")]
mod streams;
#[cfg(all(feature = "run", target_os = "linux"))]
pub mod supervisor;
#[cfg(feature = "run")]
mod tool;
#[cfg(feature = "wasm")]
mod wasi;
#[cfg(feature = "run")]
mod wasm;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Failure, Result};
use rustc_hash::FxHashMap;

pub use action::{Action, File, Identity};
#[cfg(feature = "run")]
pub use digests::{Digests, describe as files_of};
pub use images::{Images, LocalImage, image_not_pulled};
pub use output::{Output, Status};
pub use program::{Argument, EnvVar, Exec, Image, Module, Mount, Permission, Program, Tool};
pub use runner::{Call, Elsewhere, Runner};
#[cfg(feature = "run")]
pub use signals::{Uninterrupted, on_interrupt, remove_scratch, uninterrupted};
pub use skipping::Skipped;
pub use store::{Outputs, Store, Stream};
#[cfg(feature = "run")]
pub use tool::{Scratch, run_tool};
pub use tree::Tree;

use policy::Policy;

/// Has programs run. Made once for a run: it remembers the container engine it found and the modules it read.
pub struct Runtime {
    policy: Policy,
    runners: Runners,
    cache: cache::Cache,
    locks: Mutex<FxHashMap<PathBuf, Arc<Mutex<()>>>>,
    /// What was skipped, if this is a runtime that skips: see [`Runtime::skipping`].
    skipped: Option<Skipped>,
}

/// Who runs what.
enum Runners {
    /// One for all programs.
    Given(Arc<dyn Runner>),
    /// This machine.
    #[cfg(feature = "run")]
    Local(Box<local::Local>),
    #[cfg(not(feature = "run"))]
    None,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Runtime {
    /// Runs programs on this machine.
    pub fn new(policy: Policy) -> Self {
        #[cfg(feature = "run")]
        let runners = Runners::Local(Box::default());
        #[cfg(not(feature = "run"))]
        let runners = Runners::None;
        Self::of(policy, runners)
    }

    /// Has programs run by another runner. The policy holds all the same.
    pub fn with_runner(policy: Policy, runner: Arc<dyn Runner>) -> Self {
        Self::of(policy, Runners::Given(runner))
    }

    fn of(policy: Policy, runners: Runners) -> Self {
        Self { policy, runners, cache: cache::Cache::default(), locks: Mutex::default(), skipped: None }
    }

    /// What the user allows.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The lock for a folder that programs fill, so that two do not fill it at once.
    pub(crate) fn lock_of(&self, folder: &Path) -> Arc<Mutex<()>> {
        let mut all = self.locks.lock().expect("no one panics while holding the list of locks");
        all.entry(folder.to_owned()).or_default().clone()
    }

    /// Refuses what the user did not allow. Nothing is started; meant for planning, so that a pipeline does not stop
    /// half-way over a missing flag.
    pub(crate) fn check(&self, program: &Program) -> Result<()> {
        let policy = &self.policy;
        let name = program.name();
        if let Program::Tool(tool) = program {
            let allowed = match tool.needs {
                Permission::Plugins => policy.functions,
                Permission::Helm => policy.helm.is_some(),
                Permission::Given => true,
            };
            // Those who make tools say more about what is missing, and where; this is the last line.
            let message = || format!("`{name}` may not be started: nothing on the command line allows it");
            return match allowed {
                true => Ok(()),
                false => Err(Diagnostic::error("tool-not-enabled", message()).failing(Failure::NotEnabled)),
            };
        }
        if !policy.functions {
            let flags = match program {
                Program::Exec(_) if !policy.exec => "--enable-alpha-plugins --enable-exec",
                _ => "--enable-alpha-plugins",
            };
            return Err(Diagnostic::error(
                "functions-not-enabled",
                format!("`{name}` is a function, and functions are not enabled"),
            )
            .failing(Failure::NotEnabled)
            .help(format!("functions run programs: if you trust this configuration, pass `{flags}`")));
        }
        match program {
            Program::Exec(_) if !policy.exec => {
                let message = format!("`{name}` is an executable, and executables are not enabled");
                Err(Diagnostic::error("exec-not-enabled", message).failing(Failure::NotEnabled).help(
                    "it would run with your rights: if you trust this configuration, pass `--enable-exec`",
                ))
            }
            Program::Image(image) if image.image.starts_with('-') => {
                // It would be where the engine takes options.
                Err(Diagnostic::error("image-is-an-option", format!("no image can be called `{name}`"))
                    .help("name an image, as `registry.example.com/name:tag`"))
            }
            Program::Image(image) if !policy.pinned.allow(&image.image) => {
                let message = format!("the image `{name}` is not in krm.lock");
                Err(Diagnostic::error("image-not-locked", message)
                    .help("run `krm lock`, or name the image by its digest"))
            }
            Program::Image(image) if image.network && !policy.network => {
                let message = format!("`{name}` asks for the network, which is not enabled");
                Err(Diagnostic::error("network-not-enabled", message)
                    .failing(Failure::NotEnabled)
                    .help("if you trust the function with it, pass `--network`"))
            }
            Program::Image(Image { env, .. }) | Program::Wasm(Module { env, .. }) => {
                env.iter().try_for_each(|var| self.check_variable(name, var))
            }
            _ => Ok(()),
        }
    }

    /// A configuration may set variables for a program in a sandbox, but not have it read ours.
    fn check_variable(&self, name: &str, var: &EnvVar) -> Result<()> {
        let named = |given: &EnvVar| given.name == var.name;
        if var.is_a_name() && (var.value.is_some() || self.policy.env.iter().any(named)) {
            return Ok(());
        }
        let message = format!("`{name}` asks for `{}` of your environment", var.name);
        let error = Diagnostic::error("function-env-not-given", message).failing(Failure::NoVariable);
        Err(match var.is_a_name() {
            true => error.help(format!("if you trust the function with it, pass `--env {}`", var.name)),
            false => error.help("a configuration names variables one by one, as `NAME=value`"),
        })
    }

    /// Runs a program to its end, or takes its output from the cache. An error says that it could not be started; how
    /// it ended is in the output.
    pub fn run(&self, program: &Program, input: impl Into<Arc<Vec<u8>>>) -> Result<Output> {
        self.check(program)?;
        let pinned = match program {
            Program::Image(image) => {
                self.policy.pinned.runs(&image.image);
                let pinned = self.policy.pinned.resolve(&image.image);
                pinned.map(|pinned| Program::Image(Image { image: pinned, ..image.clone() }))
            }
            _ => None,
        };
        let program = pinned.as_ref().unwrap_or(program);
        let call = Call { program, input: input.into(), policy: &self.policy };
        if let Some(elsewhere) = self.elsewhere().filter(|elsewhere| elsewhere.takes(program))
            && let Some(result) = elsewhere.run(&call)
        {
            return result;
        }
        match &self.runners {
            Runners::Given(runner) => self.cache.run(&call, || runner.describe(&call), || runner.run(&call)),
            #[cfg(feature = "run")]
            Runners::Local(local) => self.cache.run(&call, || local.describe(&call), || local.run(&call)),
            #[cfg(not(feature = "run"))]
            Runners::None => Err(Diagnostic::error(
                "programs-not-built",
                format!("`{}` cannot be started: this program was built without the means", program.name()),
            )
            .failing(Failure::NotEnabled)
            .help("build it with the feature `run`")),
        }
    }
}

impl Runtime {
    /// How many functions may run elsewhere at the same time: 0 if all run on this machine.
    pub(crate) fn at_once(&self) -> usize {
        self.elsewhere().map_or(0, Elsewhere::at_once)
    }

    /// Who runs functions in place of this machine. A runner that was given is asked for everything.
    fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        match &self.runners {
            Runners::Given(_) => None,
            _ => self.policy.elsewhere.as_deref(),
        }
    }
}

/// This machine.
#[cfg(feature = "run")]
mod local {
    use std::sync::{Arc, OnceLock};

    use krm_yaml::Result;

    use super::digests::Digests;
    use super::{Action, Call, Output, Program, Runner, container, exec, tool, wasm};

    /// The runners of this machine, each made when it is first needed.
    #[derive(Default)]
    pub(super) struct Local {
        digests: Arc<Digests>,
        containers: OnceLock<Result<container::Containers>>,
        modules: OnceLock<Result<wasm::Modules>>,
        executables: OnceLock<exec::Executables>,
    }

    impl Local {
        fn runner(&self, call: &Call) -> Result<&dyn Runner> {
            let digests = || self.digests.clone();
            match call.program {
                Program::Image(_) => {
                    let containers = self.containers.get_or_init(|| container::Containers::find(call.policy));
                    containers.as_ref().map(|containers| containers as &dyn Runner).map_err(Clone::clone)
                }
                Program::Wasm(_) => {
                    let modules = self.modules.get_or_init(|| wasm::Modules::new(digests()));
                    modules.as_ref().map(|modules| modules as &dyn Runner).map_err(Clone::clone)
                }
                Program::Exec(_) => {
                    Ok(self.executables.get_or_init(|| exec::Executables::new(digests())) as &dyn Runner)
                }
                Program::Tool(_) => Ok(&tool::Tools as &dyn Runner),
            }
        }

        /// What a call depends on. No engine is looked for, and started, if that is known without it.
        pub(super) fn describe(&self, call: &Call) -> Option<Action> {
            let known = match call.program {
                Program::Image(_) => container::describe_call(call, |_| None),
                _ => None,
            };
            known.or_else(|| self.runner(call).ok()?.describe(call))
        }

        pub(super) fn run(&self, call: &Call) -> Result<Output> {
            self.runner(call)?.run(call)
        }
    }
}
