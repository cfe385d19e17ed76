//! From a tree of packages to a pipeline.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Result, Span, Spanned};

use super::call::{Asked, Calling};
use super::kptfile::{FILE, Function, Kptfile};
use super::package_context::{self, PackageContext};
use super::progress::{Called, Event};
use super::render::Run;
use super::tree::{config_files, path};
use super::{krm, tree};
use crate::files::world::World;
use crate::pipeline::{Context, Pipeline, Role, Scope, Step, StepField, StepName, Transformer, Work};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::schema::Schema;

/// A package's own resources, then those of its subpackages, each rendered; then its functions on all of them. Subpackages
/// know nothing of each other, so they run side by side.
pub(super) fn children_first(run: &Arc<Run>) -> Pipeline {
    let mut own: Vec<Vec<Resource>> = vec![Vec::new(); run.tree.members.len()];
    run.tree.resources().into_iter().for_each(|r| own[run.tree.member_of(&r)].push(r));
    package_and_below(run, 0, &mut own)
}

fn package_and_below(run: &Arc<Run>, member: usize, own: &mut [Vec<Resource>]) -> Pipeline {
    let mut steps = vec![included(run, member, Work::Read(Arc::new(std::mem::take(&mut own[member]))))];
    for child in &run.tree.members[member].children {
        steps.push(included(run, *child, Work::new(package_and_below(run, *child, own))));
    }
    steps.extend(functions(run, member));
    pipeline(steps)
}

/// All resources; then the functions of each package, on what is its own and what is below, parents before their children.
pub(super) fn level_by_level(run: &Arc<Run>) -> Pipeline {
    let mut steps = vec![included(run, 0, Work::Read(Arc::new(run.tree.resources())))];
    for member in run.order() {
        let sorted = Work::new(Sorting(run.clone()));
        let mut own = vec![Step::new(name(run, member, FILE, None), Span::NONE, Role::Transform, sorted)];
        own.extend(functions(run, member));
        let own = Work::new(pipeline(own));
        let step = Step::new(name(run, member, FILE, None), Span::NONE, Role::Transform, own);
        let tree = run.tree.clone();
        let is_below = move |r: &Resource| tree.is_below(tree.member_of(r), member);
        steps.push(Step { scope: Scope::Part(Arc::new(is_below)), ..step });
    }
    pipeline(steps)
}

/// One function that no Kptfile names.
pub(super) fn one(run: &Arc<Run>, asked: Asked) -> Pipeline {
    pipeline(vec![Calling::step(run, 0, asked, StepName::of_root(StepField::named("eval")), Role::Transform)])
}

fn pipeline(steps: Vec<Step>) -> Pipeline {
    Pipeline { steps, schema: Arc::new(Schema::builtin()) }
}

fn name(run: &Run, member: usize, field: &'static str, index: Option<usize>) -> StepName {
    let folder = run.tree.members[member].folder.as_str();
    StepName::new(&Arc::from(if folder.is_empty() { "." } else { folder }), StepField::named(field), index)
}

fn included(run: &Run, member: usize, work: Work) -> Step {
    Step::new(name(run, member, "resources", None), Span::NONE, Role::Include, work)
}

/// The functions of a package, on what there is of it and below. What is wrong with its Kptfile comes out when its turn
/// comes.
fn functions(run: &Arc<Run>, member: usize) -> Vec<Step> {
    let kptfile = run.tree.kptfile_of(member).map(Arc::new);
    let opening = Opening { run: run.clone(), member, kptfile: kptfile.clone() };
    let transform =
        |field, work| Step::new(name(run, member, field, None), Span::NONE, Role::Transform, work);
    let mut steps = vec![transform(FILE, Work::new(opening))];
    if let Ok(kptfile) = &kptfile {
        let all = [
            ("pipeline.mutators", &kptfile.pipeline.mutators, Role::Transform),
            ("pipeline.validators", &kptfile.pipeline.validators, Role::Inspect),
        ];
        for (field, functions, role) in all {
            let exec = run.settings.runtime.policy().exec;
            let may_run = |function: &&Spanned<Function>| exec || !function.is_exec();
            if let Some(function) = functions.iter().find(|function| !may_run(function)) {
                let refusal = Refusal { run: run.clone(), member, function: function.clone(), role };
                steps.push(transform(field, Work::new(refusal)));
            }
            for (index, function) in functions.iter().enumerate() {
                let name = name(run, member, field, Some(index));
                steps.push(match package_context::is_meant(function) {
                    true => PackageContext::step(run, member, kptfile, function, name, role),
                    false => {
                        let asked = Asked::in_kptfile(function, &run.tree.members[member].folder);
                        Calling::step(run, member, asked, name, role)
                    }
                });
            }
        }
    }
    steps.push(transform(FILE, Work::new(Closing { run: run.clone(), member })));
    steps
}

/// Puts the resources of each package together, as functions see them.
struct Sorting(Arc<Run>);

impl Transformer for Sorting {
    fn transform(&self, items: &mut Resources, _: &Context) -> Result<()> {
        items.as_vec_mut().sort_by_key(|r| self.0.tree.member_of(r));
        Ok(())
    }
}

/// The turn of a package has come: checks what its Kptfile says.
struct Opening {
    run: Arc<Run>,
    member: usize,
    kptfile: Result<Arc<Kptfile>>,
}

impl Transformer for Opening {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let Self { run, member, kptfile } = self;
        run.say(*member, Event::Package(run.tree.members[*member].shown.clone()));
        let kptfile = kptfile.as_ref().map_err(Clone::clone)?;
        if *member != 0 {
            self.check_config_files(kptfile, cx.world, cx)?;
        }
        self.configs_are_own(kptfile, items)?;
        if kptfile.pipeline.mutators.is_empty() && kptfile.pipeline.validators.is_empty() {
            krm::check_all(items.iter())?;
        }
        run.keep(*member, items);
        Ok(())
    }
}

impl Opening {
    fn check_config_files(&self, kptfile: &Kptfile, world: &dyn World, cx: &Context) -> Result<()> {
        let tree = &self.run.tree;
        let dir = tree.package().root().join(&tree.members[self.member].folder);
        config_files(world, &dir, kptfile, cx.sources)
    }

    /// Refuses a `configPath` that names no resource of this very package.
    fn configs_are_own(&self, kptfile: &Kptfile, items: &Resources) -> Result<()> {
        let tree = &self.run.tree;
        for function in kptfile.pipeline.mutators.iter().chain(&kptfile.pipeline.validators) {
            let Some(written) = &function.config_path else { continue };
            let whole = tree::config_path(&tree.members[self.member].folder, written);
            let is_it = |r: &&Resource| tree.member_of(r) == self.member && path(r) == whole;
            if items.iter().filter(is_it).count() != 1 {
                let message = format!("`{}` is not a resource of this package", written.as_str());
                return Err(Diagnostic::error("function-config-elsewhere", message)
                    .at(written.span())
                    .help("name a `.yaml`, `.yml` or `.json` file of this package; those of subpackages do not count"));
            }
        }
        Ok(())
    }
}

/// A program of this machine is among the functions to come, and none may run.
struct Refusal {
    run: Arc<Run>,
    member: usize,
    function: Spanned<Function>,
    role: Role,
}

impl Transformer for Refusal {
    fn transform(&self, _: &mut Resources, _: &Context) -> Result<()> {
        let exec = &self.function.exec;
        let message = format!("`{}` is a program of this machine, which may not run", **exec);
        let refused = Diagnostic::error("exec-not-allowed", message)
            .failing(Failure::NotEnabled)
            .at(exec.span())
            .help("it would run with your rights: if you trust the package, pass `--allow-exec`");
        let called = Called::new(&self.function, exec, self.role).not_called(&refused);
        self.run.say(self.member, Event::NotCalled(called));
        Err(refused)
    }
}

/// All functions of a package have run.
struct Closing {
    run: Arc<Run>,
    member: usize,
}

impl Transformer for Closing {
    fn transform(&self, _: &mut Resources, _: &Context) -> Result<()> {
        self.run.finished(self.member);
        Ok(())
    }
}
