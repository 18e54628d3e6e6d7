//! Does everything of a claim go away, and nothing else?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use cloud::{CloudError, Footprint, Provider, SideResource};
use serde_json::{Value, json};
use support::*;

const LIST: &str = "GET /nova/v2.1/servers/detail";
const LINE: &str = "joiner-cluster=c1 joiner-claim=u1";

fn footprint(instance: Option<&str>) -> Footprint {
    Footprint {
        identity: who(),
        instance: instance.map(Into::into),
        side: Vec::new(),
    }
}

fn port(id: &str, description: &str, device: &str) -> Value {
    let owner = if device.is_empty() {
        ""
    } else {
        "compute:az-a"
    };
    json!({"id": id, "description": description, "device_id": device, "device_owner": owner})
}

fn empty() -> Reply {
    Reply::Json(204, Value::Null)
}

/// Two ports of the claim, once, among ports of others.
fn leftover_ports(cloud: &Cloud) {
    cloud.on(
        "GET /neutron/v2.0/ports?description=",
        [
            Reply::Json(
                200,
                json!({"ports": [port("p1", LINE, ""), port("foreign", "somebody", "")]}),
            ),
            Reply::Json(200, json!({"ports": []})),
        ],
    );
    cloud.on(
        "GET /neutron/v2.0/ports?device_id=a",
        [
            Reply::Json(
                200,
                json!({"ports": [port("p2", "", "a"), port("p3", "", "other")]}),
            ),
            Reply::Json(200, json!({"ports": []})),
        ],
    );
    cloud.on("DELETE /neutron/v2.0/ports/", [empty()]);
}

#[tokio::test(start_paused = true)]
async fn delete_is_repeated_until_nova_says_404_and_then_ports_go() {
    let cloud = cloud();
    let mut ending = server("a", "ACTIVE", &OURS);
    ending["OS-EXT-STS:task_state"] = json!("deleting");
    let there = Reply::Json(200, json!({"server": server("a", "ACTIVE", &OURS)}));
    cloud.on(
        "GET /nova/v2.1/servers/a",
        [
            there,
            Reply::Json(200, json!({"server": ending})),
            not_found(),
        ],
    );
    cloud.on("DELETE /nova/v2.1/servers/a", [empty()]);
    cloud.json(LIST, servers(&[]));
    leftover_ports(&cloud);
    let provider = provider(&cloud, json!({}));
    provider.terminate(&footprint(Some("a"))).await.unwrap();
    provider.terminate(&footprint(Some("a"))).await.unwrap();
    assert_eq!(
        cloud.count("DELETE /nova/v2.1/servers/a"),
        2,
        "a host that died needs a second DELETE"
    );
    assert_eq!(
        cloud.count("DELETE /neutron"),
        0,
        "ports only after the server"
    );
    provider.terminate(&footprint(Some("a"))).await.unwrap();
    let ports: Vec<String> = cloud
        .seen()
        .iter()
        .filter(|seen| seen.line.starts_with("DELETE /neutron"))
        .map(|seen| seen.line.clone())
        .collect();
    assert_eq!(
        ports,
        [
            "DELETE /neutron/v2.0/ports/p1",
            "DELETE /neutron/v2.0/ports/p2"
        ]
    );
    assert!(matches!(
        provider.terminate(&footprint(Some("a"))).await,
        Err(CloudError::Gone)
    ));
}

#[tokio::test(start_paused = true)]
async fn an_instance_whose_id_was_never_learnt_is_found_by_identity() {
    let cloud = cloud();
    cloud.on(
        LIST,
        [Reply::Json(200, servers(&[server("lost", "BUILD", &OURS)]))],
    );
    cloud.json(
        "GET /nova/v2.1/servers/lost",
        json!({"server": server("lost", "BUILD", &OURS)}),
    );
    cloud.on("DELETE /nova/v2.1/servers/lost", [empty()]);
    let provider = provider(&cloud, json!({}));
    provider.terminate(&footprint(None)).await.unwrap();
    assert_eq!(cloud.count("DELETE /nova/v2.1/servers/lost"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_instance_of_the_claim_is_not_left_behind() {
    let cloud = cloud();
    cloud.on("GET /nova/v2.1/servers/a", [not_found()]);
    cloud.json(LIST, servers(&[server("twin", "ACTIVE", &OURS)]));
    cloud.json(
        "GET /nova/v2.1/servers/twin",
        json!({"server": server("twin", "ACTIVE", &OURS)}),
    );
    cloud.on("DELETE /nova/v2.1/servers/twin", [empty()]);
    let provider = provider(&cloud, json!({}));
    provider.terminate(&footprint(Some("a"))).await.unwrap();
    assert_eq!(cloud.count("DELETE /nova/v2.1/servers/twin"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_locked_server_is_asked_again_later_and_says_why() {
    let cloud = cloud();
    cloud.json(
        "GET /nova/v2.1/servers/a",
        json!({"server": server("a", "ACTIVE", &OURS)}),
    );
    let locked = json!({"conflictingRequest": {"code": 409, "message": "Instance a is locked"}});
    cloud.on("DELETE /nova/v2.1/servers/a", [Reply::Json(409, locked)]);
    let provider = provider(&cloud, json!({}));
    let error = provider.terminate(&footprint(Some("a"))).await.unwrap_err();
    assert!(
        matches!(&error, CloudError::Throttled { said, .. } if said.text() == "Instance a is locked"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_read_never_means_gone() {
    let cloud = cloud();
    cloud.on("GET /nova/v2.1/servers/a", [not_found()]);
    cloud.on(LIST, [Reply::Html(500)]);
    let provider = provider(&cloud, json!({}));
    assert!(matches!(
        provider.terminate(&footprint(Some("a"))).await,
        Err(CloudError::Unknown(_))
    ));
    cloud.json(LIST, servers(&[]));
    cloud.on("GET /neutron/v2.0/ports", [Reply::Html(500)]);
    assert!(matches!(
        provider.terminate(&footprint(Some("a"))).await,
        Err(CloudError::Unknown(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_port_of_the_ledger_goes_only_if_it_is_described_as_ours() {
    let cloud = cloud();
    cloud.json(LIST, servers(&[]));
    cloud.json("GET /neutron/v2.0/ports?", json!({"ports": []}));
    cloud.json(
        "GET /neutron/v2.0/ports/reused",
        json!({"port": port("reused", "somebody else's", "x")}),
    );
    let provider = provider(&cloud, json!({}));
    let side = vec![SideResource {
        kind: "port".into(),
        id: "reused".into(),
    }];
    let outcome = provider
        .terminate(&Footprint {
            side,
            ..footprint(None)
        })
        .await;
    assert!(matches!(outcome, Err(CloudError::Gone)), "{outcome:?}");
    assert_eq!(cloud.count("DELETE"), 0);
}

#[tokio::test(start_paused = true)]
async fn another_clusters_instance_is_not_even_looked_at() {
    let cloud = cloud();
    let provider = provider(&cloud, json!({}));
    let identity = planner::Identity {
        cluster: "c2".into(),
        claim: "u1".into(),
    };
    let outcome = provider
        .terminate(&Footprint {
            identity,
            ..footprint(Some("a"))
        })
        .await;
    assert!(matches!(outcome, Err(CloudError::Rejected { .. })));
    assert!(cloud.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn ports_made_for_a_refused_server_are_removed_and_those_of_a_lost_answer_are_kept() {
    let spec = json!({"ports": [{"network": {"name": "k8s"}, "subnets": [{"id": "sub"}],
        "allowedAddressPairs": [{"ipAddress": "10.200.0.0/16"}], "tags": ["a"]}],
        "securityGroupSelectorTerms": [{"name": "nodes"}]});
    let cloud = cloud();
    furnished(&cloud);
    cloud.on(
        "POST /neutron/v2.0/ports",
        [Reply::Json(201, json!({"port": port("p1", LINE, "")}))],
    );
    cloud.json("PUT /neutron/v2.0/ports/p1/tags", json!({"tags": ["a"]}));
    cloud.on("DELETE /neutron/v2.0/ports/p1", [empty()]);
    let provider = provider(&cloud, spec);
    let order = order(provider.resolve().await.unwrap());
    cloud.on("POST /nova/v2.1/servers", [Reply::Reset]);
    assert!(matches!(
        provider.launch(&order).await,
        Err(CloudError::Unknown(_))
    ));
    assert_eq!(cloud.count("DELETE"), 0, "the server may exist and use it");
    let sent = cloud.only("POST /neutron/v2.0/ports").body;
    assert_eq!(
        sent["port"],
        json!({"network_id": "net", "name": "np1-x7k2p-0", "description": LINE,
        "security_groups": ["sg"], "fixed_ips": [{"subnet_id": "sub"}], "allowed_address_pairs": [{"ip_address": "10.200.0.0/16"}]})
    );
    assert_eq!(
        cloud.only("POST /nova/v2.1/servers").body["server"]["networks"],
        json!([{"port": "p1"}])
    );
    cloud.on(
        "POST /nova/v2.1/servers",
        [Reply::Json(
            400,
            json!({"badRequest": {"code": 400, "message": "no"}}),
        )],
    );
    assert!(matches!(
        provider.launch(&order).await,
        Err(CloudError::Rejected { .. })
    ));
    assert_eq!(cloud.count("DELETE /neutron/v2.0/ports/p1"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_same_restart_twice_restarts_once() {
    let cloud = cloud();
    let mut marked = server("a", "ACTIVE", &OURS);
    marked["metadata"] = json!({"joiner-reboot": "repair-1"});
    cloud.on(
        "GET /nova/v2.1/servers/a",
        [
            Reply::Json(200, json!({"server": server("a", "ACTIVE", &OURS)})),
            Reply::Json(200, json!({"server": marked})),
        ],
    );
    cloud.json(
        "POST /nova/v2.1/servers/a/metadata",
        json!({"metadata": {}}),
    );
    cloud.on(
        "POST /nova/v2.1/servers/a/action",
        [Reply::Json(202, Value::Null)],
    );
    let provider = provider(&cloud, json!({}));
    provider.reboot(&"a".into(), "repair-1").await.unwrap();
    provider.reboot(&"a".into(), "repair-1").await.unwrap();
    assert_eq!(
        cloud.only("POST /nova/v2.1/servers/a/action").body,
        json!({"reboot": {"type": "HARD"}})
    );
}
