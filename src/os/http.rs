//! One way to make connections: with the certificates of the system, and limits on everything.

use std::sync::Mutex;
use std::time::Duration;

use rustc_hash::FxHashMap;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

type Settings = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

/// A client whose requests take no longer than this from beginning to end.
pub fn agent(within: Duration) -> ureq::Agent {
    agent_with(within, |settings| settings)
}

/// The same with other settings.
pub fn agent_with(within: Duration, change: impl FnOnce(Settings) -> Settings) -> ureq::Agent {
    let tls = ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::PlatformVerifier).build();
    let settings = ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .user_agent(concat!("krm/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(Duration::from_secs(27).min(within)))
        .timeout_recv_response(Some(Duration::from_secs(60).min(within)))
        .timeout_global(Some(within));
    ureq::Agent::with_parts(change(settings).build(), DefaultConnector::default(), Remembered::default())
}

/// Looks up the address of a server once in a run, and not before every request on an open connection.
#[derive(Debug, Default)]
struct Remembered {
    names: DefaultResolver,
    known: Mutex<FxHashMap<String, ResolvedSocketAddrs>>,
}

impl Resolver for Remembered {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let known = || self.known.lock().expect("no one panics while holding the addresses");
        let server = uri.scheme().zip(uri.authority());
        let server = server.and_then(|(scheme, authority)| DefaultResolver::host_and_port(scheme, authority));
        let server = server.unwrap_or_default();
        if let Some(addresses) = known().get(&server) {
            return Ok(addresses.clone());
        }
        let addresses = self.names.resolve(uri, config, timeout)?;
        known().insert(server, addresses.clone());
        Ok(addresses)
    }
}

/// Why a request failed.
pub fn explained(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => TOO_LONG.into(),
        error => error.to_string(),
    }
}

/// Whether reading an answer took longer than it may.
pub fn is_timeout(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::TimedOut || error.to_string().contains("timeout")
}

pub const TOO_LONG: &str = "the server takes too long";

/// A server that answers every request one byte at a time, and never finishes.
#[cfg(test)]
pub fn dripping_server() -> std::net::SocketAddr {
    use std::io::Write;
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let drip = |mut client: std::net::TcpStream| {
        let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        while client.write_all(b"#").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    std::thread::spawn(move || {
        server.incoming().flatten().for_each(|client| drop(std::thread::spawn(move || drip(client))))
    });
    address
}
