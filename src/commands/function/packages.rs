//! What `fn render` and `fn eval` share: what they say, and where resources and results go.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use krm_engine::kpt::{self, Tree, results_file};
use krm_engine::package::Change;
use krm_engine::{Called, Diagnostic, Node, Observer, PackageEvent, Resource, Result, World};
use krm_function::ResourceList;
use krm_yaml::Note;

use crate::os::{self, Changes};
use crate::report::{Report, is_for_programs, sanitize};

/// Says on standard error what functions do, in kpt's words.
#[derive(Default)]
pub struct CallPrinter {
    /// Say which package a function runs on.
    packages: bool,
    spoke: AtomicBool,
}

impl CallPrinter {
    pub fn with_packages() -> Self {
        Self { packages: true, ..Self::default() }
    }
}

impl Observer for CallPrinter {
    fn in_package(&self, _: usize, event: &PackageEvent) {
        match event {
            PackageEvent::Starts { shown } => {
                if self.spoke.swap(false, Ordering::Relaxed) {
                    eprintln!("");
                }
                eprintln!("Package {}:", quoted(shown));
            }
            PackageEvent::CallStarts { shown, package, count } => {
                let count = count.map_or_else(String::new, |count| format!(" on {count} resource(s)"));
                let package =
                    if self.packages { format!(" on package {}", quoted(package)) } else { String::new() };
                eprintln!("[RUNNING] {}{count}{package}", quoted(shown));
            }
            PackageEvent::CallEnded(call) => self.ended(call),
            PackageEvent::NotCalled(_) | PackageEvent::Ended => {}
        }
    }

    /// No function that a Kptfile or the command line names asks for it.
    fn deferred(&self, _failure: Diagnostic) {}
}

impl CallPrinter {
    fn ended(&self, call: &Called) {
        self.spoke.store(true, Ordering::Relaxed);
        let word = if call.exit_code == 0 { "PASS" } else { "FAIL" };
        let time = match call.cached {
            true => "from the cache".to_owned(),
            false => format!("in {:.1}s", call.elapsed.as_secs_f64()),
        };
        eprintln!("[{word}] {} {time}", quoted(call.shown()));
        if !call.results.is_empty() {
            eprintln!("  [Results]:");
        }
        for (at, result) in call.results.iter().enumerate() {
            eprintln!("    {}", sanitize::inert(&line(result)));
            let location = call.findings.get(at).and_then(|finding| finding.location());
            let file = result.at(["file", "path"]).and_then(Node::text).map(str::to_owned);
            if let Some(place) = location.map(ToString::to_string).or(file) {
                eprintln!("      --> {}", sanitize::inert(&place));
            }
        }
        if !call.stderr.is_empty() {
            eprintln!("  Stderr:");
            call.stderr.lines().for_each(|line| eprintln!("    {}", sanitize::inert(line)));
        }
        if let Some(code) = call.exited.filter(|code| *code != 0) {
            eprintln!("  Exit code: {code}");
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", sanitize::inert(text))
}

/// `[severity] apiVersion/kind/namespace/name field: message`.
fn line(result: &Node) -> String {
    let text = |keys: &[&str]| result.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default();
    let severity = match text(&["severity"]) {
        "" => "info",
        word => word,
    };
    let resource = ["apiVersion", "kind", "namespace", "name"].map(|key| text(&["resourceRef", key]));
    let resource: Vec<&str> = resource.into_iter().filter(|part| !part.is_empty()).collect();
    let mut line = format!("[{severity}]");
    for part in [resource.join("/").as_str(), text(&["field", "path"])] {
        if !part.is_empty() {
            line += &format!(" {part}");
        }
    }
    let message = text(&["message"]).split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{line}: {message}")
}

/// Where resources go.
pub enum Destination {
    /// Back where they came from.
    InPlace,
    List,
    Unwrapped,
    Folder(PathBuf),
}

impl Destination {
    /// Refuses a folder that already exists.
    pub fn parse(output: Option<&str>) -> Result<Self> {
        Ok(match output {
            None | Some("") => Self::InPlace,
            Some("stdout") => Self::List,
            Some("unwrap") => Self::Unwrapped,
            Some(dir) if Path::new(dir).exists() => {
                return Err(Diagnostic::error("output-exists", format!("`{dir}` exists already"))
                    .help("name a folder that does not exist, `stdout` or `unwrap`"));
            }
            Some(dir) => Self::Folder(dir.into()),
        })
    }

    pub fn is_in_place(&self) -> bool {
        matches!(self, Self::InPlace)
    }

    /// Prints or writes resources that are not to go back.
    pub fn deliver(&self, tree: &Tree, resources: &[Resource], world: &dyn World) -> Result<()> {
        match self {
            Self::InPlace => Ok(()),
            Self::List => {
                let items = resources.iter().map(|r| tree.stated(r)).collect();
                os::print(ResourceList::new(items, None).to_string().as_bytes())
            }
            Self::Unwrapped => {
                let texts: Vec<String> = resources.iter().map(|r| tree.text(r)).collect();
                os::print(texts.join("---\n").as_bytes())
            }
            Self::Folder(dir) => {
                let mut all = Changes::to_output(dir)?;
                let changed = tree.changes(resources, world)?;
                for change in &changed {
                    if let Some(text) = &change.text {
                        all.write(&dir.join(&change.path), text.as_bytes())?;
                    }
                }
                let mut same: Vec<&str> = resources.iter().map(kpt::path).collect();
                same.dedup();
                let changed: HashSet<&str> = changed.iter().map(|change| change.path.as_str()).collect();
                for path in same.into_iter().filter(|path| !changed.contains(path)) {
                    let text = tree.source(path).map_or_else(String::new, |source| source.text().to_owned());
                    all.write(&dir.join(path), text.as_bytes())?;
                }
                all.commit()
            }
        }
    }
}

/// Writes `results.yaml`, if it is asked for.
pub fn save_results(dir: Option<&Path>, calls: &[Called], failed: bool) -> Result<()> {
    let Some(dir) = dir else { return Ok(()) };
    os::make_dir(dir)?;
    let name = "results.yaml";
    os::write_into(dir, name, results_file(calls, failed).as_bytes())?;
    eprintln!("For complete results, see {}", dir.join(name).display());
    Ok(())
}

/// Reports what is wrong with calls that did not fail, and to programs also what functions found. People have seen that.
pub fn report_calls(calls: &[Called], report: &Report) {
    for call in calls {
        call.warnings.iter().for_each(|warning| report.show(warning));
        if is_for_programs() {
            let severity = |result: &Node| result.get("severity").and_then(Node::text) != Some("info");
            let findings = call.results.iter().zip(&call.findings).filter(|(result, _)| severity(result));
            findings.for_each(|(_, finding)| report.show(&finding.clone().at(call.place)));
        }
    }
}

/// The failure of a function without its standard error, if that was shown when it ended.
pub fn without_stderr_shown(failure: Diagnostic) -> Diagnostic {
    if is_for_programs() { failure } else { failure.without_notes(Note::is_quote) }
}

/// Names the files that went, and the resources that went from files that stay: what a function does not return is removed.
pub fn tell_removed(tree: &Tree, resources: &[Resource], changes: &[Change]) {
    let files: HashSet<&str> =
        changes.iter().filter(|change| change.text.is_none()).map(|change| change.path.as_str()).collect();
    let number = |r: &Resource| r.home.as_ref().and_then(|home| home.number);
    let left: HashSet<usize> = resources.iter().filter_map(number).collect();
    let before = tree.resources();
    let gone = before.iter().filter(|r| number(r).is_none_or(|number| !left.contains(&number)));
    let gone = gone.filter(|r| !files.contains(kpt::path(r)));
    tell_removed_names(
        "file",
        changes.iter().map(|change| change.path.clone()).filter(|path| files.contains(&**path)),
    );
    tell_removed_names("resource", gone.map(|r| format!("{} of {}", r.id(), kpt::path(r))));
}

/// Lists what went, if anything did.
pub fn tell_removed_names(what: &str, removed: impl Iterator<Item = String>) {
    let removed: Vec<String> = removed.collect();
    if !removed.is_empty() {
        eprintln!("Removed {} {what}(s): {}.", removed.len(), sanitize::inert(&removed.join(", ")));
    }
}

/// Says that a folder is a link, and follows it.
pub fn follow_link(dir: &Path) -> Result<PathBuf> {
    if !dir.is_symlink() {
        return Ok(dir.to_path_buf());
    }
    let target = std::fs::read_link(dir).unwrap_or_else(|_| dir.to_path_buf());
    let shown = dir.parent().unwrap_or(Path::new("")).join(target);
    eprintln!(
        "[WARN] `{}` is a link to `{}`; links inside the package are not followed",
        dir.display(),
        shown.display()
    );
    os::absolute(dir)
}

/// The tags of an image that are on this machine.
pub fn local_tags(image: &str) -> Result<Vec<String>> {
    let engine = os::container_engine().unwrap_or_else(|| "docker".to_owned());
    if ["sandbox", "bwrap", "crun", "runc"].contains(&&*engine) {
        return Err(no_tags(image, "that needs a container engine"));
    }
    let list = ["image", "ls", "--format", "{{.Tag}}", image];
    let output = Command::new(&engine)
        .args(list)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| no_tags(image, &format!("`{engine}` does not start: {error}")))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim().to_owned()).collect())
}

fn no_tags(image: &str, why: &str) -> Diagnostic {
    Diagnostic::error("image-tags", format!("the tags of `{image}` cannot be listed: {why}"))
        .help("install docker, podman or nerdctl, or name a tag instead of a range")
}

/// Whether anything would change.
pub fn changed_paths(changes: &[Change]) -> String {
    let paths: Vec<String> = changes.iter().map(|change| format!("`{}`", change.path)).collect();
    paths.join(", ")
}
