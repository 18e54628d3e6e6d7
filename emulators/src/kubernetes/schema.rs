//! What does a structural schema say about a custom object: unknown fields out, defaults in, types right?

use std::cell::RefCell;
use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::paths::{list, strings, text};
use super::status::Cause;

/// Takes out what the schema does not know, and says what it was (`spec.foo`).
pub fn prune(value: &mut Value, schema: &Value) -> Vec<String> {
    let mut dropped = Vec::new();
    if let Value::Object(members) = value {
        let known = ["apiVersion", "kind", "metadata"];
        prune_members(members, schema, &known, "", &mut dropped);
    }
    dropped
}

/// Fills in what has a default and is absent.
pub fn fill(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(members) => {
            let properties = schema["properties"].as_object();
            for (name, inner) in properties.into_iter().flatten() {
                let nulled =
                    members.get(name).is_some_and(Value::is_null) && inner["nullable"] != true;
                if let Some(default) = inner.get("default")
                    && (nulled || !members.contains_key(name))
                {
                    members.insert(name.clone(), default.clone());
                }
                if let Some(value) = members.get_mut(name) {
                    fill(value, inner);
                }
            }
            if schema["additionalProperties"].is_object() {
                for value in members.values_mut() {
                    fill(value, &schema["additionalProperties"]);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                fill(item, &schema["items"]);
            }
        }
        _ => {}
    }
}

/// Everything that is wrong with it, in the order of its fields.
pub fn check(value: &Value, schema: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    check_at(value, schema, "", &mut causes);
    causes
}

fn prune_members(
    members: &mut Map<String, Value>,
    schema: &Value,
    always: &[&str],
    at: &str,
    dropped: &mut Vec<String>,
) {
    let keep_all = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let embedded: &[&str] = if schema["x-kubernetes-embedded-resource"] == true {
        &["apiVersion", "kind", "metadata"]
    } else {
        always
    };
    members.retain(|name, value| {
        if embedded.contains(&name.as_str()) {
            return true;
        }
        let inner = match (
            schema["properties"].get(name),
            &schema["additionalProperties"],
        ) {
            (Some(inner), _) | (None, inner @ Value::Object(_)) => inner,
            (None, Value::Bool(true)) => return true,
            (None, _) => {
                if !keep_all {
                    dropped.push(join(at, name));
                }
                return keep_all;
            }
        };
        prune_inside(value, inner, &join(at, name), dropped);
        true
    });
}

fn prune_inside(value: &mut Value, schema: &Value, at: &str, dropped: &mut Vec<String>) {
    match value {
        Value::Object(members) => prune_members(members, schema, &[], at, dropped),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune_inside(item, &schema["items"], &format!("{at}[{index}]"), dropped);
            }
        }
        _ => {}
    }
}

fn check_at(value: &Value, schema: &Value, at: &str, causes: &mut Vec<Cause>) {
    if value.is_null() && schema["nullable"] == true || !schema.is_object() {
        return;
    }
    if let Some(cause) = type_trouble(value, schema, at) {
        causes.push(cause);
        return;
    }
    let allowed = list(&schema["enum"]);
    if !allowed.is_empty() && !allowed.contains(value) {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        causes.push(Cause::new(
            at,
            "FieldValueNotSupported",
            format!(
                "Unsupported value: {value}: supported values: {}",
                allowed.join(", ")
            ),
        ));
    }
    match value {
        Value::Object(members) => check_members(members, schema, at, causes),
        Value::Array(items) => {
            bounds(
                items.len(),
                schema,
                ("minItems", "maxItems", "items"),
                at,
                causes,
            );
            for (index, item) in items.iter().enumerate() {
                check_at(item, &schema["items"], &format!("{at}[{index}]"), causes);
            }
        }
        Value::String(value) => {
            bounds(
                value.chars().count(),
                schema,
                ("minLength", "maxLength", "chars long"),
                at,
                causes,
            );
            check_pattern(value, schema, at, causes);
        }
        Value::Number(number) => {
            check_number(number.as_f64().unwrap_or_default(), schema, at, causes);
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_members(members: &Map<String, Value>, schema: &Value, at: &str, causes: &mut Vec<Cause>) {
    for required in strings(&schema["required"]) {
        if !members.contains_key(required) {
            causes.push(Cause::new(
                join(at, required),
                "FieldValueRequired",
                "Required value",
            ));
        }
    }
    bounds(
        members.len(),
        schema,
        ("minProperties", "maxProperties", "properties"),
        at,
        causes,
    );
    for (name, value) in members {
        if at.is_empty() && name == "metadata" {
            continue;
        }
        let inner = match schema["properties"].get(name) {
            Some(inner) => inner,
            None => &schema["additionalProperties"],
        };
        check_at(value, inner, &join(at, name), causes);
    }
}

fn type_trouble(value: &Value, schema: &Value, at: &str) -> Option<Cause> {
    let whole = value.is_i64()
        || value.is_u64()
        || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if schema["x-kubernetes-int-or-string"] == true {
        let fits = whole && value.is_number() || value.is_string();
        return (!fits).then(|| wrong_type(value, "integer or string", at));
    }
    let wanted = text(schema, "type");
    let fits = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_number() && whole,
        "number" => value.is_number(),
        _ => true,
    };
    (!fits).then(|| wrong_type(value, wanted, at))
}

fn wrong_type(value: &Value, wanted: &str, at: &str) -> Cause {
    let have = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    Cause::new(
        at,
        "FieldValueTypeInvalid",
        format!("Invalid value: \"{have}\": {at} in body must be of type {wanted}: \"{have}\""),
    )
}

fn bounds(
    have: usize,
    schema: &Value,
    (least, most, of): (&str, &str, &str),
    at: &str,
    causes: &mut Vec<Cause>,
) {
    let have = have as u64;
    if let Some(least) = schema[least].as_u64()
        && have < least
    {
        causes.push(invalid(at, &format!("should have at least {least} {of}")));
    }
    if let Some(most) = schema[most].as_u64()
        && have > most
    {
        causes.push(Cause::new(
            at,
            "FieldValueTooMany",
            format!("Too many: {have}: must have at most {most} {of}"),
        ));
    }
}

fn check_pattern(value: &str, schema: &Value, at: &str, causes: &mut Vec<Cause>) {
    let pattern = text(schema, "pattern");
    if pattern.is_empty() {
        return;
    }
    if !matches(pattern, value) {
        causes.push(invalid(
            at,
            &format!("\"{value}\": {at} in body should match '{pattern}'"),
        ));
    }
}

/// A pattern of a dialect we do not know matches everything. Compiled ones are kept: the same few come again and again.
fn matches(pattern: &str, value: &str) -> bool {
    thread_local! {
        static KNOWN: RefCell<BTreeMap<String, Option<Regex>>> = const { RefCell::new(BTreeMap::new()) };
    }
    KNOWN.with_borrow_mut(|known| {
        let regex = known
            .entry(pattern.to_owned())
            .or_insert_with(|| Regex::new(pattern).ok());
        regex.as_ref().is_none_or(|regex| regex.is_match(value))
    })
}

fn check_number(value: f64, schema: &Value, at: &str, causes: &mut Vec<Cause>) {
    if let Some(least) = schema["minimum"].as_f64()
        && (value < least || value <= least && schema["exclusiveMinimum"] == true)
    {
        causes.push(invalid(
            at,
            &format!("{value}: {at} in body should be greater than or equal to {least}"),
        ));
    }
    if let Some(most) = schema["maximum"].as_f64()
        && (value > most || value >= most && schema["exclusiveMaximum"] == true)
    {
        causes.push(invalid(
            at,
            &format!("{value}: {at} in body should be less than or equal to {most}"),
        ));
    }
}

fn invalid(at: &str, why: &str) -> Cause {
    Cause::new(at, "FieldValueInvalid", format!("Invalid value: {why}"))
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "required": ["spec"], "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "port": {"x-kubernetes-int-or-string": true},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "items": {"type": "array", "maxItems": 1, "items": {"type": "object",
                    "properties": {"x": {"type": "boolean", "default": true}}}},
            }},
        }})
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let mut value = json!({"apiVersion": "x", "metadata": {"name": "n"}, "other": 1,
            "spec": {"size": 1, "foo": 1, "labels": {"a": "b"}, "free": {"any": {"thing": 1}}, "items": [{"x": false, "y": 1}]}});
        let dropped = prune(&mut value, &schema());
        assert_eq!(dropped, ["other", "spec.foo", "spec.items[0].y"]);
        assert_eq!(value["spec"]["free"]["any"]["thing"], 1);
        assert_eq!(value["spec"]["labels"]["a"], "b");
    }

    #[test]
    fn defaults_are_filled_in_to_the_bottom() {
        let mut value = json!({"spec": {"items": [{}], "mode": null}});
        fill(&mut value, &schema());
        assert_eq!(
            value,
            json!({"spec": {"mode": "a", "items": [{"x": true}]}})
        );
    }

    #[test]
    fn each_rule_is_checked() {
        let fields = |spec: Value| -> Vec<String> {
            let causes = check(&json!({"spec": spec}), &schema());
            causes
                .into_iter()
                .map(|cause| format!("{} {}", cause.field, cause.reason))
                .collect()
        };
        assert!(fields(json!({"size": 1, "port": "http"})).is_empty());
        assert_eq!(fields(json!({})), ["spec.size FieldValueRequired"]);
        assert_eq!(fields(json!({"size": 0})), ["spec.size FieldValueInvalid"]);
        assert_eq!(
            fields(json!({"size": "1"})),
            ["spec.size FieldValueTypeInvalid"]
        );
        assert_eq!(
            fields(json!({"size": 1.5})),
            ["spec.size FieldValueTypeInvalid"]
        );
        assert_eq!(
            fields(json!({"size": 1, "mode": "c"})),
            ["spec.mode FieldValueNotSupported"]
        );
        assert_eq!(
            fields(json!({"size": 1, "name": "A"})),
            ["spec.name FieldValueInvalid"]
        );
        assert_eq!(
            fields(json!({"size": 1, "port": 1.5})),
            ["spec.port FieldValueTypeInvalid"]
        );
        assert_eq!(
            fields(json!({"size": 1, "labels": {"a": 1}})),
            ["spec.labels.a FieldValueTypeInvalid"]
        );
        assert_eq!(
            fields(json!({"size": 1, "items": [{}, {}]})),
            ["spec.items FieldValueTooMany"]
        );
    }
}
