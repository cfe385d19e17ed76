//! A base, planned once and built once, however many kustomizations name it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use krm_yaml::{Result, Span};

use crate::pipeline::{Context, Pipeline, Transformer};
use crate::resource::list::Resources;
use crate::schema::Schema;
use crate::transformers::TransformerConfig;
use crate::transformers::vars::VarSet;

/// A kustomization as others see it: what it gives, and the rules it hands up.
pub struct Planned {
    pub pipeline: Pipeline,
    pub config: TransformerConfig,
    pub vars: VarSet,
    /// The schema it decided on for all that come after it.
    pub schema_chosen: Option<Arc<Schema>>,
    /// It has resources whose kind the built-in schema does not know.
    pub strangers: bool,
    /// Every folder it is made of, to tell cycles when it is used again.
    pub folders: Vec<PathBuf>,
    /// Bases stand above all bases they use.
    pub level: usize,
    /// A helm chart in it takes the namespace of whoever includes it.
    pub by_namespace: bool,
}

/// What is planned, how many want it, and what came of it where it was built ahead of them.
pub struct Base {
    pub planned: Planned,
    uses: AtomicUsize,
    built: Mutex<Option<Result<Resources>>>,
}

impl Base {
    pub fn new(planned: Planned) -> Arc<Self> {
        Arc::new(Self { planned, uses: AtomicUsize::new(0), built: Mutex::default() })
    }

    /// Whether several kustomizations use it, so that it is worth being built ahead of them.
    pub fn is_shared(&self) -> bool {
        self.uses.load(Ordering::Relaxed) > 1
    }

    /// Builds it ahead of its users. Done level by level: a thread that waits for a base while it holds another might
    /// wait for itself.
    pub fn build_ahead(&self, cx: &Context) {
        let built = self.build(cx);
        *self.built.lock().expect("no one panics while holding a base") = Some(built);
    }

    fn build(&self, cx: &Context) -> Result<Resources> {
        let mut items = Resources::new();
        self.planned.pipeline.transform(&mut items, cx)?;
        Ok(items)
    }
}

/// One use of a base.
pub struct Use {
    base: Arc<Base>,
    place: Span,
}

impl Use {
    pub fn new(base: Arc<Base>, place: Span) -> Self {
        base.uses.fetch_add(1, Ordering::Relaxed);
        Self { base, place }
    }
}

impl Transformer for Use {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let mut built = self.base.built.lock().expect("no one panics while holding a base");
        // The last user may have the resources themselves: nobody will look at them again, so editing need not copy.
        let ready = match self.base.uses.fetch_sub(1, Ordering::Relaxed) {
            1 => built.take(),
            _ => built.clone(),
        };
        drop(built);
        let resources = match ready {
            Some(resources) => resources,
            None => self.base.build(cx),
        };
        *items = resources.map_err(|d| d.included(self.place))?;
        Ok(())
    }
}
