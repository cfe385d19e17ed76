//! A function of a package as a step: what it is given, and what may come of it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use krm_yaml::{Diagnostic, Failure, Node, Result, Sources, Span, Spanned};
use rustc_hash::{FxHashMap, FxHashSet};

use super::kptfile::{FILE, Function};
use super::plan::Plan;
use super::progress::{call_of, say, say_holds};
use super::select::{Selector, selects};
use super::tree::{config_path, in_folder, new_path, number, path};
use super::{krm, status};
use crate::functions::{self, Form};
use crate::package::{self, give_homes};
use crate::pipeline::{
    Call, Called, Context, Observer, PackageEvent, Ran, Role, Scope, Step, StepName, Transformer, Work,
};
use crate::resource::list::Resources;
use crate::resource::{Home, Resource};
use crate::runtime::{Exec, Image, Program};

/// A function that is named on the command line.
pub struct Evaluation {
    /// The function, with its configuration.
    pub function: functions::Function,
    /// What it is called.
    pub shown: String,
    /// It is an executable, not an image.
    pub is_exec: bool,
    /// It gets what one of these matches; everything if there are none.
    pub selectors: Vec<Spanned<Selector>>,
    /// It does not get what one of these matches.
    pub exclude: Vec<Spanned<Selector>>,
}

/// Who asks for a call.
pub(super) enum Asked {
    InKptfile {
        function: Box<Spanned<Function>>,
        /// The file of its configuration, relative to the root of the tree.
        config: Option<String>,
    },
    ByHand(Box<Evaluation>),
}

impl Asked {
    /// By the Kptfile in a folder.
    pub(crate) fn in_kptfile(function: &Spanned<Function>, folder: &str) -> Self {
        let config = function.config_path.as_ref().map(|written| config_path(folder, written));
        Self::InKptfile { function: Box::new(function.clone()), config }
    }

    fn selectors(&self) -> (&[Spanned<Selector>], &[Spanned<Selector>]) {
        match self {
            Asked::InKptfile { function, .. } => (&function.selectors, &function.exclude),
            Asked::ByHand(one) => (&one.selectors, &one.exclude),
        }
    }

    fn is_selective(&self) -> bool {
        let (selectors, exclude) = self.selectors();
        !selectors.is_empty() || !exclude.is_empty()
    }

    fn span(&self) -> Span {
        match self {
            Asked::InKptfile { function, .. } => function.span(),
            Asked::ByHand(_) => Span::NONE,
        }
    }
}

/// Calls a function on resources: paths are relative to the package of each.
pub(super) struct Calling {
    plan: Arc<Plan>,
    /// The package whose pipeline it is: where what it adds goes.
    member: usize,
    asked: Asked,
    role: Role,
    /// The configuration as it was before any function ran.
    first_config: Option<Node>,
}

impl Calling {
    /// The step that makes the call.
    pub(crate) fn step(plan: &Arc<Plan>, member: usize, asked: Asked, name: StepName, role: Role) -> Step {
        let (selectors, exclude) = asked.selectors();
        let scope = match asked.is_selective() {
            false => Scope::Everything,
            true => {
                let (selectors, exclude) = (selectors.to_vec(), exclude.to_vec());
                Scope::Chosen(Arc::new(move |r: &Resource| selects(&selectors, &exclude, r.node())))
            }
        };
        let first_config = match &asked {
            Asked::InKptfile { config: Some(file), .. } => {
                plan.tree.resource_of(member, file).map(|r| r.node().clone())
            }
            _ => None,
        };
        let place = asked.span();
        let calling = Self { plan: plan.clone(), member, asked, role, first_config };
        Step { scope, ..Step::new(name, place, role, Work::new(calling)) }
    }

    /// What is run, as it is shown.
    fn shown(&self) -> Result<String> {
        let settings = &self.plan.settings;
        match &self.asked {
            Asked::ByHand(one) => Ok(one.shown.clone()),
            Asked::InKptfile { function, .. } if function.is_exec() => Ok(function.exec.to_string()),
            Asked::InKptfile { function: f, .. } => {
                settings.images.resolve(&f.image, &f.tag, f.tag.span(), &*settings.tags)
            }
        }
    }

    fn called(&self, shown: &str) -> Called {
        match &self.asked {
            Asked::ByHand(one) => Called::of(shown, one.is_exec),
            Asked::InKptfile { function, .. } => call_of(function, shown, self.role),
        }
    }

    /// The program with its configuration.
    fn function(&self, shown: &str, config: Option<Node>) -> Result<functions::Function> {
        let settings = &self.plan.settings;
        let mut function = match &self.asked {
            Asked::ByHand(one) => one.function.clone(),
            Asked::InKptfile { function, .. } => {
                let program = match function.is_exec() {
                    true => program_of(&function.exec, &settings.dir, function.exec.span())?,
                    false => Program::Image(Image {
                        image: shown.to_owned(),
                        network: settings.runtime.policy().network,
                        ..Image::default()
                    }),
                };
                functions::Function::new(program, config, &settings.runtime)?
            }
        };
        function.form = Form::AsWritten;
        function.puts_back_comments = true;
        Ok(function)
    }

    /// The configuration: as an earlier function left it; as it was, if that took it away.
    fn config(&self, items: &Resources) -> Option<Node> {
        let Asked::InKptfile { function, config } = &self.asked else { return None };
        let file = config.as_ref().and_then(|file| items.iter().find(|r| path(r) == file));
        let there = file.map(|r| r.node().clone());
        there.or_else(|| self.first_config.clone()).or_else(|| function.config_from_map())
    }

    /// Warnings for selectors that match nothing.
    fn unmatched(&self, items: &Resources) -> Vec<Diagnostic> {
        let (selectors, _) = self.asked.selectors();
        let is_unmatched = |selector: &&Spanned<Selector>| !items.iter().any(|r| selector.matches(r.node()));
        let unmatched = selectors.iter().filter(is_unmatched);
        unmatched.map(|selector| Selector::unmatched(selector, items.iter().map(Resource::node))).collect()
    }

    /// Makes the call on the resources in a scope, and checks everything there is afterwards.
    fn call_in(&self, scope: &Scope, items: &mut Resources, called: &mut Called, cx: &Context) -> Result<()> {
        called.warnings = self.unmatched(items);
        let all_are_resources = krm::check_all(items.iter());
        let had = items.iter().filter(|r| !is_kptfile(path(r))).count();
        let (config, next) = (self.config(items), self.plan.tree.next_new(self.member, items));
        let outside = scope.split(items);
        let before = items.clone();
        let count = self.asked.is_selective().then_some(items.len());
        let package = self.plan.tree.members[self.member].shown.clone();
        say(cx, self.member, PackageEvent::CallStarts { shown: called.shown().to_owned(), package, count });
        all_are_resources.inspect_err(|fault| called.refuse(fault))?;
        let function = self.function(called.shown(), config)?;
        self.call(&function, items, next, called, cx)?;
        scope.join(items, outside);
        let blame = |failure: Diagnostic| functions::blamed(function.name(), failure);
        self.keeps_resources(&before, had, items, (function.name(), called))
            .and_then(|()| settle(items))
            .map_err(blame)
            .inspect_err(|failure| called.execution_error = Some(failure.message().to_owned()))?;
        self.may_be_written(items, called, cx).map_err(blame)
    }

    /// Runs the function on what it sees; `next` is the place of the first resource it adds. What it did is noted.
    fn call(
        &self,
        function: &functions::Function,
        items: &mut Resources,
        mut next: usize,
        called: &mut Called,
        cx: &Context,
    ) -> Result<()> {
        let kptfiles = Kptfiles::of(items);
        let before = (self.role == Role::Inspect).then(|| items.as_slice().to_vec());
        items.as_vec_mut().iter_mut().for_each(|r| self.relative(r));
        let noted = Noted { called: Mutex::new(called), sources: cx.sources, observer: cx.observer };
        function.transform(items, &Context { observer: Some(&noted), ..*cx })?;
        if before.is_some_and(|before| differ(&before, items)) {
            called.warnings.push(self.changes_are_dropped(function.name()));
        }
        let blame = |failure: Diagnostic| functions::blamed(function.name(), failure);
        for r in items.as_vec_mut() {
            self.returned(r, &mut next);
            krm::check(r.node(), path(r)).map_err(blame)?;
        }
        kptfiles.are_kept(items).map_err(blame)
    }

    fn changes_are_dropped(&self, name: &str) -> Diagnostic {
        let message = format!("validator `{name}` changed resources; what a validator changes is dropped");
        Diagnostic::warning("validator-changes-dropped", message)
            .at(self.asked.span())
            .help("list it under `mutators` if it is to change resources")
    }

    /// Refuses a function that leaves no resource, or none of those it was given: most likely it does not know the protocol.
    /// One that is named on the command line may leave none, as with kpt; that is worth a warning.
    fn keeps_resources(
        &self,
        before: &Resources,
        had: usize,
        items: &Resources,
        (name, called): (&str, &mut Called),
    ) -> Result<()> {
        if self.plan.settings.allow_empty || self.role == Role::Inspect {
            return Ok(());
        }
        let is_resource = |r: &&Resource| !is_kptfile(path(r));
        if had > 0 && !items.iter().any(|r| is_resource(&r)) {
            if let Asked::InKptfile { .. } = self.asked {
                return Err(package::emptied("it"));
            }
            called.warnings.push(package::emptied(&format!("function `{name}`")).into_warning());
            return Ok(());
        }
        let given: FxHashSet<usize> = before.iter().filter(is_resource).filter_map(number).collect();
        let is_there = |number: usize| given.contains(&number);
        match self.asked.is_selective() || given.is_empty() || items.iter().filter_map(number).any(is_there) {
            true => Ok(()),
            false => Err(package::ignored_input()),
        }
    }

    /// Makes the path of a resource relative to its own package.
    fn relative(&self, r: &mut Resource) {
        let folder = &self.plan.tree.members[self.plan.tree.member_of(r)].folder;
        if let (Some(home), false) = (&mut r.home, folder.is_empty())
            && let Some(path) =
                home.path.strip_prefix(folder.as_str()).and_then(|path| path.strip_prefix('/'))
        {
            home.path = path.to_owned();
        }
    }

    /// Gives a resource that came back its path in the tree and its number.
    fn returned(&self, r: &mut Resource, next: &mut usize) {
        let tree = &self.plan.tree;
        let known = number(r);
        let member = known.map_or(self.member, |_| tree.member_of(r));
        let home = r.home.take().map(|home| *home);
        let home = home.unwrap_or_else(|| Home::new(new_path(r.node()), usize::MAX));
        let path = in_folder(&tree.members[member].folder, &home.path);
        let number = known.unwrap_or_else(|| {
            *next += 1;
            tree.number_of_new(self.member, *next - 1)
        });
        let is_loose = home.is_loose || home.index == usize::MAX;
        r.home = Some(Box::new(Home { path, index: home.index, number: Some(number), is_loose }));
    }

    /// Refuses files that cannot be made. Of those that nobody would read again it warns: kpt makes them.
    fn may_be_written(&self, items: &Resources, called: &mut Called, cx: &Context) -> Result<()> {
        let package = self.plan.tree.package();
        if !self.plan.tree.is_folder() {
            return Ok(());
        }
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        for r in items.iter().filter(|r| !package.holds(path(r))) {
            if seen.insert(path(r)) {
                package.may_be_made(path(r), cx.world).map_err(|d| d.at(r.span()))?;
                if let Err(leaves) = package.stays_in_package(path(r), cx.world) {
                    let message = format!("`{}` leaves the package: nothing reads the file again", path(r));
                    let warning = Diagnostic::warning("package-left", message);
                    called
                        .warnings
                        .push(leaves.advice().iter().fold(warning, |d, help| d.help(help.clone())));
                }
            }
        }
        Ok(())
    }
}

impl Transformer for Calling {
    fn is_program(&self) -> bool {
        true
    }

    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        self.transform_in(&Scope::Everything, items, cx)
    }

    fn transform_in(&self, scope: &Scope, items: &mut Resources, cx: &Context) -> Result<()> {
        let shown = self.shown().inspect_err(|failure| {
            say(cx, self.member, PackageEvent::NotCalled(self.called("").not_called(failure)));
        })?;
        let mut called = self.called(&shown);
        let ran = items.all_or_nothing(|items| self.call_in(scope, items, &mut called, cx));
        match &ran {
            Err(failure) => {
                if called.exited.is_none() {
                    called.not_ended = Some(failure.message().to_owned());
                }
                called = called.failed();
            }
            Ok(()) if self.role == Role::Inspect => {}
            Ok(()) => say_holds(cx, self.member, items),
        }
        say(cx, self.member, PackageEvent::CallEnded(called));
        ran
    }
}

/// Gives every resource a location of its own, and refuses two at one.
fn settle(items: &mut Resources) -> Result<()> {
    let is_loose = |r: &&Resource| r.home.as_ref().is_some_and(|home| home.is_loose);
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    if let Some(twice) = items.iter().filter(is_loose).map(path).find(|path| !seen.insert(path)) {
        let message = format!("two new resources are to go to `{twice}`, and neither says which comes first");
        return Err(
            Diagnostic::error("function-same-file", message).help("give each a different path or index")
        );
    }
    give_homes(items.as_vec_mut(), "")
}

/// The Kptfiles that a function is given, by number.
struct Kptfiles(FxHashMap<usize, (String, Span)>);

fn is_kptfile(path: &str) -> bool {
    path.rsplit('/').next() == Some(FILE)
}

impl Kptfiles {
    fn of(items: &Resources) -> Self {
        let kptfiles = items.iter().filter(|r| is_kptfile(path(r)));
        Self(kptfiles.filter_map(|r| Some((number(r)?, (path(r).to_owned(), r.span())))).collect())
    }

    /// Refuses a function that removes or moves a Kptfile, or adds to one.
    fn are_kept(mut self, returned: &Resources) -> Result<()> {
        let refused = |what: &str, path: &str, span: Span| {
            Err(Diagnostic::error("function-kptfile", format!("it {what} `{path}`")).at(span).help(
                "a package is a folder with a Kptfile; a function may change what is in it, and no more",
            ))
        };
        for r in returned.iter() {
            match number(r).and_then(|number| self.0.remove(&number)) {
                Some((was, span)) if was != path(r) => return refused("moves", &was, span),
                None if is_kptfile(path(r)) => return refused("adds a resource to", path(r), r.span()),
                _ => {}
            }
        }
        match self.0.values().min_by_key(|(path, _)| path) {
            Some((path, span)) => refused("removes", path, *span),
            None => Ok(()),
        }
    }
}

/// Whether resources came back other than they were given, apart from their order and layout.
fn differ(given: &[Resource], returned: &Resources) -> bool {
    let given_nodes: FxHashMap<usize, &Node> =
        given.iter().filter_map(|r| Some((number(r)?, r.node()))).collect();
    let is_same =
        |r: &Resource| number(r).and_then(|n| given_nodes.get(&n)).is_some_and(|was| *was == r.node());
    given.len() != returned.len() || !returned.iter().all(is_same)
}

/// Notes what a program did, and passes it on.
struct Noted<'c> {
    called: Mutex<&'c mut Called>,
    sources: &'c Sources,
    observer: Option<&'c dyn Observer>,
}

impl Observer for Noted<'_> {
    fn starts(&self, call: &Call) {
        self.observer.iter().for_each(|observer| observer.starts(call));
    }

    fn ended(&self, call: &Call, ran: &Ran) -> Result<()> {
        let mut called = self.called.lock().expect("no one panics while noting");
        called.stderr = ran.stderr.to_owned();
        called.exited = ran.status.code();
        called.exit_code = ran.status.code().unwrap_or(1);
        called.elapsed = ran.elapsed;
        called.cached = ran.cached;
        called.results = ran.results.iter().map(|result| status::result(&result.to_map())).collect();
        let located =
            functions::Locator::new(call.given.iter().map(|r| (r.node(), r.home.as_deref())), ran.results);
        let finding = |result| functions::finding(call.program, result).at(located.find(result));
        called.findings = ran.results.iter().map(|result| finding(result).located(self.sources)).collect();
        called.warnings.extend_from_slice(ran.warnings);
        if let Some(failure) = ran.failure {
            if failure.failure() == Some(Failure::BadLocation) {
                called.execution_error = Some(failure.message().to_owned());
            }
            if !called.is_exec {
                // What the engine says is a line, not a text.
                let end = called.stderr.trim_end().len();
                called.stderr.truncate(end);
            }
        }
        self.observer.map_or(Ok(()), |observer| observer.ended(call, ran))
    }

    fn deferred(&self, failure: Diagnostic) {
        self.observer.iter().for_each(|observer| observer.deferred(failure.clone()));
    }
}

/// A program of this machine, written as in a shell: words, with quotes.
pub fn program_of(written: &str, dir: &Path, span: Span) -> Result<Program> {
    let wrong =
        |message: String, help: &str| Err(Diagnostic::error("exec-words", message).at(span).help(help));
    let Some(mut words) = functions::split_words(written) else {
        return wrong(format!("a quote is not closed in the command `{written}`"), "close it, as in a shell");
    };
    if words.is_empty() {
        let message = format!("the command `{written}` names no program");
        return wrong(message, "write a program and its arguments, as in a shell");
    }
    let path = words.remove(0);
    Ok(Program::Exec(Exec { path, args: words, env: Vec::new(), dir: dir.to_path_buf() }))
}
