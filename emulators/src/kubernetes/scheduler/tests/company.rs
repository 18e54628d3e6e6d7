//! Do other pods and volumes decide where a pod may go?

use super::*;

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
