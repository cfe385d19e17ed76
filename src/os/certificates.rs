//! Certificates of servers and our own, from PEM files.

use std::path::{Path, PathBuf};

use krm_engine::{Diagnostic, Result};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// What to do if a connection over TLS cannot be made.
pub const CHECK_CERTIFICATES: &str = "check the address, the clock of this machine and the certificates: `--remote-tls-ca` names \
     who may sign for the server, `--remote-tls-cert` and `--remote-tls-key` what to show to it";

/// Files with certificates, as the user names them.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    /// Who may sign for servers, in place of those the system trusts.
    pub authority: Option<PathBuf>,
    /// Ours, and the key to it.
    pub own: Option<(PathBuf, PathBuf)>,
}

impl Certificates {
    /// Those who may sign for servers, if the user names any.
    pub fn authorities(&self) -> Result<Option<Vec<Certificate<'static>>>> {
        self.authority.as_deref().map(chain).transpose()
    }

    /// Our certificate with those it is signed by, and the key to it.
    pub fn identity(&self) -> Result<Option<(Vec<Certificate<'static>>, PrivateKey<'static>)>> {
        let Some((certificate, key)) = &self.own else { return Ok(None) };
        let is_key = |item| match item {
            PemItem::PrivateKey(key) => Some(key),
            _ => None,
        };
        let private = items(key)?.into_iter().find_map(is_key);
        let private = private.ok_or_else(|| unreadable(key, "there is no private key in it"))?;
        Ok(Some((chain(certificate)?, private)))
    }

    /// What a connection over HTTPS checks and shows.
    pub fn for_http(&self) -> Result<TlsConfig> {
        let roots = match self.authorities()? {
            Some(all) => RootCerts::new_with_certs(&all),
            None => RootCerts::PlatformVerifier,
        };
        let own = self.identity()?.map(|(chain, key)| ClientCert::new_with_certs(&chain, key));
        Ok(TlsConfig::builder().root_certs(roots).client_cert(own).build())
    }
}

/// The certificates of a file: at least one.
fn chain(file: &Path) -> Result<Vec<Certificate<'static>>> {
    let is_certificate = |item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    };
    let all: Vec<_> = items(file)?.into_iter().filter_map(is_certificate).collect();
    match all.is_empty() {
        true => Err(unreadable(file, "there is no certificate in it")),
        false => Ok(all),
    }
}

fn items(file: &Path) -> Result<Vec<PemItem<'static>>> {
    let bytes = super::read(file).map_err(|error| unreadable(file, &error.to_string()))?;
    let all = parse_pem(&bytes).collect::<std::result::Result<_, _>>();
    all.map_err(|error: ureq::Error| unreadable(file, &error.to_string()))
}

/// The error for a file without a certificate or key, or with one that does not match the other.
pub fn unreadable(file: &Path, why: &str) -> Diagnostic {
    unusable(format!("`{}` cannot be used: {why}", file.display()))
        .help("certificates and keys are PEM files: text with lines such as `-----BEGIN CERTIFICATE-----`")
}

pub fn unusable(message: String) -> Diagnostic {
    Diagnostic::error("remote-certificate-unusable", message)
}
