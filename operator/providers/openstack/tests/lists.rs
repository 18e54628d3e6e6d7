//! Is a list whole, or an error?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use cloud::{CloudError, Provider};
use serde_json::{Value, json};
use support::*;

const LIST: &str = "GET /nova/v2.1/servers/detail";

fn page(ids: &[&str], next: bool) -> Value {
    let list: Vec<Value> = ids
        .iter()
        .map(|id| {
            server(
                id,
                "ACTIVE",
                &["joiner-cluster=c1", &format!("joiner-claim={id}")],
            )
        })
        .collect();
    let mut body = servers(&list);
    if next {
        body["servers_links"] = json!([{"rel": "next", "href": "http://elsewhere/steal?marker=x"}]);
    }
    body
}

#[tokio::test(start_paused = true)]
async fn every_page_is_read_with_our_own_marker() {
    let cloud = cloud();
    cloud.json(LIST, page(&["a", "b"], true));
    cloud.json(&format!("{LIST}?marker=b"), page(&["c", "d"], true));
    // A full last page still has a next link; the page behind it is empty.
    cloud.json(&format!("{LIST}?marker=d"), page(&[], false));
    let provider = provider(&cloud, json!({}));
    let ids: Vec<String> = provider
        .list()
        .await
        .unwrap()
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    assert!(cloud.seen().iter().all(|seen| !seen.line.contains("steal")));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_fails_makes_the_list_an_error() {
    let cloud = cloud();
    cloud.json(LIST, page(&["a"], true));
    let provider = provider(&cloud, json!({}));
    let marker_gone = json!({"badRequest": {"code": 400, "message": "marker [a] not found"}});
    for reply in [
        Reply::Html(503),
        Reply::Reset,
        Reply::Json(400, marker_gone),
        Reply::Json(200, json!({"ser": 1})),
    ] {
        cloud.on(&format!("{LIST}?marker=a"), [reply]);
        assert!(provider.list().await.is_err());
        assert!(provider.find(&who()).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_advance_is_an_error() {
    let cloud = cloud();
    cloud.json(LIST, page(&["a"], true));
    let provider = provider(&cloud, json!({}));
    assert!(matches!(provider.list().await, Err(CloudError::Unknown(_))));
}

#[tokio::test(start_paused = true)]
async fn a_list_is_asked_for_again_when_a_proxy_stumbles() {
    let cloud = cloud();
    cloud.on(
        LIST,
        [
            Reply::Html(503),
            Reply::Reset,
            Reply::Json(200, page(&["a"], false)),
        ],
    );
    let provider = provider(&cloud, json!({}));
    assert_eq!(provider.list().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_oldest_of_two_for_one_claim_comes_first() {
    let cloud = cloud();
    let mut young = server("a", "ACTIVE", &OURS);
    young["created"] = json!("2026-11-18T02:30:00Z");
    cloud.json(
        LIST,
        servers(&[
            young,
            server("z", "ACTIVE", &OURS),
            server("y", "ACTIVE", &OURS),
        ]),
    );
    let provider = provider(&cloud, json!({}));
    let ids: Vec<String> = provider
        .find(&who())
        .await
        .unwrap()
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    assert_eq!(ids, ["y", "z", "a"]);
}
