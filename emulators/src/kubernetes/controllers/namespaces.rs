//! What does a new namespace get, and when is an ending one empty?

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::driver::Controller;
use crate::kubernetes::object::Object;
use crate::kubernetes::reading::open;
use crate::kubernetes::rules::Deletion;
use crate::kubernetes::store::{Store, key};

pub struct Namespaces {
    /// PEM text for `kube-root-ca.crt`.
    pub ca: String,
}

impl Controller for Namespaces {
    fn kind(&self) -> &'static str {
        "namespaces"
    }

    fn children(&self) -> &'static [&'static str] {
        &["serviceaccounts", "configmaps"]
    }

    /// What every namespace has comes back when somebody deletes it.
    fn concerned(&self, _: &Store, child: &Object) -> Vec<String> {
        let own = matches!(child.name(), "default" | "kube-root-ca.crt");
        if own {
            vec![key("", child.namespace())]
        } else {
            Vec::new()
        }
    }

    fn reconcile(
        &mut self,
        store: &mut Store,
        object: &Arc<Object>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let name = object.name();
        if object.meta.deleted_at.is_some() {
            return empty(store, name, now);
        }
        if store.get("serviceaccounts", name, "default").is_none() {
            let account = json!({"metadata": {"namespace": name, "name": "default"}});
            let _ = store.create("serviceaccounts", account, now);
        }
        if store.get("configmaps", name, "kube-root-ca.crt").is_none() {
            let map = json!({
                "metadata": {"namespace": name, "name": "kube-root-ca.crt"},
                "data": {"ca.crt": self.ca},
            });
            let _ = store.create("configmaps", map, now);
        }
        None
    }
}

/// Deletes what is inside; when nothing is left, the namespace goes. Looks again soon while pods end.
fn empty(store: &mut Store, namespace: &str, now: Timestamp) -> Option<Timestamp> {
    let kinds: Vec<String> = store
        .kinds
        .iter()
        .filter(|kind| kind.namespaced && !kind.asked_only)
        .map(|kind| kind.id.clone())
        .collect();
    for kind in &kinds {
        let names: Vec<String> = store
            .list(kind, Some(namespace))
            .filter(|object| object.meta.deleted_at.is_none())
            .map(|object| object.name().to_owned())
            .collect();
        for name in names {
            let _ = store.delete(kind, (namespace, &name), &Deletion::default(), now);
        }
    }
    let left = kinds
        .iter()
        .any(|kind| store.list(kind, Some(namespace)).next().is_some());
    if left {
        return now.checked_add(jiff::SignedDuration::from_millis(500)).ok();
    }
    let _ = store.change("namespaces", ("", namespace), now, |value| {
        open(value, "spec")["finalizers"] = json!([]);
    });
    None
}
