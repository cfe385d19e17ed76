//! What can be written on the command line. The doc comments are the manual.

pub mod as_kustomize;
pub mod examples;
mod format;
mod functions;
mod packages;
mod remote_execution;
mod shared_cache;
mod spelling;
mod usage;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use format::{FormatArg, OutputFormat};
pub use functions::{
    AccessArgs, Cache, FetchArgs, FnArgs, FnCommand, FnDocArgs, FnOutput, FnRunArgs, FnSinkArgs,
    FnSourceArgs, FnWrapArgs, FnXargsArgs, ProgramArgs, SourceForm, WrapInputArgs,
};

pub use functions::size;
pub use packages::{
    FnEvalArgs, FnRenderArgs, FunctionType, MatchArgs, OnUpdateConflict, PkgArgs, PkgCatArgs, PkgCommand,
    PkgDiffArgs, PkgGetArgs, PkgInitArgs, PkgTreeArgs, PkgUpdateArgs,
};
pub use remote_execution::credential_helper;
pub use shared_cache::SharedCacheArgs;
pub use usage::{Usage, is_pair, pair_advice};

use crate::report::{ColorChoice, ErrorFormat};

/// One fast program for Kubernetes configuration
///
/// Builds kustomizations as `kustomize build` does, runs functions on configuration, composes lists of transformers, and
/// merges resources, keeping their comments. Every command has its own `--help`.
#[derive(Debug, Parser)]
#[command(name = "krm", version, disable_help_subcommand = true, max_term_width = 110, after_help = examples::KRM)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub everywhere: Everywhere,
}

/// Options of every command.
#[derive(Debug, Default, Args)]
pub struct Everywhere {
    /// How errors and warnings are written to standard error
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT", display_order = 900)]
    pub error_format: ErrorFormat,

    /// Whether to use colours
    ///
    /// `auto`: at a terminal, unless `NO_COLOR`, `CLICOLOR_FORCE` or `TERM=dumb` say otherwise.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", display_order = 901)]
    pub color: ColorChoice,
}

/// Reads `krm build DIR...` without options. To describe the options of `build` takes longer than a small build.
fn build_without_options(args: &[OsString]) -> Option<Cli> {
    let [_, word, targets @ ..] = args else { return None };
    if word != "build" {
        return None;
    }
    let plain = |target: &OsString| target.to_str().filter(|text| !text.starts_with('-')).map(str::to_owned);
    let mut targets: Vec<String> = targets.iter().map(plain).collect::<Option<_>>()?;
    if targets.is_empty() {
        targets.push(HERE.to_owned());
    }
    let flags = BuildFlags { helm_command: HELM.to_owned(), ..BuildFlags::default() };
    let args = BuildArgs { targets, flags, ..BuildArgs::default() };
    Some(Cli { command: Command::Build(Box::new(args)), everywhere: Everywhere::default() })
}

/// The folder a build is of, if none is named.
const HERE: &str = ".";
/// The program that inflates charts, if none is named.
const HELM: &str = "helm";

/// `krm build` alone: to describe all commands takes longer still.
#[derive(Debug, Parser)]
#[command(name = "krm")]
struct BuildAlone {
    #[command(subcommand)]
    command: OnlyBuild,
    #[command(flatten)]
    everywhere: Everywhere,
}

#[derive(Debug, Subcommand)]
enum OnlyBuild {
    Build(Box<BuildArgs>),
}

impl BuildAlone {
    /// Reads a command line that is a plain build; any other needs the description of all commands.
    fn read(args: &[OsString]) -> Option<Cli> {
        args.get(1).filter(|word| *word == "build")?;
        let mut command = Self::command();
        let args = spelling::plain_switches(args.to_vec(), &command);
        let matches = command.try_get_matches_from_mut(args).ok()?;
        let Self { command: OnlyBuild::Build(args), everywhere } = Self::from_arg_matches(&matches).ok()?;
        Some(Cli { command: Command::Build(args), everywhere })
    }
}

impl Cli {
    /// Reads the command line. Switches may be written as kustomize's may, `--enable-helm=true`.
    pub fn read() -> Result<Self, Usage> {
        let args: Vec<OsString> = spelling::older_words(std::env::args_os().collect());
        let format = usage::format_of(&args);
        if as_kustomize::is_called() {
            let args = as_kustomize::without_stack_trace(args);
            let command = as_kustomize::command(Self::command());
            let args = spelling::plain_switches(args, &command);
            let read = command.try_get_matches_from(args).and_then(|read| Self::from_arg_matches(&read));
            return read.map_err(|error| Usage { error, format });
        }
        if let Some(build) = build_without_options(&args).or_else(|| BuildAlone::read(&args)) {
            return Ok(build);
        }
        let mut command = Self::command().color(usage::color_of(&args));
        // Most command lines have none, and need not be looked at twice.
        let args = match args.iter().any(|arg| arg.to_string_lossy().contains('=')) {
            true => spelling::plain_switches(args, &command),
            false => args,
        };
        let read =
            command.try_get_matches_from_mut(args).and_then(|matches| Self::from_arg_matches(&matches));
        read.map_err(|error| Usage { error, format })
    }

    /// How errors and warnings are written: a report as JSON has its warnings as JSON, too.
    pub fn error_format(&self) -> ErrorFormat {
        match &self.command {
            Command::Merge3(args) => args.report.filter(|format| *format != ErrorFormat::Text),
            _ => None,
        }
        .unwrap_or(self.everywhere.error_format)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Build(Box<BuildArgs>),
    Diff(Box<crate::commands::diff::DiffArgs>),
    Explain(Box<crate::commands::explain::ExplainArgs>),
    Lint(Box<crate::commands::lint::LintArgs>),
    Edit(Box<crate::commands::edit::EditArgs>),
    Create(Box<crate::commands::create::CreateArgs>),
    Plan(crate::commands::plan::PlanArgs),
    Merge(MergeArgs),
    Merge3(Merge3Args),
    Fn(FnArgs),
    Pkg(PkgArgs),
    Cfg(Box<crate::commands::cfg::CfgArgs>),
    Graph(Box<crate::commands::graph::GraphArgs>),
    Affected(crate::commands::affected::AffectedArgs),
    Serve(Box<crate::commands::serve::ServeArgs>),
    Lock(Box<crate::commands::lock::LockArgs>),
    Vendor(crate::commands::vendor::VendorArgs),
    Localize(Box<crate::commands::localize::LocalizeArgs>),
    Openapi(crate::commands::openapi::OpenapiArgs),
    Schema(crate::commands::schema::SchemaArgs),
    Cache(crate::commands::cache::CacheArgs),
    Lsp(crate::commands::lsp::LspArgs),
    Completion(CompletionArgs),
    Man(ManArgs),
    Help(crate::commands::help::HelpArgs),
    Version(VersionArgs),
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
}

/// Build the resources a kustomization or a Composition describes, and print them
///
/// For a folder with a `kustomization.yaml`, prints byte for byte what `kustomize build` would print; for one with a
/// `composition.yaml`, what its transformers produce.
#[derive(Debug, Default, Args)]
#[command(after_help = examples::BUILD)]
pub struct BuildArgs {
    /// Folders with a kustomization or a Composition, or addresses of git repositories that hold one
    #[arg(default_value = HERE, value_name = "DIR")]
    pub targets: Vec<String>,

    /// Write to this file; or into this folder: a file per resource, or a file per target if there are several
    ///
    /// A folder that does not exist yet is created if its name ends in `/`, or if there are several targets. The file of a
    /// target has the path of its folder: that of `clusters/eu/prod` is `clusters/eu/prod.yaml`.
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,

    /// Build only the targets that changed since this revision; of a folder without a kustomization, those below it
    ///
    /// The working tree is compared with it. `REV...` means the point at which the current branch left REV. With `-o` files
    /// are named as if all targets were built.
    #[arg(long, value_name = "REV", conflicts_with = "watch")]
    pub changed_since: Option<String>,

    /// Build again when files change, and say what changed on standard error
    #[arg(long)]
    pub watch: bool,

    /// With `--watch`: look at the files every MS milliseconds, for file systems that do not say when a file changes
    #[arg(long, value_name = "MS", requires = "watch")]
    pub poll: Option<u64>,

    /// With `--watch`: run this command whenever a result changed
    ///
    /// It reads JSON from standard input: the `files` that changed and the `targets` whose results did. While it runs, further
    /// changes are collected for one more run.
    #[arg(long, value_name = "COMMAND", requires = "watch")]
    pub exec: Option<String>,

    /// With `--watch`: write the page of the build to this file, again after each change; for one folder
    #[arg(long, value_name = "FILE", requires = "watch", conflicts_with = "output")]
    pub html: Option<PathBuf>,

    /// With `--watch`: show what each change does to the results, and not the results themselves
    #[arg(long, requires = "watch")]
    pub diff: bool,

    /// With `--watch`: end after the first change
    #[arg(long, requires = "watch", hide_short_help = true)]
    pub once: bool,

    /// Write a file per target even if there is only one, so that a pattern may match any number of them
    #[arg(long, requires = "output")]
    pub mirror: bool,

    /// Remove the `.yaml` files of the output folder that no target made; implies `--mirror`
    #[arg(long, requires = "output")]
    pub prune: bool,

    /// Keep what is built, and build again only what changed
    ///
    /// Outputs of functions are kept as well: `sandboxed` (the default of the flag) keeps those of containers and modules,
    /// `all` those of executables too.
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "sandboxed")]
    pub cache: Option<Cache>,

    /// For each target, report why it was built, or that it was not; implies `--cache`
    #[arg(long, conflicts_with = "watch")]
    pub explain_cache: bool,

    /// Do not list the files that were written to the output folder
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub shared: SharedCacheArgs,

    #[command(flatten)]
    pub flags: BuildFlags,
}

/// What decides the result of a build: every command that builds takes these.
#[derive(Debug, Default, Args)]
pub struct BuildFlags {
    /// Which files a kustomization may read
    ///
    /// `LoadRestrictionsRootOnly`: those in or below its own folder.
    /// `LoadRestrictionsNone`: any, which makes a kustomization harder to move.
    #[arg(long, value_enum, default_value_t, ignore_case = true, value_name = "RULE")]
    pub load_restrictor: LoadRestrictor,

    /// Make every warning an error: patches, images or selectors that match nothing, fields that are deprecated
    ///
    /// Levels and silences set in `krm.toml` or in comments apply: see `krm lint`.
    #[arg(long)]
    pub strict: bool,

    /// Run the functions and programs that generators, transformers and validators name
    #[arg(long)]
    pub enable_alpha_plugins: bool,

    /// Inflate helm charts with the `helm` program
    #[arg(long)]
    pub enable_helm: bool,

    /// The helm program
    #[arg(long, default_value = HELM, value_name = "PROGRAM")]
    pub helm_command: String,

    /// An API version that helm charts may rely on; may be given several times
    #[arg(long, value_name = "VERSION")]
    pub helm_api_versions: Vec<String>,

    /// The Kubernetes version that helm charts may rely on
    #[arg(long, default_value = "", value_name = "VERSION", hide_default_value = true)]
    pub helm_kube_version: String,

    /// Show helm's debug output
    #[arg(long)]
    pub helm_debug: bool,

    #[command(flatten)]
    pub access: AccessArgs,

    #[command(flatten)]
    pub fetch: FetchArgs,

    /// A catalog of functions to trust: programs for transformers that name none; may be given several times
    #[arg(long, value_name = "FILE")]
    pub trusted_catalog: Vec<String>,

    /// The version of Kubernetes whose types determine how lists are patched and which kinds have no namespace
    #[arg(long, value_enum, default_value_t, value_name = "VERSION")]
    pub kube_version: KubeVersion,

    /// The order of the output; `sortOptions` in the kustomization wins over it
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub reorder: Reorder,

    /// Label every resource with the version of the program that built it
    #[arg(long, hide_short_help = true)]
    pub enable_managedby_label: bool,

    /// Accepted for scripts that pass it to kustomize: errors always say where they come from
    #[arg(long, hide = true)]
    pub stack_trace: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LoadRestrictor {
    #[default]
    #[value(name = "LoadRestrictionsRootOnly", alias = "rootOnly")]
    RootOnly,
    #[value(name = "LoadRestrictionsNone", alias = "none")]
    None,
}

/// The versions of Kubernetes whose types are built in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KubeVersion {
    /// What kustomize uses
    #[default]
    #[value(name = "1.21", aliases = ["v1.21", "v1.21.2"])]
    V1_21,
    #[value(name = "1.37", alias = "v1.37")]
    V1_37,
}

impl From<KubeVersion> for krm_engine::Kubernetes {
    fn from(version: KubeVersion) -> Self {
        match version {
            KubeVersion::V1_21 => Self::V1_21,
            KubeVersion::V1_37 => Self::V1_37,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Reorder {
    /// By kind, then by name
    #[default]
    Legacy,
    /// As they were read
    None,
}

/// Print the version
#[derive(Debug, Args)]
#[command(after_help = examples::VERSION)]
pub struct VersionArgs {
    /// Print it as data
    #[arg(long = "format", alias = "output", short_alias = 'o', value_enum, value_name = "FORMAT")]
    pub output: Option<DataFormat>,

    /// The version alone
    #[arg(long, hide_short_help = true)]
    pub short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    Json,
    Yaml,
}

/// Print a script that completes `krm` commands in a shell
///
/// For bash, fish and zsh it offers folders with a kustomization where one is expected, and names of resources after
/// `krm explain DIR` and `krm edit rename`.
#[derive(Debug, Args)]
#[command(after_help = examples::COMPLETION)]
pub struct CompletionArgs {
    /// The shell to print it for
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Print what may come next on a command line: for the scripts that `krm completion` prints
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The command line up to the cursor
    pub line: String,
}

/// Show the manual page of a command
///
/// At a terminal `man` shows it; elsewhere it is printed as plain text.
#[derive(Debug, Args)]
#[command(after_help = examples::MAN)]
pub struct ManArgs {
    /// The command, such as `build` or `fn run`; krm itself if none is named
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,

    /// Write the pages of all commands to a folder instead; it is created if it does not exist
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub output: Option<PathBuf>,

    /// Print the page in the language of manual pages, for `man -l` and for files
    #[arg(long, conflicts_with = "output")]
    pub roff: bool,
}

/// Merge resources into others, the source winning where they differ
///
/// Resources are paired by apiVersion, kind, namespace and name, items of a `List` included. What only DEST has is kept,
/// what only a SOURCE has is added; fields are merged one by one, `null` in a SOURCE clears a field, and lists are merged
/// element by element if a key identifies their elements. Comments and layout of DEST stay where nothing changes. Standard
/// error says which resources were added or removed and, with `--write`, which files were written.
#[derive(Debug, Args)]
#[command(after_help = examples::MERGE)]
pub struct MergeArgs {
    /// What is merged in: files, folders, or `-` for standard input; of several, later ones win
    #[arg(required = true, num_args = 1.., value_name = "SOURCE")]
    pub sources: Vec<String>,

    /// What it is merged into: a file, a folder, or `-` for standard input
    #[arg(value_name = "DEST")]
    pub dest: String,

    #[command(flatten)]
    pub lists: ListArgs,

    /// Write the result back into DEST instead of printing it
    #[arg(short, long)]
    pub write: bool,
}

/// Apply what changed between two states of resources to a third
///
/// What the update added, changed or removed is added, changed or removed in the destination; what it left alone stays as
/// the destination has it. A file that the update renamed is renamed. A field that both changed is a conflict: it is
/// reported on standard error, and the update's value is taken unless `--on-conflict` says otherwise.
#[derive(Debug, Args)]
#[command(after_help = examples::MERGE3)]
pub struct Merge3Args {
    /// What both were made from: a file, a folder, or `-` for standard input
    #[arg(long, value_name = "PATH")]
    pub original: String,

    /// What the original became
    #[arg(long, value_name = "PATH")]
    pub updated: String,

    /// What the changes are applied to
    #[arg(long, value_name = "PATH")]
    pub dest: String,

    #[command(flatten)]
    pub lists: ListArgs,

    /// Write the result back into the destination instead of printing it
    #[arg(short, long)]
    pub write: bool,

    /// How conflicts are reported on standard error
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, default_missing_value = "text")]
    pub report: Option<ErrorFormat>,

    /// What to do about a conflict
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub on_conflict: OnConflict,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Take the update's value
    #[default]
    #[value(alias = "update")]
    Theirs,
    /// Keep the destination's value
    Ours,
    /// Write nothing, and fail
    Fail,
}

/// How lists are merged.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Merge only lists that have a key according to the types of Kubernetes
    ///
    /// Otherwise a list of another type is also merged if every element has one of `mountPath`, `devicePath`, `ip`,
    /// `type`, `topologyKey`, `name` and `containerPort`.
    #[arg(long)]
    pub no_infer: bool,

    /// Put the list elements of what is merged in first, and those only the destination has last; otherwise new ones go last
    #[arg(long)]
    pub prepend: bool,

    /// The version of Kubernetes whose types determine which lists have a key
    #[arg(long, value_enum, default_value_t, value_name = "VERSION")]
    pub kube_version: KubeVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_build_without_options_is_read_as_if_all_options_were_known() {
        for line in ["krm build", "krm build a", "krm build a ../b help"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let quick = build_without_options(&args).expect("there is no option");
            assert_eq!(format!("{quick:?}"), format!("{:?}", Cli::parse_from(&args)));
        }
        for line in ["krm", "krm plan a", "krm build -o b a", "krm build -- a", "krm --color never build a"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(build_without_options(&args).is_none(), "{line}");
        }
    }
}
