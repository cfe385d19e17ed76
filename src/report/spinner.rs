//! A sign of life for people who wait at a terminal.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{is_for_programs, sanitize};
use crate::os;

/// What takes less time needs no sign of life.
const PATIENCE: Duration = Duration::from_millis(500);

/// Something that moves while one waits. It is wiped away when dropped.
pub struct Spinner {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Starts one that says what is going on. In a pipe there is none.
    pub fn start(text: String) -> Option<Self> {
        if !std::io::stderr().is_terminal() || is_for_programs() {
            return None;
        }
        let text = clipped(&sanitize::shown(&text).replace('\n', " "));
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let goes_on = |wait| matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            if !goes_on(PATIENCE) {
                return;
            }
            for frame in ['|', '/', '-', '\\'].into_iter().cycle() {
                let seconds = start.elapsed().as_secs();
                os::say(&format!("\r{frame} {text} ({seconds} s{})\x1b[K", calls()));
                if !goes_on(Duration::from_millis(120)) {
                    break;
                }
            }
            os::say("\r\x1b[K");
        });
        Some(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// A line that wraps cannot be wiped away.
fn clipped(text: &str) -> String {
    const MOST: usize = 48;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What becomes of calls on servers.
fn calls() -> String {
    #[cfg(feature = "remote")]
    if let Some(calls) = crate::remote::calls_in_flight() {
        return format!("; {calls}");
    }
    String::new()
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
