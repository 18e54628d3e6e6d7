//! How do operator and webhook run in a cluster: how many, where, with which rights on their node?

use crds::admission::{NAMESPACE, SERVICE};
use serde_json::{Value, json};

use super::roles::ACCOUNT;

/// Where the certificate of the webhook is, as cert-manager writes it.
pub(super) const TLS_SECRET: &str = "joiner-webhook-tls";
/// `OS_*` or CloudStack variables for classes that name no Secret; need not exist.
pub(super) const ENV_SECRET: &str = "joiner-cloud";

/// Accounts, Deployments, their budgets and Services.
pub(super) fn workloads() -> Vec<Value> {
    vec![
        account(ACCOUNT, true),
        account(SERVICE, false),
        deployment(ACCOUNT, &operator()),
        deployment(SERVICE, &webhook()),
        budget(ACCOUNT),
        budget(SERVICE),
        service(
            ACCOUNT,
            &json!([{ "name": "metrics", "port": 8080, "targetPort": "metrics" }]),
        ),
        service(
            SERVICE,
            &json!([{ "name": "https", "port": 443, "targetPort": "https" }]),
        ),
    ]
}

/// The name and tag of a program's image. Whose registry it comes from is up to whoever installs it.
fn image(program: &str) -> String {
    format!("{program}:{}", env!("CARGO_PKG_VERSION"))
}

/// Whether the pod gets a token: the webhook never speaks to the API server.
fn account(name: &str, token: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "automountServiceAccountToken": token,
    })
}

fn operator() -> Value {
    json!({
        "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": ACCOUNT,
            "image": image(ACCOUNT),
            "args": ["run"],
            "env": [
                { "name": "SYSTEM_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                { "name": "CLUSTER_NAME", "value": "" },
                { "name": "LOG_LEVEL", "value": "info" },
            ],
            "envFrom": [{ "secretRef": { "name": ENV_SECRET, "optional": true } }],
            "ports": [
                { "name": "metrics", "containerPort": 8080 },
                { "name": "probes", "containerPort": 8081 },
            ],
            "livenessProbe": probe("/healthz", 10),
            "readinessProbe": probe("/readyz", 5),
            "resources": {
                "requests": { "cpu": "200m", "memory": "256Mi" },
                "limits": { "memory": "1Gi" },
            },
            "securityContext": locked_down(),
        }],
    })
}

fn webhook() -> Value {
    json!({
        // More than its own notice and grace together.
        "terminationGracePeriodSeconds": 30,
        "volumes": [{ "name": "tls", "secret": { "secretName": TLS_SECRET } }],
        "containers": [{
            "name": SERVICE,
            "image": image(SERVICE),
            // All reviews together, times ten, must stay below the memory limit.
            "env": [
                { "name": "JOINER_WEBHOOK_MAX_BODIES", "value": "64Mi" },
                { "name": "LOG_LEVEL", "value": "info" },
            ],
            "ports": [
                { "name": "https", "containerPort": 9443 },
                { "name": "probes", "containerPort": 8081 },
            ],
            "volumeMounts": [{ "name": "tls", "mountPath": "/tls", "readOnly": true }],
            "livenessProbe": probe("/healthz", 10),
            "readinessProbe": probe("/readyz", 5),
            "resources": {
                "requests": { "cpu": "50m", "memory": "64Mi" },
                "limits": { "memory": "768Mi" },
            },
            "securityContext": locked_down(),
        }],
    })
}

fn probe(path: &str, every: u32) -> Value {
    json!({ "httpGet": { "path": path, "port": "probes" }, "periodSeconds": every, "timeoutSeconds": 3 })
}

/// What the restricted Pod Security Standard asks for, and a root file system that cannot be written.
fn locked_down() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
        "readOnlyRootFilesystem": true,
    })
}

fn deployment(name: &str, pod: &Value) -> Value {
    let mut spec = placement(name);
    if let (Some(all), Some(own)) = (spec.as_object_mut(), pod.as_object()) {
        all.extend(own.clone());
    }
    spec["serviceAccountName"] = name.into();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": labels(name) },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": labels(name) },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": { "metadata": { "labels": labels(name) }, "spec": spec },
        },
    })
}

/// On different hosts and zones where there are several, and never on a node that we might take away ourselves.
fn placement(name: &str) -> Value {
    let apart = |key: &str| {
        json!({
            "maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": labels(name) },
        })
    };
    let unmanaged = json!([{ "key": "karpenter.sh/nodepool", "operator": "DoesNotExist" }]);
    json!({
        "priorityClassName": "system-cluster-critical",
        // Else a Service would put variables of its own beside ours.
        "enableServiceLinks": false,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "affinity": {
            "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchExpressions": unmanaged }],
            } },
            "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{
                "weight": 100,
                "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": { "matchLabels": labels(name) },
                },
            }] },
        },
        "topologySpreadConstraints": [apart("topology.kubernetes.io/zone"), apart("kubernetes.io/hostname")],
        "tolerations": [
            { "key": "CriticalAddonsOnly", "operator": "Exists" },
            { "key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule" },
        ],
    })
}

fn labels(name: &str) -> Value {
    json!({ "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "joiner" })
}

fn budget(name: &str) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "maxUnavailable": 1,
            // One that is not ready protects nothing.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": { "matchLabels": labels(name) },
        },
    })
}

fn service(name: &str, ports: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": labels(name) },
        "spec": { "selector": labels(name), "ports": ports },
    })
}
