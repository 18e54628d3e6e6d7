//! Which class, pool and workload does a test on a cluster use, if it does not care?
//!
//! All are JSON, which `apply` takes as the YAML it is.

use anyhow::{Context, Result};
use kube::Client;
use serde_json::{Value, json};

use crate::apply::apply;
use crate::openstack;

/// A class of the emulator's usual world whose machines join by kubelet; members of `spec` win.
pub fn class(name: &str, spec: &Value) -> Result<Value> {
    let mut whole = json!({"bootstrap": {"mode": "Kubelet"}});
    merge(&mut whole, spec);
    let mut class = serde_json::to_value(openstack::class(&whole)?)?;
    class["metadata"]["name"] = name.into();
    Ok(class)
}

/// A pool of one class, with its own name as label `pool`, that lets empty nodes go at once; members of `more` win.
pub fn pool(name: &str, class: &str, more: &Value) -> Value {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "metadata": {"labels": {"pool": name}},
                "spec": {
                    "requirements": [],
                    "nodeClassRef": {"group": "karpenter.k8s.openstack", "kind": "OpenStackNodeClass", "name": class},
                },
            },
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]},
        },
    });
    merge(&mut pool["spec"], more);
    pool
}

/// Pods that end within a second, on nodes of one pool.
pub fn deployment(name: &str, pool: &str, replicas: u32, cpu: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "nodeSelector": {"pool": pool},
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}],
                },
            },
        },
    })
}

/// A Secret of plain texts.
pub fn secret<'a>(
    namespace: &str,
    name: &str,
    entries: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Value {
    let entries: serde_json::Map<String, Value> = entries
        .into_iter()
        .map(|(key, text)| (key.to_owned(), text.into()))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": entries,
    })
}

/// Puts them in place, in this order.
pub async fn put(client: &Client, objects: impl IntoIterator<Item = Value>) -> Result<()> {
    for object in objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        apply(client, &object.to_string())
            .await
            .with_context(|| format!("{} {name}", object["kind"]))?;
    }
    Ok(())
}

/// Objects are merged member by member, everything else is replaced.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_cares_about_wins_and_the_rest_stays() {
        let template = json!({"template": {"spec": {"terminationGracePeriod": "5s"}}});
        let pool = pool("p", "c", &template);
        let spec = &pool["spec"]["template"]["spec"];
        assert_eq!(spec["terminationGracePeriod"], "5s");
        assert_eq!(spec["nodeClassRef"]["name"], "c");
    }
}
