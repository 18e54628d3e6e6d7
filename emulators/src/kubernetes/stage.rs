//! Which small world do the tests of the actors play in?

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::cast::Cast;
use super::rules::Deletion;
use super::store::Store;
use super::world::{Actor, World};

pub(super) struct Stage {
    pub world: World,
    pub now: Timestamp,
}

impl Stage {
    pub(super) fn new(actors: Vec<Box<dyn Actor>>) -> Self {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut store = Store::new(1);
        for name in ["default", "kube-system", "kube-node-lease"] {
            let home = json!({"metadata": {"name": name}});
            store.create("namespaces", home, now).unwrap();
        }
        let world = World::new(store, actors);
        Self { world, now }
    }

    pub(super) fn with_everyone(cast: &Cast) -> Self {
        Self::new(cast.actors())
    }

    /// The kind is found by `apiVersion` and `kind`; the namespace is `default` unless it says otherwise.
    pub(super) fn add(&mut self, mut value: Value) {
        let version = value["apiVersion"].as_str().unwrap_or("v1").to_owned();
        let kind = value["kind"].as_str().unwrap_or("Pod").to_owned();
        let kind = self
            .world
            .store
            .kinds
            .of_kind(&version, &kind)
            .unwrap()
            .clone();
        if kind.namespaced && value["metadata"]["namespace"].is_null() {
            value["metadata"]["namespace"] = "default".into();
        }
        let status = value.get("status").cloned();
        let made = self.world.store.create(&kind.id, value, self.now).unwrap();
        let at = (made.namespace().to_owned(), made.name().to_owned());
        if let Some(status) = status {
            self.change(&kind.id, (&at.0, &at.1), |value| {
                let members = status.as_object().cloned().unwrap_or_default();
                for (name, member) in members {
                    value["status"][name] = member;
                }
            });
        }
    }

    pub(super) fn change(&mut self, kind: &str, at: (&str, &str), how: impl FnOnce(&mut Value)) {
        self.world.store.change(kind, at, self.now, how).unwrap();
    }

    pub(super) fn delete(&mut self, kind: &str, at: (&str, &str)) {
        let how = Deletion::default();
        self.world.store.delete(kind, at, &how, self.now).unwrap();
    }

    /// Time goes by, and everyone acts.
    pub(super) fn pass(&mut self, millis: i64) {
        self.world.notice(self.now);
        self.now += SignedDuration::from_millis(millis);
        self.world.tick(self.now);
    }

    pub(super) fn get(&self, kind: &str, name: &str) -> Value {
        let namespaced = self.world.store.kinds.get(kind).unwrap().namespaced;
        let namespace = if namespaced { "default" } else { "" };
        let object = self.world.store.get(kind, namespace, name);
        object
            .map(|object| (*object.value()).clone())
            .unwrap_or_default()
    }

    pub(super) fn names(&self, kind: &str) -> Vec<String> {
        let all = self.world.store.list(kind, None);
        all.map(|object| object.name().to_owned()).collect()
    }

    /// How many pods of the namespace `default` are in this phase and not ending.
    pub(super) fn pods(&self, phase: &str) -> usize {
        let all = self.world.store.list("pods", Some("default"));
        all.filter(|pod| pod.meta.phase == phase && pod.meta.deleted_at.is_none())
            .count()
    }
}

/// A Ready node that nobody runs.
pub(super) fn node(name: &str, cpu: &str, labels: &Value) -> Value {
    let mut own = json!({"kubernetes.io/hostname": name});
    for (key, value) in labels.as_object().into_iter().flatten() {
        own[key] = value.clone();
    }
    json!({
        "kind": "Node", "metadata": {"name": name, "labels": own},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    })
}

pub(super) fn deployment(name: &str, replicas: i64, cpu: &str) -> Value {
    let container = json!({"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    })
}
