//! What is wrong with an OpenStackNodeClass that CEL cannot say?

use std::collections::BTreeMap;

use serde_json::Value;

use super::convert::PAIR;
use crate::shared::class_check::{ClassRules, refuse};
use crate::shared::class_rules::{items, no_duplicates, regexes, reserved};
use crate::validate::Verdict;

/// Nova's default quota of metadata items, less the marks we write ourselves.
const METADATA_ITEMS: usize = 128 - 8;
/// Nova takes 65,535 characters of base64.
const USER_DATA_BYTES: usize = 49_149;

static RULES: ClassRules = ClassRules { pair: &PAIR, hub, ignored };

/// Judges an object of either version; `old` is the object before an update.
pub fn check(new: &Value, old: Option<&Value>) -> Verdict {
    RULES.check(new, old)
}

fn hub(spec: &Value, verdict: &mut Verdict) {
    metadata(spec, verdict);
    regexes(spec, &["imageSelectorTerms", "flavorSelectorTerms"], verdict);
    no_duplicates(spec, "availabilityZones", verdict);
    no_duplicates(spec, "serverTags", verdict);
    reserved(spec, verdict);
    image_terms(spec, verdict);
    boot_devices(spec, verdict);
    let text = spec.pointer("/userData/inline").and_then(Value::as_str);
    if let Some(size) = text.map(str::len).filter(|size| *size > USER_DATA_BYTES) {
        verdict.warnings.push(format!(
            "spec.userData.inline: {size} bytes are more than the {USER_DATA_BYTES} Nova takes; shorten it or fetch the rest at boot"
        ));
    }
}

fn ignored(spec: &Value) -> Vec<String> {
    let image_ref = spec.get("imageRef").is_some();
    let text = "spec.imageRef: ignored, imageSelectorTerms chooses the image; remove it";
    image_ref.then(|| text.to_owned()).into_iter().collect()
}

/// `metadata` and `labels` go to Nova together, with slashes written as underscores.
fn metadata(spec: &Value, verdict: &mut Verdict) {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let all = |field: &'static str| {
        let entries = spec.get(field).and_then(Value::as_object).into_iter().flatten();
        entries.map(move |(key, value)| (field, key, value))
    };
    for (field, key, value) in all("metadata").chain(all("labels")) {
        let at = format!("spec.{field}[{key:?}]");
        let encoded = key.replace('/', "_");
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | ' ');
        if encoded.is_empty() || encoded.len() > 255 || !encoded.chars().all(allowed) {
            let fix = "use 1 to 255 letters, digits, spaces, '-', '_', ':', '.' and '/'";
            refuse(verdict, &at, "Nova does not take this key", fix);
        }
        if value.as_str().is_some_and(|value| value.len() > 255) {
            refuse(verdict, &at, "the value is longer than the 255 bytes Nova takes", "shorten it");
        }
        let twin = seen.insert(encoded, key.clone()).filter(|twin| twin != key);
        if let Some(twin) = twin {
            refuse(verdict, at, format!("{twin:?} is written to Nova as the same key"), "rename one of them");
        }
    }
    if seen.len() > METADATA_ITEMS {
        let problem = format!("{} items with labels, and Nova's default quota leaves {METADATA_ITEMS}", seen.len());
        refuse(verdict, "spec.metadata", problem, "remove some");
    }
}

/// The prototype let an image term be empty; it matches nothing.
fn image_terms(spec: &Value, verdict: &mut Verdict) {
    for (at, term) in items(spec, "imageSelectorTerms") {
        if term.as_object().is_some_and(serde_json::Map::is_empty) {
            refuse(verdict, format!("spec.imageSelectorTerms[{at}]"), "the term is empty", "set id, or remove the term");
        }
    }
}

fn boot_devices(spec: &Value, verdict: &mut Verdict) {
    let boots = items(spec, "blockDevices").filter(|(_, device)| device.get("boot") == Some(&Value::Bool(true)));
    for (at, _) in boots.skip(1) {
        let problem = "another device has boot: true already";
        refuse(verdict, format!("spec.blockDevices[{at}].boot"), problem, "remove boot from all but one");
    }
}
