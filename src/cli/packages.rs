//! The arguments of `krm pkg`, and of the commands of `krm fn` that work on packages with a Kptfile.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use krm_engine::Policy;
use krm_engine::policy::Limits;
use krm_engine::runtime::EnvVar;

use super::examples;
use super::functions::{Cache, FetchArgs, PullPolicy, mounts, nothing_allowed};
use super::remote_execution::RemoteExecutionArgs;
use crate::os;

/// Get, update and look at packages: folders with a `Kptfile`
///
/// A package comes from a folder of a git repository, is changed here, and takes what changes there later.
#[derive(Debug, Args)]
#[command(after_help = examples::PKG)]
pub struct PkgArgs {
    #[command(subcommand)]
    pub command: PkgCommand,
}

#[derive(Debug, Subcommand)]
pub enum PkgCommand {
    Init(PkgInitArgs),
    Get(PkgGetArgs),
    Update(PkgUpdateArgs),
    Diff(PkgDiffArgs),
    Tree(PkgTreeArgs),
    Cat(PkgCatArgs),
}

/// Make a folder a package
///
/// Adds a Kptfile, a README.md and a package-context.yaml; what is there already stays as it is.
#[derive(Debug, Args)]
#[command(after_help = examples::PKG_INIT)]
pub struct PkgInitArgs {
    /// The folder; it is created if it does not exist
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,

    /// What the package is for
    #[arg(long, default_value = "sample description", value_name = "TEXT")]
    pub description: String,

    /// Keywords to find the package by, separated by commas; may be given several times
    #[arg(long, value_delimiter = ',', value_name = "WORDS")]
    pub keywords: Vec<String>,

    /// The web page of the package
    #[arg(long, default_value = "", value_name = "URL", hide_default_value = true)]
    pub site: String,
}

/// Fetch a package from a git repository
///
/// The address is `REPOSITORY.git/PATH@REF`: `.git` says where the repository ends, and a tag `PATH/REF` is preferred to
/// `REF`. The Kptfile records where the package came from, so that `krm pkg update` can merge what changes there.
#[derive(Debug, Args)]
#[command(after_help = examples::PKG_GET)]
pub struct PkgGetArgs {
    /// The address of the package
    #[arg(value_name = "ADDRESS")]
    pub address: String,

    /// The new folder; in a folder that exists, the package becomes a subfolder; `.` must be empty, and becomes the package
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// How updates are made
    #[arg(long, default_value = "resource-merge", value_name = "STRATEGY")]
    pub strategy: String,

    /// Add a package-context.yaml with the name of the package, for functions that ask for it
    #[arg(long)]
    pub for_deployment: bool,
}

/// Merge what changed upstream into a package
///
/// Nothing is written unless all of it succeeds. With `resource-merge`, a field that was changed both here and upstream
/// takes the value of upstream, and is reported.
#[derive(Debug, Args)]
#[command(after_help = examples::PKG_UPDATE)]
pub struct PkgUpdateArgs {
    /// The folder of the package, and the branch, tag or commit to update to: `DIR@REF`
    #[arg(default_value = ".", value_name = "DIR[@REF]")]
    pub package: Vec<String>,

    /// How to update; the default is what the Kptfile says
    ///
    /// `resource-merge`: resource by resource, field by field. `fast-forward`: only if nothing was changed here.
    /// `force-delete-replace`: drop what was changed here. `copy-merge`: copy the upstream's files over those here.
    #[arg(long, value_name = "STRATEGY")]
    pub strategy: Option<String>,

    /// Do not list the files that were written
    #[arg(short, long)]
    pub quiet: bool,

    /// Show what would change, and write nothing
    #[arg(long)]
    pub diff: bool,

    /// What to do about a field that was changed both here and upstream
    ///
    /// `fail` also counts resources and files that one side changed and the other removed. Otherwise a resource stays as it is
    /// here, and a file that was removed here comes back.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub on_conflict: OnUpdateConflict,

    /// Update every package below the folder that has an upstream
    #[arg(long)]
    pub all: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnUpdateConflict {
    /// Take the upstream's value
    #[default]
    #[value(alias = "theirs")]
    Upstream,
    /// Keep the value here
    Ours,
    /// Write nothing, and fail
    Fail,
}

/// Show how a package differs from its upstream
#[derive(Debug, Args)]
#[command(after_help = examples::PKG_DIFF)]
pub struct PkgDiffArgs {
    /// The folder of the package, and a branch, tag or commit to compare with: `DIR@REF`
    #[arg(default_value = ".", value_name = "DIR[@REF]")]
    pub package: String,

    /// What to compare
    ///
    /// `local`: what was changed here. `remote`: what changed upstream. `combined`: the package and the other version.
    /// `3way`: all three.
    #[arg(long, value_name = "TYPE")]
    pub diff_type: Option<String>,

    /// The program to compare folders with
    #[arg(long, value_name = "PROGRAM")]
    pub diff_tool: Option<String>,

    /// Arguments for that program, separated by spaces
    #[arg(long, allow_hyphen_values = true, value_name = "ARGS")]
    pub diff_tool_opts: Option<String>,
}

/// Draw the files, resources and subpackages of a package
#[derive(Debug, Args)]
#[command(after_help = examples::PKG_TREE)]
pub struct PkgTreeArgs {
    /// The folder of the package
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,
}

/// Print the files of a package
#[derive(Debug, Args)]
#[command(after_help = examples::PKG_CAT)]
pub struct PkgCatArgs {
    /// The folder of the package, or a file
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,

    /// Put fields into their usual order
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    pub format: bool,

    /// Annotate each resource with the file it comes from
    #[arg(long)]
    pub annotate: bool,

    /// Leave comments out
    #[arg(long)]
    pub strip_comments: bool,

    /// Print subpackages, too
    #[arg(short = 'R', long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub recurse_subpackages: bool,
}

/// Run the pipelines of a package and its subpackages in place
///
/// Each Kptfile lists functions: mutators that change resources, then validators that check them. Subpackages are rendered
/// before the package that holds them, whose functions see everything below it. No file changes unless every function
/// succeeds; the root Kptfile gets a `status` that says how it went.
#[derive(Debug, Args)]
#[command(after_help = examples::FN_RENDER)]
pub struct FnRenderArgs {
    /// The folder of the package
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,

    /// Not rendered: kpt accepts further folders, and ignores them
    #[arg(hide = true, value_name = "DIR")]
    pub others: Vec<PathBuf>,

    /// Allow functions that are executables on this machine; they run with all your permissions
    #[arg(long, alias = "enable-exec")]
    pub allow_exec: bool,

    /// Let functions in containers use the network
    #[arg(long, alias = "network")]
    pub allow_network: bool,

    /// Do not list the files that were written
    #[arg(short, long)]
    pub quiet: bool,

    /// Show what a render would change, write nothing, and fail if there is anything
    #[arg(long, conflicts_with = "output")]
    pub check: bool,

    #[command(flatten)]
    pub images: ImageArgs,

    #[command(flatten)]
    pub to: OutputArgs,

    /// Keep outputs, and use them again when program, configuration and input are the same
    ///
    /// `sandboxed` (the default of the flag) keeps those of containers and modules, `all` those of executables too.
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "sandboxed")]
    pub cache: Option<Cache>,

    #[command(flatten)]
    pub shared: super::SharedCacheArgs,

    /// Has no effect: WebAssembly modules run in a sandbox
    #[arg(long, hide = true)]
    pub allow_alpha_wasm: bool,
}

/// Run one function on a folder in place, or on a list
///
/// The folder need not have a Kptfile. For `-`, reads a ResourceList from standard input and prints the one that results from
/// it. Arguments after `--` become the function's configuration.
#[derive(Debug, Args)]
#[command(after_help = examples::FN_EVAL)]
pub struct FnEvalArgs {
    /// The folder; `-` for standard input
    #[arg(default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,

    /// Refused, with advice
    #[arg(hide = true, value_name = "DIR")]
    pub others: Vec<PathBuf>,

    /// Run this container image as a function; wins over `--exec`
    #[arg(short, long, value_name = "IMAGE")]
    pub image: Option<String>,

    /// Run this executable as a function; arguments may follow its name
    #[arg(long, value_name = "COMMAND")]
    pub exec: Option<String>,

    /// The tag to save with the image
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,

    /// The configuration of the function: a file with one resource
    #[arg(long, value_name = "FILE", conflicts_with = "arguments")]
    pub fn_config: Option<PathBuf>,

    #[command(flatten)]
    pub matching: MatchArgs,

    #[command(flatten)]
    pub images: ImageArgs,

    #[command(flatten)]
    pub to: OutputArgs,

    /// Let the container use the network
    #[arg(long)]
    pub network: bool,

    /// A mount for the container, as `type=bind,src=...,dst=...[,rw=true]`; may be given several times
    #[arg(long, value_name = "MOUNT")]
    pub mount: Vec<String>,

    /// An environment variable for the container, as `NAME=value` or `NAME`; may be given several times
    #[arg(short, long, value_name = "VARIABLE", value_parser = super::functions::variable)]
    pub env: Vec<EnvVar>,

    /// Run the container as the current user, not as `nobody`
    #[arg(long)]
    pub as_current_user: bool,

    /// Add the function to the Kptfile; needs `--type`
    #[arg(short, long, requires = "type")]
    pub save: bool,

    /// Which list of the Kptfile it is added to
    #[arg(short, long, value_enum, value_name = "TYPE")]
    pub r#type: Option<FunctionType>,

    /// Has no effect: Kptfiles are always included
    #[arg(long, hide = true)]
    pub include_meta_resources: bool,

    /// What configures the function: `key=value`, after a kind if that is not `ConfigMap`
    #[arg(last = true, value_name = "[KIND] KEY=VALUE")]
    pub arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FunctionType {
    Mutator,
    Validator,
}

/// Which resources the function gets.
#[derive(Debug, Args)]
pub struct MatchArgs {
    /// Only resources of this apiVersion
    #[arg(long, value_name = "VERSION")]
    pub match_api_version: Option<String>,
    /// Only resources of this kind
    #[arg(long, value_name = "KIND")]
    pub match_kind: Option<String>,
    /// Only resources of this name
    #[arg(long, value_name = "NAME")]
    pub match_name: Option<String>,
    /// Only resources of this namespace
    #[arg(long, value_name = "NAMESPACE")]
    pub match_namespace: Option<String>,
    /// Only resources with this label; several are separated by commas, or given one by one
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = pair)]
    pub match_labels: Vec<(String, String)>,
    /// Only resources with this annotation; several are separated by commas, or given one by one
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = pair)]
    pub match_annotations: Vec<(String, String)>,
    /// No resources of this apiVersion
    #[arg(long, value_name = "VERSION")]
    pub exclude_api_version: Option<String>,
    /// No resources of this kind
    #[arg(long, value_name = "KIND")]
    pub exclude_kind: Option<String>,
    /// No resources of this name
    #[arg(long, value_name = "NAME")]
    pub exclude_name: Option<String>,
    /// No resources of this namespace
    #[arg(long, value_name = "NAMESPACE")]
    pub exclude_namespace: Option<String>,
    /// No resources with this label; several are separated by commas, or given one by one, and all must match
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = pair)]
    pub exclude_labels: Vec<(String, String)>,
    /// No resources with this annotation; several are separated by commas, or given one by one, and all must match
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = pair)]
    pub exclude_annotations: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected `KEY=VALUE`")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Where images come from.
#[derive(Debug, Args)]
pub struct ImageArgs {
    /// Put this before the names of images that have no `/`; the default is the value of KPT_IMAGE_PREFIX
    #[arg(long, value_name = "PREFIX")]
    pub image_prefix: Option<String>,

    /// When to fetch images
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "WHEN")]
    pub image_pull_policy: PullPolicy,

    #[command(flatten)]
    pub fetch: FetchArgs,

    /// Stop a function that takes longer, such as `30s` or `5m`
    #[arg(long, default_value = "5m", value_name = "TIME", value_parser = super::functions::duration)]
    pub timeout: std::time::Duration,

    #[command(flatten)]
    pub remote: RemoteExecutionArgs,
}

impl ImageArgs {
    /// What goes before names of images without a `/`.
    pub fn prefix(&self) -> String {
        self.image_prefix.clone().or_else(|| os::variable("KPT_IMAGE_PREFIX")).unwrap_or_default()
    }

    /// What functions may do: what each command allows beyond that is for its own flags to say.
    fn policy(&self) -> Policy {
        Policy {
            functions: true,
            pull: self.image_pull_policy.into(),
            limits: Limits { timeout: self.timeout, ..Limits::default() },
            ..nothing_allowed(&self.remote)
        }
    }
}

impl FnRenderArgs {
    pub fn policy(&self) -> Policy {
        Policy { exec: self.allow_exec, network: self.allow_network, ..self.images.policy() }
    }
}

impl FnEvalArgs {
    /// A program that is named on the command line may run.
    pub fn policy(&self) -> krm_engine::Result<Policy> {
        Ok(Policy {
            exec: true,
            network: self.network,
            as_current_user: self.as_current_user,
            mounts: mounts(&self.mount)?,
            env: self.env.clone(),
            ..self.images.policy()
        })
    }
}

/// Where resources and results go.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Print the resources (`stdout`: as a ResourceList; `unwrap`: one after the other), or write them to a new folder,
    /// and leave the package as it is
    #[arg(short, long, value_name = "stdout|unwrap|DIR")]
    pub output: Option<String>,

    /// Write the results of all functions to `results.yaml` in this folder
    #[arg(long, value_name = "DIR")]
    pub results_dir: Option<PathBuf>,

    /// Let a function remove every resource, or return none of those it was given
    #[arg(long)]
    pub allow_empty: bool,

    /// Has no effect: everything a function says is shown
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub truncate_output: Option<bool>,
}
