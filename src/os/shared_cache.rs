//! What caches on servers have in common, whatever they speak: a server that fails costs a warning and time, and nobody waits
//! for uploads.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use krm_engine::Diagnostic;
use krm_engine::runtime::reapi::Digest;
use krm_engine::runtime::{Outputs, Store};

/// Outputs of up to this length are part of the result, so that one request is enough.
pub const INLINED: usize = 64 << 10;

/// A server that holds outputs. What it gives has been compared with its digest.
pub trait Server: Send + Sync + 'static {
    fn load(&self, key: &Digest, most: usize) -> Result<Option<Outputs>, Fault>;

    /// Blobs go first, so that no result ever names one that is missing.
    fn keep(&self, key: &Digest, outputs: Outputs) -> Result<(), Fault>;
}

/// A cache on a server.
pub struct SharedCache<S>(Arc<Shared<S>>);

struct Shared<S> {
    server: S,
    upload: bool,
    health: Health,
}

impl<S: Server> SharedCache<S> {
    /// The address is shown to the user, so it must not contain a password.
    pub fn new(server: S, address: String, upload: bool) -> Self {
        Self(Arc::new(Shared { server, upload, health: Health::new(address) }))
    }
}

impl<S> fmt::Debug for SharedCache<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedCache").field(&self.0.health).finish()
    }
}

impl<S: Server> Store for SharedCache<S> {
    fn load(&self, key: &Digest, most: usize) -> Option<Outputs> {
        let Shared { server, health, .. } = &*self.0;
        health.answers().then(|| health.note(server.load(key, most))).flatten().flatten()
    }

    fn keep(&self, key: &Digest, outputs: &Outputs) {
        if !self.0.upload || !self.0.health.takes() {
            return;
        }
        let (shared, key, outputs) = (self.0.clone(), key.clone(), outputs.clone());
        upload_later(outputs.stdout.len() + outputs.stderr.len(), move || {
            if shared.health.takes() {
                shared.health.note(shared.server.keep(&key, outputs));
            }
        });
    }
}

/// After this many failures in a row the server is not asked again.
const PATIENCE: u32 = 3;

/// How a server does in this run. The first failure is a warning; the others only cost time.
#[derive(Debug)]
struct Health {
    /// As the user wrote it, without a password.
    address: String,
    warned: AtomicBool,
    in_a_row: AtomicU32,
    is_given_up: AtomicBool,
    takes_nothing: AtomicBool,
}

/// What went wrong, as in "the cache `http://...` is full".
#[derive(Debug)]
pub struct Fault {
    pub what: String,
    pub help: Option<&'static str>,
    pub then: Then,
}

/// What happens to later requests of this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// They are made, unless this happens again and again.
    Continue,
    /// Nothing more is uploaded.
    StopUploading,
    /// None is made.
    GiveUp,
}

impl Fault {
    pub fn new(what: impl Into<String>, then: Then) -> Self {
        Self { what: what.into(), help: None, then }
    }

    pub fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }
}

impl Health {
    fn new(address: String) -> Self {
        Self {
            address,
            warned: AtomicBool::new(false),
            in_a_row: AtomicU32::new(0),
            is_given_up: AtomicBool::new(false),
            takes_nothing: AtomicBool::new(false),
        }
    }

    /// Whether it is worth asking.
    fn answers(&self) -> bool {
        !self.is_given_up.load(Ordering::Relaxed)
    }

    /// Whether it is worth uploading to.
    fn takes(&self) -> bool {
        self.answers() && !self.takes_nothing.load(Ordering::Relaxed)
    }

    /// Notes how a request went, and passes on what it gave.
    fn note<T>(&self, outcome: Result<T, Fault>) -> Option<T> {
        match outcome {
            Ok(given) => {
                self.in_a_row.store(0, Ordering::Relaxed);
                Some(given)
            }
            Err(fault) => {
                self.failed(&fault);
                None
            }
        }
    }

    fn failed(&self, fault: &Fault) {
        let in_a_row = self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
        match fault.then {
            Then::GiveUp => self.is_given_up.store(true, Ordering::Relaxed),
            Then::StopUploading => self.takes_nothing.store(true, Ordering::Relaxed),
            Then::Continue if in_a_row >= PATIENCE => self.is_given_up.store(true, Ordering::Relaxed),
            Then::Continue => {}
        }
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let message = format!("the cache `{}` {}", self.address, fault.what);
        let warning = Diagnostic::warning("remote-cache-failed", message);
        let warning = warning.help("the output is correct: what the cache cannot give is built here");
        super::note(match fault.help {
            Some(help) => warning.help(help),
            None => warning,
        });
    }
}

/// How many uploads are made at once, and how many bytes may wait for their turn.
const AT_ONCE: usize = 16;
const MOST_WAITING: usize = 64 << 20;

static UPLOADS: Uploads = Uploads { waiting: Mutex::new(Waiting::NONE), changed: Condvar::new() };

struct Uploads {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

struct Waiting {
    jobs: VecDeque<(usize, Job)>,
    bytes: usize,
    workers: usize,
}

type Job = Box<dyn FnOnce() + Send>;

impl Waiting {
    const NONE: Self = Self { jobs: VecDeque::new(), bytes: 0, workers: 0 };
}

/// Uploads in the background while the build goes on. `bytes` is how much.
fn upload_later(bytes: usize, job: impl FnOnce() + Send + 'static) {
    let mut waiting = UPLOADS.waiting.lock().expect("no one panics while holding the uploads");
    while waiting.bytes > MOST_WAITING {
        waiting = UPLOADS.changed.wait(waiting).expect("no one panics while holding the uploads");
    }
    waiting.bytes += bytes;
    waiting.jobs.push_back((bytes, Box::new(job)));
    if waiting.workers < AT_ONCE {
        waiting.workers += 1;
        drop(waiting);
        if std::thread::Builder::new().name("upload".into()).spawn(work).is_err() {
            work();
        }
    }
}

fn work() {
    let lock = || UPLOADS.waiting.lock().expect("no one panics while holding the uploads");
    loop {
        let mut waiting = lock();
        let Some((bytes, job)) = waiting.jobs.pop_front() else {
            waiting.workers -= 1;
            UPLOADS.changed.notify_all();
            return;
        };
        drop(waiting);
        job();
        lock().bytes -= bytes;
        UPLOADS.changed.notify_all();
    }
}

/// Waits for all uploads.
pub fn finish_uploads() {
    let mut waiting = UPLOADS.waiting.lock().expect("no one panics while holding the uploads");
    while waiting.workers > 0 {
        waiting = UPLOADS.changed.wait(waiting).expect("no one panics while holding the uploads");
    }
}
