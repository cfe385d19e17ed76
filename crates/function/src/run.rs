//! A closure as a program: stdin to stdout, errors to stderr.

// Everywhere else in this library these are forbidden.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

use std::error::Error;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Source, Sources};

use crate::annotations;
use crate::list::ResourceList;
use crate::object::Object;
use crate::result::Severity;

/// What a function gives back: nothing, or why it failed.
pub type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Runs a closure as a function, and is all there is to do in `main`.
///
/// Reads a list from stdin, lets the closure change it, writes it to stdout. An error goes to stderr and makes the exit
/// status 1; so does a result that is an error, with the list written all the same. Given files instead of stdin
/// (`my-function --config config.yaml a.yaml b.yaml`), it prints the objects that come out, for trying things out.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     krm_function::run(|list| {
///         for object in &mut list.items {
///             object.set_label("team", "shop");
///         }
///         Ok(())
///     })
/// }
/// ```
pub fn run(function: impl FnOnce(&mut ResourceList) -> Outcome) -> ExitCode {
    run_with_help("", function)
}

/// As [`run`], with a text for `--help`: what the function does, and the fields of its functionConfig.
pub fn run_with_help(help: &str, function: impl FnOnce(&mut ResourceList) -> Outcome) -> ExitCode {
    let mut args = std::env::args();
    let program = args.next().unwrap_or_default();
    let name =
        Path::new(&program).file_stem().and_then(|name| name.to_str()).unwrap_or("function").to_string();
    let args = match Args::parse(args) {
        Ok(args) => args,
        Err(message) => {
            say(&format!("{name}: {message}\nTry '{name} --help'.\n"));
            return ExitCode::from(2);
        }
    };
    // With nothing to read, a person has most likely just typed the name.
    if args.help || (args.files.is_empty() && std::io::stdin().is_terminal()) {
        print!("{}", help_text(&name, help));
        return ExitCode::SUCCESS;
    }
    let sources = Sources::new();
    match args.call(&sources, function) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&describe(&*error, &sources));
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct Args {
    help: bool,
    config: Option<String>,
    files: Vec<String>,
}

impl Args {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self::default();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-h" | "--help" => parsed.help = true,
                "--config" => parsed.config = Some(args.next().ok_or("--config needs a file")?),
                _ if arg.starts_with("--config=") => {
                    parsed.config = Some(arg["--config=".len()..].to_string())
                }
                _ if arg.starts_with('-') && arg != "-" => return Err(format!("unknown option '{arg}'")),
                _ => parsed.files.push(arg),
            }
        }
        match parsed.config.is_some() && parsed.files.is_empty() {
            true => Err("--config is for trying things out: name the files to work on too".into()),
            false => Ok(parsed),
        }
    }

    /// Reads, calls, writes. Says whether no result was an error.
    fn call(
        &self,
        sources: &Sources,
        function: impl FnOnce(&mut ResourceList) -> Outcome,
    ) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let mut list = match self.files.is_empty() {
            true => ResourceList::decode(&read("-", sources)?)?,
            false => self.read_files(sources)?,
        };
        function(&mut list)?;
        if !self.files.is_empty() {
            list = self.for_people(list);
        }
        std::io::stdout().lock().write_all(list.to_string().as_bytes())?;
        // An orchestrator that reads results says so; others should at least see what went wrong.
        let reads_results = std::env::var("STRUCTURED_RESULTS").is_ok_and(|value| value == "true");
        for result in &list.results {
            if !self.files.is_empty() || (result.severity() == Severity::Error && !reads_results) {
                say(&format!("{result}\n"));
            }
        }
        Ok(!list.has_errors())
    }

    /// What an orchestrator would send for these files.
    fn read_files(&self, sources: &Sources) -> Result<ResourceList, Box<dyn Error + Send + Sync>> {
        let mut items = Vec::new();
        for file in &self.files {
            for (index, mut object) in
                ResourceList::decode(&read(file, sources)?)?.items.into_iter().enumerate()
            {
                object.set_annotation(annotations::PATH, file);
                object.set_annotation(annotations::INDEX, &index.to_string());
                items.push(object);
            }
        }
        let config = match &self.config {
            Some(file) => ResourceList::decode(&read(file, sources)?)?.items.into_iter().next(),
            None => None,
        };
        Ok(ResourceList::new(items, config))
    }

    /// The objects alone, without what was said about their files.
    fn for_people(&self, list: ResourceList) -> ResourceList {
        let strip = |mut object: Object| {
            object.remove_annotation(annotations::PATH);
            object.remove_annotation(annotations::INDEX);
            object
        };
        let mut bare = ResourceList::bare(list.items.into_iter().map(strip).collect());
        bare.results = list.results;
        bare
    }
}

fn read(file: &str, sources: &Sources) -> Result<Arc<Source>, Box<dyn Error + Send + Sync>> {
    let mut bytes = Vec::new();
    let (name, read) = match file {
        "-" => ("<stdin>", std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())),
        _ => (file, std::fs::read(file).map(|content| bytes = content)),
    };
    read.map_err(|e| format!("cannot read {name}: {e}"))?;
    Ok(sources.add_bytes(name, bytes)?)
}

/// An error for people: with its place and advice where it has any.
/// Writes to standard error. When it is closed, nobody is left to read it.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

fn describe(error: &(dyn Error + 'static), sources: &Sources) -> String {
    match error.downcast_ref::<Diagnostic>() {
        Some(diagnostic) => diagnostic.render(sources),
        None => format!("error: {error}\n"),
    }
}

fn help_text(name: &str, help: &str) -> String {
    let about = match help.trim() {
        "" => "A KRM function.".to_string(),
        help => help.to_string(),
    };
    format!(
        "{about}\n
Usage: {name} < LIST
       {name} [--config FILE] FILE...

Reads a ResourceList on stdin and writes it to stdout: what an orchestrator such as `krm fn run` does with it.
Given files, works on the objects in them and prints what becomes of them.

      --config FILE  The functionConfig, for working on files
  -h, --help         Print this
"
    )
}
