//! What people and programs are told while functions run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use krm_engine::functions::{Answer, Function, Item};
use krm_engine::package::{Change, Observer};
use krm_engine::{Diagnostic, Node, Result, Span};
use krm_function::{FunctionResult, Object};
use krm_yaml::emit::preserve;
use rustc_hash::FxHashMap;

use crate::cli::FnOutput;
use crate::os;
use crate::report::Report;
use crate::report::sanitize;
use crate::spinner::Spinner;

/// Tells what functions do: a line for each, their results, and at the end all of it for programs.
pub struct Progress<'r> {
    report: &'r Report,
    output: FnOutput,
    quiet: bool,
    log_steps: bool,
    results_dir: Option<PathBuf>,
    count: usize,
    told: Vec<Node>,
    spinner: Option<Spinner>,
    running: usize,
}

impl<'r> Progress<'r> {
    pub fn new(
        report: &'r Report,
        output: FnOutput,
        quiet: bool,
        log_steps: bool,
        results_dir: Option<&Path>,
    ) -> Result<Self> {
        if let Some(dir) = results_dir {
            std::fs::create_dir_all(dir).map_err(|e| {
                Diagnostic::error("results-not-written", format!("cannot make `{}`: {e}", dir.display()))
            })?;
        }
        let results_dir = results_dir.map(Path::to_path_buf);
        Ok(Self {
            report,
            output,
            quiet,
            log_steps,
            results_dir,
            count: 0,
            told: Vec::new(),
            spinner: None,
            running: 0,
        })
    }

    fn for_people(&self) -> bool {
        self.output == FnOutput::Text && !self.quiet
    }

    /// Tells programs everything, and people what was written.
    pub fn finish(mut self, changes: &[Change], resources_printed: bool) -> Result<()> {
        self.spinner = None;
        if self.output == FnOutput::Json {
            let text = krm_yaml::json::pretty(&self.json(changes)) + "\n";
            match resources_printed {
                true => eprint!("{text}"),
                false => os::print(text.as_bytes())?,
            }
        } else if self.for_people() && !resources_printed && !self.told.is_empty() {
            eprintln!("{}", summary(changes));
        }
        Ok(())
    }

    fn json(&self, changes: &[Change]) -> Node {
        let files = |removed: bool| -> Node {
            let paths = changes.iter().filter(|change| change.text.is_none() == removed);
            Node::from(paths.map(|change| Node::from(change.path.as_str())).collect::<Vec<_>>())
        };
        let mut object = Node::map();
        object.set("functions", Node::from(self.told.clone()));
        object.set("written", files(false));
        object.set("removed", files(true));
        object
    }

    fn save_results(&self, answer: &Answer) -> Result<()> {
        let (Some(dir), Some(results)) = (&self.results_dir, &answer.raw_results) else { return Ok(()) };
        os::write(&dir.join(format!("results-{}.yaml", self.count)), preserve::fresh(results).as_bytes())
    }

    fn tell(&self, function: &Function, answer: &Answer, items: &[Item]) {
        let word = if answer.failure.is_some() { "FAIL" } else { "PASS" };
        let mut line = format!("[{word}] {}: {}", function.name(), counted(self.running, "resource"));
        line += &match answer.cached {
            true => " from the cache".to_string(),
            false => format!(" in {}", time(answer.elapsed)),
        };
        if !answer.status.is_success() {
            line += &format!(", {}", answer.status);
        }
        eprintln!("{line}");
        let places = Places::of(items, !answer.results.is_empty());
        for result in &answer.results {
            eprintln!("  {}", sanitize::inert(&result.to_string()));
            if let Some(place) = self.place_of(result, &places) {
                eprintln!("    --> {place}");
            }
        }
        if self.log_steps && answer.failure.is_none() {
            answer.stderr.lines().for_each(|line| eprintln!("  | {}", sanitize::inert(line)));
        }
    }

    /// File, line and column of what a result speaks of.
    fn place_of(&self, result: &FunctionResult, places: &Places<'_>) -> Option<String> {
        let place = places.find(result).map_or(Span::NONE, |item| field_place(result, &item.node));
        match self.report.sources.get(place.file) {
            Some(source) => {
                let at = source.position(place.start as usize);
                Some(format!("{}:{}:{}", source.name(), at.line, at.column))
            }
            None => result.file().map(str::to_owned),
        }
    }
}

impl Observer for Progress<'_> {
    fn starts(&mut self, function: &Function, count: usize) {
        self.running = count;
        if self.for_people() {
            let text = format!("running {} on {}", function.name(), counted(count, "resource"));
            self.spinner = Spinner::start(text);
        }
    }

    fn ended(&mut self, function: &Function, answer: &Answer, items: &[Item]) -> Result<()> {
        self.spinner = None;
        self.save_results(answer)?;
        if self.for_people() {
            self.tell(function, answer, items);
        }
        self.told.push(told(function, answer, self.running));
        self.count += 1;
        Ok(())
    }
}

/// Finds resources by what results say of them: file and index, or what they are called.
#[derive(Default)]
struct Places<'i> {
    by_home: FxHashMap<(&'i str, usize), &'i Item>,
    by_name: FxHashMap<[String; 4], &'i Item>,
}

impl<'i> Places<'i> {
    /// Empty where there is nothing to be found.
    fn of(items: &'i [Item], wanted: bool) -> Self {
        let mut places = Self::default();
        for item in items.iter().filter(|_| wanted) {
            if let Some(home) = &item.home {
                places.by_home.entry((&home.path, home.index)).or_insert(item);
            }
            let object = Object::from(item.node.clone());
            let name = [object.api_version(), object.kind(), object.namespace(), object.name()];
            places.by_name.entry(name.map(str::to_owned)).or_insert(item);
        }
        places
    }

    fn find(&self, result: &FunctionResult) -> Option<&'i Item> {
        let at_home = result.file().and_then(|file| self.by_home.get(&(file, result.file_index())));
        let named = || {
            let named = result.resource()?;
            let name = [named.api_version, named.kind, named.namespace, named.name];
            self.by_name.get(&name.map(str::to_owned))
        };
        at_home.or_else(named).copied()
    }
}

/// The place of the field a result names; or of what is there of the way to it.
fn field_place(result: &FunctionResult, root: &Node) -> Span {
    let path = result.field_path().unwrap_or_default().replace('[', ".").replace(']', "");
    let mut node = root;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        let below = match node.as_seq() {
            Some(items) => name.parse().ok().and_then(|index: usize| items.get(index)),
            None => node.get(name),
        };
        match below {
            Some(below) if !below.span().is_none() => node = below,
            _ => break,
        }
    }
    node.span()
}

fn told(function: &Function, answer: &Answer, count: usize) -> Node {
    let mut object = Node::map();
    object.set("function", function.name());
    object.set("resources", count as i64);
    object.set("milliseconds", answer.elapsed.as_millis() as i64);
    object.set("cached", answer.cached);
    object.set("passed", answer.failure.is_none());
    object.set("status", answer.status.to_string());
    if let Some(code) = answer.status.code() {
        object.set("exitCode", i64::from(code));
    }
    if !answer.stderr.is_empty() {
        object.set("stderr", answer.stderr.as_str());
    }
    let results: Vec<Node> = answer.results.iter().map(|result| result.node().clone()).collect();
    object.set("results", Node::from(results));
    object
}

fn summary(changes: &[Change]) -> String {
    let removed = changes.iter().filter(|change| change.text.is_none()).count();
    match (changes.len() - removed, removed) {
        (0, 0) => "nothing changed".into(),
        (written, 0) => format!("wrote {}", counted(written, "file")),
        (0, removed) => format!("removed {}", counted(removed, "file")),
        (written, removed) => format!("wrote {}, removed {removed}", counted(written, "file")),
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn time(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        0 => "under 1 ms".into(),
        ms @ 1..1000 => format!("{ms} ms"),
        ms => format!("{:.1} s", ms as f64 / 1000.0),
    }
}
