//! Do these two files make a certificate that can be served now?

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use super::validity::{BadCertificate, Validity};

/// Where the certificate chain (leaf first) and its key lie, both in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// What the two files held at one reading.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A certificate and the key that belongs to it, ready to be served.
#[derive(Debug, Clone)]
pub struct Pair {
    pub(super) config: Arc<ServerConfig>,
    pub validity: Validity,
}

#[derive(Debug, Error)]
pub enum BadPair {
    #[error("cannot read {what} {}: {why}; mount the TLS Secret there or name the file with {flag}", path.display())]
    Unreadable {
        what: &'static str,
        flag: &'static str,
        path: PathBuf,
        why: std::io::Error,
    },
    #[error("{} holds no PEM certificate ({why}); it must hold the chain, leaf first", path.display())]
    NoCertificate { path: PathBuf, why: String },
    #[error("{} holds no PEM private key ({why}); it must hold exactly one, unencrypted", path.display())]
    NoKey { path: PathBuf, why: String },
    #[error("{}: {why}", path.display())]
    Malformed { path: PathBuf, why: BadCertificate },
    #[error("{} and {} do not belong together ({why}); write both from the same Secret", certificate.display(), key.display())]
    Mismatched {
        certificate: PathBuf,
        key: PathBuf,
        why: rustls::Error,
    },
    #[error("the certificate in {} expired at {since}; renew it (no client would accept it)", path.display())]
    Expired { path: PathBuf, since: Timestamp },
}

impl Files {
    pub(super) fn read(&self) -> Result<Contents, BadPair> {
        let read = |what, flag, path: &PathBuf| {
            std::fs::read(path).map_err(|why| BadPair::Unreadable {
                what,
                flag,
                path: path.clone(),
                why,
            })
        };
        Ok(Contents {
            certificate: read("the certificate", "--tls-cert", &self.certificate)?,
            key: read("the private key", "--tls-key", &self.key)?,
        })
    }

    /// Everything that can be wrong with a pair, in the order in which a person would look.
    pub(super) fn pair(&self, contents: &Contents, now: Timestamp) -> Result<Pair, BadPair> {
        let no_certificate = |why: String| BadPair::NoCertificate {
            path: self.certificate.clone(),
            why,
        };
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(&contents.certificate)
                .collect::<Result<_, _>>()
                .map_err(|why| no_certificate(why.to_string()))?;
        let leaf = chain
            .first()
            .ok_or_else(|| no_certificate("no BEGIN CERTIFICATE line".to_owned()))?;
        let validity = Validity::of(leaf).map_err(|why| BadPair::Malformed {
            path: self.certificate.clone(),
            why,
        })?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|why| BadPair::NoKey {
            path: self.key.clone(),
            why: why.to_string(),
        })?;
        let config = server_config(chain, key).map_err(|why| BadPair::Mismatched {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            why,
        })?;
        if validity.not_after < now {
            return Err(BadPair::Expired {
                path: self.certificate.clone(),
                since: validity.not_after,
            });
        }
        Ok(Pair {
            config: Arc::new(config),
            validity,
        })
    }
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
