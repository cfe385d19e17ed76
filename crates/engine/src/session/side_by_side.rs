//! Work side by side, by threads that compute or by threads that wait.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

/// Does work on every item; the results are in the order of the items.
///
/// `at_once` is how many functions may run elsewhere at the same time, which is how many threads may wait for them. If those
/// are more than the threads that compute, each gets a pool of its own: threads that share one look for work in each
/// other's queues before they sleep, which takes hundreds of them longer than the work does.
pub(super) fn side_by_side<T: Send, R: Send>(
    items: Vec<T>,
    at_once: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let threads = at_once.min(items.len());
    if threads <= rayon::current_num_threads() {
        return items.into_par_iter().map(&work).collect();
    }
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let open = Mutex::new(items.into_iter().zip(&mut results));
    let next = || open.lock().expect("no one panics while taking an item").next();
    let all = || {
        while let Some((item, result)) = next() {
            *result = Some(work(item));
        }
    };
    let alone = || match ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(all),
        Err(_) => all(),
    };
    thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, alone).ok();
        // As many as the system allows.
        let started: Vec<_> = (0..threads).map_while(start).collect();
        if started.is_empty() {
            all();
        }
        for thread in started {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    results.into_iter().map(|result| result.expect("every item was taken, and none panicked")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn as_many_wait_at_once_as_are_allowed_whatever_the_number_of_cores() {
        let together = Barrier::new(100);
        let wait = |number: usize| {
            together.wait();
            number * 2
        };
        let results = side_by_side((0..200).collect(), 100, wait);
        assert_eq!(results, (0..200).map(|number| number * 2).collect::<Vec<_>>());
    }
}
