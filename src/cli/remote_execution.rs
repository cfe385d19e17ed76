//! The arguments about servers that run functions, and how to speak to servers.
//!
//! Each has an environment variable, so that a CI sets them once; flags win.

use std::path::PathBuf;
#[cfg(feature = "remote")]
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use krm_engine::{Diagnostic, Policy};

use super::functions::duration;
use crate::os::certificates::Certificates;
use crate::os::{self, setting};

/// Given to each flag: a heading for the whole group would go on to the flags that follow it.
const HEADING: &str = "Remote execution";

/// Functions that run on servers of the Remote Execution API.
#[derive(Debug, Default, Args)]
pub struct RemoteExecutionArgs {
    /// Run functions on this server of the Remote Execution API: `grpc://HOST:PORT` or `grpcs://HOST:PORT`
    ///
    /// Images go there if they need no network and write to no mount; everything else runs on this machine, and a warning says why.
    /// Environment: KRM_REMOTE_EXECUTOR
    #[arg(help_heading = HEADING, long, value_name = "ADDRESS")]
    pub remote_executor: Option<String>,

    /// Send executables too (with `--enable-exec`); they see nothing there but their input
    ///
    /// Environment: KRM_REMOTE_EXECUTABLES=true
    #[arg(help_heading = HEADING, long)]
    pub remote_executables: bool,

    /// The instance of the server, if it has several
    ///
    /// Environment: KRM_REMOTE_INSTANCE_NAME
    #[arg(help_heading = HEADING, long, value_name = "NAME")]
    pub remote_instance_name: Option<String>,

    /// A property to ask of workers, as `NAME=VALUE`, or `NAME=` to remove one; may be given several times
    ///
    /// Environment: KRM_REMOTE_EXEC_PROPERTIES, separated by commas
    #[arg(help_heading = HEADING, long, value_name = "NAME=VALUE", value_parser = property)]
    pub remote_exec_property: Vec<(String, String)>,

    /// Let this variable of `--env` be sent to the server; may be given several times
    ///
    /// Anyone who can read the server's blobs can read what is sent.
    #[arg(help_heading = HEADING, long, value_name = "NAME")]
    pub remote_env: Vec<String>,

    /// Send functions even if the server does not block their network access
    ///
    /// Environment: KRM_REMOTE_TRUST_SANDBOX=true
    #[arg(help_heading = HEADING, long)]
    pub remote_trust_sandbox: bool,

    /// Run functions on this machine if the server cannot be reached
    ///
    /// Environment: KRM_REMOTE_LOCAL_FALLBACK=true
    #[arg(help_heading = HEADING, long)]
    pub remote_local_fallback: bool,

    /// How many calls to the server may be in flight at once
    ///
    /// Environment: KRM_REMOTE_JOBS
    #[arg(help_heading = HEADING, long, value_name = "NUMBER")]
    pub remote_jobs: Option<usize>,

    /// How long one request to a server may take, such as `30s`; how long a function may take is `--timeout`
    ///
    /// Environment: KRM_REMOTE_TIMEOUT
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = duration)]
    pub remote_timeout: Option<Duration>,

    /// How often to retry a request that failed
    ///
    /// Environment: KRM_REMOTE_RETRIES
    #[arg(help_heading = HEADING, long, value_name = "NUMBER")]
    pub remote_retries: Option<u32>,

    /// A header for servers, as `NAME=VALUE`; may be given several times
    ///
    /// Others on this machine can read command lines: put tokens into the environment, one header in each line of
    /// KRM_REMOTE_HEADER.
    #[arg(help_heading = HEADING, long, value_name = "NAME=VALUE")]
    pub remote_header: Vec<String>,

    /// A file of CA certificates to trust for servers, instead of those the system trusts
    ///
    /// Environment: KRM_REMOTE_TLS_CA
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub remote_tls_ca: Option<PathBuf>,

    /// The certificate to show to servers
    ///
    /// Environment: KRM_REMOTE_TLS_CERT
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub remote_tls_cert: Option<PathBuf>,

    /// The private key of that certificate
    ///
    /// Environment: KRM_REMOTE_TLS_KEY
    #[arg(help_heading = HEADING, long, value_name = "FILE")]
    pub remote_tls_key: Option<PathBuf>,

    /// A program that prints headers for servers and for registries of images, with the protocol of Bazel's credential helpers
    ///
    /// Environment: KRM_REMOTE_CREDENTIAL_HELPER
    #[arg(help_heading = HEADING, long, value_name = "PROGRAM")]
    pub remote_credential_helper: Option<String>,
}

/// What is done if neither a flag nor a variable says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);
const RETRIES: u32 = 5;
const JOBS: usize = 64;

impl RemoteExecutionArgs {
    /// Adds the server to a policy that allows functions. Nothing is sent yet; without connections there is none.
    pub fn apply(&self, policy: Policy, offline: bool) -> krm_engine::Result<Policy> {
        os::user_settings::check()?;
        let address = self.remote_executor.clone().or_else(|| setting("KRM_REMOTE_EXECUTOR"));
        match address {
            Some(address) if policy.functions && !offline => self.with_executor(&address, policy),
            _ => Ok(policy),
        }
    }

    #[cfg(not(feature = "remote"))]
    fn with_executor(&self, address: &str, _policy: Policy) -> krm_engine::Result<Policy> {
        let message =
            format!("functions cannot run on `{address}`: this program was built without the means");
        Err(Diagnostic::error("remote-not-built", message).help("build it with the feature `remote`"))
    }

    #[cfg(feature = "remote")]
    fn with_executor(&self, address: &str, policy: Policy) -> krm_engine::Result<Policy> {
        use crate::remote::{Address, Execution, Executor};
        let address = Address::parse(address).map_err(|why| unusable("--remote-executor", address, &why))?;
        let mut properties = Vec::new();
        if let Some(all) = setting("KRM_REMOTE_EXEC_PROPERTIES") {
            for one in all.split(',') {
                properties
                    .push(property(one).map_err(|why| unusable("KRM_REMOTE_EXEC_PROPERTIES", one, &why))?);
            }
        }
        properties.extend(self.remote_exec_property.iter().cloned());
        let execution = Execution {
            properties,
            env: self.remote_env.clone(),
            executables: is_on(self.remote_executables, "KRM_REMOTE_EXECUTABLES")?,
            trust_sandbox: is_on(self.remote_trust_sandbox, "KRM_REMOTE_TRUST_SANDBOX")?,
            local_fallback: is_on(self.remote_local_fallback, "KRM_REMOTE_LOCAL_FALLBACK")?,
            jobs: self.jobs()?.unwrap_or(JOBS),
        };
        let executor = Executor::new(&address, &self.connection()?, execution)?;
        Ok(Policy { elsewhere: Some(Arc::new(executor)), ..policy })
    }

    /// How to speak to servers.
    #[cfg(feature = "remote")]
    pub fn connection(&self) -> krm_engine::Result<crate::remote::Connection> {
        Ok(crate::remote::Connection {
            headers: self.headers()?,
            credential_helper: self.credential_helper(),
            instance: self.remote_instance_name.clone().or_else(|| setting("KRM_REMOTE_INSTANCE_NAME")),
            certificates: self.certificates()?,
            timeout: self.timeout()?.unwrap_or(TIMEOUT),
            retries: read(self.remote_retries, "KRM_REMOTE_RETRIES", number)?.unwrap_or(RETRIES),
        })
    }

    /// A program that gives headers for servers.
    pub fn credential_helper(&self) -> Option<String> {
        self.remote_credential_helper.clone().or_else(credential_helper)
    }

    /// The certificates of servers, and ours.
    pub fn certificates(&self) -> krm_engine::Result<Certificates> {
        let file =
            |flag: &Option<PathBuf>, name: &str| flag.clone().or_else(|| setting(name).map(PathBuf::from));
        let own = (
            file(&self.remote_tls_cert, "KRM_REMOTE_TLS_CERT"),
            file(&self.remote_tls_key, "KRM_REMOTE_TLS_KEY"),
        );
        let own = match own {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(file), None) => return Err(unpaired(&file, "--remote-tls-key")),
            (None, Some(file)) => return Err(unpaired(&file, "--remote-tls-cert")),
        };
        let authority = file(&self.remote_tls_ca, "KRM_REMOTE_TLS_CA");
        Ok(Certificates { authority, own })
    }

    /// How long one request may take, if that is said.
    pub fn timeout(&self) -> krm_engine::Result<Option<Duration>> {
        read(self.remote_timeout, "KRM_REMOTE_TIMEOUT", duration)
    }

    /// The headers to send: those of flags after those of the environment.
    pub fn headers(&self) -> krm_engine::Result<Vec<(String, String)>> {
        let lines = setting("KRM_REMOTE_HEADER").unwrap_or_default();
        let given = lines.lines().filter(|line| !line.trim().is_empty());
        let given = given.map(|line| ("KRM_REMOTE_HEADER", line.trim()));
        let given = given.chain(self.remote_header.iter().map(|text| ("--remote-header", text.as_str())));
        // The value may be a secret: it is not shown.
        given.map(|(name, text)| header(text).map_err(|why| unusable(name, "...", &why))).collect()
    }

    /// How many calls may be in flight at once; `None` if no function runs elsewhere.
    pub fn jobs(&self) -> krm_engine::Result<Option<usize>> {
        if self.remote_executor.is_none() && setting("KRM_REMOTE_EXECUTOR").is_none() {
            return Ok(None);
        }
        Ok(Some(read(self.remote_jobs, "KRM_REMOTE_JOBS", number)?.unwrap_or(JOBS).clamp(1, 1024)))
    }
}

/// The credential helper of commands that have no flag for it.
pub fn credential_helper() -> Option<String> {
    setting("KRM_REMOTE_CREDENTIAL_HELPER")
}

/// What a flag says, or else a variable.
fn read<T>(
    flag: Option<T>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> krm_engine::Result<Option<T>> {
    match (flag, setting(name)) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some(text)) => parse(&text).map(Some).map_err(|why| unusable(name, &text, &why)),
        (None, None) => Ok(None),
    }
}

/// Whether a flag, or else a variable, turns something on.
pub fn is_on(flag: bool, name: &str) -> krm_engine::Result<bool> {
    let switch = |text: &str| match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("expected `true` or `false`".to_owned()),
    };
    Ok(read(flag.then_some(true), name, switch)?.unwrap_or(false))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a number".into())
}

fn unusable(name: &str, value: &str, why: &str) -> Diagnostic {
    let value = without_login(value);
    Diagnostic::error("remote-setting", format!("`{value}` cannot be the value of {name}: {why}"))
}

/// An address as it may be shown. What is before `@` without a scheme before it may be a password as well.
pub fn without_login(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, host)) if !address.contains("://") => format!("***@{host}"),
        _ => address.to_owned(),
    }
}

fn unpaired(file: &std::path::Path, lacks: &str) -> Diagnostic {
    let message = format!("`{}` is one of a pair: a certificate and its private key", file.display());
    Diagnostic::error("remote-setting", message).help(format!("name the other with `{lacks}`"))
}

fn property(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected `NAME=VALUE`".into()),
    }
}

/// `NAME=VALUE`
fn header(text: &str) -> Result<(String, String), String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match text.split_once('=') {
        Some((name, value))
            if !name.is_empty() && name.chars().all(is_token) && !value.contains(char::is_control) =>
        {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected `NAME=VALUE`, as in `Authorization=Bearer TOKEN`".into()),
    }
}
