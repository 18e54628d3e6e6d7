//! What do clients of the webhook see: while certificates change, while it stops, and when they misbehave?

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::kit::{
    Authority, Folder, Server, admission, client, conversion, settings, start, yes, yes_to,
};
use runtime::serve::Limits;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use webhook::{Bounds, Reviewers, Route, Settings};

const SOON: Duration = Duration::from_millis(200);

/// A started webhook with a good certificate, and a client that trusts it.
fn webhook(
    change: impl FnOnce(&mut Settings),
    reviewers: Reviewers,
) -> (Server, reqwest::Client, Folder) {
    let folder = Folder::new();
    let authority = Authority::new("one");
    folder.write(&authority.sign(2099));
    let mut settings = settings(&folder);
    change(&mut settings);
    let server = start(settings, reviewers);
    (server, client([&authority]).build().unwrap(), folder)
}

async fn ask(
    client: &reqwest::Client,
    server: &Server,
    path: &str,
    review: &Value,
) -> (u16, Value) {
    let answer = client
        .post(server.url(path))
        .json(review)
        .send()
        .await
        .unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// A reviewer that tells when it was asked and answers when it is told to.
fn held_back() -> (Reviewers, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (asked, was_asked) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let (asked, may_go) = (Mutex::new(asked), Mutex::new(may_go));
    let say_yes = yes_to(Route::Validate);
    let validate = Arc::new(move |review: &Value| {
        let _ = asked.lock().unwrap().send(());
        let _ = may_go.lock().unwrap().recv();
        say_yes(review)
    });
    (
        Reviewers {
            convert: yes_to(Route::Convert),
            validate,
        },
        was_asked,
        go,
    )
}

async fn wait_for(asked: mpsc::Receiver<()>) -> mpsc::Receiver<()> {
    tokio::task::spawn_blocking(move || {
        asked.recv().unwrap();
        asked
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_reviews_are_answered_over_https() {
    let (server, client, _folder) = webhook(|_| {}, yes());
    let (status, said) = ask(&client, &server, "/convert", &conversion("u1", 3)).await;
    assert_eq!((status, &said["response"]["uid"]), (200, &"u1".into()));
    assert_eq!(
        said["response"]["convertedObjects"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let (status, said) = ask(&client, &server, "/validate", &admission("u2")).await;
    assert_eq!((status, &said["response"]["allowed"]), (200, &true.into()));
    let health = client.get(server.url("/healthz")).send().await.unwrap();
    assert_eq!(
        health.version(),
        reqwest::Version::HTTP_2,
        "ALPN offers HTTP/2"
    );
    assert_eq!(health.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_replaced_under_load_fails_no_request() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let folder = Folder::new();
    folder.write(&old.sign(2098));
    let server = start(settings(&folder), yes());
    // Half of the load reuses connections, half opens one for every request.
    let keeping = client([&old, &new]).build().unwrap();
    let fresh = client([&old, &new])
        .pool_max_idle_per_host(0)
        .http1_only()
        .build()
        .unwrap();
    let only_new = client([&new]).pool_max_idle_per_host(0).build().unwrap();
    let only_old = client([&old]).pool_max_idle_per_host(0).build().unwrap();
    let admin = server.admin_url("/metrics");

    // Back and forth, ending with the new one.
    let swaps = tokio::spawn(async move {
        for swap in 1..=5 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            folder.write(&if swap % 2 == 1 {
                new.sign(2099)
            } else {
                old.sign(2098)
            });
            counted(
                &admin,
                &format!("certificate_reloads_total{{result=\"swapped\"}} {swap}\n"),
            )
            .await;
        }
        folder
    });
    let failed = load(&server, [keeping, fresh], || swaps.is_finished()).await;
    assert_eq!(failed, Vec::<String>::new());
    let _folder = swaps.await.unwrap();

    assert!(
        only_new.get(server.url("/healthz")).send().await.is_ok(),
        "new connections get the new certificate"
    );
    assert!(
        only_old.get(server.url("/healthz")).send().await.is_err(),
        "and not the old one"
    );
}

/// 200 requests a second, at least 600, until told that it is enough; what those that failed were told.
async fn load(
    server: &Server,
    clients: [reqwest::Client; 2],
    enough: impl Fn() -> bool,
) -> Vec<String> {
    let mut load = tokio::task::JoinSet::new();
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    for round in 0.. {
        if round >= 600 && enough() {
            break;
        }
        tick.tick().await;
        let request = clients[round % 2]
            .post(server.url("/validate"))
            .json(&admission("u"))
            .send();
        load.spawn(async move {
            match request.await {
                Ok(answer) => answer.status().to_string(),
                Err(why) => format!("{why:?}"),
            }
        });
    }
    load.join_all()
        .await
        .into_iter()
        .filter(|said| said != "200 OK")
        .collect()
}

/// Waits until the metrics show this.
async fn counted(url: &str, what: &str) {
    let shown = async {
        while !reqwest::get(url)
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
            .contains(what)
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), shown)
        .await
        .unwrap_or_else(|_| panic!("never shown: {what}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_that_does_not_match_leaves_the_old_one_in_service() {
    let authority = Authority::new("one");
    let folder = Folder::new();
    folder.write(&authority.sign(2099));
    let server = start(settings(&folder), yes());
    folder.write(&(Authority::new("two").sign(2099).0, authority.sign(2099).1));
    counted(
        &server.admin_url("/metrics"),
        "certificate_reloads_total{result=\"kept\"}",
    )
    .await;
    let client = client([&authority]).build().unwrap();
    assert_eq!(
        client
            .get(server.url("/healthz"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(
        reqwest::get(server.admin_url("/readyz"))
            .await
            .unwrap()
            .status(),
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_webhook_finishes_what_it_has_and_takes_nothing_new() {
    let (reviewers, asked, go) = held_back();
    let (server, client, _folder) = webhook(|_| {}, reviewers);
    let request = client
        .post(server.url("/validate"))
        .json(&admission("u1"))
        .send();
    let answer = tokio::spawn(request);
    let _asked = wait_for(asked).await;

    server.stop.cancel();
    let refused = async {
        while TcpStream::connect(server.https).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), refused)
        .await
        .expect("it still accepts connections");
    let ready = reqwest::get(server.admin_url("/readyz")).await.unwrap();
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("stopping"));
    assert!(!server.ended.is_finished());

    go.send(()).unwrap();
    let said: Value = answer.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(said["response"]["uid"], "u1");
    server.ended.await.unwrap().unwrap();
    assert!(
        TcpStream::connect(server.admin).await.is_err(),
        "the admin server ends last, but it ends"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_outlives_the_grace_period_is_cut() {
    let (reviewers, asked, go) = held_back();
    let (server, client, _folder) = webhook(|s| s.drain.grace = SOON, reviewers);
    let answer = tokio::spawn(
        client
            .post(server.url("/validate"))
            .json(&admission("u1"))
            .send(),
    );
    let _asked = wait_for(asked).await;
    server.stop.cancel();
    server.ended.await.unwrap().unwrap();
    assert!(answer.await.unwrap().is_err());
    go.send(()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_reviewers_do_not_keep_probes_waiting() {
    let one_at_a_time = |s: &mut Settings| {
        s.bounds = Bounds {
            at_once: NonZeroUsize::MIN,
            patience: SOON,
            ..Bounds::default()
        };
    };
    let (reviewers, asked, go) = held_back();
    let (server, client, _folder) = webhook(one_at_a_time, reviewers);
    let first = tokio::spawn(
        client
            .post(server.url("/validate"))
            .json(&admission("u1"))
            .send(),
    );
    let _asked = wait_for(asked).await;
    assert_eq!(
        client
            .get(server.url("/healthz"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(
        reqwest::get(server.admin_url("/healthz"))
            .await
            .unwrap()
            .status(),
        200
    );
    let (status, said) = ask(&client, &server, "/convert", &conversion("u2", 1)).await;
    assert_eq!(
        (status, &said["kind"]),
        (503, &"Status".into()),
        "the second review waited, and was told so"
    );
    go.send(()).unwrap();
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_together_do_not_exceed_what_was_agreed() {
    let small = |s: &mut Settings| {
        s.bounds = Bounds {
            body: 4096,
            bodies: 4096,
            patience: SOON,
            ..Bounds::default()
        }
    };
    let (reviewers, asked, go) = held_back();
    let (server, client, _folder) = webhook(small, reviewers);
    let mut wide = admission("u1");
    wide["request"]["padding"] = "x".repeat(2500).into();
    let first = tokio::spawn(client.post(server.url("/validate")).json(&wide).send());
    let _asked = wait_for(asked).await;
    let (status, said) = ask(&client, &server, "/validate", &wide).await;
    assert_eq!(status, 503);
    assert!(
        said["message"].as_str().unwrap().contains("--max-bodies"),
        "{said}"
    );
    go.send(()).unwrap();
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    go.send(()).unwrap();
    assert_eq!(
        ask(&client, &server, "/validate", &wide).await.0,
        200,
        "and then there is room again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_larger_than_the_limit_gets_413_with_the_way_out() {
    let (server, client, _folder) = webhook(|s| s.bounds.body = 1000, yes());
    let (status, said) = ask(&client, &server, "/convert", &conversion("u1", 10)).await;
    assert_eq!(
        (status, &said["reason"]),
        (413, &"RequestEntityTooLarge".into())
    );
    assert!(
        said["message"]
            .as_str()
            .unwrap()
            .contains("1000 bytes; raise --max-body"),
        "{said}"
    );
    assert_eq!(
        ask(
            &client,
            &server,
            "/validate",
            &serde_json::json!({"small": 1})
        )
        .await
        .0,
        400
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_no_reviews_get_a_status() {
    let (server, client, _folder) = webhook(|_| {}, yes());
    let text = client
        .post(server.url("/convert"))
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(text.status(), 415);
    assert_eq!(text.json::<Value>().await.unwrap()["kind"], "Status");
    assert_eq!(
        client
            .get(server.url("/convert"))
            .send()
            .await
            .unwrap()
            .status(),
        405
    );
    let lost = client
        .post(server.url("/mutate"))
        .json(&admission("u1"))
        .send()
        .await
        .unwrap();
    assert_eq!(lost.status(), 404);
    assert!(lost.text().await.unwrap().contains("/convert, /validate"));
    let charset = "application/json; charset=utf-8";
    let said = client
        .post(server.url("/validate"))
        .header("content-type", charset)
        .body(admission("u1").to_string());
    assert_eq!(said.send().await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_and_scrapers_are_answered_on_the_admin_port() {
    let (server, client, _folder) = webhook(|_| {}, yes());
    ask(&client, &server, "/convert", &conversion("u1", 1)).await;
    ask(&client, &server, "/validate", &serde_json::json!([])).await;
    let get = |path: &str| reqwest::get(server.admin_url(path));
    let ready = get("/readyz").await.unwrap();
    assert_eq!(ready.status(), 200);
    assert_eq!(
        ready.json::<Value>().await.unwrap()["gates"][0],
        serde_json::json!({"name": "serving", "ready": true})
    );
    let metrics = get("/metrics").await.unwrap().text().await.unwrap();
    for line in [
        "joiner_webhook_reviews_total{route=\"convert\",result=\"accepted\"} 1\n",
        "joiner_webhook_reviews_total{route=\"validate\",result=\"malformed\"} 1\n",
        "joiner_webhook_review_duration_seconds_count{route=\"convert\"} 1\n",
        "joiner_webhook_reviews_in_flight 0\n",
        "joiner_connections_open 1\n",
        "joiner_tls_certificate_expiry_timestamp_seconds 4070908800\n",
        "joiner_webhook_review_bytes_total{route=\"validate\",direction=\"received\"} 2\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    assert_eq!(
        get("/log-level").await.unwrap().status(),
        404,
        "there is no log filter in this process"
    );
}

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
