//! What is wrong with an OVHNodeClass that CEL cannot say?

use serde_json::Value;

use super::convert::PAIR;
use crate::shared::class_check::{ClassRules, refuse};
use crate::shared::class_rules::{items, labels, no_duplicates, regexes};
use crate::validate::Verdict;

/// Families that can be billed by the month.
const MONTHLY: [&str; 4] = ["b2-", "c2-", "d2-", "r2-"];

static RULES: ClassRules = ClassRules { pair: &PAIR, hub, ignored: |_| Vec::new() };

/// Judges an object of either version; `old` is the object before an update.
pub fn check(new: &Value, old: Option<&Value>) -> Verdict {
    RULES.check(new, old)
}

fn hub(spec: &Value, verdict: &mut Verdict) {
    regexes(spec, &["flavorSelectorTerms"], verdict);
    no_duplicates(spec, "availabilityZones", verdict);
    labels(spec, "nodeLabels", verdict);
    for key in spec.get("nodeLabels").and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys) {
        if key.starts_with("karpenter.sh/") || key == "kubernetes.io/hostname" {
            let text = format!("spec.nodeLabels[{key:?}]: ignored, this label is written by the operator; remove it");
            verdict.warnings.push(text);
        }
    }
    if spec.get("billing").and_then(Value::as_str) == Some("Monthly") {
        monthly(spec, verdict);
    }
}

fn monthly(spec: &Value, verdict: &mut Verdict) {
    for (at, term) in items(spec, "flavorSelectorTerms") {
        let Some(name) = term.get("name").and_then(Value::as_str) else { continue };
        if !MONTHLY.iter().any(|family| name.starts_with(family)) {
            let problem = format!("{name:?} cannot be billed by the month, only b2, c2, d2 and r2 flavors can");
            let fix = "remove the term, or set spec.billing to Hourly";
            refuse(verdict, format!("spec.flavorSelectorTerms[{at}].name"), problem, fix);
        }
    }
}
