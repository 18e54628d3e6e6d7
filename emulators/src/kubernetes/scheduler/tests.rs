//! Where does the embedded scheduler put a pod?

mod company;

use serde_json::{Value, json};

use super::*;
use crate::kubernetes::controllers;
use crate::kubernetes::reading::list;
use crate::kubernetes::stage::{Stage, node};

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

fn stage() -> Stage {
    let pace = Pace::default();
    let volumes = controllers::driver::Driver::new(controllers::volumes::Volumes);
    Stage::new(vec![Box::new(volumes), Box::new(Scheduler::new(&pace))])
}

fn zoned(name: &str, zone: &str) -> Value {
    node(name, "4", &json!({ZONE: zone}))
}

fn tainted(mut node: Value, key: &str, effect: &str) -> Value {
    let taints = list(&node["spec"]["taints"]).to_vec();
    let more = json!({"key": key, "value": "v", "effect": effect});
    node["spec"]["taints"] = taints.into_iter().chain([more]).collect();
    node
}

/// One container that asks for `cpu`, with `spec` over it.
fn pod(name: &str, cpu: &str, spec: &Value) -> Value {
    let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
    let mut all = json!({"containers": [container]});
    for (member, value) in spec.as_object().into_iter().flatten() {
        all[member] = value.clone();
    }
    json!({"kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}}, "spec": all})
}

fn on(name: &str, node: &str, cpu: &str) -> Value {
    pod(name, cpu, &json!({"nodeName": node}))
}

/// Where `subject` lands, or what is said about it.
fn verdict(world: &[Value], subject: Value) -> String {
    let mut stage = stage();
    for object in world {
        stage.add(object.clone());
    }
    let name = subject["metadata"]["name"].as_str().unwrap().to_owned();
    stage.add(subject);
    stage.pass(1000);
    let pod = stage.get("pods", &name);
    match pod["spec"]["nodeName"].as_str() {
        Some(node) => node.to_owned(),
        None => condition(&pod, "PodScheduled")
            .map_or_else(String::new, |is| text(is, "message").to_owned()),
    }
}

/// A wanted text that begins with `!` is a part of the refusal.
fn check(what: &str, world: &[Value], subject: Value, wanted: &str) {
    let found = verdict(world, subject);
    match wanted.strip_prefix('!') {
        Some(part) => assert!(found.contains(part), "{what}: {found}"),
        None => assert_eq!(found, wanted, "{what}"),
    }
}

fn required(terms: &Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

fn affinity(kind: &str, term: &Value) -> Value {
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

fn web(topology: &str) -> Value {
    json!({"topologyKey": topology, "labelSelector": {"matchLabels": {"app": "web"}}})
}

fn spread(more: &Value) -> Value {
    let mut constraint = json!({"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}}});
    for (member, value) in more.as_object().into_iter().flatten() {
        constraint[member] = value.clone();
    }
    json!({"topologySpreadConstraints": [constraint]})
}

#[test]
fn room_is_what_the_node_has_less_what_its_pods_need() {
    let n = || node("n", "2", &json!({}));
    check("it fits", &[n()], pod("p", "2", &json!({})), "n");
    check(
        "nothing there",
        &[],
        pod("p", "1", &json!({})),
        "no nodes available to schedule pods",
    );
    check(
        "too large",
        &[n()],
        pod("p", "3", &json!({})),
        "!0/1 nodes are available: 1 Insufficient cpu.",
    );
    check(
        "taken",
        &[n(), on("x", "n", "1500m")],
        pod("p", "1", &json!({})),
        "!1 Insufficient cpu",
    );
    let mut over = on("x", "n", "1500m");
    over["status"] = json!({"phase": "Succeeded"});
    check(
        "a pod that is over needs nothing",
        &[n(), over],
        pod("p", "1", &json!({})),
        "n",
    );
    let mut small = n();
    small["status"]["allocatable"]["pods"] = "1".into();
    check(
        "full",
        &[small, on("x", "n", "0")],
        pod("p", "0", &json!({})),
        "!1 Too many pods",
    );
    let gpu =
        json!({"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]});
    check(
        "devices",
        &[n()],
        pod("p", "0", &gpu),
        "!Insufficient nvidia.com/gpu",
    );
    let init = json!({"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]});
    check(
        "init containers count",
        &[n()],
        pod("p", "1", &init),
        "!Insufficient cpu",
    );
}

#[test]
fn the_emptier_node_is_taken_and_of_equal_ones_the_first_by_name() {
    let nodes = [node("b", "4", &json!({})), node("a", "4", &json!({}))];
    check("equal", &nodes, pod("p", "1", &json!({})), "a");
    let [b, a] = nodes;
    check(
        "emptier",
        &[a, b, on("x", "a", "1")],
        pod("p", "1", &json!({})),
        "b",
    );
}

#[test]
fn labels_of_the_node_decide() {
    let world = [zoned("a", "z1"), zoned("b", "z2")];
    check(
        "selector",
        &world,
        pod("p", "1", &json!({"nodeSelector": {ZONE: "z2"}})),
        "b",
    );
    let terms = json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z9"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["z1"]}]}]);
    check(
        "any of the terms",
        &world,
        pod("p", "1", &required(&terms)),
        "b",
    );
    check(
        "an empty term matches nothing",
        &world,
        pod("p", "1", &required(&json!([{}]))),
        "!0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    );
    let fields =
        json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]);
    check("by name", &world, pod("p", "1", &required(&fields)), "b");
    let liking = json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
        [{"weight": 10, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z2"]}]}}]}}});
    check("a preference", &world, pod("p", "1", &liking), "b");
    let busy = [zoned("a", "z1"), zoned("b", "z2"), on("x", "b", "4")];
    check(
        "a preference that cannot be",
        &busy,
        pod("p", "1", &liking),
        "a",
    );
}

#[test]
fn taints_keep_pods_away_that_do_not_tolerate_them() {
    let n = || tainted(node("n", "4", &json!({})), "team", "NoSchedule");
    check(
        "repelled",
        &[n()],
        pod("p", "1", &json!({})),
        "!1 node(s) had untolerated taint {team: v}",
    );
    let tolerant = json!({"tolerations": [{"key": "team", "operator": "Exists"}]});
    check("tolerated", &[n()], pod("p", "1", &tolerant), "n");
    let soft = tainted(node("a", "4", &json!({})), "team", "PreferNoSchedule");
    check(
        "advised against",
        &[soft, node("b", "4", &json!({}))],
        pod("p", "1", &json!({})),
        "b",
    );
    let mut cordoned = node("n", "4", &json!({}));
    cordoned["spec"]["unschedulable"] = true.into();
    check(
        "cordoned",
        &[cordoned.clone()],
        pod("p", "1", &json!({})),
        "!1 node(s) were unschedulable",
    );
    let daemon =
        json!({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]});
    check("a daemon", &[cordoned], pod("p", "1", &daemon), "n");
}

#[test]
fn a_host_port_is_there_once() {
    let port = |address: &str| json!({"containers": [{"name": "c", "ports": [{"hostPort": 80, "hostIP": address}]}]});
    let taken = |address: &str| {
        let mut pod = pod("x", "0", &port(address));
        pod["spec"]["nodeName"] = "n".into();
        pod
    };
    let n = || node("n", "4", &json!({}));
    check(
        "taken",
        &[n(), taken("")],
        pod("p", "0", &port("10.0.0.1")),
        "!free ports",
    );
    check(
        "another address",
        &[n(), taken("10.0.0.2")],
        pod("p", "0", &port("10.0.0.1")),
        "n",
    );
}

#[test]
fn important_pods_come_first_and_send_others_away() {
    let mut stage = stage();
    stage.add(node("n", "2", &json!({})));
    stage.add(pod("low", "2", &json!({"priority": 1})));
    stage.add(pod("high", "2", &json!({"priority": 5})));
    stage.pass(1000);
    assert_eq!(stage.get("pods", "high")["spec"]["nodeName"], "n");
    stage.add(pod("higher", "2", &json!({"priority": 9})));
    stage.pass(1000);
    assert_eq!(
        stage.get("pods", "higher")["status"]["nominatedNodeName"],
        "n"
    );
    assert!(stage.get("pods", "high")["metadata"]["deletionTimestamp"].is_string());
    assert!(stage.get("pods", "low")["spec"]["nodeName"].is_null());
    let at_once = crate::kubernetes::rules::Deletion {
        grace_seconds: Some(0),
        ..Default::default()
    };
    stage
        .world
        .store
        .delete("pods", ("default", "high"), &at_once, stage.now)
        .unwrap();
    stage.pass(1000);
    assert_eq!(stage.get("pods", "higher")["spec"]["nodeName"], "n");
}

#[test]
fn a_pod_that_never_preempts_waits() {
    let mut stage = stage();
    stage.add(node("n", "2", &json!({})));
    stage.add(on("low", "n", "2"));
    stage.add(pod(
        "meek",
        "2",
        &json!({"priority": 9, "preemptionPolicy": "Never"}),
    ));
    stage.pass(1000);
    assert!(stage.get("pods", "low")["metadata"]["deletionTimestamp"].is_null());
}

#[test]
fn a_waiting_pod_is_placed_when_a_node_comes_or_room_is_made() {
    let mut stage = stage();
    stage.add(pod("p", "2", &json!({})));
    stage.pass(1000);
    assert!(stage.get("pods", "p")["spec"]["nodeName"].is_null());
    stage.add(node("n", "2", &json!({})));
    stage.pass(1000);
    assert_eq!(stage.get("pods", "p")["spec"]["nodeName"], "n");
    let scheduled = stage.get("pods", "p");
    assert_eq!(
        condition(&scheduled, "PodScheduled").unwrap()["status"],
        "True"
    );
    stage.add(pod("q", "2", &json!({})));
    stage.pass(1000);
    assert!(stage.get("pods", "q")["spec"]["nodeName"].is_null());
    stage.change("pods", ("default", "p"), |pod| {
        pod["status"]["phase"] = "Failed".into();
    });
    stage.pass(1000);
    assert_eq!(stage.get("pods", "q")["spec"]["nodeName"], "n");
}

#[test]
fn a_gated_pod_waits_for_its_gates_and_a_foreign_scheduler_is_left_alone() {
    let mut stage = stage();
    stage.add(node("n", "4", &json!({})));
    stage.add(pod(
        "gated",
        "1",
        &json!({"schedulingGates": [{"name": "x"}]}),
    ));
    stage.add(pod("foreign", "1", &json!({"schedulerName": "other"})));
    stage.pass(1000);
    let gated = stage.get("pods", "gated");
    assert_eq!(
        condition(&gated, "PodScheduled").unwrap()["reason"],
        "SchedulingGated"
    );
    assert!(stage.get("pods", "foreign")["spec"]["nodeName"].is_null());
    stage.change("pods", ("default", "gated"), |pod| {
        pod["spec"]["schedulingGates"] = json!([]);
    });
    stage.pass(1000);
    assert_eq!(stage.get("pods", "gated")["spec"]["nodeName"], "n");
}

#[test]
fn the_same_world_gives_the_same_places() {
    let places = || {
        let mut stage = stage();
        for number in 0..150 {
            stage.add(zoned(&format!("n{number}"), &format!("z{}", number % 3)));
        }
        for number in 0..300 {
            let spec = if number % 2 == 0 {
                spread(&json!({}))
            } else {
                affinity("podAffinity", &web(HOST))
            };
            stage.add(pod(&format!("p{number}"), "100m", &spec));
        }
        stage.pass(1000);
        let names = stage.names("pods");
        let nodes = names
            .iter()
            .map(|name| stage.get("pods", name)["spec"]["nodeName"].clone());
        nodes.collect::<Vec<Value>>()
    };
    let first = places();
    assert!(first.iter().all(Value::is_string));
    assert_eq!(first, places());
}
