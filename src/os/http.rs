//! One way to make connections: with the certificates of the system, and limits on everything.

use std::time::Duration;

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
    change(settings).build().into()
}

/// Why a request failed.
pub fn explained(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "the server takes too long".into(),
        error => error.to_string(),
    }
}
