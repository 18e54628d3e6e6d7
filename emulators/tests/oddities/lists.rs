//! What do lists leave out, and what do they show too much of?

use std::time::Duration;

use emulators::openstack::Settings;
use serde_json::{Value, json};

use crate::cloud::Cloud;

#[test]
fn with_a_cell_down_filtered_lists_are_empty_and_ids_are_unknown() {
    let mut cloud = Cloud::new(Settings::default());
    let id = cloud.create(cloud.order("n1"));
    cloud.wait();
    cloud.machine.settings.cell_down = true;
    assert!(cloud.names("?tags=claim%3Dn1").is_empty());
    let (_, body) = cloud.get("/servers/detail");
    assert_eq!(
        (&body["servers"][0]["status"], &body["servers"][0]["name"]),
        (&json!("UNKNOWN"), &Value::Null)
    );
    assert_eq!(
        cloud.get(&format!("/servers/{id}")).1["server"]["status"],
        "UNKNOWN"
    );
    cloud.version = "2.60";
    assert!(cloud.names("").is_empty());
    assert_eq!(cloud.get(&format!("/servers/{id}")).0, 500);
}

#[test]
fn filters_a_member_may_not_use_are_dropped_without_a_word() {
    let mut cloud = Cloud::new(Settings::default());
    for name in ["n1", "n1b"] {
        cloud.create(cloud.order(name));
        cloud.now += Duration::from_secs(1);
    }
    assert_eq!(cloud.names("?tags=claim%3Dn1"), ["n1"]);
    assert_eq!(
        cloud.names("?name=n1"),
        ["n1b", "n1"],
        "a name is a regular expression, the newest is first"
    );
    assert_eq!(cloud.names("?name=%5En1%24"), ["n1"]);
    assert_eq!(cloud.names("?uuid=nothing").len(), 2);
    cloud.version = "2.25";
    assert_eq!(cloud.names("?tags=claim%3Dn1").len(), 2);
    cloud.version = "2.79";
    cloud.machine.settings.ignore_tag_filters = true;
    assert_eq!(cloud.names("?tags=claim%3Dn1").len(), 2);
}

#[test]
fn an_unscoped_token_lists_nothing_with_200() {
    let mut cloud = Cloud::new(Settings::default());
    cloud.create(cloud.order("n1"));
    cloud.token = cloud.sign_in(json!("unscoped"));
    assert!(cloud.names("").is_empty());
}

#[test]
fn a_full_page_has_a_next_even_if_nothing_follows() {
    let mut cloud = Cloud::new(Settings {
        page_limit: 2,
        ..Settings::default()
    });
    for name in ["a", "b", "c", "d"] {
        cloud.create(cloud.order(name));
    }
    let (_, body) = cloud.get("/servers?limit=1000");
    assert_eq!(
        body["servers"].as_array().unwrap().len(),
        2,
        "the cloud's limit wins"
    );
    let marker = body["servers"][1]["id"].as_str().unwrap().to_owned();
    let (_, body) = cloud.get(&format!("/servers?marker={marker}"));
    let last = body["servers"][1]["id"].as_str().unwrap().to_owned();
    assert!(body["servers_links"].is_array());
    assert_eq!(
        cloud.get(&format!("/servers?marker={last}")).1,
        json!({"servers": []})
    );
    cloud.call(
        "DELETE",
        &format!("/compute/v2.1/servers/{marker}"),
        Value::Null,
    );
    cloud.wait();
    assert_eq!(cloud.get(&format!("/servers/{marker}")).0, 404);
    assert_eq!(
        cloud.get(&format!("/servers?marker={marker}")).0,
        200,
        "a deleted server still marks a place"
    );
}

#[test]
fn a_young_server_may_be_missing_from_lists() {
    let mut cloud = Cloud::new(Settings {
        list_lag_ms: 5000,
        ..Settings::default()
    });
    let id = cloud.create(cloud.order("n1"));
    assert!(cloud.names("").is_empty());
    assert_eq!(cloud.get(&format!("/servers/{id}")).0, 200);
    cloud.now += Duration::from_secs(5);
    assert_eq!(cloud.names(""), ["n1"]);
}
