//! What does a random object of a version look like?

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::kinds::Kind;

const TEXTS: [&str; 9] = [
    "",
    "a",
    "private-net",
    "0a1b2c3d-4e5f-6789-abcd-ef0123456789",
    "0A1B2C3D-4E5F-6789-ABCD-EF0123456789",
    "zone 1/ünï¢ødé ✓ 🪵",
    "#!/bin/sh\necho \"{{ x }}\"\n",
    "null",
    "*",
];

/// An object that fits the schema's types (lengths and patterns do not matter to conversion).
pub fn hub(kind: &Kind, dice: &mut Dice<'_>) -> Value {
    object(&kind.hub_schema, &kind.pair.hub_api_version(), kind.pair.kind, dice)
}

pub fn spoke(kind: &Kind, dice: &mut Dice<'_>) -> Value {
    object(&kind.spoke_schema, &kind.pair.spoke_api_version(), kind.pair.kind, dice)
}

fn object(schema: &Value, api_version: &str, kind: &str, dice: &mut Dice<'_>) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "uid": "u", "generation": 3}});
    object["spec"] = value(&schema["properties"]["spec"], dice);
    if dice.one_in(2) {
        object["status"] = value(&schema["properties"]["status"], dice);
    }
    match dice.below(4) {
        0 | 1 => {}
        2 => object["metadata"]["annotations"] = json!({}),
        _ => object["metadata"]["annotations"] = json!({"team": "web"}),
    }
    object
}

/// A value of this schema. Absent, empty and `false` are as likely as anything else.
pub fn value(schema: &Value, dice: &mut Dice<'_>) -> Value {
    if let Some(allowed) = schema["enum"].as_array() {
        return dice.pick(allowed).clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(dice.one_in(2)),
        Some("integer") => json!(dice.below(40)),
        Some("array") => {
            // Required lists are never empty in what the API server lets through, and the older version relies on it.
            let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap();
            (0..least + dice.below(4)).map(|_| value(&schema["items"], dice)).collect()
        }
        Some("object") if schema["properties"].is_object() => fields(schema, dice),
        Some("object") => {
            let entries = (0..dice.below(3)).map(|_| {
                let key = (*dice.pick(&TEXTS)).to_owned();
                (key, value(&schema["additionalProperties"], dice))
            });
            Value::Object(entries.collect())
        }
        _ => json!(*dice.pick(&TEXTS)),
    }
}

fn fields(schema: &Value, dice: &mut Dice<'_>) -> Value {
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
    let mut object = Map::new();
    for (name, property) in schema["properties"].as_object().unwrap() {
        if required.contains(&&json!(name)) || dice.one_in(2) {
            object.insert(name.clone(), value(property, dice));
        }
    }
    Value::Object(object)
}

/// Breaks an object in ways no API server would let through: wrong types, unknown fields, annotations in the wrong place.
pub fn spoil(kind: &Kind, object: &mut Value, dice: &mut Dice<'_>) {
    for _ in 0..=dice.below(3) {
        let junk = junk(dice);
        match dice.below(5) {
            0 => object["spec"]["noSuchField"] = junk,
            1 => object["noSuchField"] = junk,
            2 => object["metadata"]["annotations"] = Value::Null,
            3 => stray(kind, object, dice),
            _ => {
                let spec = object["spec"].as_object_mut().unwrap();
                let names: Vec<_> = spec.keys().cloned().collect();
                if let Some(name) = names.get(dice.below(names.len().max(1))) {
                    spec.insert(name.clone(), junk);
                }
            }
        }
    }
}

fn stray(kind: &Kind, object: &mut Value, dice: &mut Dice<'_>) {
    let is_hub = object["apiVersion"] == json!(kind.pair.hub_api_version());
    let texts = if is_hub {
        [(kind.pair.hub_stash(), "{}"), (kind.pair.hub_stash(), "junk"), (kind.pair.spoke_stash(), "junk")]
    } else {
        [(kind.pair.spoke_stash(), "{}"), (kind.pair.spoke_stash(), "junk"), (kind.pair.spoke_stash(), "[]")]
    };
    let (name, text) = dice.pick(&texts);
    object["metadata"]["annotations"] = json!({ name: text });
}

fn junk(dice: &mut Dice<'_>) -> Value {
    let all = [
        json!(null),
        json!({}),
        json!([]),
        json!(7),
        json!("text"),
        json!([1, {"network": {"id": 5, "name": "n"}}, "x", null]),
        json!({"inline": {"deep": [1]}, "enabled": "yes", "maxPods": 4, "other": true}),
        json!([{}, {"id": "a", "name": "b", "more": 1}]),
        json!("Yearly"),
    ];
    dice.pick(&all).clone()
}
