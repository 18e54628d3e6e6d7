//! How is a condition written so that its times tell when it turned?

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kubernetes::object::stamp;
use crate::kubernetes::reading::{list, text};

/// One condition to be.
#[derive(Debug, Clone, Copy)]
pub struct Condition<'a> {
    pub kind: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
}

/// Puts it among the conditions of a status. `lastTransitionTime` moves only when the status does; `heartbeat` names
/// the member that says when it was last looked at, if the kind has one.
pub fn set(status: &mut Value, wanted: Condition<'_>, heartbeat: Option<&str>, now: Timestamp) {
    let Condition {
        kind,
        status: state,
        reason,
        message,
    } = wanted;
    if !status.is_object() {
        *status = json!({});
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let have = list(&status["conditions"]).iter();
    let at = have.clone().position(|have| text(have, "type") == kind);
    let before = at.map(|at| status["conditions"][at].clone());
    let turned = before
        .as_ref()
        .filter(|before| text(before, "status") == state)
        .map(|before| before["lastTransitionTime"].clone())
        .filter(Value::is_string);
    let mut next = json!({
        "type": kind, "status": state,
        "lastTransitionTime": turned.unwrap_or_else(|| stamp(now).into()),
    });
    for (member, value) in [("reason", reason), ("message", message)] {
        if !value.is_empty() {
            next[member] = value.into();
        }
    }
    if let Some(member) = heartbeat {
        next[member] = stamp(now).into();
    }
    match at {
        Some(at) => status["conditions"][at] = next,
        None => {
            if let Some(all) = status["conditions"].as_array_mut() {
                all.push(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_time_until_its_status_turns() {
        let early: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let late: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let mut status = json!({});
        let ready = |status| Condition {
            kind: "Ready",
            status,
            reason: "R",
            message: "",
        };
        set(&mut status, ready("False"), None, early);
        set(&mut status, ready("False"), None, late);
        assert_eq!(status["conditions"][0]["lastTransitionTime"], stamp(early));
        set(&mut status, ready("True"), None, late);
        assert_eq!(status["conditions"][0]["lastTransitionTime"], stamp(late));
        assert_eq!(list(&status["conditions"]).len(), 1);
    }
}
