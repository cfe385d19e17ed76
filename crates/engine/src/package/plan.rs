//! From a package to a pipeline: which functions run, in what order, on what, and what they may leave.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::{Arc, Mutex};

use krm_function::Object;
use krm_yaml::{Diagnostic, Result, Sources, Span, Text};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Package;
use crate::files::world::World;
use crate::functions::{Form, Function};
use crate::pipeline::{
    Call, Context, Observer, Pipeline, Ran, Role, Scope, Step, StepField, StepName, Tracer, Transformer, Work,
};
use crate::resource::list::Resources;
use crate::resource::{Home, Resource};
use crate::runtime::Runtime;
use crate::schema::Schema;

/// A function, what it works on, and where it is declared.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The program and its configuration.
    pub function: Function,
    /// Which resources it is given.
    pub scope: Scope,
    /// `None` for one that is named on the command line.
    pub home: Option<Home>,
}

impl Planned {
    /// A function that works on everything.
    pub fn on_everything(function: Function, home: Option<&Home>) -> Self {
        Self { function, scope: Scope::Everything, home: home.cloned() }
    }

    /// The functions that resources declare: those in the deepest folder first, then by the name of the folder, then as
    /// they are in files. Refuses those that the user did not allow, all of them at once.
    ///
    /// `dir` is where programs run, `root` the folder of the package.
    pub fn declared(
        resources: &[Resource],
        dir: &Path,
        root: Option<&Path>,
        runtime: &Arc<Runtime>,
    ) -> Result<Vec<Self>> {
        let mut planned = Vec::new();
        let mut refused = Vec::new();
        for resource in resources {
            let home = resource.home.as_deref();
            let folder = home.map_or("", |home| home.path.rsplit_once('/').map_or("", |(folder, _)| folder));
            let local = root.map(|root| root.join(folder));
            match Function::from_resource(resource, dir, local.as_deref(), runtime) {
                Ok(Some(function)) => {
                    planned.push(Self { scope: Scope::of(home), ..Self::on_everything(function, home) });
                }
                Ok(None) => {}
                Err(error) => refused.push(error),
            }
        }
        planned.sort_by_key(|planned| {
            let folder = planned.scope.folder().to_owned();
            let depth = if folder.is_empty() { 0 } else { folder.split('/').count() };
            (Reverse(depth), folder)
        });
        match Diagnostic::join(refused) {
            Some(error) => Err(error),
            None => Ok(planned),
        }
    }

    /// The step that runs it, and checks what it leaves.
    fn step(self, limits: &Limits) -> Step {
        let Self { mut function, scope, home } = self;
        function.form = Form::AsWritten;
        let (folder, field) = match home.as_ref().map(|home| home.path.as_str()) {
            None => (Arc::default(), Text::from(function.name())),
            Some(path) => match path.rsplit_once('/') {
                Some((folder, file)) => (folder.into(), file.into()),
                None => (".".into(), path.into()),
            },
        };
        let index = home.map(|home| home.index as u32).filter(|index| *index > 0);
        let (name, place) = (StepName { folder, field: StepField::Named(field), index }, function.place());
        let work = Work::new(Checked { function, limits: limits.clone() });
        Step { scope, ..Step::new(name, place, Role::Transform, work) }
    }
}

/// What functions may leave of a package.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// They may remove everything there is.
    pub allow_empty: bool,
    /// The resources are kept in files, so that each new one needs a location.
    pub in_files: bool,
    /// Where those files are; nowhere in particular without one.
    pub package: Option<Arc<Package>>,
}

/// The steps for functions, in this order.
pub fn pipeline(functions: Vec<Planned>, limits: &Limits) -> Pipeline {
    let steps = functions.into_iter().map(|function| function.step(limits)).collect();
    Pipeline { steps, schema: Arc::new(Schema::builtin()) }
}

/// What the functions of a package need to run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Where files are read.
    pub world: &'a dyn World,
    /// The texts that spans point into; outputs of functions are added to them.
    pub sources: &'a Sources,
    /// Runs them, by its policy.
    pub runtime: &'a Runtime,
    /// Hears of progress and results.
    pub observer: Option<&'a dyn Observer>,
    /// Records what each function changes, if anyone wants to know.
    pub trace: Option<&'a Tracer>,
}

/// What is left when all have run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// All of them, including those that no function saw.
    pub resources: Vec<Resource>,
    /// Why it ended before all had run, if it did.
    pub failure: Option<Diagnostic>,
    /// Failures that were not to stop the others.
    pub deferred: Vec<Diagnostic>,
}

impl Outcome {
    /// The resources and what was deferred; an error if it ended early.
    pub fn finished(self) -> Result<(Vec<Resource>, Vec<Diagnostic>)> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok((self.resources, self.deferred)),
        }
    }
}

/// Runs a pipeline on the resources of a package. The first failure ends it, unless the function says that its failures may
/// wait; what the steps before it left is in the outcome all the same.
pub fn run(pipeline: Pipeline, resources: Vec<Resource>, with: Surroundings) -> Outcome {
    let deferred = Deferred { observer: with.observer, failures: Mutex::default() };
    let (schema, warnings) = (pipeline.schema.clone(), Mutex::default());
    let cx = Context {
        world: with.world,
        schema: &schema,
        sources: with.sources,
        runtime: with.runtime,
        warnings: &warnings,
        trace: with.trace,
        observer: Some(&deferred),
    };
    let mut items = Resources::from_vec(resources);
    number(items.iter_mut_unindexed(), 0);
    if let Some(tracer) = with.trace {
        tracer.given(&mut items);
    }
    let failure = pipeline.run(&mut items, &cx).err();
    let deferred = deferred.failures.into_inner().expect("no one panics while holding failures");
    Outcome { resources: items.into_vec(), failure, deferred }
}

/// Counts the resources that have not been counted yet, from a number on.
fn number<'r>(resources: impl Iterator<Item = &'r mut Resource>, from: usize) {
    let homes = resources.filter_map(|r| r.home.as_deref_mut()).filter(|home| home.number.is_none());
    homes.zip(from..).for_each(|(home, number)| home.number = Some(number));
}

/// Passes on what happens, and keeps failures that may wait.
struct Deferred<'a> {
    observer: Option<&'a dyn Observer>,
    failures: Mutex<Vec<Diagnostic>>,
}

impl Observer for Deferred<'_> {
    fn step(&self, step: &Step, given: usize) {
        self.observer.iter().for_each(|observer| observer.step(step, given));
    }

    fn starts(&self, call: &Call) {
        self.observer.iter().for_each(|observer| observer.starts(call));
    }

    fn ended(&self, call: &Call, ran: &Ran) -> Result<()> {
        self.observer.map_or(Ok(()), |observer| observer.ended(call, ran))
    }

    fn deferred(&self, failure: Diagnostic) {
        self.observer.iter().for_each(|observer| observer.deferred(failure.clone()));
        self.failures.lock().expect("no one panics while holding failures").push(failure);
    }
}

/// A function that is checked: what it leaves of a package, and where what it adds goes. If that is refused, everything is
/// as it was.
struct Checked {
    function: Function,
    limits: Limits,
}

impl Transformer for Checked {
    fn is_program(&self) -> bool {
        true
    }

    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        self.transform_in(&Scope::Everything, items, cx)
    }

    fn transform_in(&self, scope: &Scope, items: &mut Resources, cx: &Context) -> Result<()> {
        items.all_or_nothing(|items| {
            let all = items.len();
            let outside = scope.split(items);
            let before = items.clone();
            self.function.transform(items, cx)?;
            scope.join(items, outside);
            self.check(&before, all, items, scope.folder(), cx.world).map_err(|d| self.blame(d))
        })
    }
}

impl Checked {
    /// `before` is what the function was given, `items` is everything there is now, and `all` how much there was of that.
    /// New files go below the folder.
    fn check(
        &self,
        before: &Resources,
        all: usize,
        items: &mut Resources,
        folder: &str,
        world: &dyn World,
    ) -> Result<()> {
        let Limits { allow_empty, in_files, package } = &self.limits;
        let numbers = |r: &Resource| r.home.as_ref().and_then(|home| home.number);
        let given: FxHashSet<usize> = before.iter().filter_map(numbers).collect();
        let ignored = !before.is_empty() && !items.iter().filter_map(numbers).any(|n| given.contains(&n));
        if *in_files {
            let resources = items.as_vec_mut();
            give_homes(resources, folder)?;
            let most = given.into_iter().chain(resources.iter().filter_map(numbers)).max();
            let read = package.as_ref().map_or(0, |package| package.count());
            number(resources.iter_mut(), most.map_or(0, |most| most + 1).max(read));
            may_be_written(resources, package.as_deref(), world)?;
        }
        if items.is_empty() && all > 0 && !allow_empty {
            return Err(emptied("it"));
        }
        // Most likely a program that does not know the protocol: its output would replace everything there is.
        if ignored && *in_files && !allow_empty {
            return Err(ignored_input());
        }
        Ok(())
    }

    fn blame(&self, fault: Diagnostic) -> Diagnostic {
        let message = format!("function `{}` failed: {fault}", self.function.name());
        let blamed = Diagnostic::error(fault.code(), message).at(fault.place()).at(self.function.place());
        let blamed = blamed.notes_of(&fault);
        fault.advice().iter().fold(blamed, |d, advice| d.help(advice.clone()))
    }
}

/// The error for a function that leaves nothing, by what it is called.
pub(crate) fn emptied(function: &str) -> Diagnostic {
    Diagnostic::error("package-emptied", format!("{function} removed every resource"))
        .help("if that is what you want, pass `--allow-empty`")
}

/// The error for a function that returns other resources than it was given.
pub(crate) fn ignored_input() -> Diagnostic {
    Diagnostic::error("function-ignored-input", "it returned none of the resources it was given")
        .help("a function must print what it was given, changed or not, and what it adds")
        .help("`krm fn wrap` turns a program that only prints resources into a function")
        .help("if all of them are to go, pass `--allow-empty`")
}

/// Refuses files that cannot be made.
fn may_be_written(resources: &[Resource], package: Option<&Package>, world: &dyn World) -> Result<()> {
    let Some(package) = package else { return Ok(()) };
    let mut seen: FxHashSet<&str> = package.paths().collect();
    let new = resources.iter().filter_map(|r| Some((r.span(), r.home.as_ref()?.path.as_str())));
    for (place, path) in new.filter(|(_, path)| seen.insert(path)) {
        let allowed = package.may_be_made(path, world).and_then(|()| package.stays_in_package(path, world));
        allowed.map_err(|d| d.at(place))?;
    }
    Ok(())
}

/// Gives every resource a location of its own; new ones below a folder. Refuses two at one location.
pub fn give_homes(resources: &mut [Resource], folder: &str) -> Result<()> {
    let mut free: FxHashMap<String, usize> = FxHashMap::default();
    let mut taken: FxHashMap<(String, usize), Span> = FxHashMap::default();
    for r in resources.iter_mut() {
        let (span, node) = (r.span(), r.node().clone());
        let home = r.home.get_or_insert_with(|| Box::new(new_home(&Object::from(node), folder)));
        if home.index == usize::MAX {
            continue;
        }
        let next = free.entry(home.path.clone()).or_default();
        *next = (*next).max(home.index + 1);
        if let Some(other) = taken.insert((home.path.clone(), home.index), span) {
            let message =
                format!("two resources would be at the same location: `{}`, index {}", home.path, home.index);
            return Err(Diagnostic::error("function-same-place", message)
                .at(span)
                .note("the other one", other)
                .help("a new resource needs no path and index; one will be given to it"));
        }
    }
    // Those that did not say where in their file they belong go to its end.
    let homes = resources.iter_mut().filter_map(|r| r.home.as_deref_mut());
    for home in homes.filter(|home| home.index == usize::MAX) {
        let next = free.entry(home.path.clone()).or_default();
        home.index = *next;
        *next += 1;
    }
    Ok(())
}

/// Where a new resource goes: `config/NAME_KIND.yaml`, below the folder the function works on.
fn new_home(object: &Object, folder: &str) -> Home {
    // A name may hold characters that have a meaning in paths.
    let plain = |text: &str| text.replace(['/', '\\', ':', '\0'], "-");
    let file = format!("config/{}_{}.yaml", plain(object.name()), plain(&object.kind().to_lowercase()));
    let path = if folder.is_empty() { file } else { format!("{folder}/{file}") };
    Home::new(path, usize::MAX)
}
