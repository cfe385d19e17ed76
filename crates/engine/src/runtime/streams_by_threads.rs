//! What goes to a process and what comes back from it, on systems that cannot wait for several streams at once.

use std::io::{ErrorKind, Read, Write};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use super::process::{Capture, Keep};

/// The streams of one process.
pub(super) struct Streams {
    closed: Receiver<(usize, Capture)>,
    captured: [Option<Capture>; 2],
}

impl Streams {
    pub(super) fn new(child: &mut Child, input: Arc<Vec<u8>>, keep: [Keep; 2]) -> Self {
        let (tell, closed) = mpsc::channel();
        let [all, end] = keep;
        drain(0, child.stdout.take(), all, tell.clone());
        drain(1, child.stderr.take(), end, tell);
        let stdin = child.stdin.take();
        thread::spawn(move || {
            // A program may leave its input unread: a closed pipe is not an error.
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(&input);
            }
        });
        Self { closed, captured: [None, None] }
    }

    /// Whether the process has closed its output.
    pub(super) fn are_closed(&self) -> bool {
        self.captured.iter().all(Option::is_some)
    }

    pub(super) fn have_too_much(&self) -> bool {
        self.captured.iter().flatten().any(|capture| capture.is_too_much)
    }

    pub(super) fn captured(self) -> [Capture; 2] {
        self.captured.map(Option::unwrap_or_default)
    }

    /// Waits until a stream is closed or patience runs out.
    pub(super) fn pass(&mut self, patience: Duration) {
        if let Ok((which, capture)) = self.closed.recv_timeout(patience) {
            self.captured[which] = Some(capture);
        }
    }
}

fn drain(
    which: usize,
    stream: Option<impl Read + Send + 'static>,
    keep: Keep,
    tell: Sender<(usize, Capture)>,
) {
    thread::spawn(move || {
        let (mut capture, mut chunk) = (Capture::default(), vec![0; 64 * 1024]);
        if let Some(mut stream) = stream {
            loop {
                match stream.read(&mut chunk) {
                    Ok(n) if n > 0 && capture.add(&chunk[..n], keep) => {}
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    _ => break,
                }
            }
        }
        // The one who asked may have given up already.
        let _ = tell.send((which, capture));
    });
}
