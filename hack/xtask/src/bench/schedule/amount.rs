//! How much is that, in whole numbers? Only what our own workloads write: plain numbers and the usual suffixes.

use std::collections::BTreeMap;

use serde_json::Value;

/// Thousandths by resource.
#[derive(Clone, Debug, Default)]
pub struct Amounts(BTreeMap<String, i128>);

pub fn of(object: &Value, path: &str) -> Amounts {
    let map = object.pointer(path).and_then(Value::as_object);
    let pairs = map.into_iter().flatten();
    Amounts(
        pairs
            .map(|(name, value)| (name.clone(), thousandths(value)))
            .collect(),
    )
}

/// What a pod with this spec takes; our workloads have one container and no more.
pub fn asked(spec: &Value) -> Amounts {
    let mut all = of(spec, "/containers/0/resources/requests");
    all.0.insert("pods".to_owned(), 1000);
    all
}

fn thousandths(value: &Value) -> i128 {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let suffixes: [(&str, i128); 6] = [
        ("Ki", 1000 << 10),
        ("Mi", 1000 << 20),
        ("Gi", 1000 << 30),
        ("m", 1),
        ("k", 1_000_000),
        ("", 1000),
    ];
    let found = suffixes
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)));
    let (digits, factor) = found.unwrap_or(("0", &1));
    digits.parse::<i128>().unwrap_or(0) * factor
}

impl Amounts {
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            *self.0.entry(name.clone()).or_default() += amount;
        }
    }

    #[must_use]
    pub fn minus(mut self, other: &Self) -> Self {
        for (name, amount) in &other.0 {
            *self.0.entry(name.clone()).or_default() -= amount;
        }
        self
    }

    /// The first resource of which there is more than the room has.
    pub fn first_above(&self, room: &Self) -> Option<&str> {
        let above =
            |(name, amount): &(&String, &i128)| **amount > room.0.get(*name).copied().unwrap_or(0);
        self.0.iter().find(above).map(|(name, _)| name.as_str())
    }

    /// The same, where only what is limited counts.
    pub fn first_limited_above<'a>(&self, limits: &'a Self) -> Option<&'a str> {
        let above =
            |(name, limit): &(&String, &i128)| self.0.get(*name).copied().unwrap_or(0) > **limit;
        limits.0.iter().find(above).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn suffixes_mean_what_kubernetes_means() {
        for (text, expected) in [
            ("250m", 250),
            ("2", 2000),
            ("1Ki", 1_024_000),
            ("3k", 3_000_000),
        ] {
            assert_eq!(thousandths(&json!(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_resource_the_room_does_not_have_is_above_it() {
        let asks = of(&json!({ "a": { "gpu": "1" } }), "/a");
        assert_eq!(asks.first_above(&Amounts::default()), Some("gpu"));
        assert_eq!(asks.first_limited_above(&Amounts::default()), None);
    }
}
