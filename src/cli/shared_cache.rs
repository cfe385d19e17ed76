//! The arguments about a cache that machines share.
//!
//! Each has an environment variable, so that a CI sets them once; flags win. None can be set by files of a repository: a
//! repository that one only looks at must not decide where outputs are sent, or whose outputs are believed.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use krm_engine::runtime::Store;
use krm_engine::{Diagnostic, Policy, Result};

use super::functions::Cache;
use super::remote_execution::{RemoteExecutionArgs, is_on, without_login};
use crate::os::{HttpCache, note, setting};

/// Given to each flag: a heading for the whole group would go on to the flags that follow it.
const HEADING: &str = "Shared cache";

/// A cache that machines share.
#[derive(Debug, Default, Args)]
pub struct SharedCacheArgs {
    /// Use the outputs that other machines uploaded to the cache at this address, `https://HOST/[PATH]` or
    /// `grpcs://HOST`; implies `--cache`
    ///
    /// The server is one that Bazel can use, such as bazel-remote or nginx with WebDAV. What it gives is verified; if it is
    /// down or slow, krm warns once and goes on without it. Only digests are sent to it, unless `--remote-upload` is given.
    /// Environment: KRM_REMOTE_CACHE
    #[arg(help_heading = HEADING, long, value_name = "ADDRESS")]
    pub remote_cache: Option<String>,

    /// Upload what is computed here to that cache; meant for CI
    ///
    /// That is what functions print and what targets build to, Secrets included. Environment: KRM_REMOTE_UPLOAD=true
    #[arg(help_heading = HEADING, long)]
    pub remote_upload: bool,
}

/// How long an answer may take to begin, unless KRM_REMOTE_TIMEOUT says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

impl SharedCacheArgs {
    /// Where the cache is, if there is one.
    fn address(&self) -> Option<String> {
        match &self.remote_cache {
            Some(address) => Some(address.clone()).filter(|address| !address.is_empty()),
            None => setting("KRM_REMOTE_CACHE"),
        }
    }

    /// Whether there is one.
    pub fn is_asked(&self) -> bool {
        self.address().is_some()
    }

    /// Which outputs are kept, given `--cache` or not.
    pub fn kept(&self, cache: Option<Cache>) -> Option<Cache> {
        cache.or(self.is_asked().then_some(Cache::Sandboxed))
    }

    /// Adds the cache to a policy. Nothing is sent yet; without connections there is none.
    pub fn apply(
        &self,
        policy: Policy,
        cache: Option<Cache>,
        servers: &RemoteExecutionArgs,
        offline: bool,
    ) -> Result<Policy> {
        let policy = Policy { cache: Cache::keep(self.kept(cache)), ..policy };
        if self.remote_upload && self.remote_cache.is_none() && !self.is_asked() {
            let message = "`--remote-upload` has no effect: no shared cache is named";
            let warning = Diagnostic::warning("remote-upload-nowhere", message);
            note(warning.help("name one with `--remote-cache`, KRM_REMOTE_CACHE or in your own settings"));
        }
        match self.address() {
            Some(address) if !offline => {
                Ok(Policy { shared_cache: Some(self.store(&address, servers)?), ..policy })
            }
            _ => Ok(policy),
        }
    }

    fn store(&self, address: &str, servers: &RemoteExecutionArgs) -> Result<Arc<dyn Store>> {
        let upload = is_on(self.remote_upload, "KRM_REMOTE_UPLOAD")?;
        if address.starts_with("grpc://") || address.starts_with("grpcs://") {
            return grpc_store(address, upload, servers);
        }
        let within = servers.timeout()?.unwrap_or(TIMEOUT);
        let tls = servers.certificates()?.for_http()?;
        let (headers, helper) = (servers.headers()?, servers.credential_helper());
        let cache = HttpCache::connect(address, tls, headers, helper, upload, within)
            .map_err(|why| unusable("--remote-cache", address, &why))?;
        Ok(Arc::new(cache))
    }
}

#[cfg(feature = "remote")]
fn grpc_store(address: &str, upload: bool, servers: &RemoteExecutionArgs) -> Result<Arc<dyn Store>> {
    use crate::remote::{Address, Connection, GrpcCache};
    let address = Address::parse(address).map_err(|why| unusable("--remote-cache", address, &why))?;
    let timeout = servers.timeout()?.unwrap_or(TIMEOUT);
    let cache = GrpcCache::connect(&address, Connection { timeout, ..servers.connection()? }, upload)?;
    Ok(Arc::new(cache))
}

#[cfg(not(feature = "remote"))]
fn grpc_store(address: &str, _upload: bool, _servers: &RemoteExecutionArgs) -> Result<Arc<dyn Store>> {
    Err(unusable("--remote-cache", address, "this program was built without the feature `remote`"))
}

fn unusable(name: &str, value: &str, why: &str) -> Diagnostic {
    let value = without_login(value);
    Diagnostic::error("remote-cache-setting", format!("`{value}` cannot be the value of {name}: {why}"))
}
