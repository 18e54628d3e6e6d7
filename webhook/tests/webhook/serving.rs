//! What do clients of the webhook see: while certificates change, while it is busy, and while it stops?

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::kit::{
    Authority, Folder, Server, admission, client, conversion, settings, start, yes, yes_to,
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::MissedTickBehavior;
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
        let came = asked.recv_timeout(Duration::from_secs(30));
        came.expect("the request never reached the reviewer");
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

/// 200 requests a second where the machine can do it, at least 600, until told that it is enough; what those that failed
/// were told. Never more than a few at once: a machine that is busy otherwise makes it slow, not wrong.
async fn load(
    server: &Server,
    clients: [reqwest::Client; 2],
    enough: impl Fn() -> bool,
) -> Vec<String> {
    let places = Arc::new(Semaphore::new(16));
    let mut load = tokio::task::JoinSet::new();
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for round in 0.. {
        if round >= 600 && enough() {
            break;
        }
        tick.tick().await;
        let place = places.clone().acquire_owned().await.unwrap();
        let request = clients[round % 2].post(server.url("/validate"));
        let request = request.json(&admission("u")).send();
        load.spawn(async move {
            let _place = place;
            match request.await {
                Ok(answer) => answer.status().to_string(),
                Err(why) => format!("{why:?}"),
            }
        });
    }
    let said = load.join_all().await;
    said.into_iter().filter(|said| said != "200 OK").collect()
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
            patience: Duration::from_secs(1),
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
            patience: Duration::from_secs(1),
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
