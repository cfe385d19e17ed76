//! WebAssembly modules that speak WASI preview 1: stdin to stdout, and nothing else of the machine.
//!
//! Modules are interpreted. Nothing is compiled to machine code, so a module that has never run before starts as fast as
//! one that has, and none can make the compiler work for minutes; every instruction is counted, so a time limit holds
//! wherever the module is.

#[cfg(not(feature = "wasm"))]
pub(super) use absent::Modules;
#[cfg(feature = "wasm")]
pub(super) use interpreter::Modules;

#[cfg(feature = "wasm")]
mod interpreter {
    use std::collections::HashMap;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    use krm_yaml::{Diagnostic, Result};
    use wasmi::errors::ErrorKind;
    use wasmi::{
        CompilationMode, Config, Engine, Error, Linker, ResourceLimiter, Store, TrapCode, TypedResumableCall,
    };
    use wasmi_core::LimiterError;

    use crate::runtime::digests::{self, Digests};
    use crate::runtime::policy::Limits;
    use crate::runtime::reapi::Digest;
    use crate::runtime::wasi::{self, Exit, Machine, TooMuchOutput};
    use crate::runtime::{Action, Call, Identity, Module, Output, Program, Runner, Status, process};

    /// How deep a module may call, and how much room its own stack has.
    const DEEPEST: usize = 20_000;
    const STACK: usize = 16 << 20;
    /// The thread a module runs on needs little: the interpreter keeps the module's stack elsewhere.
    const THREAD_STACK: usize = 4 << 20;

    /// Instructions, about, between two looks at the clock: some tens of milliseconds. Translating a function when it is
    /// first called counts, too, and cannot be interrupted: this is enough for 5 MB of one function.
    const SLICE: u64 = 50_000_000;
    /// What a module may do while it is set up, before the clock is looked at.
    const SETUP: u64 = 500_000_000;

    /// Bytes of a module. Reading one takes time and memory in proportion.
    const LARGEST: usize = 64 << 20;
    /// Entries of all tables together; the largest programs have some ten thousand functions.
    const MOST_ENTRIES: usize = 1_000_000;

    /// Reads and runs modules.
    pub(in crate::runtime) struct Modules {
        engine: Engine,
        digests: Arc<Digests>,
        loaded: Mutex<HashMap<Digest, wasmi::Module>>,
    }

    impl Modules {
        pub(in crate::runtime) fn new(digests: Arc<Digests>) -> Result<Self> {
            let mut config = Config::default();
            config
                .consume_fuel(true)
                .compilation_mode(CompilationMode::Lazy)
                .ignore_custom_sections(true)
                .wasm_multi_memory(false)
                .set_max_stack_height(STACK)
                .set_max_recursion_depth(DEEPEST);
            Ok(Self { engine: Engine::new(&config), digests, loaded: Mutex::default() })
        }
    }

    fn module<'c>(call: &'c Call) -> &'c Module {
        match call.program {
            Program::Wasm(module) => module,
            _ => unreachable!("each kind of program has its own runner"),
        }
    }

    /// The arguments a module sees. The first is its name, and not where it is: that must not make a difference.
    fn arguments(module: &Module) -> Vec<String> {
        let name = Path::new(&module.path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        std::iter::once(name).chain(module.args.iter().cloned()).collect()
    }

    /// The variables a module sees, by name and value.
    fn environment(call: &Call) -> impl Iterator<Item = (String, String)> {
        let all = call.environment().into_iter();
        all.filter_map(|var| Some((var.value.or_else(|| std::env::var(&var.name).ok())?, var.name)))
            .map(|(value, name)| (name, value))
    }

    impl Runner for Modules {
        fn describe(&self, call: &Call) -> Option<Action> {
            let module = module(call);
            let digest = self.digests.of(Path::new(&module.path)).ok()?;
            let mut action = Action::new(Identity::Module(digest), &call.policy.limits, &call.input);
            action.arguments = arguments(module);
            action.environment.extend(environment(call));
            Some(action)
        }

        fn run(&self, call: &Call) -> Result<Output> {
            let module = module(call);
            let digest =
                self.digests.of(Path::new(&module.path)).map_err(|e| unreadable(&module.path, &e))?;
            let env = environment(call).map(|(name, value)| format!("{name}={value}"));
            let limits = &call.policy.limits;
            let most = limits.output_for(call.input.len());
            let machine = Machine::new(arguments(module), env.collect(), call.input.clone(), most);
            let loaded = || self.loaded.lock().expect("no one panics while holding the modules");
            let known = loaded().get(&digest).cloned();
            let bytes = match known {
                Some(_) => Vec::new(),
                None => digests::read(Path::new(&module.path)).map_err(|e| unreadable(&module.path, &e))?,
            };
            let Ran { module: read, output } = run(self.engine.clone(), known, bytes, machine, limits)
                .map_err(|e| match e {
                    Fault::NotLoaded(e) => Diagnostic::error(
                        "wasm-not-loaded",
                        format!("`{}` is not a module krm can run: {e}", module.path),
                    )
                    .help("build it for WASI preview 1, as Rust does for its target `wasm32-wasip1`"),
                    Fault::NotStarted(e) => Diagnostic::error(
                        "wasm-not-started",
                        format!("`{}` cannot be started: {e}", module.path),
                    ),
                })?;
            if let Some(read) = read {
                loaded().insert(digest, read);
            }
            Ok(output)
        }
    }

    fn unreadable(path: &str, error: &std::io::Error) -> Diagnostic {
        Diagnostic::error("wasm-not-read", format!("`{path}` cannot be read: {error}"))
    }

    /// What belongs to one call.
    struct Instance {
        machine: Machine,
        /// Bytes of memory and entries of tables that are still available, all together.
        memory_left: usize,
        entries_left: usize,
        wanted_too_much: bool,
    }

    impl ResourceLimiter for Instance {
        fn memory_growing(
            &mut self,
            now: usize,
            wanted: usize,
            _most: Option<usize>,
        ) -> std::result::Result<bool, LimiterError> {
            match self.memory_left.checked_sub(wanted.saturating_sub(now)) {
                Some(left) => {
                    self.memory_left = left;
                    Ok(true)
                }
                // Ended rather than refused: few programs can do anything about it, and none can say it as clearly.
                None => {
                    self.wanted_too_much = true;
                    Err(LimiterError::ResourceLimiterDeniedAllocation)
                }
            }
        }

        fn table_growing(
            &mut self,
            now: usize,
            wanted: usize,
            _most: Option<usize>,
        ) -> std::result::Result<bool, LimiterError> {
            let left = self.entries_left.checked_sub(wanted.saturating_sub(now));
            self.entries_left = left.unwrap_or(self.entries_left);
            Ok(left.is_some())
        }

        fn instances(&self) -> usize {
            1
        }

        fn tables(&self) -> usize {
            100
        }

        fn memories(&self) -> usize {
            1
        }
    }

    /// Why a module did not run.
    enum Fault {
        NotLoaded(Error),
        NotStarted(String),
    }

    struct Ran {
        /// Read on the way, if it was not before.
        module: Option<wasmi::Module>,
        output: Output,
    }

    /// Runs a module on a thread of its own; this one keeps time. Should the module find a way to keep the interpreter busy
    /// past its time, the thread is given up: it can touch nothing but its own memory.
    fn run(
        engine: Engine,
        known: Option<wasmi::Module>,
        bytes: Vec<u8>,
        machine: Machine,
        limits: &Limits,
    ) -> std::result::Result<Ran, Fault> {
        let start = Instant::now();
        let deadline = process::deadline(start, limits.timeout);
        let memory = usize::try_from(limits.memory).unwrap_or(usize::MAX);
        let given_up = Arc::new(AtomicBool::new(false));
        let (tell, ended) = mpsc::channel();
        let stop = given_up.clone();
        let work = move || {
            let loaded = match &known {
                Some(module) => Ok(module.clone()),
                None if bytes.len() > LARGEST => {
                    Err(Error::new(format!("it is larger than {} MiB", LARGEST >> 20)))
                }
                None => wasmi::Module::new(&engine, &bytes[..]),
            };
            let result = loaded.map_err(Fault::NotLoaded).map(|module| {
                let instance = Instance {
                    machine,
                    memory_left: memory,
                    entries_left: MOST_ENTRIES,
                    wanted_too_much: false,
                };
                let mut store = Store::new(&engine, instance);
                store.limiter(|instance| instance);
                let is_over = || stop.load(Ordering::Relaxed) || Instant::now() >= deadline;
                let end = enter(&mut store, &module, is_over);
                (end, store.into_data(), known.is_none().then_some(module))
            });
            let _ = tell.send(result);
        };
        std::thread::Builder::new()
            .name("wasm".into())
            .stack_size(THREAD_STACK)
            .spawn(work)
            .map_err(|error| Fault::NotStarted(error.to_string()))?;
        let patience = process::deadline(deadline, process::GRACE);
        let output = |status, stdout, stderr| Output {
            stdout,
            stderr,
            stderr_dropped: 0,
            status,
            elapsed: start.elapsed(),
            cached: false,
            fault: None,
        };
        match ended.recv_timeout(patience.saturating_duration_since(Instant::now())) {
            Ok(result) => {
                let (end, instance, module) = result?;
                let status = status(end, instance.wanted_too_much, limits)?;
                let (stdout, stderr) = instance.machine.into_output();
                Ok(Ran { module, output: output(status, stdout, stderr) })
            }
            Err(RecvTimeoutError::Timeout) => {
                given_up.store(true, Ordering::Relaxed);
                let status = Status::TimedOut(limits.timeout);
                Ok(Ran { module: None, output: output(status, Vec::new(), Vec::new()) })
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(Fault::NotStarted("the thread it ran on broke down".into()))
            }
        }
    }

    /// How a module ended, unless by itself.
    enum End {
        Status(Status),
        TimedOut,
        /// What it needs to begin is missing.
        NotStarted(Error),
    }

    impl End {
        /// What an error means: an end the module asked for, one it was given, or a trap.
        fn of(error: &Error) -> Self {
            End::Status(match error.downcast_ref() {
                Some(Exit(code)) => Status::Exited(*code),
                None if error.downcast_ref::<TooMuchOutput>().is_some() => Status::TooMuchOutput,
                None => Status::Trapped(error.to_string()),
            })
        }
    }

    fn enter(
        store: &mut Store<Instance>,
        module: &wasmi::Module,
        is_over: impl Fn() -> bool,
    ) -> std::result::Result<(), End> {
        let mut linker = Linker::new(module.engine());
        wasi::define(&mut linker, module, |instance: &mut Instance| &mut instance.machine)
            .map_err(End::NotStarted)?;
        store.set_fuel(SETUP).expect("fuel is counted");
        let instance =
            linker.instantiate_and_start(&mut *store, module).map_err(|e| match e.as_trap_code() {
                Some(TrapCode::OutOfFuel) => End::TimedOut,
                Some(_) => End::of(&e),
                None if matches!(e.kind(), ErrorKind::Host(_)) => End::of(&e),
                None => End::NotStarted(e),
            })?;
        let start = instance.get_typed_func::<(), ()>(&*store, "_start").map_err(End::NotStarted)?;
        store.set_fuel(SLICE).expect("fuel is counted");
        let mut step = start.call_resumable(&mut *store, ()).map_err(|e| End::of(&e))?;
        loop {
            step = match step {
                TypedResumableCall::Finished(()) => return Ok(()),
                TypedResumableCall::HostTrap(trap) => return Err(End::of(trap.host_error())),
                TypedResumableCall::OutOfFuel(_) if is_over() => return Err(End::TimedOut),
                TypedResumableCall::OutOfFuel(paused) => {
                    let fuel = SLICE.saturating_add(paused.required_fuel());
                    store.set_fuel(fuel).expect("fuel is counted");
                    paused.resume(&mut *store).map_err(|e| End::of(&e))?
                }
            };
        }
    }

    /// What became of it. An error is one of starting: imports we do not have, no `_start`.
    fn status(
        end: std::result::Result<(), End>,
        wanted_too_much: bool,
        limits: &Limits,
    ) -> std::result::Result<Status, Fault> {
        match end {
            Ok(()) => Ok(Status::Exited(0)),
            Err(_) if wanted_too_much => {
                let why = format!("it wanted more than {} MiB of memory", limits.memory >> 20);
                Ok(Status::Trapped(why))
            }
            Err(End::TimedOut) => Ok(Status::TimedOut(limits.timeout)),
            Err(End::Status(status)) => Ok(status),
            Err(End::NotStarted(error)) => Err(Fault::NotStarted(error.to_string())),
        }
    }
}

#[cfg(not(feature = "wasm"))]
mod absent {
    use std::sync::Arc;

    use krm_yaml::{Diagnostic, Failure, Result};

    use crate::runtime::digests::Digests;
    use crate::runtime::{Action, Call, Output, Runner};

    /// There are none: this program was built without.
    pub(in crate::runtime) enum Modules {}

    impl Modules {
        pub(in crate::runtime) fn new(_digests: Arc<Digests>) -> Result<Self> {
            Err(Diagnostic::error("wasm-not-built", "this program was built without WebAssembly")
                .failing(Failure::NoSuchProgram)
                .help("build it with the feature `wasm`"))
        }
    }

    impl Runner for Modules {
        fn describe(&self, _call: &Call) -> Option<Action> {
            match *self {}
        }

        fn run(&self, _call: &Call) -> Result<Output> {
            match *self {}
        }
    }
}
