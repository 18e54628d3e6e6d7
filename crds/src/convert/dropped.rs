//! Which fields would an update written in an older version drop without its author knowing?
//!
//! `kubectl apply` and edits of a fetched object keep our annotation and with it every field the older version cannot
//! show. `kubectl replace` with a file does not: that is what replace means, but it deserves a warning.

use serde_json::Value;

use super::stash::Stash;
use super::table::Pair;

/// Hub fields (`spec.pricing`) that `old` holds in its annotation and `new` loses. Both are objects of the older version.
pub fn dropped(pair: &Pair, new: &Value, old: &Value) -> Vec<String> {
    let annotation = pair.hub_stash();
    if annotation_of(new, &annotation).is_some() {
        return Vec::new();
    }
    let ours = [annotation.clone(), pair.spoke_stash()];
    let Some(Ok(stash)) = annotation_of(old, &annotation).map(|text| Stash::read(&annotation, text, &ours)) else {
        return Vec::new();
    };
    let Ok(becomes) = pair.up(new.clone()) else {
        return Vec::new();
    };
    let changed = stash.section("spec").filter(|(field, entry)| {
        let kept = becomes.get("spec").and_then(|spec| spec.get(*field));
        entry.value.is_some() && kept != entry.value.as_ref()
    });
    changed.map(|(field, _)| format!("spec.{field}")).collect()
}

pub(crate) fn annotation_of<'a>(object: &'a Value, annotation: &str) -> Option<&'a Value> {
    object.get("metadata")?.get("annotations")?.get(annotation)
}
