//! How are members of a JSON value read and set when nothing is known about its shape?

use serde_json::{Map, Value};

pub fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn strings(value: &Value) -> impl Iterator<Item = &str> {
    list(value).iter().filter_map(Value::as_str)
}

/// By member names, outermost first. Null if any is missing.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, member| &value[*member])
}

/// Makes the objects on the way; what is in the way and no object is replaced.
pub fn set(value: &mut Value, path: &[&str], to: Value) {
    *slot(value, path) = to;
}

/// The place at a path, made if need be.
pub fn slot<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(value, |value, member| {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        &mut value[*member]
    })
}

/// Sets it if there is nothing, or null.
pub fn default(value: &mut Value, path: &[&str], to: impl Into<Value>) {
    if at(value, path).is_null() {
        set(value, path, to.into());
    }
}

pub fn forget(value: &mut Value, path: &[&str]) {
    let Some((last, way)) = path.split_last() else {
        return;
    };
    let mut value = value;
    for member in way {
        match value.get_mut(*member) {
            Some(inner) => value = inner,
            None => return,
        }
    }
    if let Some(members) = value.as_object_mut() {
        members.remove(*last);
    }
}

/// A simple JSON path as printer columns and scale subresources have it: `.spec.a.b[0]`, `.status.conditions[?(@.type=="Ready")].status`.
pub fn json_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    for step in steps(path) {
        value = match step {
            Step::Member(name) => value.get(name.as_str())?,
            Step::Item(at) => value.get(at)?,
            Step::Where(member, wanted) => list(value)
                .iter()
                .find(|item| item[member.as_str()] == wanted.as_str())?,
        };
    }
    Some(value)
}

enum Step {
    Member(String),
    Item(usize),
    Where(String, String),
}

fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(']').unwrap_or(inside.len());
            steps.push(bracket(&inside[..end]));
            rest = inside.get(end + 1..).unwrap_or_default();
            continue;
        }
        let plain = rest.strip_prefix('.').unwrap_or(rest);
        let mut name = String::new();
        let mut letters = plain.char_indices();
        let mut end = plain.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => name.extend(letters.next().map(|(_, escaped)| escaped)),
                '.' | '[' => {
                    end = at;
                    break;
                }
                letter => name.push(letter),
            }
        }
        if !name.is_empty() {
            steps.push(Step::Member(name));
        } else if end == 0 && plain.len() == rest.len() {
            break;
        }
        rest = &plain[end..];
    }
    steps
}

fn bracket(inside: &str) -> Step {
    let inside = inside.trim();
    if let Some(test) = inside.strip_prefix("?(@.") {
        let test = test.trim_end_matches(')');
        let (member, wanted) = test.split_once("==").unwrap_or((test, ""));
        let wanted = wanted.trim().trim_matches(['"', '\'']);
        return Step::Where(member.trim().to_owned(), wanted.to_owned());
    }
    match inside.parse() {
        Ok(at) => Step::Item(at),
        Err(_) => Step::Member(inside.trim_matches(['"', '\'']).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_paths_reach_members_items_and_conditions() {
        let value = json!({"spec": {"a.b/c": 1, "l": [5, 6]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let get = |path: &str| json_path(&value, path).cloned();
        assert_eq!(get(".spec.l[1]"), Some(json!(6)));
        assert_eq!(get(".spec.a\\.b/c"), Some(json!(1)));
        assert_eq!(get(".spec['a.b/c']"), Some(json!(1)));
        let ready = ".status.conditions[?(@.type==\"Ready\")].status";
        assert_eq!(get(ready), Some(json!("True")));
        assert_eq!(get(".status.none"), None);
        for odd in ["", ".", "..", "[", "]", "[[", ".a..b[", "\\"] {
            let _ = json_path(&value, odd);
        }
    }

    #[test]
    fn setting_replaces_what_is_in_the_way() {
        let mut value = json!({"spec": "odd"});
        set(&mut value, &["spec", "a", "b"], 1.into());
        assert_eq!(value, json!({"spec": {"a": {"b": 1}}}));
        forget(&mut value, &["spec", "a", "b"]);
        forget(&mut value, &["spec", "x", "y"]);
        assert_eq!(value, json!({"spec": {"a": {}}}));
    }
}
