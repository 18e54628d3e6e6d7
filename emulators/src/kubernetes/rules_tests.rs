//! Does every write obey the rules?

use super::*;
use jiff::SignedDuration;
use serde_json::json;

const NOW: &str = "2026-01-01T00:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn store() -> Store {
    let mut store = Store::new(1);
    let home = json!({"metadata": {"name": "a"}});
    store.create("namespaces", home, now()).unwrap();
    store
}

fn deployment(replicas: i64) -> Value {
    json!({"metadata": {"namespace": "a", "name": "web"}, "spec": {"replicas": replicas}})
}

#[test]
fn a_new_object_gets_uid_creation_time_version_and_generation() {
    let mut store = store();
    let made = store
        .create("deployments.apps", deployment(1), now())
        .unwrap();
    let value = made.value();
    assert_eq!(value["apiVersion"], "apps/v1");
    assert_eq!(value["kind"], "Deployment");
    assert_eq!(value["metadata"]["creationTimestamp"], NOW);
    assert_eq!(made.meta.uid.len(), 36);
    assert_eq!(made.meta.generation, 1);
    assert_eq!(made.meta.revision, store.revision());
}

#[test]
fn the_same_name_twice_already_exists() {
    let mut store = store();
    store
        .create("deployments.apps", deployment(1), now())
        .unwrap();
    let again = store.create("deployments.apps", deployment(1), now());
    assert_eq!(again.unwrap_err().reason, "AlreadyExists");
}

#[test]
fn nothing_is_created_in_a_namespace_that_is_absent_or_ending() {
    let mut store = store();
    let mut lost = deployment(1);
    lost["metadata"]["namespace"] = "nowhere".into();
    let refused = store.create("deployments.apps", lost, now()).unwrap_err();
    assert_eq!(refused.message, "namespaces \"nowhere\" not found");
    store
        .delete("namespaces", ("", "a"), &Deletion::default(), now())
        .unwrap();
    let refused = store.create("deployments.apps", deployment(1), now());
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.details["causes"][0]["reason"],
        "NamespaceTerminating"
    );
}

#[test]
fn a_generation_counts_changes_of_the_spec_only() {
    let mut store = store();
    store
        .create("deployments.apps", deployment(1), now())
        .unwrap();
    let scaled = store
        .update("deployments.apps", deployment(2), Part::Main, now())
        .unwrap();
    assert_eq!(scaled.meta.generation, 2);
    let mut value = deployment(9);
    value["status"] = json!({"replicas": 2});
    let said = store
        .update("deployments.apps", value, Part::Status, now())
        .unwrap();
    assert_eq!(said.meta.generation, 2);
    assert_eq!(said.value()["spec"]["replicas"], 2);
    assert_eq!(said.value()["status"]["replicas"], 2);
    let mut labelled = deployment(2);
    labelled["metadata"]["labels"] = json!({"x": "y"});
    let labelled = store
        .update("deployments.apps", labelled, Part::Main, now())
        .unwrap();
    assert_eq!(labelled.meta.generation, 2);
    assert_eq!(labelled.value()["status"]["replicas"], 2);
}

#[test]
fn an_update_of_an_older_version_conflicts() {
    let mut store = store();
    let made = store
        .create("deployments.apps", deployment(1), now())
        .unwrap();
    store
        .update("deployments.apps", deployment(2), Part::Main, now())
        .unwrap();
    let mut late = deployment(3);
    late["metadata"]["resourceVersion"] = made.meta.revision.to_string().into();
    let refused = store
        .update("deployments.apps", late, Part::Main, now())
        .unwrap_err();
    assert_eq!((refused.code, refused.reason), (409, "Conflict"));
}

#[test]
fn an_update_that_changes_nothing_is_not_written() {
    let mut store = store();
    let made = store
        .create("deployments.apps", deployment(1), now())
        .unwrap();
    let same = Arc::unwrap_or_clone(made.value());
    let again = store
        .update("deployments.apps", same, Part::Main, now())
        .unwrap();
    assert_eq!(again.meta.revision, made.meta.revision);
}

#[test]
fn an_object_with_finalizers_goes_with_the_last_of_them() {
    let mut store = store();
    let mut value = deployment(1);
    value["metadata"]["finalizers"] = json!(["x/y"]);
    store.create("deployments.apps", value, now()).unwrap();
    let how = Deletion::default();
    let at = ("a", "web");
    let marked = store.delete("deployments.apps", at, &how, now()).unwrap();
    let Deleted::Marked(marked) = marked else {
        panic!("{marked:?}")
    };
    assert_eq!(marked.meta.deleted_at, Some(now()));
    assert_eq!(marked.meta.generation, 2);
    let refused = store.change("deployments.apps", at, now(), |value| {
        value["metadata"]["finalizers"] = json!(["x/y", "z/z"]);
    });
    assert_eq!(refused.unwrap_err().code, 422);
    store
        .change("deployments.apps", at, now(), |value| {
            value["metadata"]["finalizers"] = json!([]);
        })
        .unwrap();
    assert!(store.get("deployments.apps", "a", "web").is_none());
}

#[test]
fn a_bound_pod_has_its_grace_and_an_unbound_one_has_none() {
    let mut store = store();
    for (name, node) in [("free", Value::Null), ("bound", "n".into())] {
        let pod = json!({"metadata": {"namespace": "a", "name": name},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 7}});
        store.create("pods", pod, now()).unwrap();
    }
    let how = Deletion::default();
    let free = store.delete("pods", ("a", "free"), &how, now()).unwrap();
    assert!(matches!(free, Deleted::Gone(_)));
    let Deleted::Marked(bound) = store.delete("pods", ("a", "bound"), &how, now()).unwrap() else {
        panic!("gone at once")
    };
    assert_eq!(
        bound.meta.deleted_at,
        Some(now() + SignedDuration::from_secs(7))
    );
    let at_once = Deletion {
        grace_seconds: Some(0),
        ..Deletion::default()
    };
    let gone = store
        .delete("pods", ("a", "bound"), &at_once, now())
        .unwrap();
    assert!(matches!(gone, Deleted::Gone(_)));
}

#[test]
fn a_delete_with_the_wrong_uid_conflicts() {
    let mut store = store();
    store
        .create("deployments.apps", deployment(1), now())
        .unwrap();
    let how = Deletion {
        uid: Some("other".into()),
        ..Deletion::default()
    };
    let refused = store.delete("deployments.apps", ("a", "web"), &how, now());
    assert_eq!(refused.unwrap_err().code, 409);
}

#[test]
fn a_generated_name_is_not_taken_twice() {
    let mut store = store();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let value = json!({"metadata": {"generateName": "n-"}});
        seen.insert(
            store
                .create("nodes", value, now())
                .unwrap()
                .name()
                .to_owned(),
        );
    }
    assert_eq!(seen.len(), 50);
}
