//! `krm diff`: what a change does to every result, and which line does it.

mod colour;
mod columns;
mod github;
mod html;
mod markdown;
mod overlays;
mod rendered;
mod revisions;
mod text;
mod unified;

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use krm_engine::diff::{self, Diff, Given, Side, Status};
use krm_engine::edit::expand;
use krm_engine::explain::{FieldPath, Hidden, ResourceName};
use krm_engine::files::KUSTOMIZATION_FILES;
use krm_engine::{COMPOSITION_FILES, Diagnostic, Result, Sources, World};

use crate::cli::{BuildFlags, FormatArg, OutputFormat, examples};
use crate::commands::masks::masked_fields;
use crate::commands::targets::Targets;
use crate::os;
use crate::report::{self, Report, sanitize};

use columns::Columns;
pub use rendered::of_results;

/// Show what differs between two results, and which line of the sources makes it so
///
/// `krm diff REV` compares a revision with the working tree, `A..B` two revisions, `A...B` what B changed since it left A
/// (what a pull request does); nothing is checked out. Without a revision, `HEAD` is compared with the working tree. Folders
/// are those named, or every one in the current folder that no other includes; a folder without a kustomization means those
/// below it. Only those that a changed file reaches are built.
#[derive(Debug, Args)]
#[command(after_help = examples::DIFF)]
#[command(group(ArgGroup::new("tables").args(["side_by_side", "overlays"]).multiple(true)))]
pub struct DiffArgs {
    /// A revision, `A..B` or `A...B`; then folders with a kustomization or a Composition, or patterns of such
    #[arg(value_name = "REVISION | DIR")]
    words: Vec<String>,

    /// Folders, if one has the name of a revision
    #[arg(last = true, value_name = "DIR")]
    folders: Vec<String>,

    /// Compare two folders of one tree
    #[arg(long, num_args = 2, value_names = ["DIR", "DIR"], conflicts_with = "words")]
    overlays: Option<Vec<String>>,

    /// Compare rendered files with what is built now: a file, a folder of files, or `-` for standard input
    #[arg(long, value_name = "PATH", conflicts_with_all = ["overlays", "with"])]
    against: Option<String>,

    /// Compare what another program makes of the same folders: `--with 'kustomize build'`
    ///
    /// It is started once for each folder, which is its last argument, and must print resources.
    #[arg(long, value_name = "COMMAND", conflicts_with = "overlays")]
    with: Option<String>,

    /// Compare only this resource: `Kind/name`, by any name it ever had
    #[arg(long, value_name = "RESOURCE")]
    only: Option<String>,

    /// Leave out a field: `Deployment/spec.replicas`, `*/metadata.annotations`; may be given several times
    #[arg(long, value_name = "KIND/FIELD")]
    ignore: Vec<String>,

    /// Count the differences of each folder, and show none
    #[arg(long)]
    stat: bool,

    /// Build every folder, including those that no changed file reaches
    #[arg(long)]
    all: bool,

    /// Compare all folders that no other includes, in the current folder or below those named; this is the default without folders
    #[arg(long, conflicts_with = "overlays")]
    roots: bool,

    /// How many folders to build at once; the default is the number of cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Show everything, including what is left out for brevity
    #[arg(long)]
    full: bool,

    /// Exit with 3 if there are differences
    #[arg(long)]
    exit_code: bool,

    /// Show the values of Secrets
    #[arg(long)]
    show_secrets: bool,

    /// Do not show the values of this field; may be given several times
    #[arg(long, value_name = "FIELD")]
    mask: Vec<String>,

    /// Show values beside each other, in two columns
    ///
    /// A terminal with fewer than 120 columns shows them one below the other, unless `--width` is given. Only for text.
    #[arg(long, conflicts_with_all = ["html", "stat"])]
    side_by_side: bool,

    /// How many columns to use for `--side-by-side` and for the table of `--overlays`
    ///
    /// Those of the terminal without it. In a pipe 120 for `--side-by-side`, and as many as it takes for a table.
    #[arg(long, value_name = "COLUMNS", requires = "tables", value_parser = clap::value_parser!(u16).range(40..))]
    width: Option<u16>,

    /// Lines around each change of a unified difference, or of one side by side
    #[arg(long, value_name = "N", default_value_t = 3)]
    context: usize,

    /// How long Markdown may get: what a comment may hold
    #[arg(long, value_name = "BYTES", default_value_t = 65_000)]
    max_size: usize,

    /// Write a page in one file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "stat"])]
    html: Option<PathBuf>,

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
    /// For people: by cause
    Text,
    /// For programs
    Json,
    /// For a comment on a pull request, within its limit
    Markdown,
    /// For GitHub Actions: an annotation beside each line that causes something
    Github,
    /// For `patch` and `git apply` in a folder that `krm build -o` wrote
    Unified,
    /// A page in one file, for a browser
    Html,
}

impl OutputFormat for Format {
    const DEFAULT: &'static str = "text";
}

/// What the program exits with if there are differences and the user wants to know by that.
const DIFFERS: i32 = 3;

/// Compares, prints, and gives the exit status.
pub fn run(args: DiffArgs, report: &Report) -> Result<i32> {
    if args.side_by_side && args.output.format != Format::Text {
        return Err(Diagnostic::error("diff-side-by-side", "only text can be shown side by side")
            .help("leave out `--format`, or leave out `--side-by-side`"));
    }
    if args.stat && !matches!(args.output.format, Format::Text | Format::Json) {
        return Err(Diagnostic::error("diff-stat", "only text shows counts and nothing else").help(
            "leave out `--format`, or leave out `--stat`; JSON has the counts of each folder in `targets`",
        ));
    }
    if let Some(jobs) = args.jobs {
        // It fails only if there are threads already, and then these do.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(usize::from(jobs)).build_global();
    }
    let Compared { diff, given, hidden, only_matches_nothing } =
        match (&args.overlays, &args.against, &args.with) {
            (Some(two), _, _) => overlays::compare(&args, &two[0], &two[1], report)?,
            (_, Some(path), _) => rendered::against(&args, path, report)?,
            (_, _, Some(command)) => rendered::with(&args, command, report)?,
            _ => revisions::compare(&args, report)?,
        };
    if let Some(only) = args.only.as_deref().filter(|_| only_matches_nothing) {
        let message = format!("nothing that is compared is named `{only}`");
        let help =
            "write `Kind/name`, such as `Deployment/web`; `krm explain DIR` lists what a folder builds to";
        report.show(&Diagnostic::warning("diff-only-no-match", message).help(help));
    }
    let form = text::Form { full: args.full, columns: args.columns(report) };
    let text = match args.output.format {
        _ if args.html.is_some() => html::page(&diff),
        Format::Html => html::page(&diff),
        Format::Json => krm_yaml::json::pretty(&diff::json::diff(&diff)) + "\n",
        Format::Markdown => markdown::text(&diff, args.max_size, &in_full()),
        Format::Github => github::text(&diff),
        Format::Unified => {
            unified::text(&given, args.overlays.as_deref(), args.context, &options(&args)?, &hidden)?
        }
        Format::Text if args.stat => text::stat(&diff),
        Format::Text if args.overlays.is_some() => {
            let width = args.width.map(usize::from).or_else(os::terminal_width);
            overlays::text(&diff, form, width)
        }
        Format::Text => text::diff(&diff, form),
    };
    let text = match args.output.format {
        _ if args.html.is_some() || !report.colours.on_stdout() => text,
        Format::Text => colour::text(&text),
        Format::Unified => colour::unified(&text),
        _ => text,
    };
    match &args.html {
        Some(file) => os::write(file, text.as_bytes())?,
        // The places in a table of overlays are shortened, and so lead nowhere.
        None if args.output.format == Format::Text && args.overlays.is_none() => {
            report::show_linked(&text, args.no_pager)?;
        }
        None => report::show(&text, args.no_pager)?,
    }
    let is_same = !diff.differs() && count(&diff, Status::Failed) == 0;
    if let Some([first, second]) = args.two_folders().filter(|_| is_same) {
        eprintln!("help: to compare the two folders with each other: `krm diff --overlays {first} {second}`");
    }
    if !args.ignore.is_empty() && diff.ignored == 0 {
        eprintln!("note: `--ignore` leaves nothing out");
    }
    // The system takes the memory back faster than we could free every node.
    std::mem::forget(given);
    let errors = diff
        .targets
        .iter()
        .flat_map(|target| failures(target).into_iter().map(|error| (target.directory.as_str(), error)));
    match report.joined(errors) {
        Some(error) => Err(error),
        None if args.exit_code && diff.differs() => Ok(DIFFERS),
        None => Ok(0),
    }
}

/// What came of comparing, and what was compared.
struct Compared {
    diff: Diff,
    given: Vec<Given>,
    /// What is not to be shown of either side.
    hidden: [Hidden; 2],
    /// `--only` names a resource that is nowhere.
    only_matches_nothing: bool,
}

impl Compared {
    fn new(from: &Side, to: &Side, given: Vec<Given>, options: &diff::Options) -> Self {
        let hidden = diff::hidden(from, to, &given, options);
        let diff = diff::compare(from, to, &given, options, &hidden);
        let only_matches_nothing = diff::only_matches_nothing(&given, options);
        Self { diff, given, hidden, only_matches_nothing }
    }
}

impl DiffArgs {
    /// The columns for values, if they are wanted and there is room for two.
    fn columns(&self, report: &Report) -> Option<Columns> {
        let width = match self.width {
            Some(width) => usize::from(width),
            None => os::terminal_width().unwrap_or(columns::NARROWEST_TERMINAL),
        };
        let is_shown = self.side_by_side && (self.width.is_some() || width >= columns::NARROWEST_TERMINAL);
        is_shown.then(|| Columns::new(width, self.context, report.colours.on_stdout()))
    }

    /// The folders that were named, if none can be a revision.
    fn named(&self) -> impl Iterator<Item = &String> {
        self.words.iter().chain(&self.folders)
    }

    /// Two folders and nothing else: perhaps each was to be compared with the other, not with what it was before.
    fn two_folders(&self) -> Option<&[String; 2]> {
        let two: &[String; 2] = self.words.as_slice().try_into().ok()?;
        let by_revision = self.against.is_none() && self.with.is_none();
        (by_revision && two.iter().all(|word| Path::new(word).is_dir())).then_some(two)
    }
}

/// The folders that a path or a pattern means: those that can be built and, of any other, all below it that nothing
/// includes.
fn meant(world: &dyn World, name: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in expand(world, Path::new("."), name.trim_end_matches('/'))? {
        if is_layer(world, &path) {
            found.push(path);
        } else if world.is_dir(Path::new(&path)) {
            found.extend(Targets::find(world, &Sources::new(), &[path])?.names);
        }
    }
    Ok(found)
}

/// Whether a folder can be built.
pub fn is_layer(world: &dyn World, folder: &str) -> bool {
    let mut names = KUSTOMIZATION_FILES.iter().chain(&COMPOSITION_FILES);
    names.any(|name| world.is_file(&Path::new(folder).join(name)))
}

fn no_target(folder: &str, sides: &str) -> Diagnostic {
    let message = format!("there is no kustomization in or below `{folder}`{sides}");
    Diagnostic::error("diff-no-target", message).help(
        "name folders with a kustomization or a Composition; without any, all are compared that no other includes",
    )
}

/// What is to be said of a target that cannot be built. One that fails on both sides alike was not broken by the change.
fn failures(target: &diff::TargetDiff) -> Vec<Diagnostic> {
    match &target.errors {
        [Some(from), Some(to)] if from.message() == to.message() => vec![to.clone()],
        errors => errors.iter().flatten().cloned().collect(),
    }
}

/// What to compare, by the flags.
fn options(args: &DiffArgs) -> Result<diff::Options> {
    let ignore = args.ignore.iter().map(|text| {
        let parts = text.split_once('/').filter(|(kind, field)| !kind.is_empty() && !field.is_empty());
        let (kind, field) = parts.ok_or_else(|| {
            Diagnostic::error("diff-ignore", format!("`{text}` does not say what to leave out"))
                .help("write a kind and a field, as in `Deployment/spec.replicas`, or `*` for every kind")
        })?;
        Ok((kind.to_owned(), FieldPath::parse(field)?))
    });
    Ok(diff::Options {
        overlays: args.overlays.is_some(),
        only: args.only.as_deref().map(ResourceName::parse).transpose()?,
        ignore: ignore.collect::<Result<_>>()?,
        mask: masked_fields(&args.mask)?,
        show_secrets: args.show_secrets,
        opaque: None,
    })
}

/// The command that shows everything of what is left out: this one, as text.
fn in_full() -> String {
    let mut words = std::env::args().skip(1);
    let mut kept = vec!["krm".to_owned()];
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "--format" | "-o" | "--max-size") {
            // Its value is the next word.
            words.next();
        } else if word != "--full"
            && !["--format=", "--max-size=", "-o"].iter().any(|it| word.starts_with(it))
        {
            kept.push(word.clone());
            kept.extend((word == "diff").then(|| "--full".to_owned()));
        }
    }
    // Very many folders say less than none.
    const MOST: usize = 300;
    let command = shlex::try_join(kept.iter().map(String::as_str)).unwrap_or_default();
    // It goes into comments that others read: what another program is given may hold a password.
    let is_private = kept.iter().any(|word| word.starts_with("--with"))
        || sanitize::without_passwords(&command) != command;
    match command.is_empty() || command.len() > MOST || is_private {
        true => "krm diff --full".to_owned(),
        false => command,
    }
}

/// How many targets there are of a kind.
fn count(diff: &Diff, status: Status) -> usize {
    diff.targets.iter().filter(|target| target.status == status).count()
}
