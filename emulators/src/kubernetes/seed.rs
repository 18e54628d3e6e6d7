//! What is in a fresh cluster?

use jiff::Timestamp;
use serde_json::{Value, json};

use super::store::Store;

/// Namespaces, the roles every cluster has, and the service that points to the API itself.
pub fn fresh(seed: u64, now: Timestamp) -> Store {
    let mut store = Store::new(seed);
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        make(
            &mut store,
            "namespaces",
            json!({"metadata": {"name": name}}),
            now,
        );
        make(
            &mut store,
            "serviceaccounts",
            json!({"metadata": {"name": "default", "namespace": name}}),
            now,
        );
    }
    for (name, value) in [
        ("system-node-critical", 2_000_001_000),
        ("system-cluster-critical", 2_000_000_000),
    ] {
        let class = json!({"metadata": {"name": name}, "value": value, "globalDefault": false,
            "preemptionPolicy": "PreemptLowerPriority", "description": "Used for system critical pods."});
        make(&mut store, "priorityclasses.scheduling.k8s.io", class, now);
    }
    roles(&mut store, now);
    let service = json!({"metadata": {"name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"],
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]}});
    make(&mut store, "services", service, now);
    store
}

fn roles(store: &mut Store, now: Timestamp) {
    let everything = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]);
    role(store, "cluster-admin", &everything, now);
    let read = json!(["get", "list", "watch"]);
    role(
        store,
        "view",
        &json!([{"apiGroups": ["", "apps", "batch", "policy"], "resources":
        ["pods", "services", "configmaps", "events", "deployments", "replicasets", "daemonsets", "statefulsets", "jobs", "poddisruptionbudgets"],
        "verbs": read}]),
        now,
    );
    role(
        store,
        "system:node-bootstrapper",
        &json!([{"apiGroups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests"], "verbs": ["create", "get", "list", "watch"]}]),
        now,
    );
    role(
        store,
        "system:node",
        &json!([
            {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["create", "get", "list", "watch", "delete", "patch", "update"]},
            {"apiGroups": [""], "resources": ["nodes/status", "pods/status"], "verbs": ["patch", "update"]},
            {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "delete", "get", "patch", "update"]},
            {"apiGroups": ["storage.k8s.io"], "resources": ["csinodes"], "verbs": ["create", "delete", "get", "patch", "update"]},
            {"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": read},
        ]),
        now,
    );
    bind(store, "cluster-admin", "system:masters", now);
    bind(store, "system:node", "system:nodes", now);
}

fn role(store: &mut Store, name: &str, rules: &Value, now: Timestamp) {
    let role = json!({"metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}, "rules": rules});
    make(store, "clusterroles.rbac.authorization.k8s.io", role, now);
}

fn bind(store: &mut Store, role: &str, group: &str, now: Timestamp) {
    let binding = json!({"metadata": {"name": role, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}]});
    make(
        store,
        "clusterrolebindings.rbac.authorization.k8s.io",
        binding,
        now,
    );
}

fn make(store: &mut Store, id: &str, value: Value, now: Timestamp) {
    // every one of them is well formed; a test would notice
    let made = store.create(id, value, now);
    debug_assert!(made.is_ok(), "{made:?}");
}
