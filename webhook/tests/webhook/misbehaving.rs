//! What happens to clients that are slow, silent, too many or too long?

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use runtime::serve::Limits;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use webhook::{Bounds, Reviewers, Route};

use crate::kit::{admission, yes, yes_to};

const SOON: Duration = Duration::from_millis(200);

/// The same router and limits over plain TCP, for clients that speak badly on purpose.
fn plain(bounds: Bounds, limits: Limits) -> SocketAddr {
    plain_with(yes(), bounds, limits)
}

fn plain_with(reviewers: Reviewers, bounds: Bounds, limits: Limits) -> SocketAddr {
    use runtime::serve::{ConnectionMetrics, Limited, Listener, Until};
    let app = webhook::App {
        reviewers,
        room: webhook::Room::new(bounds),
        counts: webhook::Counts::register(&runtime::metrics::Metrics::default()),
    };
    let listener = Listener::bind("a test", SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.address();
    let until = Until {
        stop: tokio_util::sync::CancellationToken::new(),
        grace: Duration::ZERO,
    };
    let limited = Limited::new(limits, ConnectionMetrics::default());
    tokio::spawn(async move { listener.serve(webhook::router(app), &limited, until).await });
    address
}

/// Everything the server says until it hangs up.
async fn listen(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut said)).await;
    let _ = read.expect("the server neither answered nor hung up");
    String::from_utf8_lossy(&said).into_owned()
}

const HEAD: &str =
    "POST /validate HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_is_cut_off_with_408() {
    let address = plain(
        Bounds {
            patience: SOON,
            ..Bounds::default()
        },
        Limits::default(),
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("{HEAD}content-length: 1000\r\n\r\n{{").as_bytes())
        .await
        .unwrap();
    let said = listen(&mut stream).await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(said.contains("did not arrive within 200ms"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_never_end_are_cut_off() {
    let address = plain(
        Bounds::default(),
        Limits {
            headers: SOON,
            ..Limits::default()
        },
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"POST /validate HTTP/1.1\r\nhost: x\r\nx-slow: ")
        .await
        .unwrap();
    let said = listen(&mut stream).await;
    assert!(!said.contains(" 200 "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_unknown_length_is_cut_at_the_limit() {
    let address = plain(
        Bounds {
            body: 100,
            ..Bounds::default()
        },
        Limits::default(),
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    let chunk = format!(
        "{HEAD}transfer-encoding: chunked\r\n\r\n96\r\n{}\r\n",
        "x".repeat(150)
    );
    stream.write_all(chunk.as_bytes()).await.unwrap();
    assert!(listen(&mut stream).await.starts_with("HTTP/1.1 413 "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_ends_early_is_no_review() {
    let address = plain(Bounds::default(), Limits::default());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("{HEAD}content-length: 1000\r\n\r\n{{\"kind\"").as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let said = listen(&mut stream).await;
    assert!(!said.contains(" 200 "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_more_than_allowed_is_closed_and_room_comes_back() {
    let address = plain(
        Bounds::default(),
        Limits {
            connections: 2,
            ..Limits::default()
        },
    );
    let ping = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(ping).await.unwrap();
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        kept.push(stream);
    }
    let mut third = TcpStream::connect(address).await.unwrap();
    let _ = third.write_all(ping).await;
    assert_eq!(listen(&mut third).await, "");
    kept.pop();
    let again = async {
        loop {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut first = [0; 15];
            if stream.write_all(ping).await.is_ok() && stream.read_exact(&mut first).await.is_ok() {
                break first;
            }
        }
    };
    let first = tokio::time::timeout(Duration::from_secs(20), again)
        .await
        .expect("the place was never given back");
    assert_eq!(&first, b"HTTP/1.1 200 OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_answer_loses_its_connection() {
    // More than the socket buffers of both sides hold.
    let long = Arc::new(|review: &Value| {
        let uid = &review["request"]["uid"];
        serde_json::json!({"response": {"uid": uid, "allowed": true, "padding": "x".repeat(32 << 20)}})
    });
    let reviewers = Reviewers {
        convert: yes_to(Route::Convert),
        validate: long,
    };
    let limits = Limits {
        connections: 1,
        stalled_write: SOON,
        ..Limits::default()
    };
    let address = plain_with(reviewers, Bounds::default(), limits);
    let review = admission("u1").to_string();
    let mut deaf = TcpStream::connect(address).await.unwrap();
    let request = format!("{HEAD}content-length: {}\r\n\r\n{review}", review.len());
    deaf.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 15];
    deaf.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");

    let served_again = async {
        loop {
            let mut other = TcpStream::connect(address).await.unwrap();
            let ping = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
            if other.write_all(ping).await.is_ok() && other.read_exact(&mut first).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let freed = tokio::time::timeout(Duration::from_secs(20), served_again).await;
    freed.expect("the place of the client that does not read was never given back");
}
