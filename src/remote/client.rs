//! A server of the Remote Execution API: what it can do, and attempts that are repeated if it has a bad moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use krm_engine::Result;

use super::address::Address;
use super::channel::Channel;
use super::messages::{GetCapabilitiesRequest, SHA256, ServerCapabilities};
use super::status::{Code, Status};
use super::{Connection, failed, tls};
use crate::os::credentials::Credentials;

/// What other clients expect of a server that says nothing: the limit of gRPC, with room for what surrounds the blobs.
const USUAL_BATCH: usize = (4 << 20) - (64 << 10);
/// The first pause before a call is repeated; each is longer.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A server, by its address and instance.
pub struct Client {
    pub(super) channel: Channel,
    pub(super) instance: String,
    /// How long one call may take.
    pub(super) within: Duration,
    retries: u32,
    capabilities: OnceLock<std::result::Result<Capabilities, Status>>,
    /// Whose turn it is to send a blob, by its hash.
    pub(super) turns: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

/// What a server can do.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// How many bytes of blobs it takes at once.
    pub batch: usize,
    pub executes: bool,
    /// Results may be written to its cache.
    pub takes_results: bool,
}

impl Client {
    /// Nothing is sent yet.
    pub fn new(address: &Address, with: &Connection) -> Result<Self> {
        let tls = address.tls.then(|| tls::config(&with.certificates)).transpose()?;
        let credentials = Credentials::new(&with.headers, with.credential_helper.clone())
            .map_err(|why| failed(address, &why))?;
        let channel = Channel::new(address.clone(), tls, credentials)
            .map_err(|status| failed(address, &status.to_string()))?;
        let instance = with.instance.clone().unwrap_or_else(|| address.instance.clone());
        let (within, retries) = (with.timeout, with.retries);
        Ok(Self {
            channel,
            instance,
            within,
            retries,
            capabilities: OnceLock::new(),
            turns: Mutex::default(),
        })
    }

    pub fn address(&self) -> &Address {
        self.channel.address()
    }

    /// What the server can do, asked once.
    pub fn capabilities(&self) -> std::result::Result<&Capabilities, Status> {
        let ask = || {
            let request = GetCapabilitiesRequest { instance_name: self.instance.clone() };
            let method = "/build.bazel.remote.execution.v2.Capabilities/GetCapabilities";
            let answer: ServerCapabilities =
                self.retry(|| self.channel.unary(method, &request, self.within))?;
            Capabilities::of(&answer)
        };
        self.capabilities.get_or_init(ask).as_ref().map_err(Clone::clone)
    }

    /// Repeats a call that may succeed a little later, after a pause that grows.
    pub fn retry<T>(
        &self,
        call: impl Fn() -> std::result::Result<T, Status>,
    ) -> std::result::Result<T, Status> {
        let mut pause = FIRST_PAUSE;
        let mut renewed = false;
        for left in (0..=self.retries).rev() {
            match call() {
                // A token that has expired: the helper is asked for another, once.
                Err(status)
                    if status.code == Code::UNAUTHENTICATED
                        && !renewed
                        && self.channel.can_renew_credentials() =>
                {
                    renewed = true;
                }
                Err(status) if left > 0 && status.code.is_passing() => {
                    thread::sleep(jittered(pause));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                ended => return ended,
            }
        }
        // The last attempt was spent on new credentials.
        call()
    }
}

impl Capabilities {
    fn of(answer: &ServerCapabilities) -> std::result::Result<Self, Status> {
        let refuse = |why: &str| Err(Status::new(Code::UNIMPLEMENTED, why));
        let major = |version: &Option<super::messages::SemVer>| version.map_or(2, |version| version.major);
        if major(&answer.low_api_version) > 2 || major(&answer.high_api_version) < 2 {
            return refuse("the server does not speak version 2 of the Remote Execution API");
        }
        let cache = answer.cache_capabilities.clone().unwrap_or_default();
        if !cache.digest_functions.is_empty() && !cache.digest_functions.contains(&SHA256) {
            return refuse("the server does not use SHA-256");
        }
        let execution = answer.execution_capabilities.clone().unwrap_or_default();
        let most = usize::try_from(cache.max_batch_total_size_bytes).unwrap_or(0);
        Ok(Self {
            batch: if most == 0 { USUAL_BATCH } else { most.min(USUAL_BATCH) },
            executes: execution.exec_enabled,
            takes_results: cache.action_cache_update_capabilities.is_none_or(|update| update.update_enabled),
        })
    }
}

/// Between half of a pause and all of it: many clients that fail together do not come back together.
fn jittered(pause: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let some = RandomState::new().hash_one(0) % 1000;
    pause / 2 + pause * u32::try_from(some).unwrap_or_default() / 2000
}
