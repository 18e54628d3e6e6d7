//! Which versions does each service say it speaks?

use serde_json::{Value, json};

use super::wire::Said;

/// The bare host: not a service, but a person may look.
pub(super) fn front_door() -> Said {
    Said::json(
        200,
        json!({"emulator": "joiner-emulators", "services": {
            "identity": "/identity/v3", "compute": "/compute/v2.1", "network": "/networking", "image": "/image"
        }}),
    )
}

pub(super) fn keystone_root(base: &str) -> Said {
    let location = format!("{base}/identity/v3/");
    let body = json!({"versions": {"values": [keystone_version(base)]}});
    Said::json(300, body).with("location", location)
}

pub(super) fn keystone_v3(base: &str) -> Said {
    Said::json(200, json!({"version": keystone_version(base)}))
}

fn keystone_version(base: &str) -> Value {
    json!({
        "id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{base}/identity/v3/")}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    })
}

pub(super) fn nova_root(base: &str, newest: u32) -> Said {
    let old = json!({
        "id": "v2.0", "status": "SUPPORTED", "version": "", "min_version": "", "updated": "2011-01-21T11:33:21Z",
        "links": [{"rel": "self", "href": format!("{base}/compute/v2/")}],
    });
    let current = json!({
        "id": "v2.1", "status": "CURRENT", "version": format!("2.{newest}"), "min_version": "2.1",
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": format!("{base}/compute/v2.1/")}],
    });
    Said::json(200, json!({"versions": [old, current]}))
}

pub(super) fn nova_v21(base: &str, newest: u32) -> Said {
    let version = json!({
        "id": "v2.1", "status": "CURRENT", "version": format!("2.{newest}"), "min_version": "2.1",
        "updated": "2013-07-23T11:33:21Z",
        "links": [
            {"rel": "self", "href": format!("{base}/compute/v2.1/")},
            {"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"},
        ],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}],
    });
    Said::json(200, json!({"version": version}))
}

pub(super) fn neutron_root(base: &str) -> Said {
    let links = json!([{"rel": "self", "href": format!("{base}/networking/v2.0/")}]);
    let body = json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]});
    Said::json(200, body)
}

/// Glance keeps every minor version it ever had; 2.14 was never among them.
pub(super) fn glance_root(base: &str, status: u16) -> Said {
    let minors = [15, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    let versions: Vec<Value> = minors
        .iter()
        .map(|minor| {
            let status = if *minor == 15 { "CURRENT" } else { "SUPPORTED" };
            json!({
                "id": format!("v2.{minor}"), "status": status,
                "links": [{"rel": "self", "href": format!("{base}/image/v2/")}],
            })
        })
        .collect();
    Said::json(status, json!({"versions": versions}))
}
