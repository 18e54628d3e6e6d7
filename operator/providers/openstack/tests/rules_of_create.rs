//! Does a create keep every rule that would have hurt (openstack.md, section 0)?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use base64::Engine;
use cloud::{CloudError, InstanceState, Provider, Scope};
use serde_json::json;
use support::*;

const LIST: &str = "GET /nova/v2.1/servers/detail";
const CREATE: &str = "POST /nova/v2.1/servers";

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
