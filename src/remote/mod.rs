//! Servers that speak the Remote Execution API (version 2, over gRPC): a cache of outputs, and functions that run elsewhere.
//!
//! From the wire up: [`channel`] carries messages, with what [`tls`] and [`crate::os::credentials`] say; [`client`] knows what a server
//! can do and repeats what may succeed later; [`blobs`], [`results`] and [`execute`] are the services. On top of it
//! [`cache`] keeps outputs for the engine, and [`executor`] runs what the engine gives it: [`action`] describes a call for the server,
//! [`starter`] starts programs there, [`sandbox`] finds out beforehand what the server keeps them from, and [`progress`] counts calls.
//!
//! Nothing a server says is taken for true: blobs are compared with their digests, sizes are limited before anything is
//! read, and a status is looked at before a result.

mod action;
mod address;
mod blobs;
mod cache;
mod channel;
mod client;
mod execute;
mod executor;
mod messages;
mod progress;
mod results;
mod sandbox;
mod starter;
mod status;
mod tls;

use std::time::Duration;

use krm_engine::Diagnostic;

use crate::os::certificates::Certificates;

pub use address::Address;
pub use cache::GrpcCache;
pub use executor::{Execution, Executor};
pub use progress::shown as calls_in_flight;

/// How to speak to a server.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Sent with every request: name and value.
    pub headers: Vec<(String, String)>,
    /// A program that gives further headers.
    pub credential_helper: Option<String>,
    /// Which part of a server is meant, if not the one in its address.
    pub instance: Option<String>,
    pub certificates: Certificates,
    /// How long one request may take.
    pub timeout: Duration,
    /// How often a request is repeated.
    pub retries: u32,
}

/// The error for a server that cannot be used.
fn failed(address: &Address, why: &str) -> Diagnostic {
    Diagnostic::error("remote-failed", format!("the server {address} cannot be used: {why}"))
}
