//! Is our NodePool hash upstream's, bit for bit?
//!
//! The figures come from `hashstructure` v2.0.2 run over Go structs of upstream's shape; those of the specification
//! (`spec/lifecycle.md` 1.10) are among them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crds::karpenter::hash::node_pool_hash;
use crds::karpenter::template::NodeClaimTemplate;
use serde_json::{Value, json};

fn check(change: &Value, expected: u64) {
    let mut template = json!({"spec": {
        "requirements": [],
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
    }});
    json_patch::merge(&mut template, change);
    let typed: NodeClaimTemplate = serde_json::from_value(template).unwrap();
    assert_eq!(node_pool_hash(&typed), Ok(expected), "{change}");
}

const PLAIN: u64 = 12_745_407_319_442_031_341;

#[test]
fn the_published_vectors_hold() {
    check(&json!({"spec": {"expireAfter": "720h"}}), PLAIN);
    check(
        &json!({"spec": {"expireAfter": "Never"}}),
        7_428_780_003_907_761_376,
    );
    check(
        &json!({"metadata": {"labels": {"team": "a"}}, "spec": {
            "taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
            "terminationGracePeriod": "5m", "expireAfter": "720h"}}),
        16_152_558_721_849_112_360,
    );
    check(
        &json!({"metadata": {"labels": {"team": "a", "x": "y"}, "annotations": {"k": "v"}}, "spec": {
            "taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}],
            "startupTaints": [{"key": "s", "effect": "NoSchedule"}], "expireAfter": "720h"}}),
        5_903_430_362_793_281_656,
    );
    check(
        &json!({"spec": {"expireAfter": "720h", "taints": []}}),
        845_502_862_369_909_111,
    );
}

#[test]
fn an_unset_expiry_hashes_as_the_default_of_the_api_server() {
    check(&json!({}), PLAIN);
    check(&json!({"spec": {"expireAfter": "43200m"}}), PLAIN);
}

#[test]
fn requirements_are_not_part_of_the_hash() {
    check(
        &json!({"spec": {"requirements": [{"key": "a", "operator": "Exists"}]}}),
        PLAIN,
    );
}

#[test]
fn present_but_empty_differs_from_absent() {
    check(
        &json!({"spec": {"startupTaints": []}}),
        11_636_300_583_069_838_828,
    );
    check(
        &json!({"metadata": {"labels": {}}}),
        5_327_702_334_917_744_615,
    );
    check(
        &json!({"metadata": {"annotations": {}}}),
        12_213_481_875_490_685_897,
    );
    check(&json!({"metadata": {}}), PLAIN);
}

#[test]
fn an_empty_label_value_still_counts() {
    check(
        &json!({"metadata": {"labels": {"a": ""}}}),
        3_496_410_445_805_860_152,
    );
}

#[test]
fn zero_is_a_length_unlike_never() {
    check(
        &json!({"spec": {"terminationGracePeriod": "0s"}}),
        16_848_824_146_983_765_585,
    );
    check(
        &json!({"spec": {"expireAfter": "0s"}}),
        13_546_070_544_088_512_816,
    );
}

#[test]
fn taints_are_a_set_in_which_equal_ones_cancel() {
    let (a, b) = (
        json!({"key": "a", "effect": "NoSchedule"}),
        json!({"key": "b", "effect": "NoExecute"}),
    );
    check(
        &json!({"spec": {"taints": [a, b]}}),
        463_741_391_837_728_268,
    );
    check(
        &json!({"spec": {"taints": [b, a]}}),
        463_741_391_837_728_268,
    );
    check(
        &json!({"spec": {"taints": [a, a]}}),
        845_502_862_369_909_111,
    );
}

#[test]
fn the_time_of_a_taint_counts() {
    check(
        &json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"}]}}),
        4_936_825_932_025_862_952,
    );
}

#[test]
fn a_duration_without_a_length_has_no_hash() {
    let template: NodeClaimTemplate = serde_json::from_value(json!({"spec": {
        "requirements": [], "expireAfter": "99999999999h",
        "nodeClassRef": {"group": "g", "kind": "k", "name": "n"}}}))
    .unwrap();
    assert!(node_pool_hash(&template).is_err());
}
