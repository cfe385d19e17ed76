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
pub struct Context<'a> {
    pub world: &'a dyn World,
    pub schema: &'a Schema,
    pub sources: &'a Sources,
    /// Warnings so far; an error under `--strict`.
    pub warnings: &'a Mutex<Vec<Diagnostic>>,
}

impl Context<'_> {
    /// Notes something the user should know though the run goes on.
    pub fn warn(&self, warning: Diagnostic) {
        self.warnings.lock().expect("no one panics while holding the warnings").push(warning);
    }
}
