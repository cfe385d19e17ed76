//! Functions one after the other.

use krm_function::Object;
use krm_yaml::{Diagnostic, Result, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Package;
use super::scope::Planned;
use crate::files::world::World;
use crate::functions::{Answer, Function, Home, Item};

/// What is told while functions run.
pub trait Observer {
    /// A function is about to run on so many resources.
    fn starts(&mut self, function: &Function, count: usize);
    /// A function has run; `items` is what it ran on, for finding what its results speak of.
    fn ended(&mut self, function: &Function, answer: &Answer, items: &[Item]) -> Result<()>;
}

/// What is left when all have run.
#[derive(Debug)]
pub struct Outcome {
    pub items: Vec<Item>,
    /// Failures that were not to stop the others.
    pub deferred: Vec<Diagnostic>,
}

/// How to run functions.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// They may remove everything there is.
    pub allow_empty: bool,
    /// The resources are kept in files, so that each new one needs a place.
    pub in_files: bool,
    /// Where those files are; nowhere in particular without one.
    pub package: Option<(&'a Package, &'a dyn World)>,
}

/// Runs functions in order, each on what the ones before left. The first failure ends it, unless the function says that
/// its failures may wait.
pub fn run(
    planned: &[Planned],
    mut items: Vec<Item>,
    options: Options<'_>,
    sources: &Sources,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let mut deferred = Vec::new();
    for Planned { function, scope } in planned {
        let was_empty = items.is_empty();
        let (inside, outside): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| scope.holds(item.home.as_ref()));
        observer.starts(function, inside.len());
        let answer = function.call(&inside, sources)?;
        observer.ended(function, &answer, &inside)?;
        let failed = answer.failure.is_some();
        let ignored = !inside.is_empty() && answer.items.iter().all(|returned| returned.from.is_none());
        if let Some(failure) = answer.failure {
            if !function.defer_failure {
                return Err(failure);
            }
            deferred.push(failure);
        }
        // A program that failed without a word about resources has not asked for them to go.
        let returned = match (failed, answer.items.is_empty()) {
            (true, true) => inside,
            _ => answer.items.into_iter().map(|returned| returned.item).collect(),
        };
        // Those it did not see come last, as in the reference.
        items = returned.into_iter().chain(outside).collect();
        if options.in_files {
            settle(&mut items, scope.folder()).map_err(|d| blame(function, d))?;
            may_be_written(&items, options).map_err(|d| blame(function, d))?;
        }
        if items.is_empty() && !was_empty && !options.allow_empty {
            let nothing = Diagnostic::error("package-emptied", "it removed every resource")
                .help("where that is what you want, pass `--allow-empty`");
            return Err(blame(function, nothing));
        }
        // Most likely a program that does not know the protocol: its output would replace everything there is.
        if ignored && !failed && options.in_files && !options.allow_empty {
            let message = "it returned none of the resources it was given";
            let ignored = Diagnostic::error("function-ignored-input", message)
                .help("a function must print what it was given, changed or not, and what it adds")
                .help("of a program that only prints resources, `krm fn wrap` makes a function")
                .help("where all of them are to go, pass `--allow-empty`");
            return Err(blame(function, ignored));
        }
    }
    Ok(Outcome { items, deferred })
}

fn blame(function: &Function, fault: Diagnostic) -> Diagnostic {
    let message = format!("function `{}` failed: {fault}", function.name());
    let blamed = Diagnostic::error(fault.code(), message).at(fault.place()).at(function.place());
    let blamed = fault.notes().iter().fold(blamed, |d, note| d.note(note.message.clone(), note.place));
    fault.advice().iter().fold(blamed, |d, advice| d.help(advice.clone()))
}

/// Refuses files that cannot be made.
fn may_be_written(items: &[Item], options: Options<'_>) -> Result<()> {
    let Some((package, world)) = options.package else { return Ok(()) };
    let mut seen: FxHashSet<&str> = package.paths().collect();
    let new = items.iter().filter_map(|item| Some((item.node.span(), item.home.as_ref()?.path.as_str())));
    for (place, path) in new.filter(|(_, path)| seen.insert(path)) {
        package.may_be_made(path, world).map_err(|d| d.at(place))?;
    }
    Ok(())
}

/// Gives every resource a place of its own; new ones below a folder. Refuses two at one place.
pub fn settle(items: &mut [Item], folder: &str) -> Result<()> {
    let mut free: FxHashMap<String, usize> = FxHashMap::default();
    let mut taken: FxHashMap<Home, Span> = FxHashMap::default();
    for item in items.iter_mut() {
        let home = item.home.get_or_insert_with(|| new_home(&Object::from(item.node.clone()), folder));
        if home.index == usize::MAX {
            continue;
        }
        let next = free.entry(home.path.clone()).or_default();
        *next = (*next).max(home.index + 1);
        if let Some(other) = taken.insert(home.clone(), item.node.span()) {
            let message =
                format!("two resources are to stand at one place, `{}` index {}", home.path, home.index);
            return Err(Diagnostic::error("function-same-place", message)
                .at(item.node.span())
                .note("the other one", other)
                .help("a new resource needs no path and index; one will be given to it"));
        }
    }
    // Those that did not say where in their file they belong go to its end.
    for home in items.iter_mut().filter_map(|item| item.home.as_mut()).filter(|home| home.index == usize::MAX)
    {
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
    Home { path, index: usize::MAX }
}
