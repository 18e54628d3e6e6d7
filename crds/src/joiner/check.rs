//! What is wrong with a NodeGroup that CEL cannot say?

use std::collections::BTreeSet;

use serde_json::Value;

use crate::shared::class_check::{excuse, refuse};
use crate::shared::class_rules::{items, labels};
use crate::validate::Verdict;

/// Judges a NodeGroup; `old` is the object before an update.
pub fn check(new: &Value, old: Option<&Value>) -> Verdict {
    if new.pointer("/metadata/deletionTimestamp").is_some() {
        // Nothing but finalizers changes any more; refusing would keep the object for ever.
        return Verdict::default();
    }
    let mut verdict = judge(new);
    if let Some(old) = old {
        excuse(&mut verdict, &judge(old).refusals);
    }
    verdict
}

fn judge(object: &Value) -> Verdict {
    let mut verdict = Verdict::default();
    let spec = object.get("spec").unwrap_or(&Value::Null);
    labels(spec, "labels", &mut verdict);
    for field in ["taints", "startupTaints"] {
        let mut seen = BTreeSet::new();
        for (at, taint) in items(spec, field) {
            let text = |key| taint.get(key).and_then(Value::as_str);
            if !seen.insert((text("key"), text("effect"))) {
                let problem = "another taint has the same key and effect";
                refuse(&mut verdict, format!("spec.{field}[{at}]"), problem, "remove one of them");
            }
        }
    }
    verdict
}
