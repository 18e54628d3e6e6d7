//! What a pod means, from Kubernetes objects.

use super::*;
use rstest::rstest;
use serde_json::{Value, json};

fn pod(spec: &Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": { "name": "p", "namespace": "d", "uid": "u" },
        "spec": spec,
        "status": { "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }] },
    }))
    .unwrap()
}

fn read(spec: &Value) -> Shape {
    shape(&pod(spec), &WellKnown::default()).unwrap()
}

/// A pod with this among its required node affinity, in a term of its own behind one that is fine.
fn requiring(term: &Value) -> Shape {
    let fine = json!({ "matchExpressions": [{ "key": "team", "operator": "Exists" }] });
    read(&json!({ "containers": [], "affinity": { "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [fine, term] } } } }))
}

fn preferring(term: &Value) -> Shape {
    read(&json!({ "containers": [], "affinity": { "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1, "preference": term }] } } }))
}

/// One container, with these resources.
fn one_container(resources: &Value) -> Value {
    json!([{ "name": "main", "resources": resources }])
}

fn daemon(template: &Value) -> Shape {
    let set = json!({ "metadata": { "name": "logs", "namespace": "d" },
        "spec": { "selector": {}, "template": { "spec": template } } });
    daemon_shape(&serde_json::from_value(set).unwrap()).unwrap()
}

#[test]
fn a_pod_the_scheduler_gave_up_on_is_pending_and_a_gated_or_daemon_pod_is_not() {
    let mut waits = pod(&json!({ "containers": [] }));
    assert!(is_pending(&waits));
    let conditions = waits.status.as_mut().unwrap().conditions.as_mut().unwrap();
    conditions[0].reason = Some("SchedulingGated".into());
    assert!(!is_pending(&waits));
    let bound = pod(&json!({ "containers": [], "nodeName": "n" }));
    assert!(!is_pending(&bound));
}

/// What is changed about a pod that waits, and whether it still does.
#[rstest]
#[case("/metadata/labels", json!({}), true)]
#[case("/spec/nodeName", json!("n"), false)]
#[case("/spec/nodeName", json!(""), true)]
#[case("/spec/schedulerName", json!("other"), true)]
#[case("/status/nominatedNodeName", json!("n"), false)]
#[case("/status/conditions", json!([]), false)]
#[case("/status/phase", json!("Succeeded"), false)]
#[case("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"), false)]
#[case("/metadata/annotations", json!({ "kubernetes.io/config.mirror": "x" }), false)]
#[case("/metadata/ownerReferences", owners("DaemonSet"), false)]
#[case("/metadata/ownerReferences", owners("Node"), false)]
#[case("/metadata/ownerReferences", owners("ReplicaSet"), true)]
#[case("/metadata/ownerReferences", owners("StatefulSet"), true)]
fn who_waits_for_a_node_is_told_by_status_and_owner(
    #[case] field: &str,
    #[case] value: Value,
    #[case] waits: bool,
) {
    let mut object = serde_json::to_value(pod(&json!({ "containers": [] }))).unwrap();
    let (parent, name) = field.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[name] = value;
    assert_eq!(is_pending(&serde_json::from_value(object).unwrap()), waits);
}

fn owners(kind: &str) -> Value {
    json!([{ "apiVersion": "v1", "kind": kind, "name": "o", "uid": "o", "controller": true }])
}

#[rstest]
#[case("kubernetes.io/hostname", false)]
#[case("karpenter.sh/initialized", false)]
#[case("karpenter.sh/registered", false)]
#[case("karpenter.sh/anything", false)]
#[case("sub.karpenter.sh/anything", false)]
#[case("a b", false)]
#[case("kubernetes.io/custom", true)]
#[case("sub.kubernetes.io/custom", true)]
#[case("node.kubernetes.io/custom", true)]
#[case("k8s.io/custom", true)]
#[case("example.com/custom", true)]
#[case("karpenter.sh/nodepool", true)]
#[case("topology.kubernetes.io/zone", true)]
#[case("topology.kubernetes.io/region", true)]
#[case("node.kubernetes.io/instance-type", true)]
#[case("kubernetes.io/arch", true)]
#[case("kubernetes.io/os", true)]
#[case("node.kubernetes.io/windows-build", true)]
#[case("beta.kubernetes.io/arch", true)]
fn a_pod_may_choose_its_node_by_any_label_but_ours(#[case] key: &str, #[case] fine: bool) {
    let selector = read(&json!({ "containers": [], "nodeSelector": { key: "x" } }));
    assert_eq!(
        (selector.unreadable.len(), selector.selector.len()),
        if fine { (0, 1) } else { (1, 0) }
    );
    let term = json!({ "matchExpressions": [{ "key": key, "operator": "In", "values": ["x"] }] });
    let required = requiring(&term);
    assert_eq!(required.unreadable.is_empty(), fine);
    assert!(
        required
            .unreadable
            .iter()
            .all(|why| why.code() == "BadTerm")
    );
    // What is only preferred can be given up, whatever it is; daemons are told by nobody where to go.
    let preferred = preferring(&term);
    assert_eq!(
        (preferred.unreadable.len(), preferred.preferred.len()),
        (0, 1)
    );
    let daemon = daemon(&json!({ "containers": [], "nodeSelector": { key: "x" } }));
    assert_eq!((daemon.unreadable.len(), daemon.selector.len()), (0, 1));
}

#[rstest]
#[case("In", json!(["spot", "unheard-of"]), true)]
#[case("In", json!(["unheard-of"]), false)]
#[case("NotIn", json!(["unheard-of"]), true)]
#[case("In", json!([]), false)]
#[case("Gt", json!(["1", "2"]), false)]
#[case("Gt", json!(["-1"]), false)]
#[case("Gt", json!(["1"]), true)]
#[case("Gte", json!(["1"]), true)]
#[case("Lte", json!(["one"]), false)]
#[case("Exists", json!([]), true)]
#[case("DoesNotExist", json!([]), true)]
#[case("Near", json!([]), false)]
fn an_expression_is_accepted_if_something_can_ever_meet_it(
    #[case] operator: &str,
    #[case] values: Value,
    #[case] fine: bool,
) {
    let term = json!({ "matchExpressions": [{ "key": "karpenter.sh/capacity-type", "operator": operator, "values": values }] });
    assert_eq!(requiring(&term).unreadable.is_empty(), fine);
}

#[test]
fn a_node_chosen_by_its_fields_is_nothing_we_can_buy() {
    let fields =
        json!({ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] });
    let beyond = requiring(&fields).beyond;
    assert_eq!(beyond, [(Constraint::MatchFields, "nodeAffinity".into())]);
    assert!(preferring(&fields).beyond.is_empty());
}

#[test]
fn an_affinity_that_says_nothing_asks_for_nothing() {
    let empty = json!({ "nodeAffinity": {}, "podAffinity": {}, "podAntiAffinity": {} });
    let shape = read(&json!({ "containers": [], "affinity": empty }));
    let terms = shape.terms.len() + shape.near.len() + shape.apart.len();
    assert_eq!(
        (terms, shape.preferred.len(), shape.unreadable.len()),
        (0, 0, 0)
    );
}

#[rstest]
#[case(json!({ "containers": one_container(&json!({ "requests": { "cpu": "1" }, "limits": { "cpu": "2" } })) }), 1000)]
#[case(json!({ "containers": one_container(&json!({ "limits": { "cpu": "2" } })) }), 2000)]
#[case(json!({ "containers": one_container(&json!({})) }), 0)]
#[case(json!({ "containers": one_container(&json!({})), "overhead": { "cpu": "250m" } }), 250)]
#[case(json!({ "containers": one_container(&json!({})), "initContainers": one_container(&json!({ "limits": { "cpu": "3" } })) }), 3000)]
#[case(json!({ "containers": one_container(&json!({ "requests": { "cpu": "1" } })), "resources": { "requests": { "cpu": "5" } } }), 5000)]
#[case(json!({ "containers": one_container(&json!({ "requests": { "cpu": "1" } })), "resources": { "limits": { "cpu": "6" } } }), 6000)]
#[case(json!({ "containers": one_container(&json!({ "requests": { "cpu": "1" } })),
    "initContainers": [{ "name": "side", "restartPolicy": "Always", "resources": { "requests": { "cpu": "2" } } },
        { "name": "first", "resources": { "requests": { "cpu": "4" } } }] }), 6000)]
fn a_pod_and_a_daemon_ask_for_what_the_scheduler_counts(#[case] spec: Value, #[case] milli: i64) {
    let cpu = planner::ResourceName::Cpu;
    assert_eq!(read(&spec).requests.get(&cpu), milli);
    assert_eq!(daemon(&spec).requests.get(&cpu), milli);
}

/// Upstream's default: nobody buys a node for a pod with resource claims.
#[rstest]
#[case(json!({ "containers": one_container(&json!({ "claims": [{ "name": "gpu" }] })) }), 1)]
#[case(json!({ "containers": [], "initContainers": one_container(&json!({ "claims": [{ "name": "gpu" }] })) }), 1)]
#[case(json!({ "containers": [], "resourceClaims": [{ "name": "gpu", "resourceClaimName": "x" }] }), 1)]
#[case(json!({ "containers": one_container(&json!({ "claims": [{ "name": "gpu" }] })), "resourceClaims": [{ "name": "gpu" }] }), 1)]
#[case(json!({ "containers": one_container(&json!({ "claims": [{ "name": "one" }] })),
    "initContainers": one_container(&json!({ "claims": [{ "name": "two" }] })) }), 2)]
#[case(json!({ "containers": one_container(&json!({ "requests": { "cpu": "1" } })) }), 0)]
fn a_resource_claim_is_found_wherever_it_is_named(#[case] spec: Value, #[case] claims: usize) {
    let shape = read(&spec);
    assert_eq!(shape.beyond.len(), claims);
    assert_eq!(needs_devices(&shape), claims > 0);
}

#[test]
fn a_host_port_of_whatever_runs_all_the_time_is_known_with_its_address_and_protocol() {
    let ports = json!([{ "containerPort": 1 }, { "containerPort": 1, "hostPort": 0 },
        { "containerPort": 1, "hostPort": 80 },
        { "containerPort": 1, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1" }]);
    let shape = read(&json!({ "containers": [{ "name": "a", "ports": ports }],
        "initContainers": [{ "name": "first", "ports": [{ "containerPort": 1, "hostPort": 443 }] },
            { "name": "side", "restartPolicy": "Always", "ports": [{ "containerPort": 1, "hostPort": 444 }] }] }));
    let port = |port, protocol, ip: Option<&str>| HostPort {
        ip: ip.map(|ip| ip.parse().unwrap()),
        port,
        protocol,
    };
    let expected = [
        port(80, Protocol::Tcp, None),
        port(53, Protocol::Udp, Some("10.0.0.1")),
        port(444, Protocol::Tcp, None),
    ];
    assert_eq!(shape.ports, expected);
}

#[test]
fn requests_of_containers_add_up_and_bad_ones_become_a_reason() {
    let shape = read(&json!({ "containers": [
        { "name": "a", "resources": { "requests": { "cpu": "500m" } } },
        { "name": "b", "resources": { "requests": { "cpu": "1" } } } ] }));
    assert_eq!(shape.requests.get(&planner::ResourceName::Cpu), 1500);
    let shape = read(
        &json!({ "containers": [{ "name": "a", "resources": { "requests": { "cpu": "lots" } } }] }),
    );
    assert_eq!(shape.unreadable[0].code(), "Unreadable");
}

#[test]
fn hard_constraints_nobody_can_honour_yet_are_named() {
    let shape = read(&json!({ "containers": [],
        "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule" }],
        "resourceClaims": [{ "name": "gpu", "resourceClaimName": "x" }] }));
    assert_eq!(shape.spreads.len(), 1);
    let named: Vec<_> = shape
        .beyond
        .iter()
        .map(|(_, name)| name.to_string())
        .collect();
    assert_eq!(named, ["gpu"]);
}

#[test]
fn a_term_that_cannot_be_read_is_a_reason_and_no_constraint_less() {
    let shape = read(
        &json!({ "containers": [], "affinity": { "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{ "topologyKey": "zone",
            "labelSelector": { "matchExpressions": [{ "key": "app", "operator": "Near" }] } }] } } }),
    );
    assert_eq!(shape.unreadable[0].code(), "Unreadable");
}
