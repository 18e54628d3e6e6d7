//! Does the client read what a real OpenStack said?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use cloud::{CloudError, InstanceState, Provider, Scope};
use openstack::client::flavors::Flavor;
use openstack::client::images::Image;
use openstack::client::limits::Absolute;
use openstack::client::networks::Tagged;
use openstack::client::ports::Port;
use openstack::client::servers::Server;
use openstack::client::zones::Zone;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use support::*;

fn recorded(n: u64) -> Value {
    include_str!("recordings/openstack.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|exchange| exchange["n"] == n)
        .unwrap_or_else(|| panic!("exchange {n} is not in the excerpt"))
}

fn reply(n: u64) -> Reply {
    let reply = &recorded(n)["reply"];
    Reply::Json(
        u16::try_from(reply["status"].as_u64().unwrap()).unwrap(),
        reply["body"].clone(),
    )
}

fn body<T: DeserializeOwned>(n: u64, member: &str) -> T {
    let body = recorded(n)["reply"]["body"][member].clone();
    serde_json::from_value(body).unwrap_or_else(|error| panic!("exchange {n}: {error}"))
}

#[test]
fn every_noun_decodes() {
    for n in [83, 182, 193, 200, 202, 291] {
        assert!(!body::<Vec<Server>>(n, "servers").is_empty());
    }
    for n in [171, 183, 187, 188, 189, 245, 264] {
        assert!(!body::<Server>(n, "server").status.is_empty());
    }
    assert!(
        body::<Vec<Flavor>>(43, "flavors")
            .iter()
            .all(|flavor| flavor.vcpus > 0)
    );
    assert_eq!(body::<Vec<Flavor>>(37, "flavors").len(), 2);
    assert!(
        body::<Vec<Image>>(95, "images")
            .iter()
            .any(|image| image.property("os_distro") == Some("flatcar"))
    );
    assert!(!body::<Vec<Tagged>>(112, "networks").is_empty());
    assert!(
        body::<Vec<Tagged>>(113, "subnets")
            .iter()
            .all(|subnet| subnet.network_id.is_some())
    );
    assert!(!body::<Vec<Tagged>>(114, "security_groups").is_empty());
    assert!(!body::<Vec<Port>>(115, "ports").is_empty());
    assert_eq!(body::<Port>(287, "port").device_id, "");
    assert!(
        body::<Vec<Zone>>(60, "availabilityZoneInfo")
            .iter()
            .all(|zone| zone.state.available)
    );
    let limits: Absolute =
        serde_json::from_value(recorded(64)["reply"]["body"]["limits"]["absolute"].clone())
            .unwrap();
    assert_eq!(limits.max_total_instances, Some(200));
}

#[test]
fn a_server_that_boots_from_a_volume_has_a_text_where_others_have_an_image() {
    assert_eq!(body::<Server>(264, "server").image_id(), None);
    assert!(body::<Server>(171, "server").image_id().is_some());
}

#[tokio::test(start_paused = true)]
async fn recorded_refusals_of_a_create_have_their_meaning() {
    let cloud = cloud();
    furnished(&cloud);
    let provider = provider(&cloud, json!({}));
    let order = order(provider.resolve().await.unwrap());
    for n in [148, 150, 153, 158, 163] {
        cloud.on("POST /nova/v2.1/servers", [reply(n)]);
        let outcome = provider.launch(&order).await;
        assert!(
            matches!(outcome, Err(CloudError::Rejected { .. })),
            "exchange {n}: {outcome:?}"
        );
    }
    for (n, expected) in [
        (242, "instances"),
        (247, "instances"),
        (248, "cores, instances, ram"),
    ] {
        cloud.on("POST /nova/v2.1/servers", [reply(n)]);
        let outcome = provider.launch(&order).await;
        let Err(CloudError::NoCapacity {
            scope: Scope::Quota { resource },
            ..
        }) = outcome
        else {
            panic!("{n}: {outcome:?}")
        };
        assert_eq!(resource, expected, "exchange {n}");
    }
    cloud.on("POST /nova/v2.1/servers", [reply(152)]);
    assert!(matches!(
        provider.launch(&order).await,
        Err(CloudError::NoCapacity {
            scope: Scope::Offering,
            ..
        })
    ));
    cloud.on("POST /nova/v2.1/servers", [reply(143)]);
    assert!(provider.launch(&order).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn recorded_failures_have_their_meaning() {
    let cloud = cloud();
    let provider = provider(&cloud, json!({}));
    for (n, expected) in [
        (188, Some(Scope::Offering)),
        (189, None),
        (
            245,
            Some(Scope::Quota {
                resource: "instances".into(),
            }),
        ),
    ] {
        let mut server = recorded(n)["reply"]["body"].clone();
        server["server"]["tags"] = json!(OURS);
        cloud.json("GET /nova/v2.1/servers/a", server);
        let found = provider.get(&"a".into()).await.unwrap();
        let InstanceState::Failed { scope, .. } = found.state else {
            panic!("{n}: {found:?}")
        };
        assert_eq!(scope, expected, "exchange {n}");
    }
    for n in [249, 277] {
        cloud.on("GET /nova/v2.1/servers/a", [reply(n)]);
        assert!(
            matches!(provider.get(&"a".into()).await, Err(CloudError::Gone)),
            "exchange {n}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_recorded_token_opens_the_catalog_and_an_unscoped_one_does_not() {
    let cloud = cloud();
    let with = |n: u64| {
        let body = recorded(n)["reply"]["body"].clone();
        Reply::With(201, body, vec![("x-subject-token", "TOKEN".to_owned())])
    };
    cloud.json("GET /v2.1/servers/detail", json!({"servers": []}));
    for n in [4, 24] {
        cloud.on("POST /v3/auth/tokens", [with(n)]);
        let provider = provider(&cloud, json!({}));
        assert!(provider.list().await.unwrap().is_empty(), "exchange {n}");
    }
    cloud.on("POST /v3/auth/tokens", [with(6)]);
    assert!(matches!(
        provider(&cloud, json!({})).list().await,
        Err(CloudError::Unauthorized { .. })
    ));
    for n in [8, 26, 27] {
        cloud.on("POST /v3/auth/tokens", [reply(n)]);
        assert!(
            matches!(
                provider(&cloud, json!({})).list().await,
                Err(CloudError::Unauthorized { .. })
            ),
            "exchange {n}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_console_and_a_restart_read_as_recorded() {
    let cloud = cloud();
    cloud.on("POST /nova/v2.1/servers/a/action", [reply(223)]);
    let provider = provider(&cloud, json!({}));
    assert!(!provider.console(&"a".into()).await.unwrap().is_empty());
    cloud.json(
        "GET /nova/v2.1/servers/a",
        json!({"server": server("a", "ACTIVE", &OURS)}),
    );
    cloud.json(
        "POST /nova/v2.1/servers/a/metadata",
        json!({"metadata": {}}),
    );
    cloud.on("POST /nova/v2.1/servers/a/action", [reply(225)]);
    assert!(
        matches!(
            provider.reboot(&"a".into(), "soft:1").await,
            Err(CloudError::Throttled { .. })
        ),
        "one is under way"
    );
}
