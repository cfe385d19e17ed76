//! A cache on a server that speaks HTTP, as bazel-remote does and many others: `GET` and `PUT` of `/ac/KEY` for results and
//! of `/cas/DIGEST` for blobs.
//!
//! Nothing it says is believed: blobs are compared with their digests, and no answer is read beyond its limit. Results
//! cannot be verified, so anyone who may write to the cache decides what its readers get.

use std::io::Read;
use std::time::Duration;

use base64::Engine as _;
use krm_engine::runtime::reapi::{ActionResult, Digest, Message};
use krm_engine::runtime::{Outputs, Stream};
use percent_encoding::percent_decode_str;
use ureq::http::{HeaderMap, Response};
use ureq::tls::TlsConfig;
use ureq::{Body, RequestBuilder};

use super::certificates::CHECK_CERTIFICATES;
use super::credentials::Credentials;
use super::shared_cache::{Fault, INLINED, Server, SharedCache, Then};

/// No result is larger.
const LARGEST_RESULT: usize = 4 << 20;
/// What a connection may take.
const CONNECTING: Duration = Duration::from_secs(5);
const CHECK_HELPER: &str = "check `--remote-credential-helper`: it is started as `PROGRAM get`";

/// A cache that speaks HTTP.
pub struct HttpCache {
    agent: ureq::Agent,
    /// Without a slash at the end.
    base: String,
    credentials: Credentials,
    /// How long an answer may take to begin.
    within: Duration,
}

impl HttpCache {
    /// Nothing is sent yet. The error says what is wrong with the address.
    pub fn connect(
        address: &str,
        tls: TlsConfig,
        headers: Vec<(String, String)>,
        credential_helper: Option<String>,
        upload: bool,
        within: Duration,
    ) -> Result<SharedCache<Self>, String> {
        let Address { base, login } = Address::parse(address)?;
        let login = login.map(|login| ("Authorization".to_owned(), login));
        let headers: Vec<_> = login.into_iter().chain(headers).collect();
        let credentials = Credentials::new(&headers, credential_helper)?;
        // A cache that sends us elsewhere would get our headers sent there.
        let agent = super::http::agent_with(within * 6, |config| {
            config
                .tls_config(tls)
                .timeout_connect(Some(CONNECTING.min(within)))
                .timeout_recv_response(Some(within))
                .max_redirects(0)
                .max_idle_connections(64)
                .max_idle_connections_per_host(64)
        });
        let server = Self { agent, credentials, base: base.clone(), within };
        Ok(SharedCache::new(server, base, upload))
    }
}

/// What of an address is sent where.
struct Address {
    base: String,
    /// From `user:password@`.
    login: Option<String>,
}

impl Address {
    fn parse(address: &str) -> Result<Self, String> {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        if !["http", "https"].contains(&scheme) {
            return Err("expected an address such as `https://cache.example.com/`".into());
        }
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (login, host) = match host.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, host),
        };
        let odd = |c: char| c.is_whitespace() || c.is_control() || "?#".contains(c);
        if host.is_empty() || host.starts_with(':') || rest.contains(odd) {
            return Err("expected a host and at most a path".into());
        }
        let login = login.map(|login| {
            let plain = percent_decode_str(login).collect::<Vec<u8>>();
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(plain))
        });
        Ok(Self { base: format!("{scheme}://{host}{}", path.trim_end_matches('/')), login })
    }
}

impl Server for HttpCache {
    fn load(&self, key: &Digest, most: usize) -> Result<Option<Outputs>, Fault> {
        let Some(bytes) = self.get("ac", &key.hash, LARGEST_RESULT)? else { return Ok(None) };
        let lies = |what: String| Fault::new(format!("is damaged: {what}"), Then::Continue);
        let result = ActionResult::decode(&bytes[..])
            .map_err(|_| lies(format!("what it has under {} is not a result", key.hash)))?;
        let [stdout, stderr] = result.streams(most).map_err(lies)?;
        let read = |stream| match stream {
            Stream::Here(bytes) => Ok(bytes),
            Stream::At(digest) => {
                let size = digest.size_within(most).unwrap_or(most);
                let gone = || lies(format!("it has a result, but not its output {}", digest.hash));
                digest.verified(self.get("cas", &digest.hash, size)?.ok_or_else(gone)?).map_err(lies)
            }
        };
        Ok(Some(Outputs { stdout: read(stdout)?, stderr: read(stderr)? }))
    }

    fn keep(&self, key: &Digest, outputs: Outputs) -> Result<(), Fault> {
        for bytes in [&outputs.stdout, &outputs.stderr].into_iter().filter(|bytes| !bytes.is_empty()) {
            self.put("cas", &Digest::of(bytes).hash, bytes)?;
        }
        self.put("ac", &key.hash, &outputs.result(INLINED).encode_to_vec())
    }
}

impl HttpCache {
    /// What the server has under this name; more than `most` bytes is an error.
    fn get(&self, kind: &str, name: &str, most: usize) -> Result<Option<Vec<u8>>, Fault> {
        let mut response = self.with_credentials(|headers| {
            let ask = || {
                let request = self.agent.get(format!("{}/{kind}/{name}", self.base));
                with_headers(request, headers).call()
            };
            match ask() {
                // A connection that the server has closed meanwhile is found out by using it.
                Err(ureq::Error::Io(_)) => ask(),
                answer => answer,
            }
        })?;
        match response.status().as_u16() {
            200 => {}
            404 => return Ok(None),
            status => return Err(refused(status, Then::GiveUp)),
        }
        let mut bytes = Vec::new();
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        let read = reader.take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| match super::http::is_timeout(&error) {
            true => self.slow(),
            false => Fault::new(format!("broke off in the middle of an answer: {error}"), Then::Continue),
        })?;
        match bytes.len() > most {
            true => {
                Err(Fault::new(format!("is damaged: an answer is longer than {most} bytes"), Then::Continue))
            }
            false => Ok(Some(bytes)),
        }
    }

    fn put(&self, kind: &str, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        let response = self.with_credentials(|headers| {
            let request = self.agent.put(format!("{}/{kind}/{name}", self.base));
            with_headers(request, headers).content_type("application/octet-stream").send(bytes)
        })?;
        match response.status().as_u16() {
            200..=299 => Ok(()),
            status => Err(refused(status, Then::StopUploading)),
        }
    }

    /// Makes a request with the headers that give access. If the server does not take what a helper gave, the helper is
    /// asked again, once: a token may have expired before its time.
    fn with_credentials(
        &self,
        request: impl Fn(&HeaderMap) -> Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, Fault> {
        let attempt = || {
            let uri = format!("{}/", self.base);
            let headers = self.credentials.headers(&uri).map_err(|why| {
                Fault::new(format!("cannot be asked: {why}"), Then::GiveUp).help(CHECK_HELPER)
            })?;
            request(&headers).map_err(|error| self.unreachable(&error))
        };
        let response = attempt()?;
        if response.status() != 401 || !self.credentials.can_renew() {
            return Ok(response);
        }
        self.credentials.forget();
        attempt()
    }

    fn unreachable(&self, error: &ureq::Error) -> Fault {
        match error {
            ureq::Error::Timeout(_) => self.slow(),
            // What the layer of TLS says about the other side comes as bytes that cannot be read.
            ureq::Error::Io(why) if why.kind() == std::io::ErrorKind::InvalidData => {
                Fault::new(format!("cannot be reached: no connection over TLS: {why}"), Then::GiveUp)
                    .help(CHECK_CERTIFICATES)
            }
            ureq::Error::Io(why) => Fault::new(format!("cannot be reached: {why}"), Then::Continue),
            error => Fault::new(format!("cannot be reached: {error}"), Then::Continue),
        }
    }

    /// A cache is there to save time.
    fn slow(&self) -> Fault {
        let seconds = self.within.as_secs_f64();
        Fault::new(format!("does not answer within {seconds} s"), Then::GiveUp)
    }
}

fn with_headers<B>(mut request: RequestBuilder<B>, headers: &HeaderMap) -> RequestBuilder<B> {
    if let Some(all) = request.headers_mut() {
        all.extend(headers.clone());
    }
    request
}

/// What an answer means that is neither success nor "not found".
fn refused(status: u16, if_denied: Then) -> Fault {
    match status {
        401 | 403 | 407 => Fault::new(format!("denies access (status {status})"), if_denied)
            .help("check `--remote-header`, KRM_REMOTE_HEADER or `--remote-credential-helper`: a token may have expired, or may only read"),
        405 | 501 => Fault::new(format!("takes no uploads (status {status})"), Then::StopUploading),
        413 => Fault::new("refuses an output that is too large for it (status 413)", Then::Continue),
        507 => Fault::new("is full (status 507)", Then::StopUploading),
        300..=399 => Fault::new(format!("leads elsewhere (status {status})"), Then::GiveUp)
            .help("give the address it leads to"),
        _ => Fault::new(format!("fails (status {status})"), Then::Continue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let base = |text: &str| Address::parse(text).map(|address| address.base);
        assert_eq!(base("http://a:80/").unwrap(), "http://a:80");
        assert_eq!(base("https://a/team/x/").unwrap(), "https://a/team/x");
        let with_login = Address::parse("https://me:p%40ss@a/x").unwrap();
        assert_eq!(with_login.base, "https://a/x", "passwords are not shown");
        assert_eq!(with_login.login.unwrap(), "Basic bWU6cEBzcw==");
        for wrong in [
            "a",
            "grpc://a",
            "http://",
            "http:///x",
            "http://:80/",
            "http://a/?q",
            "http://a b/",
            "file:///x",
        ] {
            assert!(base(wrong).is_err(), "{wrong}");
        }
    }
}
