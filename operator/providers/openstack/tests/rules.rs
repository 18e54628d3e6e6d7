//! Does the client keep every rule that would have hurt (openstack.md, section 0)?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use cloud::{CloudError, Footprint, InstanceState, Provider, Scope};
use openstack::OpenStack;
use serde_json::{Value, json};
use support::*;

async fn ready(spec: Value) -> (Arc<Cloud>, OpenStack, cloud::Order) {
    let cloud = cloud();
    furnished(&cloud);
    let provider = provider(&cloud, spec);
    let on = provider.resolve().await.unwrap();
    (cloud, provider, order(on))
}

fn footprint(id: &str) -> Footprint {
    Footprint {
        identity: who(),
        instance: Some(id.into()),
        side: Vec::new(),
    }
}

fn is_unknown<T: std::fmt::Debug>(outcome: Result<T, CloudError>) -> String {
    match outcome {
        Err(CloudError::Unknown(why)) => why.to_string(),
        other => panic!("doubt was expected, not {other:?}"),
    }
}

const LIST: &str = "GET /nova/v2.1/servers/detail";
const CREATE: &str = "POST /nova/v2.1/servers";

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
async fn rule_5_identity_goes_in_the_create_body() {
    let (cloud, provider, order) = ready(json!({
        "securityGroupSelectorTerms": [{"name": "nodes"}], "keyPair": "k8s", "serverTags": ["team=web"],
        "metadata": {"karpenter.sh/discovery": "x", "joiner-claim": "spoofed"}, "labels": {"karpenter.sh/discovery": "y"},
        "schedulerHints": {"different_host": "h"}}))
    .await;
    cloud.on(
        CREATE,
        [Reply::Json(
            202,
            json!({"server": {"id": "s1", "adminPass": "canary"}}),
        )],
    );
    let instance = provider.launch(&order).await.unwrap();
    assert_eq!(
        (instance.id.as_str(), &instance.state),
        ("s1", &InstanceState::Pending)
    );
    let sent = cloud.only(CREATE);
    assert_eq!(sent.microversion.as_deref(), Some("compute 2.79"));
    let server = &sent.body["server"];
    assert_eq!(
        server["tags"],
        json!(["joiner-cluster=c1", "joiner-claim=u1", "team=web"])
    );
    assert_eq!(
        server["metadata"],
        json!({
        "joiner-cluster": "c1", "joiner-claim": "u1", "joiner-type": "m1.small", "joiner-zone": "az-a", "joiner-image": "img",
        "karpenter.sh_nodepool": "np1", "karpenter.sh_discovery": "x"})
    );
    assert_eq!(server["name"], "np1-x7k2p");
    assert_eq!(
        (&server["flavorRef"], &server["imageRef"]),
        (&json!("f1"), &json!("img"))
    );
    assert_eq!(server["networks"], json!([{"uuid": "net"}]));
    assert_eq!(server["security_groups"], json!([{"name": "sg"}]));
    assert_eq!(
        (&server["key_name"], &server["availability_zone"]),
        (&json!("k8s"), &json!("az-a"))
    );
    assert!(server.get("min_count").is_none());
    assert_eq!(
        sent.body["os:scheduler_hints"],
        json!({"different_host": "h"})
    );
    let data = base64::engine::general_purpose::STANDARD
        .decode(server["user_data"].as_str().unwrap())
        .unwrap();
    assert_eq!(data, USER_DATA.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn rule_6_quota_is_told_from_policy() {
    let (cloud, provider, order) = ready(json!({})).await;
    let nova = |status: u16, name: &str, message: &str| {
        Reply::Json(status, json!({name: {"code": status, "message": message}}))
    };
    let outcome = async |reply: Reply| {
        cloud.on(CREATE, [reply]);
        provider.launch(&order).await.unwrap_err()
    };
    let quota = |error: &CloudError| match error {
        CloudError::NoCapacity {
            scope: Scope::Quota { resource },
            ..
        } => resource.clone(),
        other => panic!("{other}"),
    };
    let error = outcome(nova(403, "forbidden", "Quota exceeded for cores, ram: Requested 5, 10240, but already used 2, 4096 of 4, 8192 cores, ram")).await;
    assert_eq!(quota(&error), "cores, ram");
    assert_eq!(
        quota(&outcome(nova(403, "forbidden", "Maximum number of ports exceeded")).await),
        "port"
    );
    let neutron = json!({"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['port'].", "detail": ""}});
    assert_eq!(quota(&outcome(Reply::Json(409, neutron)).await), "port");
    let limit = outcome(Reply::With(413, json!({"overLimit": {"code": 413, "message": "Quota exceeded for instances: x", "retryAfter": "0"}}), vec![("retry-after", "0".into())])).await;
    assert_eq!(quota(&limit), "instances");
    let policy = outcome(nova(
        403,
        "forbidden",
        "Policy doesn't allow os_compute_api:servers:create to be performed.",
    ))
    .await;
    assert!(matches!(policy, CloudError::Rejected { .. }));
    let zero = outcome(nova(
        403,
        "forbidden",
        "Only volume-backed servers are allowed for flavors with zero disk.",
    ))
    .await;
    assert!(matches!(zero, CloudError::Rejected { .. }));
    let zone = outcome(nova(
        400,
        "badRequest",
        "The requested availability zone is not available",
    ))
    .await;
    assert!(matches!(
        zone,
        CloudError::NoCapacity {
            scope: Scope::Offering,
            ..
        }
    ));
    assert!(matches!(
        outcome(Reply::Html(413)).await,
        CloudError::Rejected { .. }
    ));
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
async fn rule_9_a_create_is_sent_exactly_once_whatever_happens() {
    for reply in [
        Reply::Reset,
        Reply::Refused,
        Reply::Silence,
        Reply::Html(502),
        Reply::Html(503),
        Reply::Json(
            500,
            json!({"computeFault": {"code": 500, "message": "Unexpected API Error."}}),
        ),
        Reply::With(503, json!({}), vec![("retry-after", "1".into())]),
        Reply::Json(202, json!({"server": {}})),
    ] {
        let (cloud, provider, order) = ready(json!({})).await;
        cloud.on(CREATE, [reply]);
        is_unknown(provider.launch(&order).await);
        assert_eq!(cloud.count(CREATE), 1);
        assert_eq!(cloud.count(LIST), 0, "launch never looks");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_10_a_quoted_user_data_is_not_shown() {
    let (cloud, provider, order) = ready(json!({})).await;
    let encoded = base64::engine::general_purpose::STANDARD.encode(USER_DATA);
    for quoted in [
        encoded.as_str(),
        USER_DATA,
        &encoded[..60],
        &USER_DATA[15..50],
        PASSWORD,
        "canary-token-1",
    ] {
        let message = format!(
            "Invalid input for field/attribute user_data. Value: {quoted}. {quoted} is too long"
        );
        cloud.on(
            CREATE,
            [Reply::Json(
                400,
                json!({"badRequest": {"code": 400, "message": message}}),
            )],
        );
        let error = provider.launch(&order).await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(
            shown.contains("Invalid input for field") && shown.contains("req-1234"),
            "{shown}"
        );
        for secret in ["canary", &encoded[..16], "abcdef.0123"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        let CloudError::Rejected { said } = error else {
            panic!("{error}")
        };
        assert!(said.text().chars().count() <= 200);
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
