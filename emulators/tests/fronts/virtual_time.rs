//! Do builds, expiries and effects obey virtual time, and does the same seed give the same run?

use std::time::Duration;

use emulators::machine::Effect;
use emulators::openstack::Settings;
use serde_json::{Value, json};

use crate::door::Door;

fn slow() -> Settings {
    Settings {
        build_ms: 600_000,
        delete_ms: 60_000,
        deleted_ms: 10_000,
        ..Settings::default()
    }
}

/// What a whole run looked like, with every id in it.
async fn run() -> String {
    let mut door = Door::in_process(slow());
    let (_, body) = door
        .nova("POST", "/servers", door.order("n1"))
        .await
        .unwrap();
    let id = body["server"]["id"].as_str().unwrap().to_owned();
    let Some(Effect::Boot(boot)) = door.booted.recv().await else {
        panic!("no boot")
    };
    assert_eq!(
        (
            boot.machine.as_str(),
            boot.hostname.as_str(),
            boot.size.cpus
        ),
        (id.as_str(), "n1", 2)
    );
    door.nova("DELETE", &format!("/servers/{id}"), Value::Null)
        .await
        .unwrap();
    assert_eq!(door.booted.recv().await, Some(Effect::Halt { machine: id }));
    door.admin("GET", "log", Value::Null).await.to_string()
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_of_building_take_no_time_and_replay() {
    let began = tokio::time::Instant::now();
    let first = run().await;
    assert!(
        began.elapsed() >= Duration::from_mins(11),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(first, run().await);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_refused_from_the_second_of_its_expiry() {
    let door = Door::in_process(Settings {
        token_seconds: 60,
        ..Settings::default()
    });
    let token = door.sign_in().await.unwrap();
    let headers = [("x-auth-token", token.as_str())];
    let status = || async {
        door.call("GET", "/compute/v2.1/limits", &headers, "")
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(status().await, 200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(status().await, 401);
}

#[tokio::test(start_paused = true)]
async fn silence_lasts_as_long_as_anybody_waits() {
    let door = Door::in_process(slow());
    door.admin(
        "POST",
        "faults",
        json!({"path": "/compute/**", "act": "silence"}),
    )
    .await;
    let call = door.nova("GET", "/servers", Value::Null);
    assert!(
        tokio::time::timeout(Duration::from_hours(1), call)
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_has_its_effect_at_once() {
    let door = Door::in_process(slow());
    door.admin(
        "POST",
        "faults",
        json!({"method": "POST", "path": "/compute/**", "act": {"slow": {"ms": 90_000}}}),
    )
    .await;
    let call = door.nova("POST", "/servers", door.order("n1"));
    assert!(
        tokio::time::timeout(Duration::from_mins(1), call)
            .await
            .is_err()
    );
    assert_eq!(door.engine.with(|cloud| cloud.world.servers.len()), 1);
}
