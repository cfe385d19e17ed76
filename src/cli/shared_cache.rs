//! The arguments about a cache that machines share.
//!
//! Each has an environment variable, so that a CI sets them once; flags win. None can be set by files of a repository: a
//! repository that one only looks at must not decide where outputs are sent, or whose outputs are believed.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use krm_engine::runtime::Store;
use krm_engine::{Diagnostic, Policy, Result};

use super::functions::{Cache, duration};
use crate::os::{self, HttpCache};

/// A cache that machines share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Shared cache")]
pub struct SharedCacheArgs {
    /// Use the outputs that other machines uploaded to the cache at this address, `https://HOST/[PATH]`; implies `--cache`
    ///
    /// The server is one that Bazel can use, such as bazel-remote or nginx with WebDAV. What it gives is verified; if it is
    /// down or slow, krm warns once and goes on without it. Nothing is sent to it but digests, unless with `--remote-upload`.
    /// Environment: KRM_REMOTE_CACHE
    #[arg(long, value_name = "ADDRESS")]
    pub remote_cache: Option<String>,

    /// Upload what is computed here to that cache; meant for CI
    ///
    /// That is what functions print and what targets build to, Secrets included. Environment: KRM_REMOTE_UPLOAD=true
    #[arg(long)]
    pub remote_upload: bool,

    /// A header for that cache, as `NAME=VALUE`; may be given several times
    ///
    /// Others on this machine can read command lines: put tokens into the environment, one header in each line of
    /// KRM_REMOTE_HEADER.
    #[arg(long, value_name = "NAME=VALUE", value_parser = header)]
    pub remote_header: Vec<(String, String)>,
}

/// How long an answer may take to begin, unless KRM_REMOTE_TIMEOUT says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

impl SharedCacheArgs {
    /// Where the cache is, if there is one.
    fn address(&self) -> Option<String> {
        match &self.remote_cache {
            Some(address) => Some(address.clone()).filter(|address| !address.is_empty()),
            None => set("KRM_REMOTE_CACHE"),
        }
    }

    /// Which outputs are kept, given `--cache` or not.
    pub fn kept(&self, cache: Option<Cache>) -> Option<Cache> {
        cache.or_else(|| self.address().map(|_| Cache::Sandboxed))
    }

    /// Adds the cache to a policy. Nothing is sent yet; without connections there is none.
    pub fn apply(&self, policy: Policy, cache: Option<Cache>, offline: bool) -> Result<Policy> {
        let policy = Policy { cache: Cache::keep(self.kept(cache)), ..policy };
        match self.address() {
            Some(address) if !offline => Ok(Policy { shared_cache: Some(self.store(&address)?), ..policy }),
            _ => Ok(policy),
        }
    }

    fn store(&self, address: &str) -> Result<Arc<dyn Store>> {
        let upload = self.remote_upload || set("KRM_REMOTE_UPLOAD").is_some_and(|value| is_on(&value));
        let within = match set("KRM_REMOTE_TIMEOUT") {
            None => TIMEOUT,
            Some(text) => duration(&text).map_err(|why| unusable("KRM_REMOTE_TIMEOUT", &text, &why))?,
        };
        let cache = HttpCache::new(address, self.headers()?, upload, within)
            .map_err(|why| unusable("--remote-cache", address, &why))?;
        Ok(Arc::new(cache))
    }

    /// The headers to send: those of flags after those of the environment.
    pub fn headers(&self) -> Result<Vec<(String, String)>> {
        let lines = set("KRM_REMOTE_HEADER").unwrap_or_default();
        let given = lines.lines().filter(|line| !line.trim().is_empty());
        // The value may be a secret: it is not shown.
        let given =
            given.map(|line| header(line.trim()).map_err(|why| unusable("KRM_REMOTE_HEADER", "...", &why)));
        given.chain(self.remote_header.iter().cloned().map(Ok)).collect()
    }
}

/// A variable that holds something.
fn set(name: &str) -> Option<String> {
    os::variable(name).filter(|value| !value.is_empty())
}

fn is_on(value: &str) -> bool {
    value == "true" || value == "1"
}

fn unusable(name: &str, value: &str, why: &str) -> Diagnostic {
    Diagnostic::error("remote-cache-setting", format!("`{value}` cannot be the value of {name}: {why}"))
}

/// `NAME=VALUE`
fn header(text: &str) -> std::result::Result<(String, String), String> {
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
