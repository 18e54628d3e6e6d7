//! How is a member of an object read that may be absent or of the wrong shape?

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn strings(value: &Value) -> Vec<String> {
    let all = list(value).iter().filter_map(Value::as_str);
    all.map(str::to_owned).collect()
}

/// Sorted by key.
pub fn pairs(value: &Value) -> Vec<(String, String)> {
    let members = value.as_object().into_iter().flatten();
    let mut all: Vec<(String, String)> = members
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    all.sort();
    all
}

/// The member as an object to write into, whatever it was before.
pub fn open<'a>(value: &'a mut Value, member: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    let inner = &mut value[member];
    if !inner.is_object() {
        *inner = json!({});
    }
    inner
}

pub fn count(value: &Value, otherwise: i64) -> i64 {
    value.as_i64().unwrap_or(otherwise)
}

pub fn seconds(value: &Value) -> Option<SignedDuration> {
    value.as_i64().map(SignedDuration::from_secs)
}

pub fn instant(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// `now + later`, for ever if that is out of range.
pub fn after(now: Timestamp, later: SignedDuration) -> Timestamp {
    now.checked_add(later).unwrap_or(Timestamp::MAX)
}

/// An absolute number or a share of `whole`, rounded up or down.
pub fn share(value: &Value, whole: i64, up: bool) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let percent: i64 = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    let hundredths = percent.checked_mul(whole)?;
    let rest = if up { 99 } else { 0 };
    Some(hundredths.checked_add(rest)? / 100)
}

/// The condition of this type, if it is there.
pub fn condition<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    list(&value["status"]["conditions"])
        .iter()
        .find(|condition| text(condition, "type") == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage_rounded_as_asked() {
        assert_eq!(share(&json!(3), 10, true), Some(3));
        assert_eq!(share(&json!("25%"), 10, true), Some(3));
        assert_eq!(share(&json!("25%"), 10, false), Some(2));
        assert_eq!(share(&json!("many"), 10, false), None);
    }
}
