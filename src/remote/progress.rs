//! How many calls wait, run and have ended on servers, for people who wait at a terminal.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The calls of this run, whichever server they are on.
static CALLS: Calls = Calls::new();

struct Calls {
    queued: AtomicUsize,
    running: AtomicUsize,
    cached: AtomicUsize,
    done: AtomicUsize,
}

impl Calls {
    const fn new() -> Self {
        let [queued, running, cached, done] = [const { AtomicUsize::new(0) }; 4];
        Self { queued, running, cached, done }
    }

    fn shown(&self) -> Option<String> {
        let counts = [
            (&self.queued, "queued"),
            (&self.running, "running"),
            (&self.cached, "cached"),
            (&self.done, "done"),
        ];
        let counts = counts.map(|(count, what)| (count.load(Ordering::Relaxed), what));
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let some: Vec<String> = some.map(|(count, what)| format!("{count} {what}")).collect();
        (!some.is_empty()).then(|| some.join(", "))
    }
}

/// In a few words; `None` if there are no calls.
pub fn shown() -> Option<String> {
    CALLS.shown()
}

/// Counts a call that a worker has run.
pub fn ran() {
    CALLS.done.fetch_add(1, Ordering::Relaxed);
}

/// Counts a call whose result was in the cache.
pub fn was_cached() {
    CALLS.cached.fetch_add(1, Ordering::Relaxed);
}

/// A call that a server has, until it is dropped: it waits for a worker first.
pub struct InFlight(AtomicBool);

impl InFlight {
    pub fn new() -> Self {
        CALLS.queued.fetch_add(1, Ordering::Relaxed);
        Self(AtomicBool::new(false))
    }

    /// A worker has it.
    pub fn runs(&self) {
        if !self.0.swap(true, Ordering::Relaxed) {
            CALLS.running.fetch_add(1, Ordering::Relaxed);
            CALLS.queued.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let count = if *self.0.get_mut() { &CALLS.running } else { &CALLS.queued };
        count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_where_they_are() {
        assert_eq!(shown(), None);
        let (one, other) = (InFlight::new(), InFlight::new());
        assert_eq!(shown().unwrap(), "2 queued");
        one.runs();
        one.runs();
        assert_eq!(shown().unwrap(), "1 queued, 1 running");
        drop(one);
        ran();
        drop(other);
        was_cached();
        assert_eq!(shown().unwrap(), "1 cached, 1 done");
    }
}
