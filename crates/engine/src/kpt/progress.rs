//! What happens while pipelines run, and what is kept of it. Packages may run side by side; what is said of them comes one
//! after the other.

use std::sync::{Mutex, MutexGuard};

use krm_yaml::{Diagnostic, Result, Spanned};
use rustc_hash::FxHashMap;

use super::kptfile::Function;
use super::plan::Plan;
use crate::pipeline::{Call, Called, Context, Observer, PackageEvent, Ran, Role, Step};
use crate::resource::Resource;
use crate::resource::list::Resources;

/// The call of a function that a Kptfile names.
pub(super) fn call_of(function: &Spanned<Function>, program: &str, role: Role) -> Called {
    let (name, place, is_validator) = (function.name.to_string(), function.span(), role == Role::Inspect);
    Called { name, place, is_validator, ..Called::of(program, function.is_exec()) }
}

/// Says what happens in a package.
pub(super) fn say(cx: &Context, member: usize, event: PackageEvent) {
    if let Some(observer) = cx.observer {
        observer.in_package(member, &event);
    }
}

/// Says what a package is now, in case a later function fails.
pub(super) fn say_holds(cx: &Context, member: usize, items: &Resources) {
    if let Some(observer) = cx.observer {
        observer.package_holds(member, items);
    }
}

/// All that one run remembers. Passes on what happens in packages in the order of their turns: at once if the turn of a
/// package has come, else when it comes.
pub(super) struct Recorder<'a> {
    plan: &'a Plan,
    observer: Option<&'a dyn Observer>,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    turn: usize,
    /// What is to be said when a turn comes.
    waiting: FxHashMap<usize, Vec<(usize, PackageEvent)>>,
    calls: Vec<Called>,
    packages: usize,
    /// A function failed: what comes later is not said.
    is_over: bool,
    /// What each package was after the last of its mutators that ran, if that may be wanted.
    latest: FxHashMap<usize, Vec<Resource>>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(plan: &'a Plan, observer: Option<&'a dyn Observer>) -> Self {
        Self { plan, observer, said: Mutex::default() }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().expect("no one panics while talking")
    }

    /// The calls, and how many packages had their turn.
    pub(crate) fn finish(self) -> (Vec<Called>, usize) {
        let said = self.said.into_inner().expect("no one panics while talking");
        (said.calls, said.packages)
    }

    /// The packages as the functions before the one that failed left them. Those whose turn would have come later are as
    /// they were read, even if they ran at the same time.
    pub(crate) fn saved(&self) -> Vec<Resource> {
        let mut all = Vec::new();
        self.saved_of(0, &self.said(), &mut self.plan.own(), &mut all);
        all
    }

    fn saved_of(&self, member: usize, said: &Said, own: &mut [Vec<Resource>], all: &mut Vec<Resource>) {
        if let (true, Some(kept)) = (self.plan.turns[member] <= said.turn, said.latest.get(&member)) {
            all.extend(kept.iter().cloned());
            return;
        }
        all.append(&mut own[member]);
        for child in &self.plan.tree.members[member].children {
            self.saved_of(*child, said, own, all);
        }
    }
}

impl Observer for Recorder<'_> {
    fn in_package(&self, member: usize, event: &PackageEvent) {
        let said = &mut *self.said();
        said.waiting.entry(self.plan.turns[member]).or_default().push((member, event.clone()));
        // The last event of a package makes it the turn of the next.
        while let Some(events) = said.waiting.remove(&said.turn) {
            for (member, event) in events {
                if said.is_over {
                    return;
                }
                if let Some(observer) = self.observer {
                    observer.in_package(member, &event);
                }
                said.record(event);
            }
        }
    }

    fn package_holds(&self, member: usize, items: &Resources) {
        if self.plan.saves {
            self.said().latest.insert(member, items.as_slice().to_vec());
        }
    }

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
    }
}

impl Said {
    fn record(&mut self, event: PackageEvent) {
        match event {
            PackageEvent::Starts { .. } => self.packages += 1,
            PackageEvent::CallStarts { .. } => {}
            PackageEvent::CallEnded(called) | PackageEvent::NotCalled(called) => {
                self.is_over = called.exit_code != 0;
                self.calls.push(called);
            }
            PackageEvent::Ended => self.turn += 1,
        }
    }
}
