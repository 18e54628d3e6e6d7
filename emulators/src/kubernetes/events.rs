//! How is one stored event seen through its two groups?
//!
//! `v1` and `events.k8s.io/v1` are two spellings of the same objects. They are stored in the first.

use serde_json::{Map, Value};

/// Members that have another name in `events.k8s.io/v1`: (core, new).
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn to_core(value: &mut Value) {
    rename(value, |name| {
        let pair = NAMES.iter().find(|(_, new)| *new == name);
        pair.map(|(core, _)| *core)
    });
}

pub(super) fn from_core(value: &mut Value) {
    rename(value, |name| {
        let pair = NAMES.iter().find(|(core, _)| *core == name);
        pair.map(|(_, new)| *new)
    });
}

fn rename(value: &mut Value, to: impl Fn(&str) -> Option<&'static str>) {
    if let Value::Object(members) = value {
        let old = std::mem::take(members);
        let named = old.into_iter().map(|(name, value)| match to(&name) {
            Some(other) => (other.to_owned(), value),
            None => (name, value),
        });
        *members = named.collect::<Map<_, _>>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_there_and_back_is_the_same() {
        let new = json!({"regarding": {"name": "p"}, "note": "x", "reason": "R", "reportingController": "c"});
        let mut value = new.clone();
        to_core(&mut value);
        assert_eq!(value["involvedObject"]["name"], "p");
        assert_eq!(value["message"], "x");
        from_core(&mut value);
        assert_eq!(value, new);
    }
}
