//! Packages: folders with a Kptfile, or with functions that their files declare.

use std::path::Path;
use std::sync::Arc;

use krm_engine::kpt::{self, Images, Render, Settings, Tree};
use krm_engine::package::{self, Limits, Package, Planned, Surroundings};
use krm_engine::policy::Policy;
use krm_engine::runtime::Runtime;
use krm_engine::trace::Tracer;
use krm_engine::{Diagnostic, Resources, Result, Trace, World};

use crate::commands::diff::is_layer;
use crate::commands::function::packages::{follow_link, local_tags};
use crate::os::{self, Disk};
use crate::report::Report;

/// Runs the functions of packages, and keeps what each of them changed.
pub(super) struct Packages<'a> {
    pub disk: &'a Disk,
    pub policy: &'a Policy,
    pub report: &'a Report,
}

type Traced = (Result<Resources>, Arc<Trace>);

impl Packages<'_> {
    /// What the functions of a package made of it; `None` for a folder that is not a package, or is built otherwise.
    pub fn trace(&self, target: &str) -> Option<Traced> {
        let folder = Path::new(target);
        if !folder.is_dir() || is_layer(self.disk, target) {
            return None;
        }
        let tracer = Tracer::default();
        let ran = match self.disk.is_file(&folder.join(kpt::FILE)) {
            true => self.render(folder, &tracer),
            false => self.declared(folder, &tracer)?,
        };
        let trace = match &ran {
            Ok(resources) => tracer.finish(resources),
            Err(_) => tracer.finish_failed(),
        };
        Some((ran.map_err(|error| error.located(&self.report.sources)), Arc::new(trace)))
    }

    /// As `krm fn render` does.
    fn render(&self, folder: &Path, tracer: &Tracer) -> Result<Resources> {
        let sources = &self.report.sources;
        let folder = follow_link(folder)?;
        let kptfile = kpt::root_kptfile(self.disk, &folder, sources)?;
        let tree = Arc::new(Tree::read(self.disk, &folder, kptfile, sources)?);
        let runtime = Arc::new(Runtime::new(self.policy()));
        let settings = Settings {
            dir: os::current_dir()?,
            // Nothing is written.
            allow_empty: true,
            images: Images::new(&os::variable("KPT_IMAGE_PREFIX").unwrap_or_default())?,
            tags: Arc::new(local_tags),
            runtime: runtime.clone(),
        };
        let outcome = Render::plan(&tree, settings).run(self.surroundings(&runtime, tracer));
        match outcome.failure {
            Some(failure) => Err(failure),
            None => Ok(Resources::from_vec(outcome.resources)),
        }
    }

    /// As `krm fn run` does; `None` if nothing declares a function.
    fn declared(&self, folder: &Path, tracer: &Tracer) -> Option<Result<Resources>> {
        let sources = &self.report.sources;
        let package = Arc::new(Package::read(self.disk, folder, sources).ok()?);
        let runtime = Arc::new(Runtime::new(self.policy()));
        let (dir, root) = match (os::current_dir(), os::absolute(folder)) {
            (Ok(dir), Ok(root)) => (dir, root),
            (Err(error), _) | (_, Err(error)) => return Some(Err(error)),
        };
        let resources = package.resources();
        let planned = match Planned::declared(&resources, &dir, Some(&root), &runtime) {
            Ok(planned) if planned.is_empty() => return None,
            Ok(planned) => planned,
            Err(error) => return Some(Err(error)),
        };
        let limits = Limits { allow_empty: false, in_files: true, package: Some(package) };
        let with = self.surroundings(&runtime, tracer);
        let outcome = package::run(package::pipeline(planned, &limits), resources, with);
        Some(outcome.finished().and_then(|(resources, deferred)| match Diagnostic::join(deferred) {
            Some(error) => Err(error),
            None => Ok(Resources::from_vec(resources)),
        }))
    }

    /// No progress is shown: the explanation itself says what each function did.
    fn surroundings<'s>(&'s self, runtime: &'s Runtime, tracer: &'s Tracer) -> Surroundings<'s> {
        let (world, sources) = (self.disk, &self.report.sources);
        Surroundings { world, sources, runtime, observer: None, trace: Some(tracer) }
    }

    /// What functions of packages may do: what is asked for is to run them, but only within what the command line allows.
    fn policy(&self) -> Policy {
        Policy { functions: true, ..self.policy.clone() }
    }
}
