//! Who a server has to be, and who we are: certificates.

use std::sync::Arc;

use krm_engine::Result;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier, crypto};
use ureq::tls::Certificate;

use crate::os::certificates::{Certificates, unreadable, unusable};

/// What a connection over TLS checks and shows.
pub fn config(certificates: &Certificates) -> Result<Arc<ClientConfig>> {
    let failed = |why: String| unusable(format!("no connection over TLS can be made: {why}"));
    let provider = Arc::new(crypto::ring::default_provider());
    let builder: ConfigBuilder<ClientConfig, WantsVerifier> = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?;
    let builder = match (certificates.authorities()?, &certificates.authority) {
        (Some(authorities), Some(file)) => {
            let mut roots = RootCertStore::empty();
            for certificate in &authorities {
                roots.add(der(certificate)).map_err(|error| unreadable(file, &error.to_string()))?;
            }
            builder.with_root_certificates(roots)
        }
        _ => builder.with_platform_verifier().map_err(|error| failed(error.to_string()))?,
    };
    let mut config = match (certificates.identity()?, &certificates.own) {
        (Some((chain, key)), Some((file, key_file))) => {
            let key = PrivateKeyDer::try_from(key.der().to_vec()).map_err(|why| unreadable(key_file, why))?;
            builder
                .with_client_auth_cert(chain.iter().map(der).collect(), key)
                .map_err(|error| unreadable(file, &error.to_string()))?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn der(certificate: &Certificate<'_>) -> CertificateDer<'static> {
    CertificateDer::from(certificate.der().to_vec())
}
