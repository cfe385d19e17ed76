//! `krm explain`: where a value comes from.

mod blame;
mod colour;
mod forwards;
mod html;
mod misses;
mod packages;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use krm_engine::explain::{
    self, Explanation, FieldPath, FoundResource, Hidden, HistoryOptions, Labels, Near, ResourceName, Sites,
    json, text,
};
use krm_engine::graph::{Inputs, InputsOptions};
use krm_engine::{Diagnostic, Resources, Result, Session, Span, Trace, World, kpt};
use krm_yaml::Failure;

use crate::cli::{BuildFlags, FormatArg, OutputFormat, examples};
use crate::commands::affected::real_paths;
use crate::commands::diff::is_layer;
use crate::commands::masks::masked_fields;
use crate::commands::targets::Targets;
use crate::commands::{build, patterns};
use crate::os::Disk;
use crate::report::{self, Report, sanitize};

/// Show where a value of the result comes from
///
/// The build runs as `krm build` would run it, and what each step changes is kept. Of a folder with a Kptfile, or with
/// functions declared in its files, the functions run as `krm fn render` and `krm fn run` would run them, and nothing is
/// written. A resource is named by `Kind/name`,
/// `Kind/namespace/name` or its name alone: the final name, or any it had before. A field is a path as replacements write it
/// (`spec.template.spec.containers.[name=web].image`), with indexes (`containers[0]`), or a JSON pointer. Without a field,
/// the resource as a whole; without a resource, a list of all.
#[derive(Debug, Args)]
#[command(after_help = examples::EXPLAIN)]
pub struct ExplainArgs {
    /// Folders with a kustomization, a Composition, a Kptfile or functions, then a resource, then fields
    #[arg(value_name = "DIR... [RESOURCE [FIELD...]]")]
    words: Vec<String>,

    /// A line of what `krm build` prints
    #[arg(long, value_name = "N", conflicts_with_all = ["source", "blame"])]
    line: Option<usize>,

    /// The other direction: where a line of a source file ends up
    #[arg(long, value_name = "FILE:LINE", conflicts_with = "blame")]
    source: Option<String>,

    /// Print the whole result, each line with the location it comes from
    ///
    /// That is the line which set the value last. `*2` after it: two steps set the value before. `→ hash`: a name that ends in
    /// a hash of the content. `→ Service web`: a name that followed that of the resource.
    #[arg(long)]
    blame: bool,

    /// Explain every resource that the name means
    #[arg(long)]
    all: bool,

    /// How many causes of causes to follow; 0 for all
    #[arg(long, default_value_t = 3, value_name = "N")]
    depth: usize,

    /// Also show the conditions under which steps acted, and the steps that left the field alone
    #[arg(long, conflicts_with_all = ["source", "blame"])]
    steps: bool,

    /// How many parts of a map or list to show
    #[arg(long, default_value_t = 10, value_name = "N")]
    max: usize,

    /// Do not show the values of this field; may be given several times
    #[arg(long, value_name = "FIELD")]
    mask: Vec<String>,

    /// Write a page instead: the steps, what each changed, and the history of every field
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "blame", "format"])]
    html: Option<PathBuf>,

    /// Show the values of Secrets
    #[arg(long)]
    show_secrets: bool,

    /// Do not show a long answer through a pager
    #[arg(long)]
    no_pager: bool,

    #[command(flatten)]
    output: FormatArg<Format>,

    #[command(flatten)]
    flags: BuildFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl OutputFormat for Format {
    const DEFAULT: &'static str = "text";
}

/// What an answer is made from.
struct Answerer<'a> {
    session: &'a Session,
    report: &'a Report,
    labels: &'a Labels<'a>,
    sites: Sites<'a>,
    hidden: Hidden,
    depth: usize,
    steps: bool,
    most: usize,
    output: Format,
    no_pager: bool,
}

/// A target that was built, with its trace.
struct Traced {
    target: String,
    built: Result<Resources>,
    trace: Arc<Trace>,
}

pub fn run(args: ExplainArgs, report: &Report) -> Result<()> {
    let (disk, options) = build::world_and_options(&args.flags, &args.words)?;
    let disk = Arc::new(disk);
    let session = Session::new(disk.clone(), report.sources.clone(), options.clone());
    let asked = args.source.as_deref().map(forwards::Asked::parse).transpose()?;
    let (targets, rest) = match &asked {
        Some(asked) if args.words.is_empty() => (readers(&disk, asked, report)?, &args.words[..]),
        _ => split(&args.words, asked.is_some())?,
    };
    let mask = masked_fields(&args.mask)?;
    let packages = packages::Packages { disk: &disk, policy: &options.policy, report };
    let trace = |target: String| match packages.trace(&target) {
        Some((built, trace)) => Traced { target, built, trace },
        None => Traced::new(target, &session),
    };
    let traced: Vec<Traced> = targets.into_iter().map(trace).collect();
    let traces = traced.iter().map(|one| &*one.trace);
    let labels = Labels::new(&report.sources);
    let answerer = Answerer {
        session: &session,
        report,
        labels: &labels,
        sites: Sites::new(&labels),
        hidden: Hidden::of(traces, &report.sources, args.show_secrets, &mask),
        depth: if args.depth == 0 { usize::MAX } else { args.depth },
        steps: args.steps,
        most: args.max,
        output: args.output.format,
        no_pager: args.no_pager,
    };
    if let Some(asked) = &asked {
        return forwards::explain(&answerer, asked, &traced, args.output.format);
    }
    if let Some(file) = &args.html {
        return html::write(&answerer, &args, &mask, &traced, rest, file);
    }
    if let Some(word) = rest.first().filter(|_| args.line.is_some() || args.blame) {
        let flag = if args.blame { "--blame" } else { "--line" };
        let message = format!("`{flag}` is about all of what the build prints, not about `{word}`");
        let help = format!("leave out `{flag}`, or the name");
        return Err(Diagnostic::error("explain-whole", message).failing(Failure::CommandLine).help(help));
    }
    let [one] = &traced[..] else { return answerer.side_by_side(&traced, rest, args.output.format) };
    if args.blame {
        return blame::print(&answerer, one, args.output.format);
    }
    if let Some(line) = args.line {
        one.failure()?;
        let (found, path) = explain::lines::at_line(&one.trace, line)?;
        let place = explain::Where::in_result(&one.trace, &found, path);
        let answer = answerer.in_full(one, &place);
        return answerer.print(one, &[answer], args.output.format);
    }
    if let Some(error) = two_words(one, rest) {
        return Err(error);
    }
    let Some((resource, fields)) = rest.split_first() else { return answerer.table(one, args.output.format) };
    let found = match args.all {
        true => answerer.resources(one, explain::all_resources, resource)?,
        false => vec![answerer.resource(one, resource)?],
    };
    let several = found.len() > 1;
    let (mut answers, mut without) = (Vec::new(), Vec::new());
    for found in &found {
        match fields.is_empty() {
            true => answers.push(answerer.whole_in_full(one, found)),
            false => {
                for field in fields {
                    // That there is no such field may be because the build did not get so far.
                    let answer = answerer.field(one, found, field).map_err(|error| {
                        Diagnostic::join([error.clone()].into_iter().chain(one.failure().err()))
                            .unwrap_or(error)
                    });
                    match answer {
                        Ok(answer) => answers.extend(answer),
                        // Not all that share a name share their fields.
                        Err(error) if several => without.push(error),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
    }
    if let Some(error) = Diagnostic::join(without).filter(|_| answers.is_empty()) {
        return Err(error);
    }
    answerer.print(one, &answers, args.output.format)?;
    one.failure()
}

/// The targets that read a file: the current folder, or, if there is nothing to build in it, those below it.
fn readers(disk: &Arc<Disk>, asked: &forwards::Asked, report: &Report) -> Result<Vec<String>> {
    let here = ".".to_owned();
    let targets = Targets::find(&**disk, &report.sources, &[])?;
    if targets.names.is_empty() || disk.is_file(Path::new(kpt::FILE)) || is_layer(&**disk, &here) {
        return Ok(vec![here]);
    }
    let Targets { workspace, names, .. } = &targets;
    let inputs = Inputs::of(disk.clone(), &report.sources, workspace, names, InputsOptions::default());
    let reached = inputs.reached_by(&real_paths(&**disk, &asked.file)).into_iter();
    // One without files counts as reached only because it is broken.
    Ok(reached.filter(|reached| !reached.files.is_empty()).map(|reached| reached.target).collect())
}

/// Folders come first; what is not one begins the name of a resource.
fn split(words: &[String], all_folders: bool) -> Result<(Vec<String>, &[String])> {
    let is_folder = |word: &String| std::path::Path::new(word).is_dir() || word.contains("://");
    let mut folders = Vec::new();
    let mut count = 0;
    for word in words {
        let named = patterns::folders(word);
        if named.is_empty() && !is_folder(word) && !all_folders {
            break;
        }
        folders.extend(if named.is_empty() { vec![word.clone()] } else { named });
        count += 1;
    }
    match (count, words.first()) {
        (0, None) => Ok((vec![".".to_owned()], words)),
        (0, Some(first)) => {
            Err(Diagnostic::error("explain-no-folder", format!("there is no folder `{first}`"))
                .help("the folder with the kustomization comes first: `krm explain DIR Kind/name field`"))
        }
        _ => Ok((folders, &words[count..])),
    }
}

/// The error for a resource whose kind and name were given as two words.
fn two_words(one: &Traced, rest: &[String]) -> Option<Diagnostic> {
    let [kind, name, ..] = rest else { return None };
    let find = |name: &str| explain::resources(&one.trace, &ResourceName::parse(name)?).map(drop);
    let joined = format!("{kind}/{name}");
    let error = find(kind).err().filter(|_| find(&joined).is_ok())?;
    Some(error.without_help().help(format!("write `{joined}`: kind and name are one word")))
}

impl Traced {
    fn new(target: String, session: &Session) -> Self {
        let (built, trace) = session.trace(&target);
        Self { target, built, trace }
    }

    /// A build that fails is explained up to the step that failed, and reported.
    fn failure(&self) -> Result<()> {
        self.built.as_ref().map(|_| ()).map_err(Clone::clone)
    }
}

/// Finds the resources that a name means.
type Find<'t> = fn(&'t Trace, &ResourceName) -> Result<Vec<FoundResource<'t>>>;

impl Answerer<'_> {
    /// Every resource that a name may mean.
    fn resources<'t>(&self, one: &'t Traced, find: Find<'t>, name: &str) -> Result<Vec<FoundResource<'t>>> {
        match find(&one.trace, &ResourceName::parse(name)?) {
            // Why there is nothing is in the error of the build.
            Err(_) if one.built.is_err() => Err(one.failure().expect_err("it failed")),
            found => found,
        }
    }

    /// The one resource that a name means.
    fn resource<'t>(&self, one: &'t Traced, name: &str) -> Result<FoundResource<'t>> {
        let mut found = self.resources(one, explain::resources, name)?;
        if found.len() > 1 {
            let names: Vec<String> = found
                .iter()
                .map(|found| match found.seen.id.namespace.as_str() {
                    "" => format!("`{}/{}`", found.seen.id.gvk.kind, found.seen.id.name),
                    ns => format!("`{}/{ns}/{}`", found.seen.id.gvk.kind, found.seen.id.name),
                })
                .collect();
            let message = format!("`{name}` means several resources: {}", names.join(", "));
            return Err(Diagnostic::error("explain-ambiguous", message)
                .help("name the one you mean, or pass `--all`"));
        }
        Ok(found.swap_remove(0))
    }

    fn field(&self, one: &Traced, found: &FoundResource, field: &str) -> Result<Vec<Explanation>> {
        let path = FieldPath::parse(field)?;
        let places = explain::locate(&one.trace, found, &path);
        if places.is_empty() {
            return Err(self.no_field(one, found, &path));
        }
        Ok(places.iter().map(|place| self.in_full(one, place)).collect())
    }

    fn explain(&self, place: &explain::Where) -> Explanation {
        let conditions = self.output == Format::Json;
        let with =
            HistoryOptions { labels: self.labels, hidden: &self.hidden, depth: self.depth, conditions };
        explain::explain(place, with)
    }

    /// The same with all places it depends on, if they are shown.
    fn in_full(&self, one: &Traced, place: &explain::Where) -> Explanation {
        let mut answer = self.explain(place);
        if self.steps || self.output == Format::Json {
            answer.sites = self.sites.of(place);
        }
        if answer.value.as_ref().is_some_and(|value| !value.is_scalar()) {
            answer.parts = self.sites.parts(place);
        }
        if self.steps {
            answer.left_alone = explain::left_alone(place);
        }
        answer.misses = self.all_misses(one, place, &answer);
        answer
    }

    /// The history of a resource as a whole.
    fn whole(&self, one: &Traced, found: &FoundResource) -> Explanation {
        self.explain(&explain::Where::whole(&one.trace, found))
    }

    /// The same with what almost happened to it.
    fn whole_in_full(&self, one: &Traced, found: &FoundResource) -> Explanation {
        let mut answer = self.whole(one, found);
        answer.misses = self.all_misses(one, &explain::Where::whole(&one.trace, found), &answer);
        answer
    }

    fn no_field(&self, one: &Traced, found: &FoundResource, field: &FieldPath) -> Diagnostic {
        let id = &found.seen.id;
        let message = format!("{} `{}` has no field `{}`, and never had", id.gvk.kind, id.name, field.text());
        let error = Diagnostic::error("explain-no-field", message).failing(Failure::NoMatch);
        let near = explain::near_entries(&one.trace, found.track, Some(field), Near::All, self.labels);
        let is_near = !near.is_empty();
        let error = near.into_iter().fold(error, |error, miss| {
            let error = error.note(format!("near: {}", miss.message), miss.place);
            miss.advice.into_iter().fold(error, Diagnostic::help)
        });
        let near = explain::near_fields(&found.seen.node, field);
        match (near.is_empty(), error.advice().is_empty() && !is_near) {
            (false, _) => error.help(format!("did you mean `{}`?", near.join("`, `"))),
            (true, true) => error.help("check the spelling; leave out the field to see the whole resource"),
            (true, false) => error,
        }
    }

    fn print(&self, one: &Traced, answers: &[Explanation], format: Format) -> Result<()> {
        let text = match format {
            Format::Text => answers
                .iter()
                .map(|answer| {
                    let sources = &self.report.sources;
                    let below = text::below(answer, sources, self.most);
                    let steps = match self.steps {
                        true => text::steps(answer, sources, self.labels, &self.hidden),
                        false => String::new(),
                    };
                    let mut text = text::explanation(answer, sources, self.most) + &below + &steps;
                    if one.built.is_err() {
                        text = text.replacen('\n', "  (as far as the build got)\n", 1);
                    }
                    text
                })
                .collect::<Vec<_>>()
                .join("\n"),
            Format::Json => match answers {
                [answer] => json::pretty(&self.json_of(one, answer)),
                _ => json::list(None, "answers", answers.iter().map(|answer| self.json_of(one, answer))),
            },
        };
        let text = sanitize::inert(&text);
        match format {
            Format::Text if self.report.colours.on_stdout() => self.show(&colour::history(&text), format),
            _ => self.show(&text, format),
        }
    }

    /// Shows an answer; places in text are links.
    fn show(&self, text: &str, format: Format) -> Result<()> {
        match format {
            Format::Text => report::show_linked(text, self.no_pager),
            Format::Json => report::show(text, self.no_pager),
        }
    }

    /// An answer as data; of a build that fails it is what there was until then.
    fn json_of(&self, one: &Traced, answer: &Explanation) -> krm_engine::Node {
        let mut node = self.json(answer, &one.target);
        if one.built.is_err() {
            node.set("buildFails", true);
        }
        node
    }

    fn json(&self, answer: &Explanation, target: &str) -> krm_engine::Node {
        json::explanation(answer, target, &self.report.sources, &self.hidden)
    }

    /// Every resource, where it comes from, and how many steps changed it.
    fn table(&self, one: &Traced, format: Format) -> Result<()> {
        let rows: Vec<text::Row> = one
            .trace
            .resources()
            .into_iter()
            .map(|(track, seen, present)| {
                let answer = self.whole(one, &FoundResource { track, seen, present });
                text::Row::new(&answer, &self.report.sources)
            })
            .collect();
        let text = match format {
            Format::Text => text::table(&rows),
            Format::Json => {
                json::list(Some(("directory", &one.target)), "resources", rows.iter().map(json::row))
            }
        };
        self.show(&sanitize::inert(&text), format)?;
        one.failure()
    }

    /// One line for each target.
    fn side_by_side(&self, all: &[Traced], rest: &[String], format: Format) -> Result<()> {
        let [resource, field] = rest else {
            let error =
                Diagnostic::error("explain-side-by-side", "several folders are compared by one field")
                    .failing(Failure::CommandLine);
            return Err(match all.iter().find_map(|one| two_words(one, rest)) {
                Some(error) => error,
                None => error.help(
                    "name a resource and a field: `krm explain overlays/* Deployment/web spec.replicas`",
                ),
            });
        };
        let (mut errors, mut missing) = (Vec::new(), Vec::new());
        let mut answers = Vec::new();
        for one in all {
            // A value that later steps may change is not an answer beside those of whole builds.
            if let Err(error) = one.failure() {
                answers.push((one.target.as_str(), text::Cell::Fails));
                errors.push((one.target.as_str(), error));
                continue;
            }
            let answer = self.resource(one, resource).and_then(|found| self.field(one, &found, field));
            match answer {
                Ok(all) => {
                    let cell = |answer| (one.target.as_str(), text::Cell::Answer(Box::new(answer)));
                    answers.extend(all.into_iter().map(cell));
                }
                Err(error) if error.failure() == Some(Failure::NoMatch) => {
                    answers.push((one.target.as_str(), text::Cell::Absent));
                    let name = ResourceName::parse(resource)?;
                    let has_resource = explain::resources(&one.trace, &name).is_ok();
                    // A field that is misspelled says more than a resource that is elsewhere.
                    missing
                        .insert(if has_resource { 0 } else { missing.len() }, (one.target.as_str(), error));
                }
                Err(error) => errors.push((one.target.as_str(), error)),
            }
        }
        // Some may lack it; all of them is a mistake.
        if let Some((target, error)) = missing.first().filter(|_| missing.len() == all.len()) {
            let note = format!("in `{target}`; none of the other folders has it either");
            return Err(error.clone().note(note, Span::NONE));
        }
        let text = match format {
            Format::Text => text::side_by_side(&answers, &self.report.sources),
            Format::Json => json::list(
                None,
                "answers",
                answers.iter().map(|(target, cell)| match cell {
                    text::Cell::Answer(answer) => self.json(answer, target),
                    text::Cell::Absent => json::without_answer(target, "absent"),
                    text::Cell::Fails => json::without_answer(target, "fails"),
                }),
            ),
        };
        self.show(&sanitize::inert(&text), format)?;
        self.report.joined(errors).map_or(Ok(()), Err)
    }
}
