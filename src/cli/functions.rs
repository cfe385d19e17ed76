//! The arguments of `krm fn`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use krm_engine::Policy;
use krm_engine::policy::{Keep, Limits, Pull};
use krm_engine::runtime::{EnvVar, Mount};

use super::examples;
use super::remote_execution::RemoteExecutionArgs;
use crate::os::locked::Fetching;
use crate::os::{self, Disk};

/// Run functions: programs that generate, change and check configuration
///
/// A function reads a list of resources and prints it, changed. It is a container image, a WebAssembly module or, if you
/// allow it, an executable.
#[derive(Debug, Args)]
#[command(after_help = examples::FN)]
pub struct FnArgs {
    #[command(subcommand)]
    pub command: FnCommand,
}

#[derive(Debug, Subcommand)]
pub enum FnCommand {
    Run(Box<FnRunArgs>),
    Render(Box<super::packages::FnRenderArgs>),
    Eval(Box<super::packages::FnEvalArgs>),
    Source(FnSourceArgs),
    Sink(FnSinkArgs),
    Wrap(FnWrapArgs),
    Xargs(FnXargsArgs),
    Doc(Box<FnDocArgs>),
}

/// Run functions on a folder, and write what they change back in place
///
/// The functions are those that files of the folder declare, by the annotation `config.kubernetes.io/function` or a field
/// `runtime`; each works on the folder its configuration is in and those below. Or one function is named here.
///
/// No file changes unless every function succeeds. Without a folder, reads resources from standard input and prints the
/// result.
#[derive(Debug, Args)]
#[command(after_help = examples::FN_RUN)]
pub struct FnRunArgs {
    /// The folder; standard input if there is none
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,

    #[command(flatten)]
    pub program: ProgramArgs,

    /// Take the functions that the files of this folder declare, instead; may be given several times
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    pub fn_path: Vec<PathBuf>,

    /// The configuration of the function named here: a file with one resource
    #[arg(long, value_name = "FILE", requires = "program", conflicts_with = "arguments")]
    pub fn_config: Option<PathBuf>,

    #[command(flatten)]
    pub sandbox: SandboxArgs,

    /// Let functions that files declare work on everything, not only on their own folder
    #[arg(long)]
    pub global_scope: bool,

    /// Print the resources instead of writing files
    #[arg(long)]
    pub dry_run: bool,

    /// Allow functions to remove every resource of the folder
    #[arg(long)]
    pub allow_empty: bool,

    /// Write the results of each function to this folder, as `results-0.yaml` and so on
    #[arg(long, value_name = "DIR")]
    pub results_dir: Option<PathBuf>,

    /// Keep outputs, and use them again when program, configuration and input are the same
    ///
    /// `sandboxed` (the default of the flag) keeps those of containers and modules, `all` those of executables too.
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "sandboxed")]
    pub cache: Option<Cache>,

    #[command(flatten)]
    pub shared: super::SharedCacheArgs,

    /// How to report what functions did
    ///
    /// `json` is one object: on standard output, or on standard error if resources are printed.
    #[arg(
        long = "format",
        alias = "output",
        short_alias = 'o',
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub output: FnOutput,

    /// Has no effect: what functions print to standard error is always shown
    #[arg(long, hide = true)]
    pub log_steps: bool,

    /// Report nothing but what went wrong
    #[arg(short, long)]
    pub quiet: bool,

    /// Has no effect: folders below are always included
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub include_subpackages: Option<bool>,

    /// What configures the function named here: `key=value`, after a kind if that is not `ConfigMap`
    #[arg(last = true, value_name = "[KIND] KEY=VALUE", requires = "program")]
    pub arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    Sandboxed,
    All,
}

impl Cache {
    /// What `--cache` means, given or not.
    pub fn keep(cache: Option<Self>) -> Keep {
        match cache {
            None => Keep::Nothing,
            Some(Cache::Sandboxed) => Keep::Sandboxed,
            Some(Cache::All) => Keep::Everything,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FnOutput {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// The function to run.
#[derive(Debug, Args)]
#[group(id = "program", multiple = false)]
pub struct ProgramArgs {
    /// Run this container image as a function
    #[arg(short, long, value_name = "IMAGE")]
    pub image: Option<String>,

    /// Run this executable as a function; needs `--enable-exec`
    #[arg(long, value_name = "PATH")]
    pub exec_path: Option<String>,

    /// Run this WebAssembly module (WASI preview 1) as a function
    #[arg(long, value_name = "FILE")]
    pub wasm: Option<String>,
}

/// What functions may reach of this machine.
#[derive(Debug, Default, Args)]
pub struct AccessArgs {
    /// Allow functions that are executables on this machine; they run with all your permissions
    #[arg(long, alias = "allow-exec")]
    pub enable_exec: bool,

    /// Give network access to functions that ask for it
    #[arg(long, alias = "allow-network")]
    pub network: bool,

    /// The container network they get; without it, the network of this machine
    #[arg(long, value_name = "NAME")]
    pub network_name: Option<String>,

    /// A mount for containers, as `type=bind,src=...,dst=...[,rw=true]`; may be given several times
    #[arg(long, value_name = "MOUNT")]
    pub mount: Vec<String>,

    /// An environment variable for functions, as `NAME=value` or `NAME`; may be given several times
    #[arg(short, long, value_name = "VARIABLE", value_parser = variable)]
    pub env: Vec<EnvVar>,

    /// Run containers as the current user, not as `nobody`
    #[arg(long)]
    pub as_current_user: bool,

    /// Stop a function that takes longer than this, such as `30s`; the default is `5m`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Stop a container or module that uses more memory than this, such as `512Mi`; the default is `2Gi`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,

    #[command(flatten)]
    pub remote: RemoteExecutionArgs,
}

/// What may be fetched from elsewhere.
#[derive(Debug, Default, Args)]
pub struct FetchArgs {
    /// Refuse what is not in krm.lock
    #[arg(long)]
    pub locked: bool,

    /// Make no connection: use only what krm.lock names and this machine already has
    #[arg(long)]
    pub offline: bool,
}

impl FetchArgs {
    /// The files of this machine, and what is fetched for some targets.
    pub fn disk(&self, targets: &[String]) -> Disk {
        Disk::fetching(self.fetching(targets))
    }

    /// How to fetch for these targets.
    pub fn fetching(&self, targets: &[String]) -> Fetching {
        Fetching {
            targets: targets.to_vec(),
            locked: self.locked,
            offline: self.offline,
            ..Fetching::default()
        }
    }

    /// What this means for images. The lock file is read now.
    pub fn restrict(&self, policy: Policy, disk: &Disk) -> krm_engine::Result<Policy> {
        if !policy.functions {
            return Ok(policy);
        }
        let pull = if self.offline { Pull::Never } else { policy.pull };
        Ok(Policy { pinned: disk.pinned_images()?, pull, ..policy })
    }
}

/// What functions may do.
#[derive(Debug, Args)]
pub struct SandboxArgs {
    #[command(flatten)]
    pub access: AccessArgs,

    #[command(flatten)]
    pub fetch: FetchArgs,

    /// When to fetch images
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "WHEN")]
    pub image_pull_policy: PullPolicy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PullPolicy {
    #[value(name = "Always")]
    Always,
    #[default]
    #[value(name = "IfNotPresent")]
    IfNotPresent,
    #[value(name = "Never")]
    Never,
}

impl From<PullPolicy> for Pull {
    fn from(policy: PullPolicy) -> Self {
        match policy {
            PullPolicy::Always => Pull::Always,
            PullPolicy::IfNotPresent => Pull::IfNotPresent,
            PullPolicy::Never => Pull::Never,
        }
    }
}

/// What every policy has in common: the means of this machine to run programs, and none of them allowed.
pub(super) fn nothing_allowed(remote: &RemoteExecutionArgs) -> Policy {
    Policy {
        container_engine: os::container_engine(),
        images: os::images(remote.credential_helper()),
        limits_of_each_process: os::limits_of_each_process(),
        cache_dir: os::cache_dir(),
        supervisor: os::supervisor(),
        plugin_homes: os::plugin_homes(),
        ..Policy::default()
    }
}

/// Mounts as they are given, relative to the folder the command is given in.
pub(super) fn mounts(given: &[String]) -> krm_engine::Result<Vec<Mount>> {
    // Asking for the folder is spared when no mount needs it.
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let dir = os::current_dir()?;
    Ok(given.iter().map(|text| Mount::parse(text).within(&dir)).collect())
}

impl AccessArgs {
    /// What this allows.
    pub fn policy(&self) -> krm_engine::Result<Policy> {
        let limits = Limits::default();
        let limits = Limits {
            timeout: self.timeout.unwrap_or(limits.timeout),
            memory: self.memory.unwrap_or(limits.memory),
            ..limits
        };
        Ok(Policy {
            exec: self.enable_exec,
            network: self.network,
            network_name: self.network_name.clone(),
            as_current_user: self.as_current_user,
            mounts: mounts(&self.mount)?,
            env: self.env.clone(),
            limits,
            ..nothing_allowed(&self.remote)
        })
    }
}

impl SandboxArgs {
    /// What this allows functions named or declared for `krm fn` to do.
    pub fn policy(&self) -> krm_engine::Result<Policy> {
        Ok(Policy { functions: true, pull: self.image_pull_policy.into(), ..self.access.policy()? })
    }
}

/// Print the resources of a folder as a ResourceList, to chain functions with pipes
///
/// Each carries the file and the index it is at, so that `krm fn sink` can write them again.
#[derive(Debug, Args)]
#[command(after_help = examples::FN_SOURCE)]
pub struct FnSourceArgs {
    /// The folder, or a file; may be given several times
    #[arg(default_value = ".", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,

    /// A file with the functionConfig for the list
    #[arg(long, value_name = "FILE")]
    pub fn_config: Option<PathBuf>,

    #[command(flatten)]
    pub output: super::FormatArg<SourceForm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SourceForm {
    /// A ResourceList
    #[value(alias = "stdout")]
    List,
    /// One resource after the other, without file annotations
    Unwrap,
}

impl super::OutputFormat for SourceForm {
    const DEFAULT: &'static str = "list";
}

/// Write the resources of a list on standard input to files of a new folder
///
/// The files are those the resources name by annotation; those that name none go to `config/NAME_KIND.yaml`.
#[derive(Debug, Args)]
#[command(after_help = examples::FN_SINK)]
pub struct FnSinkArgs {
    /// The folder; it must not exist, or be empty
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,

    /// Do not list the files that were written
    #[arg(short, long)]
    pub quiet: bool,
}

/// Turn a program that only prints resources into a function
///
/// Reads a ResourceList on standard input, runs the program with the scalars of the functionConfig's `metadata`, `spec` and `data`
/// as environment variables in upper case, merges what it prints into the resources, gives files to new ones
/// (`config/NAME_KIND.yaml`), formats them and prints the list. So a function can be a shell script with a here-document.
///
/// Environment: KUST_MERGE=false prints only what the program prints; KUST_OVERRIDE_DIR names a folder of patches to merge
/// on top.
#[derive(Debug, Args)]
#[command(after_help = examples::FN_WRAP)]
pub struct FnWrapArgs {
    #[command(flatten)]
    pub input: WrapInputArgs,

    /// Only set variables
    #[arg(long, default_value_t = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    pub env_only: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// Run a program with the functionConfig as arguments and environment
///
/// Reads a ResourceList on standard input. Every scalar of the functionConfig's `metadata`, `spec` and `data` becomes
/// `--key=value` and a variable in upper case, every entry of its `items` an argument; the resources go to the program's
/// standard input.
#[derive(Debug, Args)]
#[command(after_help = examples::FN_XARGS)]
pub struct FnXargsArgs {
    #[command(flatten)]
    pub input: WrapInputArgs,

    /// Only set variables, no arguments
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub env_only: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct WrapInputArgs {
    /// The kind of list that the program gets; only a `ResourceList` has the functionConfig
    #[arg(long, default_value = "List", value_name = "KIND")]
    pub wrap_kind: String,

    /// The apiVersion of that list
    #[arg(long, default_value = "v1", value_name = "VERSION")]
    pub wrap_version: String,
}

/// Print what a function says about itself
#[derive(Debug, Args)]
#[command(after_help = examples::FN_DOC)]
pub struct FnDocArgs {
    /// The container image
    #[arg(value_name = "IMAGE", conflicts_with = "program", required_unless_present = "program")]
    pub name: Option<String>,

    #[command(flatten)]
    pub program: ProgramArgs,

    #[command(flatten)]
    pub sandbox: SandboxArgs,
}

/// `NAME=value`, or `NAME` to pass on the caller's.
pub(super) fn variable(text: &str) -> Result<EnvVar, String> {
    let variable = EnvVar::parse(text);
    // Some container engines would take a pattern for all the variables it matches.
    match variable.is_a_name() {
        true => Ok(variable),
        false => Err("expected `NAME=value` or `NAME`".into()),
    }
}

/// `30s`, `5m`, `1h30m`, `500ms`, or a number of seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    krm_engine::duration(text).ok_or_else(|| "expected a time above zero, such as `30s` or `5m`".into())
}

/// `512Mi`, `2Gi`, `1G`, or a number of bytes.
pub fn size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "m" => 1000 * 1000,
        "g" => 1000 * 1000 * 1000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        _ => return Err("expected a size such as `512Mi` or `2Gi`".into()),
    };
    let number: u64 = number.parse().map_err(|_| "expected a number with a unit, such as `512Mi`")?;
    number
        .checked_mul(factor)
        .filter(|size| *size > 0)
        .ok_or_else(|| "expected a size that can be had".into())
}
