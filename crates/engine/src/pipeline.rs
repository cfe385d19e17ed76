//! What runs: the one trait, and what it may ask for.

use std::sync::Mutex;

use krm_yaml::{Diagnostic, Result, Sources};

use crate::resources::Resources;
use crate::schema::Schema;
use crate::world::World;

/// A program that generates, changes or checks resources: built-ins, functions and whole pipelines alike.
///
/// The trait does not tell these apart; the caller does. A generator runs on an empty list and the result is absorbed,
/// a transformer runs in place, a validator runs on a copy.
pub trait Transformer: Send + Sync {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()>;
}

/// What a step may ask for.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub world: &'a dyn World,
    pub schema: &'a Schema,
    pub sources: &'a Sources,
    pub policy: &'a Policy,
    /// Warnings so far; an error under `--strict`.
    pub warnings: &'a Mutex<Vec<Diagnostic>>,
}

impl Context<'_> {
    /// Notes something the user should know though the run goes on.
    pub fn warn(&self, warning: Diagnostic) {
        self.warnings.lock().expect("no one panics while holding the warnings").push(warning);
    }
}

/// What the user allows, and how it is to be done.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// `--enable-alpha-plugins`: functions and legacy plugins may run at all.
    pub plugins: bool,
    /// `--enable-exec`: functions may be programs of this machine.
    pub exec: bool,
    /// `--network`: containers that ask for the network get it.
    pub network: bool,
    /// `--network-name`
    pub network_name: String,
    /// `--mount`, as written.
    pub mounts: Vec<String>,
    /// `--env`: `NAME=value`, or `NAME` to pass on the caller's.
    pub env: Vec<String>,
    /// `--as-current-user`: containers do not run as nobody.
    pub as_current_user: bool,
    /// `--enable-helm` and what belongs to it; `None` where charts may not be inflated.
    pub helm: Option<Helm>,
}

/// How charts are inflated.
#[derive(Clone, Debug, Default)]
pub struct Helm {
    /// `--helm-command`
    pub command: String,
    /// `--helm-api-versions`
    pub api_versions: Vec<String>,
    /// `--helm-kube-version`; empty where none was given.
    pub kube_version: String,
    /// `--helm-debug`
    pub debug: bool,
}
