//! `--exec`: a command of the user's that runs whenever results changed.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use krm_engine::{Diagnostic, Node, Result};

use crate::report::Report;

const FORMAT: &str = "krm.watch/1";

/// What changed, for the command to read.
#[derive(Debug, Default)]
pub struct News {
    /// Relative to the current folder.
    pub files: BTreeSet<String>,
    pub targets: BTreeSet<String>,
}

/// Takes what changed to the command.
pub type Messenger = Sender<News>;

/// Runs the command on a thread, so that watching goes on, until the messenger is gone. One run at a time: what changes
/// meanwhile is one more run.
pub fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    command: &str,
    report: &'env Report,
) -> Result<Messenger> {
    let words = shlex::split(command).filter(|words| !words.is_empty()).ok_or_else(|| {
        Diagnostic::error("watch-exec", format!("`{command}` does not name a program to run"))
            .help("write it as you would in a shell: `--exec 'kubectl apply -f rendered/'`")
    })?;
    let (messenger, received) = channel();
    scope.spawn(move || run_all(&words, &received, report));
    Ok(messenger)
}

fn run_all(words: &[String], received: &Receiver<News>, report: &Report) {
    while let Ok(mut news) = received.recv() {
        for newer in received.try_iter() {
            news.files.extend(newer.files);
            news.targets.extend(newer.targets);
        }
        if let Err(error) = run(words, &news) {
            report.show(&error);
        }
    }
}

fn run(words: &[String], news: &News) -> Result<()> {
    let failed = |why: String| Diagnostic::error("watch-exec", format!("`{}` {why}", words.join(" ")));
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // It need not read its input.
        let _ = stdin.write_all(news.json().as_bytes());
    }
    let status = child.wait().map_err(|error| failed(format!("was lost: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(failed(format!("failed: {status}"))),
    }
}

impl News {
    fn json(&self) -> String {
        let list = |names: &BTreeSet<String>| -> Node {
            names.iter().map(|name| Node::from(name.as_str())).collect::<Vec<_>>().into()
        };
        let mut object = Node::map();
        object.set("format", FORMAT);
        object.set("files", list(&self.files));
        object.set("targets", list(&self.targets));
        krm_yaml::json::pretty(&object) + "\n"
    }
}
