//! Which certificates does a cluster have, and who signs them?
//!
//! kubeadm's layout, EC P-256 throughout (milliseconds each). etcd, kube-controller-manager and kube-scheduler serve
//! with certificates of ours too, so a readiness probe can never be answered by a foreign process on the same port.

use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use super::files::write_private;

/// A certificate with its key, both PEM.
#[derive(Debug, Clone)]
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// A certificate authority that signs leaf certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Who a leaf certificate speaks for.
#[derive(Debug, Default, Clone, Copy)]
pub struct Subject<'a> {
    pub common_name: &'a str,
    pub organization: Option<&'a str>,
    /// DNS names or IP addresses; a certificate without any is for clients only.
    pub names: &'a [&'a str],
}

impl Authority {
    pub fn new(common_name: &str) -> Result<Self> {
        let mut params = params(Subject {
            common_name,
            ..Subject::default()
        })?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        params.use_authority_key_identifier_extension = false;
        Ok(Self {
            issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)?,
        })
    }

    /// The certificate of the authority itself, PEM: what others trust.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    pub fn sign(&self, subject: Subject<'_>) -> Result<Pair> {
        let key = KeyPair::generate()?;
        let mut params = params(subject)?;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if !subject.names.is_empty() {
            params
                .extended_key_usages
                .push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        Ok(Pair {
            certificate: params.signed_by(&key, &self.issuer)?.pem(),
            key: key.serialize_pem(),
        })
    }

    fn pair(&self) -> Pair {
        Pair {
            certificate: self.certificate(),
            key: self.issuer.key().serialize_pem(),
        }
    }
}

/// The certificates a process outside the files needs again: those inside kubeconfigs.
pub(super) struct Pki {
    pub(super) ca: String,
    pub(super) admin: Pair,
    pub(super) controllers: Pair,
    pub(super) scheduler: Pair,
}

/// Makes all of a cluster's certificates in `folder`. `host` is this machine's own address, if it has one.
pub(super) fn make(folder: &Path, service_ip: &str, host: Option<&str>) -> Result<Pki> {
    std::fs::create_dir_all(folder)?;
    let ca = Authority::new("kubernetes")?;
    let pki = Pki {
        ca: ca.certificate(),
        admin: client(&ca, "kubernetes-admin", Some("system:masters"))?,
        controllers: server(&ca, "system:kube-controller-manager", HERE)?,
        scheduler: server(&ca, "system:kube-scheduler", HERE)?,
    };
    let kubelet_client = client(
        &ca,
        "kube-apiserver-kubelet-client",
        Some("kubeadm:cluster-admins"),
    )?;
    write(folder, "ca", &ca.pair())?;
    write(
        folder,
        "apiserver",
        &server(&ca, "kube-apiserver", &api_names(service_ip, host))?,
    )?;
    write(folder, "apiserver-kubelet-client", &kubelet_client)?;
    write(folder, "admin", &pki.admin)?;
    write(folder, "controllers", &pki.controllers)?;
    write(folder, "scheduler", &pki.scheduler)?;

    let front = Authority::new("front-proxy-ca")?;
    write(folder, "front-proxy-ca", &front.pair())?;
    write(
        folder,
        "front-proxy-client",
        &client(&front, "front-proxy-client", None)?,
    )?;

    let etcd = Authority::new("etcd-ca")?;
    write(folder, "etcd-ca", &etcd.pair())?;
    write(folder, "etcd", &server(&etcd, "etcd", HERE)?)?;
    write(
        folder,
        "etcd-client",
        &client(&etcd, "kube-apiserver", None)?,
    )?;

    let accounts = KeyPair::generate()?; // signs ServiceAccount tokens
    write_private(&folder.join("sa.key"), &accounts.serialize_pem())?;
    write_private(&folder.join("sa.pub"), &accounts.public_key_pem())?;
    Ok(pki)
}

const HERE: &[&str] = &["localhost", "127.0.0.1"];

/// Every name the API server is called by.
fn api_names<'a>(service_ip: &'a str, host: Option<&'a str>) -> Vec<&'a str> {
    let services = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    services
        .iter()
        .chain(HERE)
        .copied()
        .chain([service_ip])
        .chain(host)
        .collect()
}

fn client(authority: &Authority, common_name: &str, organization: Option<&str>) -> Result<Pair> {
    authority.sign(Subject {
        common_name,
        organization,
        names: &[],
    })
}

fn server(authority: &Authority, common_name: &str, names: &[&str]) -> Result<Pair> {
    authority.sign(Subject {
        common_name,
        organization: None,
        names,
    })
}

fn write(folder: &Path, name: &str, pair: &Pair) -> Result<()> {
    write_private(&folder.join(format!("{name}.crt")), &pair.certificate)?;
    write_private(&folder.join(format!("{name}.key")), &pair.key)
}

fn params(subject: Subject<'_>) -> Result<CertificateParams> {
    let names: Vec<String> = subject.names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)
        .with_context(|| format!("names of {}", subject.common_name))?;
    params.distinguished_name = DistinguishedName::new();
    if let Some(organization) = subject.organization {
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
    }
    params
        .distinguished_name
        .push(DnType::CommonName, subject.common_name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}
