//! What becomes of a class that is written in one version and read in another?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crds::convert::{convert, review};
use serde_json::{Value, json};

const SPOKE: &str = "karpenter.k8s.openstack/v1openstack";
const HUB: &str = "karpenter.k8s.openstack/v1";
const STASH: &str = "karpenter.k8s.openstack/conversion-data";
const LEFTOVERS: &str = "karpenter.k8s.openstack/v1openstack-data";

fn openstack(api_version: &str, spec: Value) -> Value {
    let mut object =
        json!({"apiVersion": api_version, "kind": "OpenStackNodeClass", "metadata": {"name": "x"}});
    object["spec"] = spec;
    object
}

fn down(hub: &Value) -> Value {
    convert(hub.clone(), SPOKE).unwrap()
}

fn up(spoke: &Value) -> Value {
    convert(spoke.clone(), HUB).unwrap()
}

#[test]
fn an_edited_element_keeps_what_the_older_version_cannot_show() {
    let hub = openstack(
        HUB,
        json!({"ports": [
            {"network": {"name": "a"}, "subnets": [{"name": "a4"}]},
            {"network": {"name": "b"}, "trunk": true},
        ]}),
    );
    let mut spoke = down(&hub);
    assert_eq!(spoke["spec"]["networks"], json!(["a", "b"]));
    spoke["spec"]["networks"][1] = json!("c");
    assert_eq!(
        up(&spoke)["spec"]["ports"],
        json!([
            {"network": {"name": "a"}, "subnets": [{"name": "a4"}]},
            {"network": {"name": "c"}, "trunk": true},
        ])
    );
}

#[test]
fn elements_that_are_moved_inserted_or_removed_take_their_hidden_part_along() {
    let a = json!({"network": {"name": "a"}, "subnets": [{"name": "a4"}]});
    let b = json!({"network": {"name": "b"}, "trunk": true});
    let hub = openstack(HUB, json!({"ports": [a, b]}));
    for (networks, ports) in [
        (json!(["b", "a"]), json!([b, a])),
        (
            json!(["new", "a", "b"]),
            json!([{"network": {"name": "new"}}, a, b]),
        ),
        (json!(["b"]), json!([b])),
        (
            json!(["a", "a", "b"]),
            json!([a, {"network": {"name": "a"}}, b]),
        ),
        (json!([]), json!([])),
    ] {
        let mut spoke = down(&hub);
        spoke["spec"]["networks"] = networks.clone();
        assert_eq!(up(&spoke)["spec"]["ports"], ports, "{networks}");
    }
}

#[test]
fn user_data_written_in_the_older_version_replaces_the_secret() {
    let hub = openstack(
        HUB,
        json!({"userData": {"secretRef": {"name": "s", "namespace": "n"}, "template": "Minijinja"}}),
    );
    let mut spoke = down(&hub);
    assert_eq!(spoke["spec"].get("userData"), None);
    spoke["spec"]["userData"] = json!("#!/bin/sh");
    assert_eq!(
        up(&spoke)["spec"]["userData"],
        json!({"inline": "#!/bin/sh", "template": "Minijinja"})
    );
}

#[test]
fn removing_a_field_in_the_older_version_removes_its_visible_part() {
    let hub = openstack(
        HUB,
        json!({"kubelet": {"maxPods": 50, "cpuManagerPolicy": "static"}, "floatingIP": {"enabled": true}}),
    );
    let mut spoke = down(&hub);
    let spec = spoke["spec"].as_object_mut().unwrap();
    spec.remove("kubeletConfiguration").unwrap();
    spec.remove("floatingIP").unwrap();
    assert_eq!(
        up(&spoke)["spec"],
        json!({"kubelet": {"cpuManagerPolicy": "static"}})
    );
}

#[test]
fn further_zones_and_keys_survive_an_edit_of_the_first() {
    let hub = json!({
        "apiVersion": "karpenter.k8s.cloudstack/v2", "kind": "CloudStackNodeClass", "metadata": {"name": "x"},
        "spec": {"zoneSelectorTerms": [{"id": "z1"}, {"name": "z2"}], "sshKeyPairs": ["a", "b"], "dataDisks": [{"offering": {"id": "d"}, "sizeGiB": 5}]},
    });
    let mut spoke = convert(hub, "karpenter.k8s.cloudstack/v1").unwrap();
    assert_eq!(spoke["spec"], json!({"zone": "z1", "sshKeyPair": "a"}));
    spoke["spec"] = json!({"zone": "z3", "sshKeyPair": "c", "diskOffering": "ssd"});
    assert_eq!(
        convert(spoke, "karpenter.k8s.cloudstack/v2").unwrap()["spec"],
        json!({
            "zoneSelectorTerms": [{"name": "z3"}, {"name": "z2"}],
            "sshKeyPairs": ["c", "b"],
            "dataDisks": [{"offering": {"name": "ssd"}, "sizeGiB": 5}],
        })
    );
}

#[test]
fn a_broken_stash_refuses_the_write_and_names_the_annotation() {
    let mut spoke = openstack(SPOKE, json!({}));
    for text in [
        json!("{"),
        json!("[]"),
        json!(r#"{"spec": 1}"#),
        json!(r#"{"labels": {}}"#),
        json!(7),
    ] {
        spoke["metadata"]["annotations"] = json!({ STASH: text });
        let error = convert(spoke.clone(), HUB).unwrap_err().to_string();
        assert!(
            error.contains("OpenStackNodeClass \"x\"")
                && error.contains(STASH)
                && error.contains("remove it"),
            "{error}"
        );
    }
}

#[test]
fn a_stash_cannot_smuggle_metadata_in() {
    let mut spoke = openstack(SPOKE, json!({}));
    for text in [
        r#"{"object": {"metadata": {"value": {"name": "y"}}}}"#,
        r#"{"object": {"kind": {"value": "Pod"}}}"#,
        r#"{"annotations": {"other": {"value": "y"}}}"#,
        r#"{"metadata": {"labels": {"value": {}}}}"#,
        r#"{"metadata": {"annotations": {"value": {"a": "b"}}}}"#,
    ] {
        spoke["metadata"]["annotations"] = json!({ STASH: text });
        assert!(convert(spoke.clone(), HUB).is_err(), "{text}");
    }
}

#[test]
fn broken_leftovers_never_make_an_object_unreadable() {
    let mut hub = openstack(HUB, json!({"keyPair": "k"}));
    hub["metadata"]["annotations"] = json!({ LEFTOVERS: "{" });
    let spoke = down(&hub);
    assert_eq!(spoke["spec"], json!({"keyPair": "k"}));
    assert_eq!(up(&spoke), hub);
}

#[test]
fn a_stash_beyond_the_limit_is_an_error_that_says_how_large_it_is() {
    let hub = openstack(
        HUB,
        json!({"pricing": {"currency": "x".repeat(250 * 1024)}}),
    );
    let error = convert(hub, SPOKE).unwrap_err().to_string();
    assert!(
        error.contains("204800") && error.contains("2560"),
        "{error}"
    );
}

#[test]
fn nothing_but_our_annotation_changes_in_the_metadata() {
    let mut hub = openstack(HUB, json!({"pricing": {}}));
    hub["metadata"] = json!({
        "name": "x", "uid": "u", "resourceVersion": "7", "generation": 2, "finalizers": ["f"], "labels": {"a": "b"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}, "managedFields": [{"manager": "m"}],
    });
    let mut spoke = down(&hub);
    assert!(
        spoke["metadata"]["annotations"]
            .as_object_mut()
            .unwrap()
            .remove(STASH)
            .is_some()
    );
    assert_eq!(spoke["metadata"], hub["metadata"]);
}

#[test]
fn unknown_versions_and_kinds_are_errors_that_list_what_exists() {
    let unknown_version = convert(openstack(HUB, json!({})), "karpenter.k8s.openstack/v3")
        .unwrap_err()
        .to_string();
    assert!(
        unknown_version.contains(HUB) && unknown_version.contains(SPOKE),
        "{unknown_version}"
    );
    let written_in_the_future = convert(openstack("karpenter.k8s.openstack/v3", json!({})), HUB)
        .unwrap_err()
        .to_string();
    assert!(
        written_in_the_future.contains(SPOKE),
        "{written_in_the_future}"
    );
    let other_group = convert(openstack(HUB, json!({})), "karpenter.ovhcloud.sh/v1")
        .unwrap_err()
        .to_string();
    assert!(other_group.contains(HUB), "{other_group}");
    let unknown_kind = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}});
    let error = convert(unknown_kind, HUB).unwrap_err().to_string();
    assert!(
        error.contains("Pod \"default/p\"") && error.contains("OVHNodeClass"),
        "{error}"
    );
}

fn request(desired: &str, objects: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u-1", "desiredAPIVersion": desired, "objects": objects},
    })
}

#[test]
fn a_review_converts_lists_of_mixed_versions_in_order() {
    let spoke = openstack(SPOKE, json!({"networks": ["a"]}));
    let hub = openstack(HUB, json!({"ports": []}));
    let answer = review(&request(HUB, &json!([spoke, hub, spoke])));
    assert_eq!(answer["response"]["uid"], "u-1");
    assert_eq!(answer["response"]["result"], json!({"status": "Success"}));
    let up = up(&spoke);
    assert_eq!(answer["response"]["convertedObjects"], json!([up, hub, up]));
}

#[test]
fn one_object_that_cannot_be_converted_fails_the_review_and_is_named() {
    let good = openstack(SPOKE, json!({}));
    let mut bad = good.clone();
    bad["metadata"] = json!({"name": "broken", "annotations": {STASH: "{"}});
    let answer = review(&request(HUB, &json!([good, bad])));
    assert_eq!(answer["response"]["convertedObjects"], json!([]));
    assert_eq!(answer["response"]["result"]["status"], "Failure");
    assert!(
        answer["response"]["result"]["message"]
            .as_str()
            .unwrap()
            .contains("\"broken\""),
        "{answer}"
    );
}

#[test]
fn whatever_is_sent_gets_an_answer() {
    let deep = (0..500).fold(json!("x"), |inner, _| json!({ "spec": inner }));
    let mut objects = vec![
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({"apiVersion": 3}),
        openstack(SPOKE, json!("x")),
        openstack(SPOKE, deep),
    ];
    let mut no_metadata = openstack(SPOKE, json!({}));
    no_metadata["metadata"] = json!(null);
    objects.push(no_metadata);
    for object in objects {
        let answer = review(&request(HUB, &json!([object])));
        assert_eq!(answer["response"]["result"]["status"], "Failure");
        assert_eq!(answer["response"]["uid"], "u-1");
    }
    for malformed in [
        json!(null),
        json!([]),
        json!({}),
        json!({"request": {"uid": 4}}),
        request(HUB, &json!("x")),
    ] {
        let answer = review(&malformed);
        assert_eq!(answer["kind"], "ConversionReview");
        assert_eq!(
            answer["response"]["result"]["status"], "Failure",
            "{malformed}"
        );
    }
}
