//! What people and programs see while functions run.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use krm_engine::functions::{Locator, finding};
use krm_engine::package::Change;
use krm_engine::{Call, Diagnostic, Node, Observer, Ran, Result, Span};
use krm_function::{FunctionResult, Severity};
use krm_yaml::emit::preserve;

use crate::cli::FnOutput;
use crate::os;
use crate::report::{Report, Spinner, counted, is_for_programs, names, sanitize};

/// Tells what functions do: a line for each, their results, and at the end all of it for programs.
pub struct Progress<'r> {
    report: &'r Report,
    output: FnOutput,
    quiet: bool,
    results_dir: Option<PathBuf>,
    state: Mutex<State>,
}

/// Where the resources of a run went.
pub enum Written<'c> {
    ToStdout,
    /// With what changes in them; nothing if the run failed.
    ToFiles(&'c [Change]),
}

/// What has happened so far.
#[derive(Default)]
struct State {
    /// The calls that have ended, as programs read them.
    calls: Vec<Node>,
    spinner: Option<Spinner>,
}

impl<'r> Progress<'r> {
    pub fn new(
        report: &'r Report,
        output: FnOutput,
        quiet: bool,
        results_dir: Option<&Path>,
    ) -> Result<Self> {
        if let Some(dir) = results_dir {
            std::fs::create_dir_all(dir).map_err(|e| {
                Diagnostic::error("results-not-written", format!("cannot make `{}`: {e}", dir.display()))
            })?;
        }
        let results_dir = results_dir.map(Path::to_path_buf);
        Ok(Self { report, output, quiet, results_dir, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no one panics while reporting")
    }

    fn for_people(&self) -> bool {
        self.output == FnOutput::Text && !self.quiet
    }

    /// Reports everything to programs, and to people what was written.
    pub fn finish(self, written: Written) -> Result<()> {
        self.state().spinner = None;
        let for_programs = |changes| krm_yaml::json::pretty(&self.json(changes)) + "\n";
        match (self.output, written) {
            // Standard output is for the resources.
            (FnOutput::Json, Written::ToStdout) => os::say(&for_programs(&[])),
            (FnOutput::Json, Written::ToFiles(changes)) => os::print(for_programs(changes).as_bytes())?,
            (_, Written::ToFiles(changes)) if self.for_people() && !self.state().calls.is_empty() => {
                eprintln!("{}", summary(changes));
            }
            _ => {}
        }
        Ok(())
    }

    fn json(&self, changes: &[Change]) -> Node {
        let (written, removed): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| change.text.is_some());
        let paths = |changes: &[&Change]| {
            Node::from(changes.iter().map(|change| Node::from(change.path.as_str())).collect::<Vec<_>>())
        };
        let mut object = Node::map();
        object.set("functions", Node::from(self.state().calls.clone()));
        object.set("written", paths(&written));
        object.set("removed", paths(&removed));
        object
    }

    fn save_results(&self, ran: &Ran) -> Result<()> {
        let (Some(dir), Some(results)) = (&self.results_dir, ran.raw_results) else { return Ok(()) };
        let count = self.state().calls.len();
        // Not through a link that leads elsewhere.
        let mut changes = os::Changes::to_output(dir)?;
        changes.write(&dir.join(format!("results-{count}.yaml")), preserve::fresh(results).as_bytes())?;
        changes.commit()
    }

    fn print(&self, call: &Call, answer: &Ran) {
        let word = if answer.failure.is_some() { "FAIL" } else { "PASS" };
        let mut line = format!("[{word}] {}: {}", call.program, counted(call.given.len(), "resource"));
        line += &match answer.cached {
            true => " from the cache".to_string(),
            false => format!(" in {}", time(answer.elapsed)),
        };
        if !answer.status.is_success() {
            line += &format!(", {}", answer.status);
        }
        eprintln!("{line}");
        let located = located(call, answer);
        for result in answer.results {
            eprintln!("  {}", sanitize::inert(&result.to_string()));
            match (self.position(located.find(result)), result.file()) {
                (Some((file, line, column)), _) => eprintln!("    --> {file}:{line}:{column}"),
                (None, Some(file)) => eprintln!("    --> {file}"),
                (None, None) => {}
            }
        }
        // That of a function that failed is part of the error.
        if answer.failure.is_none() {
            answer.stderr.lines().for_each(|line| eprintln!("  | {}", sanitize::inert(line)));
        }
    }

    /// File, line and column.
    fn position(&self, place: Span) -> Option<(String, usize, usize)> {
        let source = self.report.sources.get(place.file)?;
        let at = source.position(place.start as usize);
        Some((source.name().to_owned(), at.line, at.column))
    }

    /// A result for programs: as it came, and where what it is about was written.
    fn result_object(&self, result: &FunctionResult, place: Span) -> Node {
        let mut object = result.to_map();
        if let Some((file, line, column)) = self.position(place) {
            let mut location = Node::map();
            location.set("file", file);
            location.set("line", line as i64);
            location.set("column", column as i64);
            object.set("location", location);
        }
        object
    }

    fn call_object(&self, call: &Call, ran: &Ran) -> Node {
        let located = located(call, ran);
        let results = ran.results.iter().map(|result| self.result_object(result, located.find(result)));
        call_object(call, ran, results.collect())
    }
}

impl Observer for Progress<'_> {
    fn starts(&self, call: &Call) {
        if self.for_people() {
            let text = format!("running {} on {}", call.program, counted(call.given.len(), "resource"));
            self.state().spinner = Spinner::start(text);
        }
    }

    fn ended(&self, call: &Call, ran: &Ran) -> Result<()> {
        self.state().spinner = None;
        self.save_results(ran)?;
        if self.for_people() {
            self.print(call, ran);
        }
        if is_for_programs() {
            let located = located(call, ran);
            let findings = ran.results.iter().filter(|result| result.severity() != Severity::Info);
            let shown = |result| finding(call.program, result).at(located.find(result)).at(call.place);
            findings.for_each(|result| self.report.show(&shown(result)));
        }
        let object = self.call_object(call, ran);
        self.state().calls.push(object);
        ran.warnings.iter().for_each(|warning| self.report.show(warning));
        Ok(())
    }

    /// Shown at the end, with all others.
    fn deferred(&self, _failure: Diagnostic) {}
}

/// Finds what results are about.
fn located<'a>(call: &Call<'a>, ran: &Ran) -> Locator<'a> {
    Locator::new(call.given.iter().map(|r| (r.node(), r.home.as_deref())), ran.results)
}

fn call_object(call: &Call, answer: &Ran, results: Vec<Node>) -> Node {
    let mut object = Node::map();
    object.set("function", call.program);
    object.set("resources", call.given.len() as i64);
    object.set("milliseconds", answer.elapsed.as_millis() as i64);
    object.set("cached", answer.cached);
    object.set("passed", answer.failure.is_none());
    object.set("status", answer.status.to_string());
    if let Some(code) = answer.status.code() {
        object.set("exitCode", i64::from(code));
    }
    if !answer.stderr.is_empty() {
        object.set("stderr", answer.stderr);
    }
    object.set("results", Node::from(results));
    object
}

pub(super) fn summary(changes: &[Change]) -> String {
    let removed = changes.iter().filter(|change| change.text.is_none()).count();
    let names = names(changes.iter().map(|change| change.path.to_string()));
    match (changes.len() - removed, removed) {
        (0, 0) => "nothing changed".into(),
        (written, 0) => format!("wrote {}: {names}", counted(written, "file")),
        (0, removed) => format!("removed {}: {names}", counted(removed, "file")),
        (written, removed) => {
            format!("wrote {}, removed {removed}: {names}", counted(written, "file"))
        }
    }
}

fn time(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        0 => "under 1 ms".into(),
        ms @ 1..1000 => format!("{ms} ms"),
        ms => format!("{:.1} s", ms as f64 / 1000.0),
    }
}
