//! What happens to servers and their ports that nobody expects?

use std::time::Duration;

use emulators::openstack::Settings;
use serde_json::{Value, json};

use crate::cloud::Cloud;

#[test]
fn tags_are_refused_while_a_server_is_built() {
    let mut cloud = Cloud::new(Settings::default());
    let id = cloud.create(cloud.order("n1"));
    let path = format!("/compute/v2.1/servers/{id}/tags");
    assert_eq!(cloud.call("PUT", &path, json!({"tags": []})).0, 404);
    cloud.now += Duration::from_millis(150);
    assert_eq!(cloud.call("PUT", &path, json!({"tags": []})).0, 409);
    cloud.wait();
    assert_eq!(cloud.call("PUT", &path, json!({"tags": []})).0, 200);
}

#[test]
fn a_burst_gets_past_the_quota_and_pays_later() {
    let mut cloud = Cloud::new(Settings::default());
    cloud.machine.world.projects[0].quota.instances = 1;
    let first = cloud.create(cloud.order("n1"));
    let second = cloud.create(cloud.order("n2"));
    cloud.wait();
    assert_eq!(
        cloud.get(&format!("/servers/{first}")).1["server"]["status"],
        "ACTIVE"
    );
    let server = cloud.get(&format!("/servers/{second}")).1["server"].clone();
    assert_eq!(
        (&server["status"], &server["fault"]["code"]),
        (&json!("ERROR"), &json!(413))
    );
    let (status, body) = cloud.call("POST", "/compute/v2.1/servers", cloud.order("n3"));
    assert_eq!(status, 403);
    assert_eq!(
        body["forbidden"]["message"],
        "Quota exceeded for instances: Requested 1, but already used 2 of 1 instances"
    );
}

#[test]
fn two_servers_with_one_port_leave_the_port_to_nobody() {
    let mut cloud = Cloud::new(Settings::default());
    let network = cloud.order("x")["server"]["networks"][0]["uuid"].clone();
    let (_, body) = cloud.call(
        "POST",
        "/networking/v2.0/ports",
        json!({"port": {"network_id": network}}),
    );
    let port = body["port"]["id"].as_str().unwrap().to_owned();
    let mut order = cloud.order("n1");
    order["server"]["networks"] = json!([{"port": port}]);
    let first = cloud.create(order.clone());
    cloud.now += Duration::from_millis(1);
    let second = cloud.create(order.clone());
    cloud.wait();
    assert_eq!(
        cloud.get(&format!("/servers/{first}")).1["server"]["status"],
        "ACTIVE"
    );
    assert_eq!(
        cloud.get(&format!("/servers/{second}")).1["server"]["status"],
        "ERROR"
    );
    let path = format!("/networking/v2.0/ports/{port}");
    let (_, body) = cloud.call("GET", &path, Value::Null);
    assert_eq!(
        (&body["port"]["device_id"], &body["port"]["status"]),
        (&json!(""), &json!("DOWN"))
    );
    let third = cloud.create(order.clone());
    cloud.wait();
    assert_eq!(
        cloud.call("POST", "/compute/v2.1/servers", order).0,
        409,
        "a bound port is refused at once"
    );
    cloud.call(
        "DELETE",
        &format!("/compute/v2.1/servers/{third}"),
        Value::Null,
    );
    cloud.wait();
    assert_eq!(
        cloud.call("GET", &path, Value::Null).1["port"]["device_id"],
        "",
        "a port of one's own survives its server"
    );
}

#[test]
fn a_deleted_server_is_deleting_then_deleted_then_gone() {
    let mut cloud = Cloud::new(Settings {
        delete_ms: 1000,
        deleted_ms: 1000,
        ..Settings::default()
    });
    let id = cloud.create(cloud.order("n1"));
    cloud.wait();
    let path = format!("/compute/v2.1/servers/{id}");
    let seen = |cloud: &mut Cloud| {
        let (status, body) = cloud.call("GET", &path, Value::Null);
        (
            status,
            body["server"]["status"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            body["server"]["OS-EXT-STS:task_state"].clone(),
        )
    };
    assert_eq!(cloud.call("DELETE", &path, Value::Null).0, 204);
    assert_eq!(seen(&mut cloud), (200, "ACTIVE".into(), json!("deleting")));
    assert_eq!(
        cloud.call("DELETE", &path, Value::Null).0,
        204,
        "again while deleting"
    );
    cloud.now += Duration::from_millis(1100);
    assert_eq!(seen(&mut cloud), (200, "DELETED".into(), Value::Null));
    cloud.now += Duration::from_secs(1);
    assert_eq!(seen(&mut cloud).0, 404);
    assert_eq!(
        cloud
            .call("GET", &format!("{path}/os-instance-actions"), Value::Null)
            .0,
        200
    );
    assert_eq!(cloud.names("?changes-since=2020-01-01T00:00:00Z"), ["n1"]);
}

#[test]
fn locks_and_soft_deletion() {
    let mut cloud = Cloud::new(Settings {
        soft_delete_seconds: 3600,
        ..Settings::default()
    });
    let id = cloud.create(cloud.order("n1"));
    cloud.wait();
    let path = format!("/compute/v2.1/servers/{id}");
    cloud.call("POST", &format!("{path}/action"), json!({"lock": null}));
    assert_eq!(cloud.call("DELETE", &path, Value::Null).0, 409);
    cloud.call("POST", &format!("{path}/action"), json!({"unlock": null}));
    assert_eq!(cloud.call("DELETE", &path, Value::Null).0, 204);
    assert_eq!(
        cloud.call("GET", &path, Value::Null).1["server"]["status"],
        "SOFT_DELETED"
    );
    assert!(cloud.names("").is_empty());
    assert_eq!(
        cloud
            .call(
                "POST",
                &format!("{path}/action"),
                json!({"forceDelete": null})
            )
            .0,
        202
    );
    cloud.wait();
    assert_eq!(cloud.call("GET", &path, Value::Null).0, 404);
}

#[test]
fn an_old_cloud_refuses_a_new_microversion_with_its_numbers() {
    let mut cloud = Cloud::new(Settings {
        max_microversion: 60,
        ..Settings::default()
    });
    let (status, body) = cloud.get("/servers");
    assert_eq!(status, 406);
    let said = body["computeFault"]["message"].as_str().unwrap();
    assert!(
        said.ends_with("Minimum is 2.1 and maximum is 2.60."),
        "{said}"
    );
}

#[test]
fn a_flavor_without_a_disk_boots_from_volumes_only() {
    let mut cloud = Cloud::new(Settings::default());
    let diskless = cloud
        .machine
        .world
        .flavors
        .iter()
        .find(|flavor| flavor.disk == 0)
        .unwrap()
        .id
        .clone();
    let mut order = cloud.order("n1");
    order["server"]["flavorRef"] = json!(diskless);
    let (status, body) = cloud.call("POST", "/compute/v2.1/servers", order.clone());
    assert_eq!((status, &body["forbidden"]["code"]), (403, &json!(403)));
    let image = order["server"]
        .as_object_mut()
        .unwrap()
        .remove("imageRef")
        .unwrap();
    order["server"]["block_device_mapping_v2"] = json!([{
        "boot_index": 0, "source_type": "image", "destination_type": "volume", "uuid": image, "volume_size": 20,
        "delete_on_termination": true,
    }]);
    let id = cloud.create(order);
    cloud.wait();
    let server = cloud.get(&format!("/servers/{id}")).1["server"].clone();
    assert_eq!(
        (&server["status"], &server["image"]),
        (&json!("ACTIVE"), &json!(""))
    );
}
