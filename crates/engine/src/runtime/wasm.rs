//! WebAssembly modules that speak WASI preview 1: stdin to stdout, and nothing else of the machine.
//!
//! A module is compiled once; the machine code is kept on disk under the digest of the module, so that the next run
//! starts in a fraction of a millisecond.

use super::EnvVar;

#[cfg(not(feature = "wasm"))]
pub(super) use absent::Engine;
#[cfg(feature = "wasm")]
pub(super) use engine::Engine;

/// A module and how to start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The file; a relative one is relative to where this process runs.
    pub path: String,
    pub args: Vec<String>,
    /// All the environment it gets, besides the user's own additions.
    pub env: Vec<EnvVar>,
}

#[cfg(feature = "wasm")]
mod engine {
    use std::collections::HashMap;
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    use krm_yaml::{Diagnostic, Result};
    use wasmtime::{Config, Linker, ResourceLimiter, Store, Trap, UpdateDeadline};

    use crate::pipeline::policy::Limits;
    use crate::runtime::digests::Digests;
    use crate::runtime::wasi::{self, Exit, Machine, TooMuchOutput};
    use crate::runtime::{Output, Policy, Status, cache, environment};

    /// Room for a module's own calls, and with a reserve for ours, for the thread it runs on.
    const STACK: usize = 2 << 20;
    const THREAD_STACK: usize = STACK + (4 << 20);

    /// Compiles and runs modules.
    pub(in crate::runtime) struct Engine {
        engine: wasmtime::Engine,
        /// Where machine code is kept; `None` where there is no place that is ours alone.
        dir: Option<PathBuf>,
        loaded: Mutex<HashMap<String, wasmtime::Module>>,
    }

    /// Entries of a table; the largest programs have some ten thousand functions.
    const MOST_ENTRIES: usize = 1_000_000;

    /// What belongs to one call.
    struct Call {
        machine: Machine,
        most_memory: usize,
    }

    impl ResourceLimiter for Call {
        fn memory_growing(
            &mut self,
            _now: usize,
            wanted: usize,
            _most: Option<usize>,
        ) -> wasmtime::Result<bool> {
            // Ended rather than told no: few programs can do anything about it, and none can say it as clearly.
            if wanted > self.most_memory { Err(TooMuchMemory.into()) } else { Ok(true) }
        }

        fn table_growing(
            &mut self,
            _now: usize,
            wanted: usize,
            _most: Option<usize>,
        ) -> wasmtime::Result<bool> {
            Ok(wanted <= MOST_ENTRIES)
        }
    }

    #[derive(Debug)]
    struct TooMuchMemory;

    impl std::fmt::Display for TooMuchMemory {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "too much memory")
        }
    }
    impl std::error::Error for TooMuchMemory {}

    impl Engine {
        pub(in crate::runtime) fn new(policy: &Policy) -> Result<Self> {
            let mut config = Config::new();
            config.epoch_interruption(true).max_wasm_stack(STACK);
            let engine = wasmtime::Engine::new(&config).map_err(|e| {
                Diagnostic::error(
                    "wasm-not-available",
                    format!("WebAssembly does not run on this machine: {e}"),
                )
            })?;
            let dir = policy.cache_dir.as_deref().and_then(private_dir);
            Ok(Self { engine, dir, loaded: Mutex::default() })
        }

        pub(in crate::runtime) fn run(
            &self,
            module: &super::Module,
            policy: &Policy,
            digests: &Digests,
            input: Arc<Vec<u8>>,
        ) -> Result<Output> {
            let compiled = self.load(&module.path, digests)?;
            let env = environment(&module.env, policy);
            let env = env.iter().filter_map(|var| Some(format!("{}={}", var.name, var.resolve()?)));
            let args = std::iter::once(module.path.clone()).chain(module.args.iter().cloned());
            let most = policy.limits.output_for(input.len());
            let machine = Machine::new(args.collect(), env.collect(), input, most);
            self.call(compiled, machine, &policy.limits).map_err(|e| {
                Diagnostic::error("wasm-not-started", format!("`{}` cannot be started: {e}", module.path))
            })
        }

        /// The machine code of a module: loaded before, kept on disk, or made now.
        fn load(&self, path: &str, digests: &Digests) -> Result<wasmtime::Module> {
            let refused = |why: String| Diagnostic::error("wasm-not-loaded", format!("`{path}` {why}"));
            let unreadable = |error: std::io::Error| refused(format!("cannot be read: {error}"));
            let digest = digests.of(Path::new(path)).map_err(unreadable)?;
            let mut loaded = self.loaded.lock().expect("no one panics while holding the modules");
            if let Some(module) = loaded.get(&digest) {
                return Ok(module.clone());
            }
            let kept =
                self.dir.as_ref().map(|dir| dir.join(format!("{digest}.{}", env!("CARGO_PKG_VERSION"))));
            let module = match kept.as_deref().and_then(|file| self.read_kept(file)) {
                Some(module) => module,
                None => {
                    let bytes = fs::read(path).map_err(unreadable)?;
                    let module = wasmtime::Module::from_binary(&self.engine, &bytes).map_err(|e| {
                        refused(format!("is no module we can run: {e:#}"))
                            .help("build it for WASI preview 1, as Rust does for its target `wasm32-wasip1`")
                    })?;
                    if let (Some(file), Ok(code)) = (&kept, module.serialize()) {
                        // Without it the next run compiles again; that is no reason to fail this one.
                        let _ = cache::write(file, &code);
                    }
                    module
                }
            };
            loaded.insert(digest, module.clone());
            Ok(module)
        }

        /// Machine code an earlier run left behind. Code of another version of the engine, or for another processor, is
        /// refused by the engine itself and made anew.
        #[allow(unsafe_code)]
        fn read_kept(&self, file: &Path) -> Option<wasmtime::Module> {
            // Read rather than mapped: a file cut short while it is mapped ends the process.
            let code = fs::read(file).ok()?;
            // SAFETY: these must be bytes that `Module::serialize` gave. They come from a folder that belongs to this user
            // and that no one else can write to (`private_dir`), and are only ever put there whole (`cache::write`).
            unsafe { wasmtime::Module::deserialize(&self.engine, code) }.ok()
        }

        /// Runs a module on a thread of its own, with a stack that does not depend on who calls; this one keeps time.
        fn call(
            &self,
            module: wasmtime::Module,
            machine: Machine,
            limits: &Limits,
        ) -> wasmtime::Result<Output> {
            let start = Instant::now();
            let deadline = start + limits.timeout;
            let engine = self.engine.clone();
            let most_memory = usize::try_from(limits.memory).unwrap_or(usize::MAX);
            let (tell, ended) = mpsc::channel();
            let run = move || {
                let mut store = Store::new(&engine, Call { machine, most_memory });
                store.limiter(|call| call);
                // The epoch is the engine's, the deadline this call's: a tick for another call changes nothing here.
                store.epoch_deadline_callback(move |_| match Instant::now() >= deadline {
                    true => Ok(UpdateDeadline::Interrupt),
                    false => Ok(UpdateDeadline::Continue(1)),
                });
                store.set_epoch_deadline(1);
                let result = enter(&mut store, &module);
                let _ = tell.send((result, store.into_data().machine));
            };
            std::thread::Builder::new().name("wasm".into()).stack_size(THREAD_STACK).spawn(run)?;
            let (result, machine) = loop {
                match ended.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(done) => break done,
                    Err(RecvTimeoutError::Timeout) => self.engine.increment_epoch(),
                    Err(RecvTimeoutError::Disconnected) => wasmtime::bail!("the thread it ran on broke down"),
                }
            };
            let status = status(result, limits)?;
            let (stdout, stderr) = machine.into_output();
            let elapsed = start.elapsed();
            Ok(Output { stdout, stderr, stderr_dropped: 0, status, elapsed, cached: false })
        }
    }

    fn enter(store: &mut Store<Call>, module: &wasmtime::Module) -> wasmtime::Result<()> {
        let mut linker = Linker::new(module.engine());
        wasi::define(&mut linker, module, |call: &mut Call| &mut call.machine)?;
        let instance = linker.instantiate(&mut *store, module)?;
        instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(store, ())
    }

    /// What became of it. An error is one of starting: imports we do not have, no `_start`.
    fn status(result: wasmtime::Result<()>, limits: &Limits) -> wasmtime::Result<Status> {
        let Err(error) = result else { return Ok(Status::Exited(0)) };
        if let Some(Exit(code)) = error.downcast_ref() {
            return Ok(Status::Exited(*code));
        }
        if error.is::<TooMuchOutput>() {
            return Ok(Status::TooMuchOutput);
        }
        if error.is::<TooMuchMemory>() {
            let why = format!("it wanted more than {} MiB of memory", limits.memory >> 20);
            return Ok(Status::Trapped(why));
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => Ok(Status::TimedOut(limits.timeout)),
            Some(trap) => Ok(Status::Trapped(trap.to_string())),
            None => Err(error),
        }
    }

    /// A folder for machine code: ours, and closed to writing by others. What it holds is executed.
    fn private_dir(cache: &Path) -> Option<PathBuf> {
        let dir = cache.join("modules");
        cache::make_dir(&dir).ok()?;
        let ours = |path: &Path| {
            path.metadata().is_ok_and(|meta| {
                meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
            })
        };
        (ours(&dir) && ours(cache)).then_some(dir)
    }

    // Modules are shared between threads that run functions at the same time.
    const _: fn() = || {
        fn shared<T: Send + Sync>() {}
        shared::<Arc<Engine>>();
    };
}

#[cfg(not(feature = "wasm"))]
mod absent {
    use std::sync::Arc;

    use krm_yaml::{Diagnostic, Result};

    use crate::runtime::digests::Digests;
    use crate::runtime::{Output, Policy};

    /// There is none: this program was built without.
    pub(in crate::runtime) enum Engine {}

    impl Engine {
        pub(in crate::runtime) fn new(_policy: &Policy) -> Result<Self> {
            Err(Diagnostic::error("wasm-not-built", "this program was built without WebAssembly")
                .help("build it with the feature `wasm`"))
        }

        pub(in crate::runtime) fn run(
            &self,
            _: &super::Module,
            _: &Policy,
            _: &Digests,
            _: Arc<Vec<u8>>,
        ) -> Result<Output> {
            match *self {}
        }
    }
}
