//! What does a claim say of the instance it got?

use std::collections::BTreeMap;

use cloud::Instance;
use crds::karpenter::NodeClaim;
use kube::ResourceExt;
use openstack::provider_id;
use planner::labels;
use serde_json::json;

use super::Draft;
use super::register::form_in_use;
use crate::controllers::Turn;
use crate::hub::Shared;
use crate::ingest;
use crate::ledger;
use crate::providers::Known;

/// Labels on the claim, the rest in the draft of its status. The claim's own labels win.
pub(super) async fn launched(
    hub: &Shared,
    claim: NodeClaim,
    known: &Known,
    instance: &Instance,
    draft: &mut Draft,
) -> Result<NodeClaim, Turn> {
    if draft.conditions.holds("Launched") {
        return Ok(claim);
    }
    let first = ledger::offerings(&claim)
        .ok()
        .and_then(|all| all.into_iter().next());
    let mut set: BTreeMap<String, String> = BTreeMap::new();
    let form = form_in_use(&hub.mirror.nodes.all());
    draft.fields["providerID"] = json!(provider_id::write(&instance.id, &form));
    if let Some(image) = &instance.image {
        draft.fields["imageID"] = json!(&**image);
    }
    if let Some(first) = first {
        set.insert(
            labels::INSTANCE_TYPE.to_owned(),
            first.instance_type.to_string(),
        );
        set.insert(
            labels::CAPACITY_TYPE.to_owned(),
            first.capacity_type.to_string(),
        );
        let zone = instance.zone.as_ref().unwrap_or(&first.zone);
        set.insert(labels::ZONE.to_owned(), zone.to_string());
        let catalog = known.catalog();
        let kind = catalog
            .as_ref()
            .and_then(|catalog| Some((catalog, catalog.find_type(&first.instance_type)?)));
        if let Some((catalog, id)) = kind {
            let kind = catalog.instance_type(id);
            draft.fields["capacity"] = json!(ingest::written(&kind.capacity));
            draft.fields["allocatable"] = json!(ingest::written(catalog.allocatable(id)));
            for one in kind.requirements.iter() {
                if let Some([value]) = one.listed() {
                    set.insert(one.key().to_owned(), value.to_string());
                }
            }
        }
    }
    draft.conditions.holds_now("Launched");
    set.retain(|key, _| !claim.labels().contains_key(key));
    if set.is_empty() {
        return Ok(claim);
    }
    tracing::info!(claim = claim.name_any(), instance = %instance.id, "launched nodeclaim");
    Ok(hub
        .write
        .claim(&claim, json!({ "metadata": { "labels": set } }))
        .await?)
}
