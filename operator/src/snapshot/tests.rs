//! What is frozen of a mirror, and what is refused because it cannot be read?

mod readings;

use jiff::Timestamp;
use kube::ResourceExt;
use planner::labels::ZONE;
use planner::snapshot::{PoolState, Spread};
use planner::{ResourceName, Snapshot};
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};

use super::{Besides, PassedOver, Readings, fill, somebody_waits};
use crate::mirror::{Mirror, Store};

fn put<K: ResourceExt + DeserializeOwned>(store: &Store<K>, object: Value) {
    store.put(from_value(object).unwrap());
}

/// One node `n` in zone `a` with 4 cpus.
fn mirror() -> Mirror {
    let mirror = Mirror::empty();
    let room = json!({ "cpu": "4", "memory": "8Gi", "pods": "110" });
    let node = json!({ "metadata": { "name": "n", "labels": { ZONE: "a" } },
        "status": { "capacity": room, "allocatable": room } });
    put(&mirror.nodes, node);
    mirror
}

fn pod(name: &str, node: Option<&str>, spec: &Value) -> Value {
    let mut pod = json!({
        "metadata": { "name": name, "namespace": "d", "uid": name, "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "main", "resources": { "requests": { "cpu": "1" } } }] },
        "status": { "phase": "Running" } });
    for (key, value) in spec.as_object().unwrap() {
        pod["spec"][key] = value.clone();
    }
    match node {
        Some(node) => pod["spec"]["nodeName"] = json!(node),
        None => {
            pod["status"] = json!({ "phase": "Pending", "conditions": [
                { "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }] });
        }
    }
    pod
}

fn frozen(mirror: &Mirror) -> Snapshot {
    frozen_with(mirror, &PassedOver::new(), &[])
}

fn frozen_with(mirror: &Mirror, passed_over: &PassedOver, spreads: &[Spread]) -> Snapshot {
    let besides = Besides {
        passed_over,
        spreads,
    };
    let empty = Snapshot::empty(Timestamp::UNIX_EPOCH);
    fill(empty, mirror, &besides, &mut Readings::default())
}

/// Each pod with its node, and whether it waits.
fn said(frozen: &Snapshot) -> Vec<String> {
    let one = |pod: &planner::snapshot::Pod| {
        let place = pod.node.as_deref().unwrap_or("-");
        let waits = if pod.pending { " waits" } else { "" };
        format!("{} {place}{waits}", pod.name)
    };
    let mut all: Vec<_> = frozen.pods.members().map(|(_, pod)| one(pod)).collect();
    all.sort();
    all
}

#[test]
fn pods_that_run_are_known_where_they_run_and_pods_that_wait_as_waiting() {
    let mirror = mirror();
    assert!(!somebody_waits(&mirror));
    put(&mirror.pods, pod("runs", Some("n"), &json!({})));
    assert!(!somebody_waits(&mirror));
    put(&mirror.pods, pod("waits", None, &json!({})));
    put(&mirror.pods, pod("lost", Some("unknown"), &json!({})));
    assert!(somebody_waits(&mirror));
    let frozen = frozen(&mirror);
    assert_eq!(said(&frozen), ["d/runs n", "d/waits - waits"]);
    let used = &frozen.nodes[0].used;
    assert_eq!(used.get(&ResourceName::Cpu), 1000);
    assert_eq!(used.get(&ResourceName::Pods), 1);
}

#[test]
fn a_pod_on_its_way_out_takes_room_and_counts_for_nobody() {
    let mirror = mirror();
    let mut ending = pod("ending", Some("n"), &json!({}));
    ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    put(&mirror.pods, ending);
    let frozen = frozen(&mirror);
    assert!(said(&frozen).is_empty());
    assert_eq!(frozen.nodes[0].used.get(&ResourceName::Cpu), 1000);
}

#[test]
fn a_pod_is_told_from_where_its_volume_is_reached() {
    let mirror = mirror();
    let disk = json!({ "volumes": [{ "name": "disk", "persistentVolumeClaim": { "claimName": "data" } }] });
    put(&mirror.pods, pod("waits", None, &disk));
    assert_eq!(shape_of_first(&frozen(&mirror)).unreadable.len(), 1);
    put(
        &mirror.volume_claims,
        json!({ "metadata": { "name": "data", "namespace": "d", "annotations": { "pv.kubernetes.io/bind-completed": "yes" } },
            "spec": { "volumeName": "pv" } }),
    );
    assert_eq!(shape_of_first(&frozen(&mirror)).unreadable.len(), 1);
    let volume = |operator: &str| {
        json!({ "metadata": { "name": "pv" }, "spec": { "csi": { "driver": "csi", "volumeHandle": "x" },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": ZONE, "operator": operator, "values": ["a"] }] }] } } } })
    };
    put(&mirror.volumes, volume("Near"));
    assert_eq!(shape_of_first(&frozen(&mirror)).unreadable.len(), 1);
    put(&mirror.volumes, volume("In"));
    let known = shape_of_first(&frozen(&mirror));
    assert!(known.unreadable.is_empty());
    assert!(known.volumes[0].alternatives[0][0].has("a"));
}

fn shape_of_first(frozen: &Snapshot) -> planner::snapshot::Shape {
    let (_, shape) = frozen.pods.shapes().next().unwrap();
    shape.clone()
}

#[test]
fn a_volume_that_is_not_made_yet_will_be_where_its_class_allows() {
    let mirror = mirror();
    let disk = json!({ "volumes": [{ "name": "disk", "persistentVolumeClaim": { "claimName": "data" } }] });
    put(&mirror.pods, pod("waits", None, &disk));
    put(
        &mirror.volume_claims,
        json!({ "metadata": { "name": "data", "namespace": "d" }, "spec": { "storageClassName": "slow" } }),
    );
    put(
        &mirror.storage_classes,
        json!({ "metadata": { "name": "slow" }, "provisioner": "csi", "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{ "matchLabelExpressions": [{ "key": ZONE, "values": ["b"] }] }] }),
    );
    let known = shape_of_first(&frozen(&mirror));
    assert!(known.volumes[0].alternatives[0][0].has("b"));
}

#[test]
fn a_node_takes_as_many_volumes_as_its_csi_node_says() {
    let mirror = mirror();
    let drivers = json!([{ "name": "csi", "nodeID": "n", "allocatable": { "count": 25 }, "topologyKeys": [] }]);
    put(
        &mirror.csi_nodes,
        json!({ "metadata": { "name": "n" }, "spec": { "drivers": drivers } }),
    );
    assert_eq!(
        frozen(&mirror).nodes[0].volume_limits,
        [("csi".into(), Some(25))]
    );
}

#[test]
fn namespaces_are_known_with_their_labels() {
    let mirror = mirror();
    put(
        &mirror.namespaces,
        json!({ "metadata": { "name": "d", "labels": { "team": "red" } } }),
    );
    let frozen = frozen(&mirror);
    assert_eq!(frozen.namespaces[0].name.as_ref(), "d");
    assert_eq!(frozen.namespaces[0].labels, [("team".into(), "red".into())]);
}

#[test]
fn a_node_with_a_pod_nobody_can_read_gives_no_room() {
    let mirror = mirror();
    let odd = json!({ "containers": [{ "name": "main", "resources": { "requests": { "cpu": "much" } } }] });
    put(&mirror.pods, pod("odd", Some("n"), &odd));
    let node = &frozen(&mirror).nodes[0];
    assert_eq!(node.allocatable.get(&ResourceName::Cpu), 0);
    assert_eq!(node.capacity.get(&ResourceName::Cpu), 4000);
}

#[test]
fn a_node_with_a_taint_nobody_can_read_gives_no_room() {
    let mirror = mirror();
    put(
        &mirror.nodes,
        json!({ "metadata": { "name": "n" }, "spec": { "taints": [{ "key": "k", "effect": "Never" }] },
            "status": { "allocatable": { "cpu": "4" } } }),
    );
    let node = &frozen(&mirror).nodes[0];
    assert_eq!(node.allocatable.get(&ResourceName::Cpu), 0);
}

#[test]
fn a_daemon_nobody_can_read_stops_buying_and_says_so() {
    let mirror = mirror();
    let class =
        json!({ "group": "karpenter.k8s.openstack", "kind": "OpenStackNodeClass", "name": "c" });
    put(
        &mirror.pools,
        json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "p" },
            "spec": { "template": { "spec": { "requirements": [], "nodeClassRef": class } } },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "Ready", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z" }] } }),
    );
    assert_eq!(frozen(&mirror).pools[0].state, PoolState::Ready);
    let requests = json!({ "requests": { "cpu": "much" } });
    put(
        &mirror.daemons,
        json!({ "metadata": { "name": "logs", "namespace": "d" }, "spec": { "selector": {},
            "template": { "spec": { "containers": [{ "name": "main", "resources": requests }] } } } }),
    );
    let frozen = frozen(&mirror);
    let PoolState::NotReady { said } = &frozen.pools[0].state else {
        panic!("{:?}", frozen.pools[0].state);
    };
    assert!(
        said.contains("DaemonSet d/logs") && said.contains("container main"),
        "{said}"
    );
}

#[test]
fn every_taint_of_a_node_that_is_nobodys_claim_counts() {
    let mirror = mirror();
    put(
        &mirror.nodes,
        json!({ "metadata": { "name": "n" }, "status": { "allocatable": { "cpu": "4" } },
            "spec": { "taints": [{ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }] } }),
    );
    assert_eq!(frozen(&mirror).nodes[0].taints.len(), 1);
}

#[test]
fn a_pod_that_has_finished_takes_nothing_and_counts_for_nobody() {
    let mirror = mirror();
    for phase in ["Succeeded", "Failed"] {
        let mut done = pod(phase, Some("n"), &json!({}));
        done["status"]["phase"] = json!(phase);
        put(&mirror.pods, done);
    }
    let frozen = frozen(&mirror);
    assert!(said(&frozen).is_empty());
    assert_eq!(frozen.nodes[0].used.get(&ResourceName::Cpu), 0);
}

fn daemon(mirror: &Mirror, template: &Value) {
    put(
        &mirror.daemons,
        json!({ "metadata": { "name": "logs", "namespace": "d", "uid": "set" },
            "spec": { "selector": {}, "template": { "spec": template } } }),
    );
}

#[test]
fn a_daemon_takes_what_its_newest_pod_does_because_admission_may_have_added_to_it() {
    let mirror = mirror();
    let cpu = |cpu: &str| json!([{ "name": "main", "resources": { "requests": { "cpu": cpu } } }]);
    let counted = |mirror: &Mirror| {
        let frozen = frozen(mirror);
        frozen.daemons[0].shape.requests.get(&ResourceName::Cpu)
    };
    daemon(&mirror, &json!({ "containers": cpu("100m") }));
    assert_eq!(counted(&mirror), 100);
    for (name, day, more) in [("old", 1, "0"), ("new", 3, "250m"), ("other", 2, "1")] {
        let spec = json!({ "containers": cpu("100m"), "overhead": { "cpu": more } });
        let mut pod = pod(name, Some("n"), &spec);
        pod["metadata"]["creationTimestamp"] = json!(format!("2026-01-0{day}T00:00:00Z"));
        pod["metadata"]["ownerReferences"] = json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet",
            "name": "logs", "uid": "set", "controller": true }]);
        put(&mirror.pods, pod);
    }
    assert_eq!(counted(&mirror), 350);
}

#[test]
fn a_daemon_that_waits_for_devices_takes_nothing() {
    let mirror = mirror();
    let claims = json!([{ "name": "gpu", "resourceClaimName": "x" }]);
    daemon(
        &mirror,
        &json!({ "containers": [], "resourceClaims": claims }),
    );
    assert!(frozen(&mirror).daemons.is_empty());
}

#[test]
fn a_pod_that_runs_is_not_asked_whether_its_volumes_can_still_be_had() {
    let mirror = mirror();
    let disk = json!({ "volumes": [{ "name": "disk", "persistentVolumeClaim": { "claimName": "gone" } }] });
    put(&mirror.pods, pod("runs", Some("n"), &disk));
    let frozen = frozen(&mirror);
    assert_eq!(said(&frozen), ["d/runs n"]);
    assert!(shape_of_first(&frozen).unreadable.is_empty());
    assert_eq!(frozen.nodes[0].allocatable.get(&ResourceName::Cpu), 4000);
}

#[test]
fn a_volume_made_for_a_pod_binds_it_to_a_zone_only_until_it_runs() {
    let mirror = mirror();
    let scratch = json!({ "volumes": [{ "name": "scratch", "ephemeral": { "volumeClaimTemplate": { "spec": {} } } }] });
    put(
        &mirror.volume_claims,
        json!({ "metadata": { "name": "web-scratch", "namespace": "d", "annotations": { "pv.kubernetes.io/bind-completed": "yes" } },
            "spec": { "volumeName": "pv" } }),
    );
    let term = json!({ "matchExpressions": [{ "key": ZONE, "operator": "In", "values": ["a"] }] });
    put(
        &mirror.volumes,
        json!({ "metadata": { "name": "pv" }, "spec": { "csi": { "driver": "csi", "volumeHandle": "x" },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [term] } } } }),
    );
    let alternatives = |node| {
        put(&mirror.pods, pod("web", node, &scratch));
        let volume = shape_of_first(&frozen(&mirror)).volumes.remove(0);
        assert_eq!(volume.driver.as_deref(), Some("csi"));
        volume.alternatives.len()
    };
    assert_eq!(alternatives(None), 1);
    assert_eq!(alternatives(Some("n")), 0);
}

#[test]
fn a_pod_that_was_passed_over_is_known_as_such() {
    let mirror = mirror();
    put(&mirror.pods, pod("waits", None, &json!({})));
    let passed_over = PassedOver::from([("waits".into(), 3)]);
    let frozen = frozen_with(&mirror, &passed_over, &[]);
    let (_, pod) = frozen.pods.members().next().unwrap();
    assert_eq!(pod.passed_over, 3);
}

#[test]
fn only_pods_of_an_owner_that_ask_for_no_spread_get_the_clusters() {
    let mirror = mirror();
    let owned = |name: &str, spec: &Value| {
        let mut pod = pod(name, None, spec);
        pod["metadata"]["ownerReferences"] = json!([
            { "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": true }]);
        pod
    };
    let own = json!({ "topologySpreadConstraints": [{ "maxSkew": 7, "topologyKey": "rack",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": { "app": "web" } } }] });
    put(&mirror.pods, owned("plain", &json!({})));
    put(&mirror.pods, owned("spread", &own));
    put(&mirror.pods, pod("alone", None, &json!({})));
    let frozen = frozen_with(&mirror, &PassedOver::new(), &[Spread::new(ZONE, 1, None)]);
    let keys = |name: &str| -> Vec<String> {
        let (id, _) = frozen
            .pods
            .members()
            .find(|(_, pod)| *pod.name == *name)
            .unwrap();
        let spreads = frozen.pods.shape_of(id).spreads.iter();
        spreads.map(|spread| spread.key.to_string()).collect()
    };
    assert_eq!(keys("d/plain"), [ZONE]);
    assert_eq!(keys("d/spread"), ["rack"]);
    assert!(keys("d/alone").is_empty());
}
