//! Is it the same cloud through every front? One story, told three times.

use serde_json::{Value, json};

use crate::door::{Door, quick};

/// From nothing to a running server with a tag, and back to nothing.
async fn story(door: Door) {
    let (status, body) = door
        .nova("GET", "/flavors/detail?limit=3", Value::Null)
        .await
        .unwrap();
    assert_eq!(
        (status, body["flavors"].as_array().unwrap().len()),
        (200, 3)
    );
    assert_eq!(body["flavors_links"][0]["rel"], "next");

    let (status, body) = door
        .nova("POST", "/servers", door.order("n1"))
        .await
        .unwrap();
    assert_eq!(status, 202, "{body}");
    let id = body["server"]["id"].as_str().unwrap().to_owned();
    let (_, body) = door
        .nova("GET", "/servers/detail?tags=claim%3Dn1", Value::Null)
        .await
        .unwrap();
    assert_eq!(
        body["servers"][0]["id"],
        id.as_str(),
        "a new server is found by its tag at once"
    );

    let server = door.until(&id, "ACTIVE").await;
    assert_eq!(server["addresses"]["storage"][0]["version"], 4);
    let (status, body) = door
        .nova(
            "PUT",
            &format!("/servers/{id}/tags"),
            json!({"tags": ["a", "b"]}),
        )
        .await
        .unwrap();
    assert_eq!((status, &body["tags"]), (200, &json!(["a", "b"])));

    let state = door.admin("GET", "state", Value::Null).await;
    assert_eq!(state["ports"].as_object().unwrap().len(), 1);
    let (status, _) = door
        .nova("DELETE", &format!("/servers/{id}"), Value::Null)
        .await
        .unwrap();
    assert_eq!(status, 204);
    door.until(&id, "gone").await;
    let state = door.admin("GET", "state", Value::Null).await;
    assert_eq!(
        state["ports"].as_object().unwrap().len(),
        0,
        "its port went with it"
    );
    afterwards(&door, &id).await;
}

/// What is told about it, and what a stranger is told.
async fn afterwards(door: &Door, id: &str) {
    let log = door.admin("GET", "log", Value::Null).await;
    let told: Vec<&str> = log["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["id"] == id)
        .map(|change| change["change"].as_str().unwrap())
        .collect();
    assert_eq!(told.first(), Some(&"created"));
    assert_eq!(told.last(), Some(&"Deleted -> Gone"));

    let answer = door.call("GET", "/image/v2/images", &[], "").await.unwrap();
    assert_eq!(answer.status(), 401);
    assert!(answer.headers().contains_key("www-authenticate"));
    assert!(
        answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
}

#[tokio::test]
async fn the_story_in_process() {
    story(Door::in_process(quick())).await;
}

#[tokio::test]
async fn the_story_over_wiremock() {
    story(Door::mock(quick()).await).await;
}

#[tokio::test]
async fn the_story_over_axum() {
    story(Door::served(quick()).await).await;
}

#[tokio::test]
async fn a_wrong_fault_is_refused_with_the_fix() {
    let door = Door::in_process(quick());
    let body = json!({"act": {"fate": "explodes"}}).to_string();
    let answer = door
        .call("POST", "/admin/faults", &[], &body)
        .await
        .unwrap();
    assert_eq!(answer.status(), 400);
    let text = String::from_utf8_lossy(answer.body()).into_owned();
    assert!(
        text.contains("explodes") && text.contains("never-joins"),
        "{text}"
    );
    let answer = door
        .call("PUT", "/admin/settings", &[], r#"{"build_msec": 3}"#)
        .await
        .unwrap();
    assert_eq!(answer.status(), 400);
    assert!(String::from_utf8_lossy(answer.body()).contains("build_msec"));
}
