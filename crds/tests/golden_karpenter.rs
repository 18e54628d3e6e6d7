//! Is everything users and the API server write read, and written back as it was?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use crds::karpenter::{NodeClaim, NodeOverlay, NodePool};
use serde_json::{Value, json};

#[test]
fn every_golden_nodepool_comes_back_as_it_was_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/karpenter");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let written: Value =
            serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let typed: NodePool = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(
            serde_json::to_value(&typed).unwrap(),
            written,
            "{}",
            path.display()
        );
        assert_eq!(
            crds::validate::node_pool::findings(&typed.spec),
            [],
            "{}",
            path.display()
        );
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} manifests found");
}

#[test]
fn a_claim_comes_back_as_the_api_server_sent_it() {
    let sent = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "default-x7k2p"},
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.openstack", "kind": "OpenStackNodeClass", "name": "default"},
            "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["default"]}],
            "resources": {"requests": {"cpu": "1150m", "pods": 5}}, "expireAfter": "720h",
        },
        "status": {
            "providerID": "openstack:///1", "imageID": "2", "nodeName": "n", "capacity": {"cpu": "2"}, "allocatable": {"cpu": "1900m"},
            "lastPodEventTime": "2026-01-02T03:04:05Z",
            "conditions": [{"type": "Ready", "status": "Unknown", "reason": "", "message": "",
                            "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1}],
        },
    });
    let typed: NodeClaim = serde_json::from_value(sent.clone()).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), sent);
}

#[test]
fn a_condition_that_lacks_reason_and_message_is_read_as_empty() {
    let status = json!({"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}]});
    let typed: crds::karpenter::NodeClaimStatus = serde_json::from_value(status).unwrap();
    assert_eq!(typed.conditions.unwrap()[0].reason, "");
}

#[test]
fn an_overlay_comes_back_as_the_api_server_sent_it() {
    let sent = json!({
        "apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": "licence"},
        "spec": {
            "requirements": [{"key": "topology.kubernetes.io/zone", "operator": "NotIn", "values": ["a"]}],
            "priceAdjustment": "-12.5%", "capacity": {"example.com/licence": 1}, "weight": 10000,
        },
    });
    let typed: NodeOverlay = serde_json::from_value(sent.clone()).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), sent);
}
