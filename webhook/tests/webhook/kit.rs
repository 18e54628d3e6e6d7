//! What does a test of the webhook need: certificates, a folder, a server, reviews?
#![allow(
    dead_code,       // the bench uses a part of it
    unreachable_pub, // a test binary has no outside
)]

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use runtime::clock::Clock;
use runtime::serve::Limits;
use runtime::tls::Files;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use webhook::{Bounds, Drain, Reviewer, Reviewers, Route, Settings, Webhook};

/// Somebody who signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Authority {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A pair for this host, in PEM.
    pub fn sign(&self, expires_in_year: i32) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params =
            CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.not_after = date_time_ymd(expires_in_year, 1, 1);
        (
            params.signed_by(&key, &self.issuer).unwrap().pem(),
            key.serialize_pem(),
        )
    }

    pub fn trusted(&self) -> reqwest::Certificate {
        reqwest::Certificate::from_pem(self.pem.as_bytes()).unwrap()
    }
}

/// A client that trusts these authorities and nobody else.
pub fn client<const N: usize>(trusted: [&Authority; N]) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(30))
        .tls_certs_only(trusted.map(Authority::trusted))
}

/// A folder of its own, gone when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(
            "joiner-webhook-test-{}-{number}",
            std::process::id()
        ));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn files(&self) -> Files {
        Files {
            certificate: self.0.join("tls.crt"),
            key: self.0.join("tls.key"),
        }
    }

    /// Two writes: whoever reads in between sees a pair that does not match, as in real life.
    pub fn write(&self, (certificate, key): &(String, String)) {
        fs::write(self.files().certificate, certificate).unwrap();
        fs::write(self.files().key, key).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The webhook inside this process.
pub struct Server {
    pub https: SocketAddr,
    pub admin: SocketAddr,
    pub stop: CancellationToken,
    pub ended: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.https)
    }

    pub fn admin_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.admin)
    }
}

pub fn settings(folder: &Folder) -> Settings {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    Settings {
        https: any_port,
        admin: any_port,
        tls: folder.files(),
        reload_every: Duration::from_millis(20),
        bounds: Bounds::default(),
        limits: Limits::default(),
        drain: Drain {
            notice: Duration::ZERO,
            grace: Duration::from_secs(20),
        },
    }
}

pub fn start(settings: Settings, reviewers: Reviewers) -> Server {
    runtime::tls::install_provider();
    let webhook = Webhook::prepare(settings, reviewers, Clock::real(), None).unwrap();
    let (https, admin) = (webhook.https_address(), webhook.admin_address());
    let stop = CancellationToken::new();
    let ended = tokio::spawn(webhook.run(stop.clone()));
    Server {
        https,
        admin,
        stop,
        ended,
    }
}

/// Reviewers that say yes to everything.
pub fn yes() -> Reviewers {
    Reviewers {
        convert: yes_to(Route::Convert),
        validate: yes_to(Route::Validate),
    }
}

pub fn yes_to(route: Route) -> Reviewer {
    Arc::new(move |review: &Value| {
        let uid = &review["request"]["uid"];
        let response = match route {
            Route::Convert => {
                json!({"uid": uid, "convertedObjects": review["request"]["objects"], "result": {"status": "Success"}})
            }
            Route::Validate => json!({"uid": uid, "allowed": true}),
        };
        json!({"apiVersion": route.api_version(), "kind": route.kind(), "response": response})
    })
}

/// A ConversionReview as an API server sends it, with `count` classes of the prototype's version.
pub fn conversion(uid: &str, count: usize) -> Value {
    let objects: Vec<Value> = (0..count).map(class).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": uid, "desiredAPIVersion": "karpenter.k8s.openstack/v1", "objects": objects},
    })
}

fn class(number: usize) -> Value {
    json!({
        "apiVersion": "karpenter.k8s.openstack/v1openstack",
        "kind": "OpenStackNodeClass",
        "metadata": {"name": format!("class-{number}"), "uid": format!("00000000-0000-4000-8000-{number:012}")},
        "spec": {
            "flavorSelectorTerms": [{"name": "m1.large"}],
            "imageSelectorTerms": [{"name": "ubuntu-24.04"}],
            "networkSelectorTerms": [{"name": "nodes"}],
            "userData": "#cloud-config\n".to_owned() + &"# padding of a usual cloud-config\n".repeat(60),
        },
    })
}

/// An AdmissionReview as an API server sends it.
pub fn admission(uid: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodePool"},
            "resource": {"group": "karpenter.sh", "version": "v1", "resource": "nodepools"},
            "operation": "CREATE",
            "name": "general",
            "userInfo": {"username": "kubernetes-admin"},
            "object": {
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodePool",
                "metadata": {"name": "general"},
                "spec": {
                    "template": {"spec": {
                        "nodeClassRef": {"group": "karpenter.k8s.openstack", "kind": "OpenStackNodeClass", "name": "default"},
                        "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
                    }},
                    "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"},
                },
            },
            "oldObject": null,
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    })
}
