//! Which classes are refused beyond CEL, and which updates are warned about?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crds::{cloudstack, joiner, openstack, ovhcloud};
use serde_json::{Value, json};

fn class(api_version: &str, kind: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
    object["spec"] = spec;
    object
}

fn hub(spec: Value) -> Value {
    class("karpenter.k8s.openstack/v1", "OpenStackNodeClass", spec)
}

fn spoke(spec: Value) -> Value {
    class(
        "karpenter.k8s.openstack/v1openstack",
        "OpenStackNodeClass",
        spec,
    )
}

fn fields(object: &Value) -> Vec<String> {
    let check = match object["kind"].as_str().unwrap() {
        "OpenStackNodeClass" => openstack::check,
        "CloudStackNodeClass" => cloudstack::check,
        "OVHNodeClass" => ovhcloud::check,
        _ => joiner::check,
    };
    check(object, None)
        .refusals
        .into_iter()
        .map(|finding| finding.field)
        .collect()
}

#[test]
fn each_mistake_on_openstack_is_refused_at_its_field() {
    let long = "k".repeat(256);
    for (spec, field) in [
        (json!({"metadata": {"ü": "x"}}), "spec.metadata[\"ü\"]"),
        (json!({"metadata": {"": "x"}}), "spec.metadata[\"\"]"),
        (json!({"labels": {"a": long}}), "spec.labels[\"a\"]"),
        (
            json!({"metadata": {"a/b": "1"}, "labels": {"a_b": "2"}}),
            "spec.labels[\"a_b\"]",
        ),
        (
            json!({"availabilityZones": ["a", "b", "a"]}),
            "spec.availabilityZones[2]",
        ),
        (json!({"serverTags": ["a", "a"]}), "spec.serverTags[1]"),
        (
            json!({"imageSelectorTerms": [{"nameRegex": "("}]}),
            "spec.imageSelectorTerms[0].nameRegex",
        ),
        (
            json!({"flavorSelectorTerms": [{"nameRegex": "["}]}),
            "spec.flavorSelectorTerms[0].nameRegex",
        ),
        (
            json!({"kubelet": {"kubeReserved": {"cpu": "much"}}}),
            "spec.kubelet.kubeReserved[\"cpu\"]",
        ),
    ] {
        assert_eq!(fields(&hub(spec.clone())), [field], "{spec}");
    }
    let key = format!("spec.metadata[{long:?}]");
    assert_eq!(fields(&hub(json!({"metadata": {long: "x"}}))), [key]);
}

#[test]
fn each_mistake_on_cloudstack_is_refused_at_its_field() {
    for (spec, field) in [
        (
            json!({"details": {"extraconfig-1": "x"}}),
            "spec.details[\"extraconfig-1\"]",
        ),
        (json!({"sshKeyPairs": ["a", "a"]}), "spec.sshKeyPairs[1]"),
        (json!({"tags": {"a": ""}}), "spec.tags[\"a\"]"),
        (
            json!({"templateSelectorTerms": [{}, {"nameRegex": "*"}]}),
            "spec.templateSelectorTerms[1].nameRegex",
        ),
    ] {
        let object = class("karpenter.k8s.cloudstack/v2", "CloudStackNodeClass", spec);
        assert_eq!(fields(&object), [field], "{object}");
    }
}

#[test]
fn each_mistake_on_ovhcloud_is_refused_at_its_field() {
    let terms = json!([{"name": "b2-7"}, {"name": "b3-8"}]);
    for (spec, field) in [
        (
            json!({"billing": "Monthly", "flavorSelectorTerms": terms}),
            "spec.flavorSelectorTerms[1].name",
        ),
        (
            json!({"nodeLabels": {"a b": "x"}}),
            "spec.nodeLabels[\"a b\"]",
        ),
        (
            json!({"availabilityZones": ["a", "a"]}),
            "spec.availabilityZones[1]",
        ),
    ] {
        let object = class("karpenter.ovhcloud.sh/v1", "OVHNodeClass", spec);
        assert_eq!(fields(&object), [field], "{object}");
    }
}

#[test]
fn each_mistake_in_a_group_is_refused_at_its_field() {
    let twice = json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]);
    for (spec, field) in [
        (json!({"taints": twice}), "spec.taints[1]"),
        (json!({"labels": {"a": "x y"}}), "spec.labels[\"a\"]"),
    ] {
        let object = class("joiner.dev/v1alpha1", "NodeGroup", spec);
        assert_eq!(fields(&object), [field], "{object}");
    }
}

#[test]
fn more_metadata_than_novas_quota_is_refused() {
    let many: serde_json::Map<_, _> = (0..121).map(|n| (format!("k{n}"), json!("v"))).collect();
    assert_eq!(fields(&hub(json!({"metadata": many}))), ["spec.metadata"]);
}

#[test]
fn what_the_prototype_accepted_is_warned_about_and_not_refused() {
    let verdict = openstack::check(
        &spoke(
            json!({"imageRef": "x", "imageSelectorTerms": [{}], "networks": ["a"], "disks": [{"sizeGiB": 10, "boot": true}, {"sizeGiB": 10, "boot": true}]}),
        ),
        None,
    );
    assert_eq!(verdict.refusals, []);
    assert_eq!(
        verdict.warnings,
        [
            "in v1 terms: spec.imageSelectorTerms[0]: the term is empty; set id, or remove the term",
            "in v1 terms: spec.blockDevices[1].boot: another device has boot: true already; remove boot from all but one",
            "spec.imageRef: ignored, imageSelectorTerms chooses the image; remove it",
        ]
    );
}

#[test]
fn a_replace_in_the_older_version_is_told_what_it_drops() {
    let stored = hub(json!({
        "imageSelectorTerms": [{"id": "i"}], "ports": [{"network": {"name": "a"}}], "pricing": {"cpuHour": "1"},
        "kubelet": {"maxPods": 5, "cpuManagerPolicy": "static"}, "quotaPolicy": "Ignore",
    }));
    let old = crds::convert::convert(stored, "karpenter.k8s.openstack/v1openstack").unwrap();
    let file = spoke(
        json!({"imageSelectorTerms": [{"id": "i"}], "networks": ["a"], "kubeletConfiguration": {"maxPods": 5}}),
    );
    let verdict = openstack::check(&file, Some(&old));
    assert_eq!(verdict.refusals, []);
    assert_eq!(verdict.warnings.len(), 1, "{:?}", verdict.warnings);
    assert!(
        verdict.warnings[0].contains("spec.kubelet, spec.pricing, spec.quotaPolicy"),
        "{:?}",
        verdict.warnings
    );

    let mut edited = old.clone();
    edited["spec"]["networks"] = json!(["b"]);
    assert_eq!(
        openstack::check(&edited, Some(&old)).warnings,
        Vec::<String>::new()
    );
}

#[test]
fn a_broken_annotation_is_refused_in_either_version() {
    let mut object = hub(json!({}));
    object["metadata"]["annotations"] = json!({"karpenter.k8s.openstack/v1openstack-data": "{"});
    assert_eq!(
        fields(&object),
        ["metadata.annotations[\"karpenter.k8s.openstack/v1openstack-data\"]"]
    );
    let mut object = spoke(json!({}));
    object["metadata"]["annotations"] = json!({"karpenter.k8s.openstack/conversion-data": "{"});
    assert_eq!(
        fields(&object),
        ["metadata.annotations[\"karpenter.k8s.openstack/conversion-data\"]"]
    );
}

#[test]
fn a_class_too_large_to_be_read_in_the_older_version_is_refused() {
    let object = hub(json!({"bootstrap": {"before": ["x".repeat(210 * 1024)]}}));
    assert_eq!(fields(&object), ["metadata.annotations"]);
}

#[test]
fn what_was_wrong_before_does_not_block_an_update_nor_a_deletion() {
    let old = hub(json!({"availabilityZones": ["a", "a"]}));
    let mut new = old.clone();
    new["spec"]["keyPair"] = json!("k");
    let verdict = openstack::check(&new, Some(&old));
    assert_eq!(verdict.refusals, []);
    assert_eq!(
        verdict.warnings,
        ["spec.availabilityZones[1]: \"a\" is listed twice; remove one of them"]
    );

    let mut leaving = old;
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(openstack::check(&leaving, None).refusals, []);
}

#[test]
fn user_data_no_cloud_takes_is_warned_about() {
    let object = hub(json!({"userData": {"inline": "x".repeat(50_000)}}));
    assert!(openstack::check(&object, None).warnings[0].contains("49149"));
}
