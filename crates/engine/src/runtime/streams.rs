//! What goes to a process and what comes back from it.
//!
//! One thread serves all three streams: starting others takes longer than most functions do.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::process::{Capture, Keep};

/// The streams of one process.
pub(super) struct Streams {
    stdin: Option<File>,
    input: Arc<Vec<u8>>,
    written: usize,
    stdout: Stream,
    stderr: Stream,
    chunk: Vec<u8>,
}

struct Stream {
    /// `None` once it is closed.
    file: Option<File>,
    keep: Keep,
    capture: Capture,
}

impl Streams {
    /// The other ends of a process's standard input, output and error.
    pub(super) fn new(
        [stdin, stdout, stderr]: [OwnedFd; 3],
        input: Arc<Vec<u8>>,
        keep: [Keep; 2],
    ) -> io::Result<Self> {
        for fd in [&stdin, &stdout, &stderr] {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        let [all, end] = keep;
        let stream =
            |fd: OwnedFd, keep| Stream { file: Some(File::from(fd)), keep, capture: Capture::default() };
        Ok(Self {
            stdin: Some(File::from(stdin)),
            input,
            written: 0,
            stdout: stream(stdout, all),
            stderr: stream(stderr, end),
            chunk: vec![0; 64 * 1024],
        })
    }

    /// Whether the process has closed its output.
    pub(super) fn are_closed(&self) -> bool {
        self.stdout.file.is_none() && self.stderr.file.is_none()
    }

    pub(super) fn have_too_much(&self) -> bool {
        self.stdout.capture.is_too_much
    }

    pub(super) fn captured(self) -> [Capture; 2] {
        [self.stdout.capture, self.stderr.capture]
    }

    /// Passes on what there is, waiting for it until patience runs out. Says whether `end` has become readable.
    pub(super) fn pass(&mut self, end: Option<BorrowedFd<'_>>, patience: Duration) -> io::Result<bool> {
        let out = self.stdin.iter().map(|file| PollFd::new(file, PollFlags::OUT));
        let outputs = [&self.stdout, &self.stderr];
        let into = outputs.into_iter().filter_map(|stream| stream.file.as_ref());
        let into = into.map(|file| PollFd::new(file, PollFlags::IN));
        let awaits_end = end.is_some();
        let end = end.map(|end| PollFd::from_borrowed_fd(end, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = out.chain(into).chain(end).collect();
        // Further off than the system can count is as good as never.
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut fds, patience.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let has_ended = awaits_end && fds.last().is_some_and(|fd| !fd.revents().is_empty());
        self.write();
        self.stdout.read(&mut self.chunk);
        self.stderr.read(&mut self.chunk);
        Ok(has_ended)
    }

    fn write(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        while self.written < self.input.len() {
            match stdin.write(&self.input[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A program may leave its input unread: a closed pipe is not an error.
                Err(_) => break,
            }
        }
        self.stdin = None;
    }
}

impl Stream {
    /// Reads once: a program that never stops writing must not keep anyone from looking at the clock.
    fn read(&mut self, chunk: &mut [u8]) {
        let Some(file) = &mut self.file else { return };
        match file.read(chunk) {
            Ok(n) if n > 0 && self.capture.add(&chunk[..n], self.keep) => {}
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            _ => self.file = None,
        }
    }
}
