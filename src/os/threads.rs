//! Work on many files at once, on threads of its own: those of the build may wait for what is done here.

use std::thread::{Builder, ScopedJoinHandle, available_parallelism, scope};

/// How many calls that wait for the disk are made at once. A disk, more so one that is reached over a network, answers many
/// together in hardly more time than one.
const WAITING: usize = 16;
/// Fewer items than this are not worth a thread.
const WORTH_A_THREAD: usize = 32;

/// Runs a function that computes on every item, on all cores.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    on_threads(available_parallelism().map_or(1, usize::from), items, work)
}

/// Runs a function that waits for the disk on every item, however few cores there are.
pub fn while_waiting<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    on_threads(WAITING, items, work)
}

fn on_threads<T: Sync, R: Send>(most: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = most.min(items.len() / WORTH_A_THREAD);
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    scope(|scope| {
        let chunks = items.chunks(items.len().div_ceil(threads));
        let running: Vec<_> = chunks
            .map(|chunk| {
                let run = move || chunk.iter().map(work).collect::<Vec<R>>();
                // If the system allows no more threads, this one does it.
                Builder::new().spawn_scoped(scope, run).map_err(|_| run())
            })
            .collect();
        let done = |thread: Result<ScopedJoinHandle<'_, Vec<R>>, Vec<R>>| match thread {
            Ok(thread) => thread.join().expect("the work does not panic"),
            Err(done) => done,
        };
        running.into_iter().flat_map(done).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 33, 64, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = (0..count).map(|item| item * 2).collect();
            assert_eq!(in_parallel(&items, |item| item * 2), doubled);
            assert_eq!(while_waiting(&items, |item| item * 2), doubled);
        }
    }

    #[test]
    fn many_wait_at_once_however_few_cores_there_are() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(10);
        while_waiting(&[(); WAITING * WORTH_A_THREAD], |()| {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            while most.load(SeqCst) < WAITING && Instant::now() < deadline {
                thread::yield_now();
            }
            now.fetch_sub(1, SeqCst);
        });
        assert_eq!(most.into_inner(), WAITING);
    }
}
