//! How does a strategic merge patch change an object: lists by their keys, and the `$` directives?

use serde_json::{Map, Value};

use super::lists::{ListType, Spot, item_key, position};
use crate::kubernetes::paths::list;
use crate::kubernetes::status::Status;

pub fn merge(into: &mut Value, patch: &Value, spot: &Spot<'_>) -> Result<(), Status> {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return Ok(());
    };
    match patch.get("$patch").and_then(Value::as_str) {
        None | Some("merge") => {}
        Some("replace") => {
            *into = Value::Object(plain(patch));
            return Ok(());
        }
        Some("delete") => {
            *into = Value::Null;
            return Ok(());
        }
        Some(other) => {
            return Err(Status::bad_request(format!(
                "unknown patch directive {other:?}; there are merge, replace, delete"
            )));
        }
    }
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    let Some(members) = into.as_object_mut() else {
        return Ok(());
    };
    if let Some(kept) = patch.get("$retainKeys") {
        let kept = list(kept);
        members.retain(|name, _| kept.iter().any(|keep| keep == name));
    }
    for (name, value) in patch {
        if let Some(of) = name.strip_prefix("$deleteFromPrimitiveList/") {
            if let Some(Value::Array(items)) = members.get_mut(of) {
                items.retain(|item| !list(value).contains(item));
            }
        } else if !name.starts_with('$') {
            member(members, name, value, spot)?;
        }
    }
    Ok(())
}

fn member(
    members: &mut Map<String, Value>,
    name: &str,
    value: &Value,
    spot: &Spot<'_>,
) -> Result<(), Status> {
    if value.is_null() {
        members.remove(name);
        return Ok(());
    }
    let inner = spot.member(name);
    let have = members.entry(name).or_insert(Value::Null);
    match value {
        Value::Array(items) => merge_list(have, items, &inner)?,
        Value::Object(_) => merge(have, value, &inner)?,
        value => *have = value.clone(),
    }
    if have.is_null() {
        members.remove(name);
    }
    Ok(())
}

fn merge_list(into: &mut Value, patch: &[Value], spot: &Spot<'_>) -> Result<(), Status> {
    let replace = patch
        .iter()
        .any(|item| item["$patch"] == "replace" && item.as_object().is_some_and(|o| o.len() == 1));
    let Value::Array(have) = into else {
        *into = Value::Array(Vec::new());
        return merge_list(into, patch, spot);
    };
    match spot.list_type() {
        ListType::Atomic => *have = patch.to_vec(),
        _ if replace => {
            *have = patch
                .iter()
                .filter(|item| item.get("$patch").is_none())
                .cloned()
                .collect();
        }
        ListType::Set => {
            for item in patch {
                if !have.contains(item) {
                    have.push(item.clone());
                }
            }
        }
        ListType::Map(keys) => {
            // strategic merge knows one key per list
            let keys = &keys[..keys.len().min(1)];
            for item in patch {
                merge_item(have, item, keys, spot)?;
            }
        }
    }
    Ok(())
}

fn merge_item(
    have: &mut Vec<Value>,
    item: &Value,
    keys: &[String],
    spot: &Spot<'_>,
) -> Result<(), Status> {
    let Some(key) = item_key(item, keys) else {
        return Err(Status::bad_request(format!(
            "map: {item} does not contain declared merge key: {}",
            keys.join(", ")
        )));
    };
    let found = position(have, keys, &key);
    match (found, item["$patch"].as_str()) {
        (Some(at), Some("delete")) => drop(have.remove(at)),
        (None, Some("delete")) => {}
        (Some(at), _) => merge(&mut have[at], item, &spot.item())?,
        (None, _) => {
            let mut new = Value::Null;
            merge(&mut new, item, &spot.item())?;
            have.push(new);
        }
    }
    Ok(())
}

/// Without directives.
fn plain(patch: &Map<String, Value>) -> Map<String, Value> {
    let members = patch.iter().filter(|(name, _)| !name.starts_with('$'));
    members
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::kinds::Kinds;
    use serde_json::json;

    #[allow(clippy::needless_pass_by_value)] // a table of literals
    fn check(mut before: Value, patch: Value, after: Value) {
        let kinds = Kinds::built_in();
        let spot = Spot::top(kinds.get("pods").unwrap(), "v1");
        merge(&mut before, &patch, &spot).unwrap();
        assert_eq!(before, after);
    }

    #[test]
    fn containers_are_merged_by_name_and_deleted_by_directive() {
        check(
            json!({"spec": {"containers": [{"name": "a", "image": "1", "tty": true}, {"name": "b"}]}}),
            json!({"spec": {"containers": [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}, {"name": "c"}]}}),
            json!({"spec": {"containers": [{"name": "a", "image": "2", "tty": true}, {"name": "c"}]}}),
        );
    }

    #[test]
    fn unlisted_lists_are_replaced_and_null_removes() {
        check(
            json!({"spec": {"tolerations": [{"key": "a"}], "x": 1}}),
            json!({"spec": {"tolerations": [{"key": "b"}], "x": null}}),
            json!({"spec": {"tolerations": [{"key": "b"}]}}),
        );
    }

    #[test]
    fn finalizers_are_a_set_and_can_be_taken_out() {
        check(
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"]}}),
            json!({"metadata": {"finalizers": ["b", "c"]}}),
        );
    }

    #[test]
    fn a_map_can_be_replaced_whole() {
        check(
            json!({"metadata": {"labels": {"a": "1"}}}),
            json!({"metadata": {"labels": {"$patch": "replace", "b": "2"}}}),
            json!({"metadata": {"labels": {"b": "2"}}}),
        );
    }
}
