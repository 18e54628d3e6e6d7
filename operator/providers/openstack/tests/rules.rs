//! Does the client keep every rule that would have hurt (openstack.md, section 0), as far as reading goes?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::time::Duration;

use cloud::{CloudError, Footprint, InstanceState, Provider, Scope};
use serde_json::json;
use support::*;

fn footprint(id: &str) -> Footprint {
    Footprint {
        identity: who(),
        instance: Some(id.into()),
        side: Vec::new(),
    }
}

const LIST: &str = "GET /nova/v2.1/servers/detail";

#[tokio::test(start_paused = true)]
async fn rule_1_an_empty_list_is_not_no_servers() {
    let cloud = cloud();
    cloud.json("GET /nova/v2.1/servers/detail?tags=", servers(&[]));
    cloud.json(
        LIST,
        servers(&[
            server("a", "ACTIVE", &[]),
            json!({"id": "b", "status": "UNKNOWN"}),
        ]),
    );
    cloud.json(
        "GET /nova/v2.1/servers/b",
        json!({"server": {"id": "b", "status": "UNKNOWN"}}),
    );
    cloud.json(
        "GET /nova/v2.1/servers/c",
        json!({"server": {"id": "c", "status": "UNKNOWN"}}),
    );
    let provider = provider(&cloud, json!({}));
    assert!(is_unknown(provider.find(&who()).await).contains("server b"));
    assert!(is_unknown(provider.list().await).contains("server b"));
    is_unknown(provider.get(&"b".into()).await);
    is_unknown(provider.terminate(&footprint("c")).await);
    assert_eq!(cloud.count("DELETE"), 0);
    cloud.on(
        "GET /nova/v2.1/servers/b",
        [Reply::Json(
            500,
            json!({"computeFault": {"code": 500, "message": "x"}}),
        )],
    );
    is_unknown(provider.get(&"b".into()).await);
}

#[tokio::test(start_paused = true)]
async fn rule_1_absence_is_proven_by_a_complete_unfiltered_list() {
    let cloud = cloud();
    cloud.json("GET /nova/v2.1/servers/detail?tags=", servers(&[]));
    cloud.json(LIST, servers(&[server("a", "ACTIVE", &[])]));
    let provider = provider(&cloud, json!({}));
    assert!(provider.find(&who()).await.unwrap().is_empty());
    // The index of tags may lag behind: what the whole list shows is found.
    cloud.json(LIST, servers(&[server("a", "ACTIVE", &OURS)]));
    assert_eq!(provider.find(&who()).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn rule_2_an_unscoped_token_is_refused() {
    let cloud = cloud();
    let body = json!({"token": {"expires_at": "2026-11-18T04:00:00.000000Z", "issued_at": "2026-11-18T03:00:00.000000Z"}});
    let token = vec![("x-subject-token", "canary".to_owned())];
    cloud.on("POST /v3/auth/tokens", [Reply::With(201, body, token)]);
    cloud.json(LIST, servers(&[]));
    let provider = provider(&cloud, json!({}));
    let error = provider.list().await.unwrap_err();
    assert!(
        matches!(&error, CloudError::Unauthorized { said } if said.text().contains("OS_PROJECT_NAME")),
        "{error}"
    );
    assert_eq!(cloud.count(LIST), 0, "such a token is never used");
}

#[tokio::test(start_paused = true)]
async fn rule_3_a_filter_that_was_dropped_makes_no_foreign_server_ours() {
    let cloud = cloud();
    let foreign = [
        server("x1", "ACTIVE", &[]),
        server("x2", "ACTIVE", &["joiner-cluster=c1"]),
        server("x3", "ACTIVE", &["joiner-cluster=c2", "joiner-claim=u1"]),
        server("x4", "ACTIVE", &["joiner-cluster=c1", "joiner-claim=u11"]),
        server("x5", "ACTIVE", &["joiner-cluster=c1x", "joiner-claim=u1"]),
    ];
    cloud.json(LIST, servers(&foreign));
    for id in ["x1", "x2", "x3", "x4", "x5"] {
        let one = foreign.iter().find(|server| server["id"] == id).unwrap();
        cloud.json(
            &format!("GET /nova/v2.1/servers/{id}"),
            json!({"server": one}),
        );
    }
    let provider = provider(&cloud, json!({}));
    assert!(provider.find(&who()).await.unwrap().is_empty());
    let listed: Vec<String> = provider
        .list()
        .await
        .unwrap()
        .iter()
        .map(|one| one.id.to_string())
        .collect();
    assert_eq!(
        listed,
        ["x4"],
        "the other claim of this cluster, and nobody else's"
    );
    for id in ["x1", "x2", "x3", "x4", "x5"] {
        let refused = provider.terminate(&footprint(id)).await;
        assert!(
            matches!(refused, Err(CloudError::Rejected { .. })),
            "{id}: {refused:?}"
        );
    }
    assert_eq!(cloud.count("DELETE"), 0);
}

#[tokio::test(start_paused = true)]
async fn rules_7_and_8_a_fault_is_asked_for_by_id_and_may_be_a_quota() {
    let cloud = cloud();
    let with_fault = |code: i64, message: &str| {
        let mut one = server("a", "ERROR", &OURS);
        one["fault"] = json!({"code": code, "message": message, "created": "2026-11-18T02:00:00Z"});
        json!({"server": one})
    };
    cloud.json(LIST, servers(&[server("a", "ERROR", &OURS)]));
    let provider = provider(&cloud, json!({}));
    let cases = [
        (500, "No valid host was found. ", Some(Scope::Offering)),
        (
            500,
            "Exceeded maximum number of retries. x",
            Some(Scope::Offering),
        ),
        (
            500,
            "Build of instance a aborted: VolumeSizeExceedsAvailableQuota: x",
            Some(Scope::Quota {
                resource: "gigabytes".into(),
            }),
        ),
        (
            413,
            "Quota exceeded for instances: Requested 1, but already used 2 of 2 instances",
            Some(Scope::Quota {
                resource: "instances".into(),
            }),
        ),
        (
            500,
            "Build of instance a aborted: Failed to allocate the network(s), not rescheduling.",
            None,
        ),
    ];
    for (code, message, expected) in cases {
        cloud.json("GET /nova/v2.1/servers/a", with_fault(code, message));
        let found = provider.find(&who()).await.unwrap();
        let InstanceState::Failed { scope, said } = &found[0].state else {
            panic!("{found:?}")
        };
        assert_eq!(*scope, expected, "{message}");
        assert!(said.text().starts_with(message.trim()), "{said}");
        assert_eq!(provider.list().await.unwrap(), found);
    }
}

#[tokio::test(start_paused = true)]
async fn rule_11_a_glance_that_cannot_reach_keystone_does_not_mean_bad_credentials() {
    let (cloud, provider, _) = ready(json!({})).await;
    cloud.on("GET /glance/v2/images", [Reply::Html(401)]);
    let trouble = provider.resolve().await.unwrap_err();
    assert_eq!(trouble.troubles.len(), 1);
    assert_eq!(
        (trouble.troubles[0].condition, trouble.troubles[0].transient),
        ("ImagesReady", true)
    );
    // The same with Keystone down itself.
    cloud.on("POST /v3/auth/tokens", [Reply::Refused]);
    let trouble = provider.resolve().await.unwrap_err();
    assert!(
        trouble.troubles.iter().all(|trouble| trouble.transient),
        "{trouble}"
    );
}

#[tokio::test(start_paused = true)]
async fn rule_11_a_404_without_proof_is_not_gone() {
    let cloud = cloud();
    cloud.json(LIST, servers(&[]));
    let provider = provider(&cloud, json!({}));
    for doubtful in [
        Reply::Html(404),
        Reply::Json(404, json!({})),
        Reply::Json(404, json!({"error": {"message": "no route"}})),
    ] {
        cloud.on("GET /nova/v2.1/servers/a", [doubtful]);
        is_unknown(provider.get(&"a".into()).await);
    }
    cloud.on("GET /nova/v2.1/servers/a", [not_found()]);
    assert!(matches!(
        provider.get(&"a".into()).await,
        Err(CloudError::Gone)
    ));
}

#[tokio::test(start_paused = true)]
async fn rule_12_a_cloud_that_is_silent_is_not_waited_for_for_ever() {
    let cloud = cloud();
    cloud.on(LIST, [Reply::Silence]);
    let provider = provider(&cloud, json!({}));
    let begin = tokio::time::Instant::now();
    assert!(is_unknown(provider.list().await).contains("no answer within 150 s"));
    assert!(begin.elapsed() < Duration::from_secs(3 * 150 + 60));
    cloud.on("POST /v3/auth/tokens", [Reply::Silence]);
    let fresh = support::provider(&cloud, json!({}));
    is_unknown(fresh.list().await);
}

#[tokio::test(start_paused = true)]
async fn rule_13_deleted_and_soft_deleted_count_as_gone() {
    let cloud = cloud();
    cloud.json(LIST, servers(&[]));
    cloud.json("GET /neutron/v2.0/ports", json!({"ports": []}));
    let provider = provider(&cloud, json!({}));
    for status in ["DELETED", "SOFT_DELETED"] {
        cloud.json(
            "GET /nova/v2.1/servers/a",
            json!({"server": server("a", status, &OURS)}),
        );
        assert!(matches!(
            provider.get(&"a".into()).await,
            Err(CloudError::Gone)
        ));
        assert!(matches!(
            provider.terminate(&footprint("a")).await,
            Err(CloudError::Gone)
        ));
    }
    assert_eq!(cloud.count("DELETE"), 0);
}
