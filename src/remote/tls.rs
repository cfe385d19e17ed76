//! Who a server has to be, and who we are: certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use krm_engine::{Diagnostic, Result};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_rustls::rustls::pki_types::pem::{Error, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier, crypto};

/// Files with certificates, as the user names them.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    /// Who may sign for servers, in place of those the system trusts.
    pub authority: Option<PathBuf>,
    /// Ours, and the key to it.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// What a connection over TLS checks and shows.
pub fn config(certificates: &Certificates) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder: ConfigBuilder<ClientConfig, WantsVerifier> = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?;
    let builder = match &certificates.authority {
        None => builder.with_platform_verifier().map_err(|error| unusable(error.to_string()))?,
        Some(file) => {
            let mut roots = RootCertStore::empty();
            for certificate in chain(file)? {
                roots.add(certificate).map_err(|error| unreadable(file, &error.to_string()))?;
            }
            builder.with_root_certificates(roots)
        }
    };
    let mut config = match &certificates.own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let private =
                PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &said(&error)))?;
            builder
                .with_client_auth_cert(chain(certificate)?, private)
                .map_err(|error| unreadable(certificate, &error.to_string()))?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

/// The certificates of a file: at least one.
fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    match all {
        Ok(all) if all.is_empty() => Err(unreadable(file, "there is no certificate in it")),
        Ok(all) => Ok(all),
        Err(error) => Err(unreadable(file, &said(&error))),
    }
}

fn said(error: &Error) -> String {
    match error {
        Error::Io(error) => error.to_string(),
        Error::NoItemsFound => "there is no private key in it".into(),
        other => other.to_string(),
    }
}

fn unreadable(file: &Path, why: &str) -> Diagnostic {
    Diagnostic::error("remote-certificate-unusable", format!("`{}` cannot be used: {why}", file.display()))
        .help("certificates and keys are PEM files: text with lines such as `-----BEGIN CERTIFICATE-----`")
}

fn unusable(why: String) -> Diagnostic {
    Diagnostic::error("remote-certificate-unusable", format!("no connection over TLS can be made: {why}"))
}
