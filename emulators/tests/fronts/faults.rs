//! Does each kind of fault look to the caller as it should, and does the effect happen or not?

use std::time::Duration;

use serde_json::{Value, json};

use crate::door::{Door, Lost, quick};

const CREATE: &str = "/compute/v2.1/servers";

/// One create call under this fault: what the caller saw, and how many servers there are afterwards.
async fn create_under(door: &Door, when: &str, act: Value) -> (Result<u16, Lost>, usize) {
    door.admin(
        "PUT",
        "faults",
        json!([{"method": "POST", "path": CREATE, "when": when, "act": act}]),
    )
    .await;
    let saw = door.nova("POST", "/servers", door.order("x")).await;
    let servers = door.engine.with(|cloud| {
        let count = cloud.world.servers.len();
        cloud.world.servers.clear();
        cloud.world.agenda.clear();
        count
    });
    (saw.map(|(status, _)| status), servers)
}

/// `truncated` is what this front makes of a broken answer.
async fn every_kind(door: &Door, refused: Lost, truncated: Lost) {
    let status = |code: u16| json!({"status": {"code": code}});
    let cases = [
        (json!("refuse"), Err(refused)),
        (json!("reset"), Err("reset")),
        (json!({"truncate": {"keep": 10}}), Err(truncated)),
        (status(401), Ok(401)),
        (status(409), Ok(409)),
        (status(429), Ok(429)),
        (status(500), Ok(500)),
        (status(503), Ok(503)),
    ];
    for (act, seen) in cases {
        for (when, servers) in [("before", 0), ("after", 1)] {
            assert_eq!(
                create_under(door, when, act.clone()).await,
                (seen, servers),
                "{when} {act}"
            );
        }
    }
    assert_eq!(
        create_under(door, "before", json!({"slow": {"ms": 1}})).await,
        (Ok(202), 1)
    );
}

#[tokio::test]
async fn every_kind_in_process() {
    every_kind(&Door::in_process(quick()), "refused", "truncated").await;
}

#[tokio::test]
async fn every_kind_over_axum() {
    // the socket was accepted already, so a refusal is a reset
    every_kind(&Door::served(quick()).await, "reset", "truncated").await;
}

#[tokio::test]
async fn every_kind_over_wiremock() {
    every_kind(&Door::mock(quick()).await, "reset", "reset").await;
}

#[tokio::test]
async fn a_rate_limit_says_when_to_come_back() {
    let door = Door::served(quick()).await;
    let act = json!({"status": {"code": 429, "retry_after": "3"}});
    door.admin(
        "POST",
        "faults",
        json!({"path": "/compute/v2.1/**", "first": 1, "act": act}),
    )
    .await;
    let token = door.sign_in().await.unwrap();
    let headers = [("x-auth-token", token.as_str())];
    let answer = door
        .call("GET", "/compute/v2.1/limits", &headers, "")
        .await
        .unwrap();
    assert_eq!(
        (
            answer.status().as_u16(),
            answer.headers()["retry-after"].to_str().unwrap()
        ),
        (429, "3")
    );
    let answer = door
        .call("GET", "/compute/v2.1/limits", &headers, "")
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
}

async fn held(door: &Door, when: &str, hang_up: bool) -> (usize, Option<u16>, usize) {
    door.admin("PUT", "faults", json!({"id": "h", "method": "POST", "path": CREATE, "when": when, "nth": 1, "act": {"hold": {}}})).await;
    let order = door.order("x");
    let mut call = std::pin::pin!(door.nova("POST", "/servers", order));
    // the call cannot end while it is held, so it is polled beside the wait for the hold
    let count = || door.engine.with(|cloud| cloud.world.servers.len());
    loop {
        tokio::select! {
            biased;
            answer = &mut call => panic!("a held call was answered: {answer:?}"),
            () = tokio::time::sleep(Duration::from_millis(2)) => {}
        }
        if door
            .engine
            .with(|cloud| emulators::machine::Machine::held(cloud).len())
            == 1
        {
            break;
        }
    }
    let meanwhile = count();
    if hang_up {
        return (meanwhile, None, meanwhile);
    }
    assert_eq!(door.engine.release(Some("other")), 0);
    assert_eq!(door.engine.release(Some("h")), 1);
    let (status, _) = call.await.unwrap();
    (meanwhile, Some(status), count())
}

#[tokio::test]
async fn a_held_call_goes_on_when_it_is_released() {
    assert_eq!(
        held(&Door::in_process(quick()), "before", false).await,
        (0, Some(202), 1)
    );
    assert_eq!(
        held(&Door::in_process(quick()), "after", false).await,
        (1, Some(202), 1)
    );
    assert_eq!(
        held(&Door::served(quick()).await, "before", false).await,
        (0, Some(202), 1)
    );
    assert_eq!(
        held(&Door::served(quick()).await, "after", false).await,
        (1, Some(202), 1)
    );
}

#[tokio::test]
async fn who_hangs_up_before_the_effect_takes_it_along() {
    let door = Door::served(quick()).await;
    assert_eq!(held(&door, "before", true).await.0, 0);
    let waiting = || {
        door.engine
            .with(|cloud| emulators::machine::Machine::held(cloud).len())
    };
    while waiting() > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(door.engine.release(None), 0);
    assert_eq!(door.engine.with(|cloud| cloud.world.servers.len()), 0);
}

#[tokio::test]
async fn a_late_call_happens_though_its_caller_is_gone() {
    let door = Door::in_process(quick());
    door.admin(
        "POST",
        "faults",
        json!({"method": "POST", "path": CREATE, "act": {"hold": {"late": true}}}),
    )
    .await;
    let hung_up = tokio::time::timeout(
        Duration::from_millis(50),
        door.nova("POST", "/servers", door.order("x")),
    );
    assert!(hung_up.await.is_err());
    assert_eq!(door.engine.with(|cloud| cloud.world.servers.len()), 0);
    assert_eq!(door.engine.release(None), 1);
    assert_eq!(door.engine.with(|cloud| cloud.world.servers.len()), 1);
}

#[tokio::test]
async fn the_fates_of_servers() {
    let door = Door::served(quick()).await;
    for (fate, status, words) in [
        ("no-valid-host", "ERROR", "No valid host was found. "),
        ("error-after-build", "ERROR", "aborted"),
        ("never-joins", "ACTIVE", ""),
    ] {
        let fault = json!([{"method": "POST", "path": CREATE, "act": {"fate": fate}}]);
        door.admin("PUT", "faults", fault).await;
        let (code, body) = door
            .nova("POST", "/servers", door.order(fate))
            .await
            .unwrap();
        assert_eq!(code, 202);
        let server = door
            .until(body["server"]["id"].as_str().unwrap(), status)
            .await;
        let said = server["fault"]["message"].as_str().unwrap_or_default();
        assert!(said.contains(words), "{fate}: {server}");
    }
    let (_, body) = door
        .nova("GET", "/servers/detail?status=ERROR", Value::Null)
        .await
        .unwrap();
    let shown: Vec<bool> = body["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| server["fault"].is_object())
        .collect();
    assert_eq!(
        shown,
        [true, false],
        "a server without a host hides its fault in lists"
    );
}
