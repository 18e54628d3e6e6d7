//! What is wrong with a CloudStackNodeClass that CEL cannot say?

use serde_json::Value;

use super::convert::PAIR;
use crate::shared::class_check::{ClassRules, refuse};
use crate::shared::class_rules::{no_duplicates, regexes, reserved};
use crate::validate::Verdict;

/// CloudStack's default `vm.userdata.max.length` is 32,768 characters of base64.
const USER_DATA_BYTES: usize = 24_576;

static RULES: ClassRules = ClassRules { pair: &PAIR, hub, ignored: |_| Vec::new() };

/// Judges an object of either version; `old` is the object before an update.
pub fn check(new: &Value, old: Option<&Value>) -> Verdict {
    RULES.check(new, old)
}

fn hub(spec: &Value, verdict: &mut Verdict) {
    regexes(spec, &["serviceOfferingSelectorTerms", "templateSelectorTerms"], verdict);
    no_duplicates(spec, "sshKeyPairs", verdict);
    reserved(spec, verdict);
    for (key, _) in spec.get("details").and_then(Value::as_object).into_iter().flatten() {
        if key.to_ascii_lowercase().starts_with("extraconfig") {
            let at = format!("spec.details[{key:?}]");
            refuse(verdict, at, "CloudStack refuses extra configuration given as a detail", "remove it");
        }
    }
    for (key, value) in spec.get("tags").and_then(Value::as_object).into_iter().flatten() {
        let size = value.as_str().map_or(0, str::len);
        if key.len() > 255 || size > 255 || size == 0 {
            let problem = "CloudStack takes tag keys and values of 1 to 255 bytes";
            refuse(verdict, format!("spec.tags[{key:?}]"), problem, "shorten it, or give it a value");
        }
    }
    let text = spec.pointer("/userData/inline").and_then(Value::as_str);
    if let Some(size) = text.map(str::len).filter(|size| *size > USER_DATA_BYTES) {
        verdict.warnings.push(format!(
            "spec.userData.inline: {size} bytes are more than the {USER_DATA_BYTES} a CloudStack with default settings takes; \
             shorten it, register it, or raise vm.userdata.max.length"
        ));
    }
}
