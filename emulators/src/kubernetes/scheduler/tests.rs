//! Where does the embedded scheduler put a pod?

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

fn affinity(kind: &str, term: &Value) -> Value {
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

fn web(topology: &str) -> Value {
    json!({"topologyKey": topology, "labelSelector": {"matchLabels": {"app": "web"}}})
}

#[test]
fn pods_keep_company_or_distance() {
    let world = [
        zoned("a", "z1"),
        zoned("b", "z2"),
        zoned("c", "z2"),
        on("x", "b", "3"),
    ];
    let near = affinity("podAffinity", &web(ZONE));
    check("beside", &world, pod("p", "2", &near), "c");
    check(
        "the first of its kind",
        &world[..3],
        pod("p", "1", &near),
        "a",
    );
    let other = json!({"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}});
    check(
        "nobody to be beside",
        &world,
        pod("p", "1", &affinity("podAffinity", &other)),
        "!3 node(s) didn't match pod affinity rules",
    );
    let apart = affinity("podAntiAffinity", &web(ZONE));
    check("away", &world, pod("p", "1", &apart), "a");
    check(
        "nowhere to go",
        &world[1..],
        pod("p", "1", &apart),
        "!2 node(s) didn't match pod anti-affinity rules",
    );
    let mut guard = pod("x", "0", &apart);
    guard["spec"]["nodeName"] = "b".into();
    let guarded = [zoned("b", "z2"), zoned("c", "z2"), guard];
    check(
        "others keep it away",
        &guarded,
        pod("p", "1", &json!({})),
        "!2 node(s) didn't satisfy existing pods anti-affinity rules",
    );
}

#[test]
fn terms_reach_into_the_namespaces_they_name() {
    let home = |name: &str, team: &str| json!({"kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}});
    let mut far = on("x", "b", "1");
    far["metadata"]["namespace"] = "far".into();
    let world = [home("far", "red"), zoned("a", "z1"), zoned("b", "z2"), far];
    let mut term = web(ZONE);
    check(
        "only its own",
        &world,
        pod("p", "1", &affinity("podAntiAffinity", &term)),
        "a",
    );
    let full = [home("far", "red"), zoned("b", "z2"), world[3].clone()];
    check(
        "its own is empty",
        &full,
        pod("p", "1", &affinity("podAntiAffinity", &term)),
        "b",
    );
    term["namespaces"] = json!(["far"]);
    check(
        "named",
        &full,
        pod("p", "1", &affinity("podAntiAffinity", &term)),
        "!anti-affinity",
    );
    let mut term = web(ZONE);
    term["namespaceSelector"] = json!({"matchLabels": {"team": "red"}});
    check(
        "by label",
        &full,
        pod("p", "1", &affinity("podAntiAffinity", &term)),
        "!anti-affinity",
    );
    term["namespaceSelector"] = json!({"matchLabels": {"team": "blue"}});
    check(
        "of another team",
        &full,
        pod("p", "1", &affinity("podAntiAffinity", &term)),
        "b",
    );
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
fn pods_spread_over_domains() {
    let world = [zoned("a", "z1"), zoned("b", "z2"), on("x", "a", "0")];
    check(
        "the emptier zone",
        &world,
        pod("p", "1", &spread(&json!({}))),
        "b",
    );
    let full = [
        zoned("a", "z1"),
        node("b", "1", &json!({ZONE: "z2"})),
        on("x", "a", "0"),
    ];
    check(
        "the emptier zone is full",
        &full,
        pod("p", "2", &spread(&json!({}))),
        "!0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints.",
    );
    check(
        "a larger skew",
        &full,
        pod("p", "2", &spread(&json!({"maxSkew": 2}))),
        "a",
    );
    let soft = spread(&json!({"whenUnsatisfiable": "ScheduleAnyway"}));
    check("only advice", &full, pod("p", "2", &soft), "a");
    check("advice is followed", &world, pod("p", "1", &soft), "b");
    let one = [zoned("a", "z1"), on("x", "a", "0")];
    check(
        "too few domains",
        &one,
        pod("p", "1", &spread(&json!({"minDomains": 2}))),
        "!topology spread",
    );
    let unlabelled = [node("n", "4", &json!({}))];
    check(
        "no such label",
        &unlabelled,
        pod("p", "1", &spread(&json!({}))),
        "!(missing required label)",
    );
}

#[test]
fn spreading_compares_the_nodes_its_policies_name() {
    let closed = tainted(zoned("b", "z2"), "team", "NoSchedule");
    let world = [zoned("a", "z1"), closed, on("x", "a", "0")];
    check(
        "a tainted zone counts",
        &world,
        pod("p", "1", &spread(&json!({}))),
        "!topology spread",
    );
    check(
        "unless taints are honored",
        &world,
        pod("p", "1", &spread(&json!({"nodeTaintsPolicy": "Honor"}))),
        "a",
    );
    let two = [zoned("a", "z1"), zoned("b", "z2"), on("x", "a", "0")];
    let chosen = |policy: &str| {
        let mut spec = spread(&json!({"nodeAffinityPolicy": policy}));
        spec["nodeSelector"] = json!({ZONE: "z1"});
        pod("p", "1", &spec)
    };
    check(
        "a zone it cannot use does not count",
        &two,
        chosen("Honor"),
        "a",
    );
    check(
        "unless affinity is ignored",
        &two,
        chosen("Ignore"),
        "!topology spread",
    );
    let revision = |mut pod: Value, revision: &str| {
        pod["metadata"]["labels"]["rev"] = revision.into();
        pod
    };
    let world = [
        zoned("a", "z1"),
        node("b", "1", &json!({ZONE: "z2"})),
        revision(on("x", "a", "0"), "1"),
    ];
    let keyed = pod("p", "2", &spread(&json!({"matchLabelKeys": ["rev"]})));
    check(
        "its own revision only",
        &world,
        revision(keyed.clone(), "2"),
        "a",
    );
    check(
        "the same revision",
        &world,
        revision(keyed, "1"),
        "!topology spread",
    );
}

fn volumes(mode: &str) -> [Value; 2] {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "csi", "volumeBindingMode": mode,
        "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["z2"]}]}]});
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "v"},
        "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    [class, claim]
}

#[test]
fn a_pod_goes_where_its_volume_is_or_can_be() {
    let uses = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}]});
    let nodes = [zoned("a", "z1"), zoned("b", "z2")];
    check(
        "no claim",
        &nodes,
        pod("p", "1", &uses),
        "!persistentvolumeclaim \"v\" not found",
    );
    for mode in ["Immediate", "WaitForFirstConsumer"] {
        let world: Vec<Value> = nodes.iter().cloned().chain(volumes(mode)).collect();
        check(mode, &world, pod("p", "1", &uses), "b");
        let world: Vec<Value> = nodes[..1].iter().cloned().chain(volumes(mode)).collect();
        let why = if mode == "Immediate" {
            "!volume node affinity"
        } else {
            "!allowed topologies"
        };
        check(mode, &world, pod("p", "1", &uses), why);
    }
    let full = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "b"},
        "spec": {"drivers": [{"name": "csi", "nodeID": "b", "allocatable": {"count": 0}}]}});
    let mut world: Vec<Value> = nodes.iter().cloned().chain(volumes("Immediate")).collect();
    world.push(full);
    check(
        "too many volumes",
        &world,
        pod("p", "1", &uses),
        "!1 node(s) exceed max volume count",
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
