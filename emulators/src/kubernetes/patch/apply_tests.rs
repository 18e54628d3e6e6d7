//! Who owns a field after an apply?

use super::*;
use crate::kubernetes::kinds::{Kind, Kinds};

fn kind() -> std::sync::Arc<Kind> {
    std::sync::Arc::clone(Kinds::built_in().get("configmaps").unwrap())
}

fn writer(manager: &str) -> Writer<'_> {
    Writer {
        manager,
        api_version: "v1",
        subresource: "",
        now: Timestamp::UNIX_EPOCH,
    }
}

#[allow(clippy::needless_pass_by_value)] // a table of literals
fn apply_as(live: &Value, manager: &str, entries: Value, force: bool) -> Result<Value, Status> {
    let kind = kind();
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": entries});
    apply(
        live,
        &wanted,
        &Spot::top(&kind, "v1"),
        writer(manager),
        force,
    )
}

#[test]
fn two_managers_own_different_entries_side_by_side() {
    let one = apply_as(&Value::Null, "one", json!({"a": "1"}), false).unwrap();
    let both = apply_as(&one, "two", json!({"b": "2"}), false).unwrap();
    assert_eq!(both["data"], json!({"a": "1", "b": "2"}));
    assert_eq!(list(&both["metadata"]["managedFields"]).len(), 2);
}

#[test]
fn a_field_of_somebody_else_is_a_conflict_until_it_is_forced() {
    let one = apply_as(&Value::Null, "one", json!({"a": "1"}), false).unwrap();
    let refused = apply_as(&one, "two", json!({"a": "2"}), false).unwrap_err();
    assert_eq!(refused.code, 409);
    assert_eq!(
        refused.message,
        "Apply failed with 1 conflict: conflict with \"one\": .data.a"
    );
    assert_eq!(
        refused.details["causes"][0]["reason"],
        "FieldManagerConflict"
    );
    let forced = apply_as(&one, "two", json!({"a": "2"}), true).unwrap();
    assert_eq!(forced["data"]["a"], "2");
    let owners = list(&forced["metadata"]["managedFields"]);
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0]["manager"], "two");
    // the same value is no conflict
    assert!(apply_as(&one, "two", json!({"a": "1"}), false).is_ok());
}

#[test]
fn what_is_no_longer_applied_goes_unless_somebody_else_owns_it() {
    let one = apply_as(&Value::Null, "one", json!({"a": "1", "b": "1"}), false).unwrap();
    let two = apply_as(&one, "two", json!({"b": "1"}), false).unwrap();
    let less = apply_as(&two, "one", json!({"c": "1"}), false).unwrap();
    assert_eq!(less["data"], json!({"b": "1", "c": "1"}));
}

#[test]
fn an_update_takes_the_fields_it_changes() {
    let kind = kind();
    let spot = Spot::top(&kind, "v1");
    let one = apply_as(&Value::Null, "one", json!({"a": "1", "b": "1"}), false).unwrap();
    let mut updated = one.clone();
    updated["data"]["a"] = "9".into();
    track(&one, &mut updated, &spot, writer("kubectl"));
    let refused = apply_as(&updated, "one", json!({"a": "1", "b": "1"}), false).unwrap_err();
    assert!(
        refused.message.contains("\"kubectl\" using v1: .data.a"),
        "{}",
        refused.message
    );
    let mut same = updated.clone();
    track(&updated, &mut same, &spot, writer("kubectl"));
    assert_eq!(same, updated);
}

#[test]
fn list_items_come_and_go_by_their_key() {
    let kinds = Kinds::built_in();
    let kind = kinds.get("pods").unwrap();
    let spot = Spot::top(kind, "v1");
    let pod = |names: &[&str]| {
        let all: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "image": "i"}))
            .collect();
        json!({"metadata": {"name": "p"}, "spec": {"containers": all}})
    };
    let first = apply(&Value::Null, &pod(&["a", "b"]), &spot, writer("one"), false).unwrap();
    let second = apply(&first, &pod(&["b", "c"]), &spot, writer("one"), false).unwrap();
    let names: Vec<&str> = list(&second["spec"]["containers"])
        .iter()
        .map(|c| text(c, "name"))
        .collect();
    assert_eq!(names, ["b", "c"]);
}
