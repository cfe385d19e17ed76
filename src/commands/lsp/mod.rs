//! `krm lsp`: what krm knows, for editors.

mod positions;
mod protocol;
mod requests;
mod server;
mod uri;
mod wire;

use std::collections::HashSet;
use std::io::{BufReader, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;
use krm_engine::{Diagnostic, Result};
use serde_json::Value;

use crate::cli::examples;
use server::Server;
use wire::Incoming;

/// Serve an editor: the Language Server Protocol on standard input and output
///
/// Reports problems while you type, completes fields, files and names, says where a value comes from, and renames, for
/// kustomizations, Compositions, Kptfiles and the resources they name. It runs no program and fetches nothing for a folder
/// that is opened. Editors start it by themselves: docs/editors.md has the settings for each.
#[derive(Debug, Args)]
#[command(after_help = examples::LSP)]
pub struct LspArgs {
    /// Accepted because some editors pass it: there is no other transport
    #[arg(long, hide = true)]
    stdio: bool,
}

/// After a silence of this length nobody is typing.
const PAUSE: Duration = Duration::from_millis(300);

/// Ids of requests that the client does not wait for any more.
type Cancelled = Arc<Mutex<HashSet<String>>>;

pub fn run(_: &LspArgs) -> Result<()> {
    let cancelled = Cancelled::default();
    let messages = listen(cancelled.clone());
    let mut server = Server::new(cancelled);
    let mut out = std::io::stdout().lock();
    let mut say =
        |messages: Vec<Value>| messages.iter().try_for_each(|message| wire::write(&mut out, message));
    loop {
        // Problems are found when nothing else is asked: of ten key presses in a row the last one counts.
        let message = match messages.try_recv() {
            Err(TryRecvError::Empty) => {
                if say(server.diagnose()).is_err() {
                    return Ok(());
                }
                match server.is_unfinished() {
                    false => messages.recv().ok(),
                    // What takes longer is looked for when nobody types.
                    true => match messages.recv_timeout(PAUSE) {
                        Err(RecvTimeoutError::Timeout) => {
                            if say(server.finish()).is_err() {
                                return Ok(());
                            }
                            continue;
                        }
                        received => received.ok(),
                    },
                }
            }
            received => received.ok(),
        };
        let Some(message) = message else { return Ok(()) };
        match message {
            Ok(Incoming::Notification { method, .. }) if method == "exit" => {
                let _ = out.flush();
                return match server.is_shut_down() {
                    true => Ok(()),
                    false => Err(Diagnostic::error("lsp-exit", "the editor ended without `shutdown`")),
                };
            }
            // The editor is gone when nobody reads what is said.
            Ok(message) => {
                if say(server.answer(message)).is_err() {
                    return Ok(());
                }
            }
            Err(error) => {
                let message = format!("the messages of the editor cannot be read: {error}");
                return Err(Diagnostic::error("lsp-stream", message).help(
                    "editors start this command; by itself it waits for messages of the Language Server Protocol",
                ));
            }
        }
    }
}

/// Reads messages as they come, so that a request can be cancelled before its turn.
fn listen(cancelled: Cancelled) -> Receiver<std::io::Result<Incoming>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut input = BufReader::new(std::io::stdin());
        while let Some(message) = wire::read(&mut input).transpose() {
            let is_last = message.is_err();
            if let Ok(Incoming::Notification { method, params }) = &message
                && method == "$/cancelRequest"
            {
                let id = params.get("id").map(Value::to_string).unwrap_or_default();
                cancelled.lock().expect("no one panics while holding the ids").insert(id);
                continue;
            }
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}
