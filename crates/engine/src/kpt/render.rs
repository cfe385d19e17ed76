//! Running the pipelines of a package and of its subpackages.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use krm_yaml::{Diagnostic, Failure, Node, Result, Sources, Span, Spanned};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::image::{Images, Tags};
use super::kptfile::{FILE, Function, Kptfile};
use super::select::{Selector, selects};
use super::tree::{Entry, Item, Tree, config_files, in_folder, new_path};
use super::{krm, status};
use crate::files::world::World;
use crate::functions::{self, Form};
use crate::pipeline::{self, Context, Pipeline, Ran, Role, StepName, Work};
use crate::resource::list::Resources;
use crate::resource::{Home, Resource};
use crate::runtime::{Exec, Image, Program, Runtime};
use crate::schema::Schema;

/// Parents before children, level by level.
const BREADTH_FIRST: &str = "kpt.dev/bfs-rendering";
/// Keep what was done before a failure.
const SAVE_ON_FAILURE: &str = "kpt.dev/save-on-render-failure";
/// The function that is part of kpt: it says the package's name in a resource.
const PACKAGE_CONTEXT: &str = "builtins/gen-pkg-context";

/// What is said while pipelines run. Packages may run side by side; what is said of them comes one after the other.
pub trait Observer: Send {
    /// The turn of a package has come.
    fn package(&mut self, shown: &str);
    /// A function starts; the count is of those it was given, if it has selectors.
    fn starts(&mut self, shown: &str, package: &str, count: Option<usize>);
    fn ended(&mut self, step: &Step);
}

/// A call of a function, and what came of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// What the Kptfile calls it.
    pub name: String,
    /// The image or the program as run.
    program: String,
    pub is_exec: bool,
    pub is_validator: bool,
    pub stderr: String,
    pub exit_code: i32,
    pub results: Vec<Node>,
    /// Why it could not even be called.
    pub execution_error: Option<String>,
    pub elapsed: Duration,
    /// Nothing was started: it had run on the same input before.
    pub cached: bool,
}

impl Step {
    fn new(function: &Function, program: &str, is_validator: bool) -> Self {
        Self { name: function.name.to_string(), is_validator, ..Self::of(program, function.is_exec()) }
    }

    /// The call of a program that no Kptfile names.
    pub fn of(program: &str, is_exec: bool) -> Self {
        Self {
            name: String::new(),
            program: program.to_owned(),
            is_exec,
            is_validator: false,
            stderr: String::new(),
            exit_code: 0,
            results: Vec::new(),
            execution_error: None,
            elapsed: Duration::ZERO,
            cached: false,
        }
    }

    fn not_called(self, why: &Diagnostic) -> Self {
        Self { execution_error: Some(why.message().to_owned()), exit_code: 1, ..self }
    }

    /// The image or the program as run.
    pub fn shown(&self) -> &str {
        &self.program
    }
}

/// What a render needs.
pub struct Options<'a> {
    pub world: &'a dyn World,
    pub sources: &'a Sources,
    pub runtime: &'a Arc<Runtime>,
    /// Where programs run, and what their paths are relative to.
    pub dir: &'a Path,
    /// Programs of this machine may run.
    pub allow_exec: bool,
    /// Containers get the network.
    pub network: bool,
    pub images: Images,
    pub tags: &'a Tags<'a>,
}

/// What is left when all have run, or one failed.
#[derive(Debug)]
pub struct Outcome {
    /// The resources; as they were when a function failed, unless they are to be saved.
    pub entries: Vec<Entry>,
    pub steps: Vec<Step>,
    pub packages: usize,
    pub failure: Option<Diagnostic>,
    /// What was done before the failure is to be kept.
    pub saves: bool,
}

/// Runs the pipelines of a tree.
pub fn render(tree: &Tree, options: &Options<'_>, observer: &mut dyn Observer) -> Outcome {
    let root = tree.members[0].kptfile.as_ref();
    let asks = |annotation| root.is_some_and(|kptfile| kptfile.asks(annotation));
    let run = Run { tree, options, said: Mutex::new(Said::new(observer)) };
    let before = tree.entries();
    let done = match asks(BREADTH_FIRST) {
        true => run.level_by_level(before.clone()),
        false => run.depth_first(before.clone()),
    };
    let saves = asks(SAVE_ON_FAILURE);
    let entries = if done.failure.is_some() && !saves { before } else { done.entries };
    Outcome { entries, steps: done.steps, packages: done.packages, failure: done.failure, saves }
}

struct Run<'a> {
    tree: &'a Tree,
    options: &'a Options<'a>,
    said: Mutex<Said<'a>>,
}

/// What came of a package and those below it.
#[derive(Default)]
struct Done {
    entries: Vec<Entry>,
    steps: Vec<Step>,
    packages: usize,
    failure: Option<Diagnostic>,
}

/// A function of a package's pipeline, and what the package is called.
struct Asked<'k> {
    member: usize,
    name: &'k str,
    function: &'k Spanned<Function>,
    is_validator: bool,
}

impl Run<'_> {
    /// Subpackages first, side by side; what is said of them is in their order all the same.
    fn depth_first(&self, entries: Vec<Entry>) -> Done {
        let mut by_member: Vec<Vec<Entry>> = Vec::new();
        by_member.resize_with(self.tree.members.len(), Default::default);
        for entry in entries {
            by_member[entry.member].push(entry);
        }
        let order = post_order(self.tree);
        self.package(0, &by_member, &order)
    }

    /// The resources of a package and of those below it, as they were read.
    fn unrendered(&self, member: usize, own: &[Vec<Entry>]) -> Vec<Entry> {
        let mut all = own[member].clone();
        for child in &self.tree.members[member].children {
            all.extend(self.unrendered(*child, own));
        }
        all
    }

    fn package(&self, member: usize, own: &[Vec<Entry>], order: &[usize]) -> Done {
        let children = &self.tree.members[member].children;
        let mut below: Vec<Done> =
            children.par_iter().map(|child| self.package(*child, own, order)).collect();
        let failed = below.iter().position(|done| done.failure.is_some());
        let mut all = Done { entries: own[member].clone(), ..Done::default() };
        for (at, done) in below.iter_mut().enumerate() {
            // Those after one that failed count as not run, as if they came one after the other.
            if failed.is_some_and(|failed| at > failed) {
                all.entries.extend(self.unrendered(children[at], own));
                continue;
            }
            all.entries.append(&mut done.entries);
            all.steps.append(&mut done.steps);
            all.packages += done.packages;
        }
        all.failure = failed.and_then(|failed| below[failed].failure.take());
        if all.failure.is_none() {
            let say = Voice { said: &self.said, turn: order[member] };
            self.pipeline(member, &mut all, &say);
        }
        self.said.lock().expect("no one panics while talking").done(order[member]);
        all
    }

    /// Parents first. Each package sees what is its own and what is below.
    fn level_by_level(&self, entries: Vec<Entry>) -> Done {
        let mut order: Vec<usize> = (0..self.tree.members.len()).collect();
        order.sort_by_key(|member| self.tree.members[*member].depth);
        let mut all = Done { entries, ..Done::default() };
        for (turn, member) in order.into_iter().enumerate() {
            let (mut inside, outside): (Vec<Entry>, Vec<Entry>) =
                all.entries.into_iter().partition(|entry| self.tree.is_below(entry.member, member));
            inside.sort_by_key(|entry| entry.member);
            all.entries = inside;
            let say = Voice { said: &self.said, turn };
            self.pipeline(member, &mut all, &say);
            self.said.lock().expect("no one panics while talking").done(turn);
            all.entries.extend(outside);
            if all.failure.is_some() {
                break;
            }
        }
        all.entries.sort_by_key(|entry| entry.member);
        all
    }

    /// Runs the functions of one package on what there is of it and below.
    fn pipeline(&self, member: usize, all: &mut Done, say: &Voice<'_, '_>) {
        let shown = &self.tree.members[member].shown;
        say.say(Event::Package(shown.clone()));
        all.packages += 1;
        if let Err(failure) = self.functions(member, all, say) {
            all.failure = Some(failure);
        }
    }

    fn functions(&self, member: usize, all: &mut Done, say: &Voice<'_, '_>) -> Result<()> {
        let kptfile = self.tree.kptfile_of(member)?;
        if member != 0 {
            let dir = self.tree.package().root().join(&self.tree.members[member].folder);
            config_files(self.options.world, &dir, &kptfile, self.options.sources)?;
        }
        let configs = self.configs(member, &kptfile, &all.entries)?;
        let pipeline = &kptfile.pipeline;
        if pipeline.mutators.is_empty() && pipeline.validators.is_empty() {
            return all.entries.iter().try_for_each(|entry| krm::check(&entry.item.node, entry.path()));
        }
        for (is_validator, functions) in [(false, &pipeline.mutators), (true, &pipeline.validators)] {
            self.refuse_exec(functions, is_validator, all)?;
            for function in functions {
                let config = function.config_path.as_ref().map(|path| {
                    let path = in_folder(&self.tree.members[member].folder, &clean(path));
                    // As an earlier function left it; as it was, if that took it away.
                    let now = all.entries.iter().find(|entry| entry.path() == path);
                    now.map_or_else(|| configs[&path].clone(), |entry| entry.item.node.clone())
                });
                let config = config.or_else(|| function.config_from_map());
                let asked = Asked { member, name: &kptfile.metadata.name, function, is_validator };
                let entries = self.step(&asked, config, all, say)?;
                if !is_validator {
                    all.entries = entries;
                }
            }
        }
        Ok(())
    }

    fn refuse_exec(&self, functions: &[Spanned<Function>], is_validator: bool, all: &mut Done) -> Result<()> {
        match functions.iter().find(|function| function.is_exec()) {
            Some(function) if !self.options.allow_exec => {
                let message = format!("`{}` is a program of this machine, which may not run", *function.exec);
                let refused = Diagnostic::error("exec-not-allowed", message)
                    .at(function.exec.span())
                    .help("it would run with your rights: if you trust the package, pass `--allow-exec`");
                let step = Step::new(function, &function.exec, is_validator);
                all.steps.push(step.not_called(&refused));
                Err(refused)
            }
            _ => Ok(()),
        }
    }

    /// The function configs the Kptfile names, as they are before anything runs.
    fn configs(
        &self,
        member: usize,
        kptfile: &Kptfile,
        entries: &[Entry],
    ) -> Result<FxHashMap<String, Node>> {
        let mut configs = FxHashMap::default();
        let functions = kptfile.pipeline.mutators.iter().chain(&kptfile.pipeline.validators);
        for path in functions.filter_map(|function| function.config_path.as_ref()) {
            let whole = in_folder(&self.tree.members[member].folder, &clean(path));
            let own: Vec<&Entry> =
                entries.iter().filter(|entry| entry.member == member && entry.path() == whole).collect();
            let [one] = own.as_slice() else {
                let message = format!("`{}` is not a resource of this package", path.as_str());
                return Err(Diagnostic::error("function-config-elsewhere", message)
                    .at(path.span())
                    .help("name a `.yaml`, `.yml` or `.json` file of this package; those of subpackages do not count"));
            };
            configs.insert(whole, one.item.node.clone());
        }
        Ok(configs)
    }

    /// Calls one function, and says so. What it makes of the resources comes back.
    fn step(
        &self,
        asked: &Asked<'_>,
        config: Option<Node>,
        all: &mut Done,
        say: &Voice<'_, '_>,
    ) -> Result<Vec<Entry>> {
        let Asked { member, name: kptfile_name, function, is_validator } = *asked;
        let span = function.span();
        let options = self.options;
        let is_builtin = !function.is_exec() && super::image::without_tag(&function.image) == PACKAGE_CONTEXT;
        let shown = match function.is_exec() {
            true => Ok(function.exec.to_string()),
            false if is_builtin => Ok(PACKAGE_CONTEXT.to_owned()),
            false => {
                options.images.resolve(&function.image, &function.tag, function.tag.span(), options.tags)
            }
        };
        let shown = shown.inspect_err(|failure| {
            all.steps.push(Step::new(function, "", is_validator).not_called(failure));
        })?;
        let mut step = Step::new(function, &shown, is_validator);
        let chosen = function.selectors.is_empty() && function.exclude.is_empty();
        let count = (!chosen).then(|| {
            let picks = |entry: &&Entry| selects(&function.selectors, &function.exclude, &entry.item.node);
            all.entries.iter().filter(picks).count()
        });
        say.say(Event::Starts(shown.clone(), self.tree.members[member].shown.clone(), count));
        let result = match is_builtin {
            true => self.package_context(member, kptfile_name, &all.entries).inspect(|_| {
                let mut result =
                    Node::from_iter([("message", "generated package context"), ("severity", "info")]);
                result.set("file", Node::from_iter([("path", CONTEXT_FILE)]));
                step.results.push(result);
            }),
            false => self.program(function, &shown, span).and_then(|program| {
                let call = Call { member, selectors: &function.selectors, exclude: &function.exclude, span };
                let function = functions::Function::new(program, config, options.runtime)?;
                self::call(self.tree, &call, &function, all.entries.clone(), options, &mut step)
            }),
        };
        if result.is_err() && step.exit_code == 0 {
            step.exit_code = 1;
        }
        say.say(Event::Ended(step.clone()));
        all.steps.push(step);
        result.map_err(|failure| failure.at(span))
    }

    fn program(&self, function: &Function, shown: &str, span: Span) -> Result<Program> {
        let options = self.options;
        if !function.is_exec() {
            return Ok(Program::Image(Image {
                image: shown.to_owned(),
                network: options.network,
                ..Image::default()
            }));
        }
        program_of(&function.exec, options.dir, if span.is_none() { span } else { function.exec.span() })
    }

    /// Makes or replaces the resource that holds the package's name.
    fn package_context(&self, member: usize, name: &str, entries: &[Entry]) -> Result<Vec<Entry>> {
        let folder = &self.tree.members[member].folder;
        let path = in_folder(folder, CONTEXT_FILE);
        let mut entries = entries.to_vec();
        let made = package_context(name);
        match entries.iter_mut().find(|entry| entry.path() == path) {
            Some(entry) => {
                if entry.item.node.at(["data", "name"]).and_then(Node::text) != Some(name) {
                    entry.item.node = functions::updated(&entry.item.node, &made);
                }
            }
            None => {
                self.tree.package().may_be_made(&path, self.options.world)?;
                let item = Item { node: made, home: Some(Home::new(path, 0)), document: None };
                entries.push(Entry { item, member, is_loose: false });
            }
        }
        Ok(entries)
    }
}

/// The file that holds a package's name.
pub const CONTEXT_FILE: &str = "package-context.yaml";

/// The resource that holds a package's name, for functions that ask for it.
pub fn package_context(name: &str) -> Node {
    let mut object = krm_function::Object::new("v1", "ConfigMap", "kptfile.kpt.dev");
    object.set_annotation(krm_function::annotations::LOCAL_CONFIG, "true");
    object.set("data", Node::from_iter([("name", name)]));
    object.into_node()
}

/// A program of this machine, written as in a shell: words, with quotes.
pub fn program_of(written: &str, dir: &Path, span: Span) -> Result<Program> {
    let words = functions::split_words(written).filter(|words| !words.is_empty());
    let Some(mut words) = words else {
        let message = format!("`{written}` is not a program and its arguments: a quote is not closed");
        return Err(Diagnostic::error("exec-words", message).at(span));
    };
    let path = words.remove(0);
    Ok(Program::Exec(Exec { path, args: words, env: Vec::new(), dir: dir.to_path_buf() }))
}

/// Which resources a function gets, and in whose name it runs.
pub struct Call<'a> {
    /// The package whose pipeline it is: where what it adds goes.
    pub member: usize,
    pub selectors: &'a [Selector],
    pub exclude: &'a [Selector],
    pub span: Span,
}

/// Calls a function on resources: paths are relative to the package of each.
pub fn call(
    tree: &Tree,
    call: &Call<'_>,
    function: &functions::Function,
    entries: Vec<Entry>,
    options: &Options<'_>,
    step: &mut Step,
) -> Result<Vec<Entry>> {
    if let Some(failure) = entries.iter().find_map(|entry| krm::check(&entry.item.node, entry.path()).err()) {
        step.execution_error = Some(failure.message().to_owned());
        return Err(failure);
    }
    let picks = |entry: &Entry| selects(call.selectors, call.exclude, &entry.item.node);
    let chosen: Vec<usize> = (0..entries.len()).filter(|at| picks(&entries[*at])).collect();
    let answer = run_step(tree, call, function, &entries, &chosen, options, step)?;
    let blame = |failure: Diagnostic| functions::blamed(function.name(), failure);
    let mut returned: Vec<(Option<usize>, Entry)> = Vec::with_capacity(answer.len());
    for resource in answer {
        let from = resource.home.as_ref().and_then(|home| home.number).map(|number| chosen[number]);
        let member = from.map_or(call.member, |from| entries[from].member);
        let home = resource.home.as_deref().cloned();
        let mut item = Item {
            node: resource.into_node(),
            home: None,
            document: from.and_then(|from| entries[from].item.document),
        };
        let home = home.unwrap_or_else(|| Home::new(new_path(&item.node), usize::MAX));
        let path = in_folder(&tree.members[member].folder, &home.path);
        let was_loose = from.is_some_and(|from| entries[from].is_loose && entries[from].path() == path);
        let is_loose = home.index == usize::MAX || was_loose;
        item.home = Some(Home::new(path, home.index));
        let entry = Entry { item, member, is_loose };
        krm::check(&entry.item.node, entry.path()).map_err(blame)?;
        returned.push((from, entry));
    }
    keeps_kptfiles(&entries, &chosen, &returned).map_err(blame)?;
    let mut entries = put_back(entries, &chosen, returned);
    settle(&mut entries).map_err(blame).inspect_err(|failure| {
        step.execution_error = Some(failure.message().to_owned());
    })?;
    may_be_written(tree, &entries, options.world).map_err(blame)?;
    Ok(entries)
}

/// Runs the function as a step of a pipeline, on resources numbered in the order they are sent. What it did is noted.
fn run_step(
    tree: &Tree,
    call: &Call<'_>,
    function: &functions::Function,
    entries: &[Entry],
    chosen: &[usize],
    options: &Options<'_>,
    step: &mut Step,
) -> Result<Vec<Resource>> {
    let schema = Arc::new(Schema::builtin());
    let numbered = chosen.iter().enumerate().map(|(number, at)| {
        let mut item = sent(&entries[*at], tree);
        item.document = Some(number);
        item.to_resource(&schema)
    });
    let mut items = Resources::from_vec(numbered.collect());
    let mut function = function.clone();
    function.form = Form::AsWritten;
    function.puts_back_comments = true;
    let name = StepName {
        folder: tree.members[call.member].folder.as_str().into(),
        field: function.name().into(),
        index: None,
    };
    let steps = vec![pipeline::Step::new(name, call.span, Role::Transform, Work::new(function))];
    let noted = Noted(Mutex::new(step));
    let warnings = Mutex::default();
    let cx = Context {
        world: options.world,
        schema: &schema,
        sources: options.sources,
        runtime: options.runtime,
        warnings: &warnings,
        trace: None,
        observer: Some(&noted),
    };
    Pipeline { steps, schema: schema.clone() }.run(&mut items, &cx)?;
    Ok(items.into_vec())
}

/// Notes what a program did.
struct Noted<'s>(Mutex<&'s mut Step>);

impl pipeline::Observer for Noted<'_> {
    fn ended(&self, _: &pipeline::Call, ran: &Ran) -> Result<()> {
        let mut step = self.0.lock().expect("no one panics while noting");
        step.stderr = ran.stderr.to_owned();
        step.exit_code = ran.status.code().unwrap_or(1);
        step.elapsed = ran.elapsed;
        step.cached = ran.cached;
        step.results = ran.results.iter().map(|result| status::result(result.node())).collect();
        if let Some(failure) = ran.failure {
            if failure.failure() == Some(Failure::BadLocation) {
                step.execution_error = Some(failure.message().to_owned());
            }
            if !step.is_exec {
                // What the engine says is a line, not a text.
                let end = step.stderr.trim_end().len();
                step.stderr.truncate(end);
            }
        }
        Ok(())
    }

    fn deferred(&self, _: Diagnostic) {}
}

/// A resource as it is sent: its path is relative to its own package.
fn sent(entry: &Entry, tree: &Tree) -> Item {
    let folder = &tree.members[entry.member].folder;
    let mut item = entry.item.clone();
    if let (Some(home), false) = (&mut item.home, folder.is_empty())
        && let Some(path) = home.path.strip_prefix(folder.as_str()).and_then(|path| path.strip_prefix('/'))
    {
        home.path = path.to_owned();
    }
    item
}

/// What came back takes the place of what was sent; what is new goes last. If all were sent, their order is the function's.
fn put_back(entries: Vec<Entry>, chosen: &[usize], returned: Vec<(Option<usize>, Entry)>) -> Vec<Entry> {
    if chosen.len() == entries.len() {
        return returned.into_iter().map(|(_, entry)| entry).collect();
    }
    let mut places: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
    chosen.iter().for_each(|at| places[*at] = None);
    let mut new = Vec::new();
    for (from, entry) in returned {
        match from {
            Some(from) => places[from] = Some(entry),
            None => new.push(entry),
        }
    }
    places.into_iter().flatten().chain(new).collect()
}

/// Refuses a function that removes or moves a Kptfile, or adds to one.
fn keeps_kptfiles(before: &[Entry], chosen: &[usize], returned: &[(Option<usize>, Entry)]) -> Result<()> {
    let is_kptfile = |entry: &Entry| entry.path().rsplit('/').next() == Some(FILE);
    let refused = |what: &str, entry: &Entry| {
        Err(Diagnostic::error("function-kptfile", format!("it {what} `{}`", entry.path()))
            .at(entry.item.node.span())
            .help("a package is a folder with a Kptfile; a function may change what is in it, and no more"))
    };
    let mut kept: FxHashMap<usize, &Entry> = FxHashMap::default();
    for (from, entry) in returned {
        let was = from.map(|from| &before[from]);
        match (was.filter(|was| is_kptfile(was)), is_kptfile(entry)) {
            (Some(was), _) if was.path() != entry.path() => return refused("moves", was),
            (None, true) => return refused("adds a resource to", entry),
            _ => {}
        }
        if let Some(from) = from {
            kept.insert(*from, entry);
        }
    }
    match chosen.iter().find(|at| is_kptfile(&before[**at]) && !kept.contains_key(*at)) {
        Some(at) => refused("removes", &before[*at]),
        None => Ok(()),
    }
}

/// Gives every resource a place of its own, and refuses two at one.
fn settle(entries: &mut [Entry]) -> Result<()> {
    let mut loose: rustc_hash::FxHashSet<&str> = Default::default();
    for entry in entries.iter().filter(|entry| entry.is_loose) {
        if !loose.insert(entry.path()) {
            let message = format!(
                "two new resources are to go to `{}`, and neither says which comes first",
                entry.path()
            );
            return Err(Diagnostic::error("function-same-file", message)
                .help("give them paths of their own, or an index each"));
        }
    }
    let schema = Schema::builtin();
    let mut resources: Vec<Resource> = entries.iter().map(|entry| entry.item.to_resource(&schema)).collect();
    crate::package::give_homes(&mut resources, "")?;
    for (entry, resource) in entries.iter_mut().zip(resources) {
        entry.item.home = resource.home.map(|home| *home);
    }
    Ok(())
}

fn may_be_written(tree: &Tree, entries: &[Entry], world: &dyn World) -> Result<()> {
    let package = tree.package();
    if !tree.is_folder() {
        return Ok(());
    }
    let mut seen: rustc_hash::FxHashSet<&str> = package.paths().collect();
    for entry in entries {
        if seen.insert(entry.path()) {
            package.may_be_made(entry.path(), world).map_err(|d| d.at(entry.item.node.span()))?;
        }
    }
    Ok(())
}

/// `./a//b` is `a/b`.
fn clean(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}

/// The turn of each package when children come before their parents.
fn post_order(tree: &Tree) -> Vec<usize> {
    fn visit(tree: &Tree, member: usize, next: &mut usize, order: &mut [usize]) {
        tree.members[member].children.iter().for_each(|child| visit(tree, *child, next, order));
        order[member] = *next;
        *next += 1;
    }
    let mut order = vec![0; tree.members.len()];
    visit(tree, 0, &mut 0, &mut order);
    order
}

/// Something to be said.
enum Event {
    Package(String),
    Starts(String, String, Option<usize>),
    Ended(Step),
}

/// Says things in the order of turns: at once if it is the turn of who says it, else when it comes.
struct Said<'a> {
    observer: &'a mut dyn Observer,
    turn: usize,
    waiting: FxHashMap<usize, Vec<Event>>,
    finished: rustc_hash::FxHashSet<usize>,
    /// A package failed: what comes later is not said.
    over: bool,
}

impl<'a> Said<'a> {
    fn new(observer: &'a mut dyn Observer) -> Self {
        Self { observer, turn: 0, waiting: FxHashMap::default(), finished: Default::default(), over: false }
    }

    fn say(&mut self, event: Event) {
        match event {
            _ if self.over => {}
            Event::Package(shown) => self.observer.package(&shown),
            Event::Starts(shown, package, count) => self.observer.starts(&shown, &package, count),
            Event::Ended(step) => {
                self.observer.ended(&step);
                self.over |= step.exit_code != 0;
            }
        }
    }

    fn done(&mut self, turn: usize) {
        self.finished.insert(turn);
        while self.finished.remove(&self.turn) {
            self.turn += 1;
            for event in self.waiting.remove(&self.turn).unwrap_or_default() {
                self.say(event);
            }
        }
    }
}

struct Voice<'r, 'a> {
    said: &'r Mutex<Said<'a>>,
    turn: usize,
}

impl Voice<'_, '_> {
    fn say(&self, event: Event) {
        let mut said = self.said.lock().expect("no one panics while talking");
        match said.turn == self.turn {
            true => said.say(event),
            false => said.waiting.entry(self.turn).or_default().push(event),
        }
    }
}
