//! From a tree of packages to a pipeline.

use std::sync::Arc;

use krm_yaml::{Diagnostic, Failure, Result, Span, Spanned};

use super::call::{Asked, Calling};
use super::kptfile::{FILE, Function, Kptfile};
use super::package_context::{self, PackageContext};
use super::progress::{call_of, say, say_holds};
use super::render::Settings;
use super::tree::{Tree, config_files, path};
use super::{krm, tree};
use crate::files::world::World;
use crate::pipeline::{
    Context, PackageEvent, Pipeline, Role, Scope, Step, StepField, StepName, Transformer, Work,
};
use crate::resource::Resource;
use crate::resource::list::Resources;
use crate::schema::Schema;

/// What all steps know. Nothing in here changes while they run: the state of a run is with its
/// [observer](super::progress::Recorder), so a plan can be run any number of times.
pub(super) struct Plan {
    pub tree: Arc<Tree>,
    pub settings: Settings,
    /// When the turn of each package comes.
    pub turns: Vec<usize>,
    /// What was done before a failure is to be kept.
    pub saves: bool,
}

impl Plan {
    /// The resources that each package itself was read with.
    pub(crate) fn own(&self) -> Vec<Vec<Resource>> {
        let mut own = vec![Vec::new(); self.tree.members.len()];
        self.tree.resources().into_iter().for_each(|r| own[self.tree.member_of(&r)].push(r));
        own
    }

    /// The packages in the order of their turns.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.turns.len()).collect();
        order.sort_by_key(|member| self.turns[*member]);
        order
    }
}

/// The turn of each package when children come before their parents.
pub(super) fn turns_children_first(tree: &Tree) -> Vec<usize> {
    fn visit(tree: &Tree, member: usize, next: &mut usize, turns: &mut [usize]) {
        tree.members[member].children.iter().for_each(|child| visit(tree, *child, next, turns));
        turns[member] = *next;
        *next += 1;
    }
    let mut turns = vec![0; tree.members.len()];
    visit(tree, 0, &mut 0, &mut turns);
    turns
}

/// The turn of each package when parents come before their children, level by level.
pub(super) fn turns_by_level(tree: &Tree) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tree.members.len()).collect();
    order.sort_by_key(|member| tree.members[*member].depth);
    let mut turns = vec![0; order.len()];
    order.into_iter().enumerate().for_each(|(turn, member)| turns[member] = turn);
    turns
}

/// A package's own resources, then those of its subpackages, each rendered; then its functions on all of them. Subpackages
/// know nothing about each other, so they run side by side.
pub(super) fn children_first(plan: &Arc<Plan>) -> Pipeline {
    package_and_below(plan, 0, &mut plan.own())
}

fn package_and_below(plan: &Arc<Plan>, member: usize, own: &mut [Vec<Resource>]) -> Pipeline {
    let mut steps = vec![included(plan, member, Work::Read(Arc::new(std::mem::take(&mut own[member]))))];
    for child in &plan.tree.members[member].children {
        steps.push(included(plan, *child, Work::new(package_and_below(plan, *child, own))));
    }
    steps.extend(functions(plan, member));
    pipeline(steps)
}

/// All resources; then the functions of each package, on what is its own and what is below, parents before their children.
pub(super) fn level_by_level(plan: &Arc<Plan>) -> Pipeline {
    let mut steps = vec![included(plan, 0, Work::Read(Arc::new(plan.tree.resources())))];
    for member in plan.order() {
        let sorted = Work::new(Sorting(plan.clone()));
        let mut own = vec![Step::new(name(plan, member, FILE, None), Span::NONE, Role::Transform, sorted)];
        own.extend(functions(plan, member));
        let own = Work::new(pipeline(own));
        let step = Step::new(name(plan, member, FILE, None), Span::NONE, Role::Transform, own);
        let tree = plan.tree.clone();
        let is_below = move |r: &Resource| tree.is_below(tree.member_of(r), member);
        steps.push(Step { scope: Scope::Part(Arc::new(is_below)), ..step });
    }
    pipeline(steps)
}

/// One function that no Kptfile names.
pub(super) fn one(plan: &Arc<Plan>, asked: Asked) -> Pipeline {
    pipeline(vec![Calling::step(
        plan,
        0,
        asked,
        StepName::of_root(StepField::named("eval")),
        Role::Transform,
    )])
}

fn pipeline(steps: Vec<Step>) -> Pipeline {
    Pipeline { steps, schema: Arc::new(Schema::builtin()) }
}

fn name(plan: &Plan, member: usize, field: &'static str, index: Option<usize>) -> StepName {
    let folder = plan.tree.members[member].folder.as_str();
    StepName::new(&Arc::from(if folder.is_empty() { "." } else { folder }), StepField::named(field), index)
}

fn included(plan: &Plan, member: usize, work: Work) -> Step {
    Step::new(name(plan, member, "resources", None), Span::NONE, Role::Include, work)
}

/// The functions of a package, on what there is of it and below. What is wrong with its Kptfile comes out when its turn
/// comes.
fn functions(plan: &Arc<Plan>, member: usize) -> Vec<Step> {
    let kptfile = plan.tree.kptfile_of(member).map(Arc::new);
    let opening = Opening { plan: plan.clone(), member, kptfile: kptfile.clone() };
    let transform =
        |field, work| Step::new(name(plan, member, field, None), Span::NONE, Role::Transform, work);
    let mut steps = vec![transform(FILE, Work::new(opening))];
    if let Ok(kptfile) = &kptfile {
        let all = [
            ("pipeline.mutators", &kptfile.pipeline.mutators, Role::Transform),
            ("pipeline.validators", &kptfile.pipeline.validators, Role::Inspect),
        ];
        for (field, functions, role) in all {
            let exec = plan.settings.runtime.policy().exec;
            let may_run = |function: &&Spanned<Function>| exec || !function.is_exec();
            if let Some(function) = functions.iter().find(|function| !may_run(function)) {
                let refusal = Refusal { member, function: function.clone(), role };
                steps.push(transform(field, Work::new(refusal)));
            }
            for (index, function) in functions.iter().enumerate() {
                let name = name(plan, member, field, Some(index));
                steps.push(match package_context::is_meant(function) {
                    true => PackageContext::step(plan, member, kptfile, function, name, role),
                    false => {
                        let asked = Asked::in_kptfile(function, &plan.tree.members[member].folder);
                        Calling::step(plan, member, asked, name, role)
                    }
                });
            }
        }
    }
    steps.push(transform(FILE, Work::new(Closing(member))));
    steps
}

/// Puts the resources of each package together, as functions see them.
struct Sorting(Arc<Plan>);

impl Transformer for Sorting {
    fn transform(&self, items: &mut Resources, _: &Context) -> Result<()> {
        items.as_vec_mut().sort_by_key(|r| self.0.tree.member_of(r));
        Ok(())
    }
}

/// The turn of a package has come: checks what its Kptfile says.
struct Opening {
    plan: Arc<Plan>,
    member: usize,
    kptfile: Result<Arc<Kptfile>>,
}

impl Transformer for Opening {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let Self { plan, member, kptfile } = self;
        let shown = plan.tree.members[*member].shown.clone();
        say(cx, *member, PackageEvent::Starts { shown });
        let kptfile = kptfile.as_ref().map_err(Clone::clone)?;
        if *member != 0 {
            self.check_config_files(kptfile, cx.world, cx)?;
        }
        self.configs_are_own(kptfile, items)?;
        if kptfile.pipeline.mutators.is_empty() && kptfile.pipeline.validators.is_empty() {
            krm::check_all(items.iter())?;
        }
        say_holds(cx, *member, items);
        Ok(())
    }
}

impl Opening {
    fn check_config_files(&self, kptfile: &Kptfile, world: &dyn World, cx: &Context) -> Result<()> {
        let tree = &self.plan.tree;
        let dir = tree.package().root().join(&tree.members[self.member].folder);
        config_files(world, &dir, kptfile, cx.sources)
    }

    /// Refuses a `configPath` that names no resource of this very package.
    fn configs_are_own(&self, kptfile: &Kptfile, items: &Resources) -> Result<()> {
        let tree = &self.plan.tree;
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
    member: usize,
    function: Spanned<Function>,
    role: Role,
}

impl Transformer for Refusal {
    fn transform(&self, _: &mut Resources, cx: &Context) -> Result<()> {
        let exec = &self.function.exec;
        let message = format!("`{}` is a program of this machine, which may not run", **exec);
        let refused = Diagnostic::error("exec-not-allowed", message)
            .failing(Failure::NotEnabled)
            .at(exec.span())
            .help("it would run with your rights: if you trust the package, pass `--allow-exec`");
        let called = call_of(&self.function, exec, self.role).not_called(&refused);
        say(cx, self.member, PackageEvent::NotCalled(called));
        Err(refused)
    }
}

/// All functions of a package have run.
struct Closing(usize);

impl Transformer for Closing {
    fn transform(&self, _: &mut Resources, cx: &Context) -> Result<()> {
        say(cx, self.0, PackageEvent::Ended);
        Ok(())
    }
}
