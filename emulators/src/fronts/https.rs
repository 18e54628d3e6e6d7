//! How does the embedded Kubernetes stand on its own sockets, with TLS, client certificates and a kubeconfig?

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tower::BoxError;

use super::engine::Engine;
use super::{admin, kubernetes};
use crate::kubernetes::Kubernetes;
use crate::kubernetes::users::User;

/// Names and addresses under which the server may be called besides its own.
const NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "127.0.0.1",
];

/// A served API. Dropping it stops it.
pub struct ServedApi {
    pub addr: SocketAddr,
    /// The certificate authority, PEM.
    pub ca: String,
    admin: Credential,
    tasks: Vec<JoinHandle<()>>,
}

/// A certificate that says who one is.
struct Credential {
    certificate: String,
    key: String,
}

impl ServedApi {
    pub fn url(&self) -> String {
        format!("https://{}", self.addr)
    }

    /// For the administrator, with everything inside.
    pub fn kubeconfig(&self) -> String {
        let data = |pem: &str| STANDARD.encode(pem);
        format!(
            "apiVersion: v1
kind: Config
clusters:
- name: emulated
  cluster:
    server: {url}
    certificate-authority-data: {ca}
users:
- name: admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: emulated
  context: {{cluster: emulated, user: admin, namespace: default}}
current-context: emulated
",
            url = self.url(),
            ca = data(&self.ca),
            certificate = data(&self.admin.certificate),
            key = data(&self.admin.key),
        )
    }

    /// Until it ends, which it does only by an error or by being dropped.
    pub async fn ended(&mut self) {
        for task in &mut self.tasks {
            let _ = task.await;
        }
    }
}

impl Drop for ServedApi {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Sockets and certificates of an API that does not answer yet: what its machines must know before it does.
pub struct Bound {
    pub addr: SocketAddr,
    listener: std::net::TcpListener,
    authority: Authority,
}

/// Serves until the returned value is dropped; time passes meanwhile.
pub async fn serve(addr: SocketAddr, engine: Arc<Engine<Kubernetes>>) -> Result<ServedApi> {
    Bound::new(addr).await?.serve(engine)
}

impl Bound {
    pub async fn new(addr: SocketAddr) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind(addr).await?.into_std()?;
        Ok(Self {
            addr: listener.local_addr()?,
            listener,
            authority: Authority::new()?,
        })
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.addr)
    }

    /// The certificate authority, PEM.
    pub fn ca(&self) -> &str {
        &self.authority.pem
    }

    /// Answers until the returned value is dropped; time passes meanwhile.
    pub fn serve(self, engine: Arc<Engine<Kubernetes>>) -> Result<ServedApi> {
        let Self {
            addr,
            listener,
            authority,
        } = self;
        let admin = authority.issue("kubernetes-admin", Some("system:masters"), &[])?;
        let own = addr.ip().to_string();
        let names: Vec<&str> = NAMES.into_iter().chain([own.as_str()]).collect();
        let server = authority.issue("kube-apiserver", None, &names)?;
        let config = authority.server_config(&server)?;
        let acceptor = Recognize {
            tls: RustlsAcceptor::new(RustlsConfig::from_config(Arc::new(config))),
            admin: Arc::new(der(&admin.certificate)?),
        };
        let app = Router::new()
            .fallback(entrance)
            .with_state(Arc::clone(&engine));
        let mut http = axum_server::from_tcp(listener)?.acceptor(acceptor);
        http.http_builder().http2().max_concurrent_streams(1000);
        let server = tokio::spawn(async move {
            let _ = http.serve(app.into_make_service()).await;
        });
        let time = tokio::spawn(engine.keep_time());
        Ok(ServedApi {
            addr,
            ca: authority.pem,
            admin,
            tasks: vec![server, time],
        })
    }
}

async fn entrance(State(engine): State<Arc<Engine<Kubernetes>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, super::axum::BODY_LIMIT).await else {
        return broken();
    };
    let request = http::Request::from_parts(parts, body);
    if let Some(answer) = admin::answer(&engine, &request) {
        return answer.map(Body::from);
    }
    match kubernetes::answer(engine, request).await {
        Ok(response) => response,
        Err(_) => broken(),
    }
}

/// Marks an answer that never leaves: the connection breaks instead.
#[derive(Clone)]
struct Cut;

fn broken() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Cut);
    response
}

/// Tells the service who showed which certificate.
#[derive(Clone)]
struct Recognize {
    tls: RustlsAcceptor,
    admin: Arc<Vec<u8>>,
}

/// A service whose requests carry the user of their connection.
#[derive(Clone)]
struct Known<S> {
    service: S,
    user: Option<User>,
}

impl<S: Send + 'static> Accept<TcpStream, S> for Recognize {
    type Stream = <RustlsAcceptor as Accept<TcpStream, S>>::Stream;
    type Service = Known<S>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Known<S>)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let _ = stream.set_nodelay(true);
        let handshake = self.tls.accept(stream, service);
        let admin = Arc::clone(&self.admin);
        Box::pin(async move {
            let (stream, service) = handshake.await?;
            let shown = stream
                .get_ref()
                .1
                .peer_certificates()
                .and_then(|chain| chain.first());
            let user = shown
                .filter(|shown| shown.as_ref() == admin.as_slice())
                .map(|_| User::admin());
            Ok((stream, Known { service, user }))
        })
    }
}

impl<S, B, R> tower::Service<http::Request<B>> for Known<S>
where
    S: tower::Service<http::Request<B>, Response = http::Response<R>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<R>, BoxError>> + Send>>;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), BoxError>> {
        self.service.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        if let Some(user) = &self.user {
            request.extensions_mut().insert(user.clone());
        }
        let answer = self.service.call(request);
        Box::pin(async move {
            let response = answer.await.map_err(Into::into)?;
            if response.extensions().get::<Cut>().is_some() {
                // an error of the service ends the connection, over HTTP/2 the stream
                return Err(io::Error::from(io::ErrorKind::ConnectionReset).into());
            }
            Ok(response)
        })
    }
}

/// Signs the server's and the administrator's certificates. Lives as long as the process.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params
            .distinguished_name
            .push(DnType::CommonName, "emulated-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            pem,
        })
    }

    fn issue(&self, name: &str, group: Option<&str>, hosts: &[&str]) -> Result<Credential> {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let server = !hosts.is_empty();
        let mut params = CertificateParams::new(hosts)?;
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(group) = group {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![if server {
            ExtendedKeyUsagePurpose::ServerAuth
        } else {
            ExtendedKeyUsagePurpose::ClientAuth
        }];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Credential {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    fn server_config(&self, own: &Credential) -> Result<ServerConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(der(&self.pem)?))?;
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .allow_unauthenticated()
                .build()
                .context("the client verifier")?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der(&own.key)?));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![CertificateDer::from(der(&own.certificate)?)], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// The bytes inside a PEM block.
fn der(pem: &str) -> Result<Vec<u8>> {
    let body: String = pem
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    STANDARD
        .decode(body.trim())
        .context("a PEM of our own making")
}
