//! Do real sockets tell the truth about what may have arrived?

#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use cloud::transport::wire::{BadTrust, Trust, Wire};
use cloud::{Http, Sent};
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server for one connection: reads the request, writes `reply`, closes.
async fn server(reply: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/canary-path", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await.unwrap();
        stream.write_all(reply.as_bytes()).await.unwrap();
    });
    address
}

fn get(address: &str) -> Request<Bytes> {
    Request::builder()
        .uri(address)
        .header("x-auth-token", "canary-token")
        .body(Bytes::new())
        .unwrap()
}

#[tokio::test]
async fn an_answer_arrives_with_status_headers_and_body() {
    let address =
        server("HTTP/1.1 201 CREATED\r\nX-Subject-Token: t\r\nContent-Length: 2\r\n\r\nhi").await;
    let answer = Wire::new(&Trust::default())
        .unwrap()
        .call(get(&address))
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 201);
    assert_eq!(answer.headers()["x-subject-token"], "t");
    assert_eq!(answer.body().as_ref(), b"hi");
}

#[tokio::test]
async fn a_connection_that_was_never_made_certainly_did_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/canary-path", listener.local_addr().unwrap());
    drop(listener);
    let failure = Wire::new(&Trust::default())
        .unwrap()
        .call(get(&address))
        .await
        .unwrap_err();
    assert_eq!(failure.sent, Sent::Never, "{failure}");
    assert!(!failure.what.contains("canary"), "{failure}");
}

#[tokio::test]
async fn a_connection_that_broke_may_have_done_everything() {
    for reply in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntruncated",
    ] {
        let address = server(reply).await;
        let failure = Wire::new(&Trust::default())
            .unwrap()
            .call(get(&address))
            .await
            .unwrap_err();
        assert_eq!(failure.sent, Sent::Perhaps, "{failure}");
        assert!(!failure.what.contains("canary"), "{failure}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let address = server(
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/steal\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    let answer = Wire::new(&Trust::default())
        .unwrap()
        .call(get(&address))
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 302);
}

/// An https server whose certificate only `ca` vouches for.
async fn https_server() -> (String, Vec<u8>, axum_server::Handle<std::net::SocketAddr>) {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let tls = axum_server::tls_rustls::RustlsConfig::from_pem(
        leaf.pem().into(),
        key.serialize_pem().into(),
    );
    let handle: axum_server::Handle<std::net::SocketAddr> = axum_server::Handle::new();
    let app = axum::Router::new().fallback(|| async { "secure" });
    let server = axum_server::bind_rustls("127.0.0.1:0".parse().unwrap(), tls.await.unwrap());
    tokio::spawn(server.handle(handle.clone()).serve(app.into_make_service()));
    let port = handle.listening().await.unwrap().port();
    (
        format!("https://localhost:{port}/canary-path"),
        ca_pem.into_bytes(),
        handle,
    )
}

#[tokio::test]
async fn a_private_ca_is_trusted_when_it_is_given_and_not_otherwise() {
    let (address, ca, handle) = https_server().await;
    let call = async |trust: Trust| Wire::new(&trust).unwrap().call(get(&address)).await;
    let stranger = call(Trust::default()).await.unwrap_err();
    assert_eq!(stranger.sent, Sent::Never, "{stranger}");
    assert!(!stranger.what.contains("canary"), "{stranger}");
    let trusted = call(Trust {
        private_ca: Some(ca),
        insecure: false,
    })
    .await
    .unwrap();
    assert_eq!(trusted.body().as_ref(), b"secure");
    let careless = call(Trust {
        private_ca: None,
        insecure: true,
    })
    .await
    .unwrap();
    assert_eq!(careless.body().as_ref(), b"secure");
    handle.shutdown();
}

#[test]
fn a_ca_bundle_without_certificate_is_refused() {
    let trust = Trust {
        private_ca: Some(b"not a certificate".to_vec()),
        insecure: false,
    };
    assert!(matches!(Wire::new(&trust), Err(BadTrust::NoCertificate)));
    assert!(
        Wire::new(&Trust {
            insecure: true,
            ..trust
        })
        .is_ok(),
        "insecure wins over the CA"
    );
}
