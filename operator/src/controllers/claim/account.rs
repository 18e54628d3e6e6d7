//! Does the cloud behind a class say anything about this claim at all?
//!
//! Credentials may be changed to another account. There, nothing of the claim exists and every question is answered truthfully
//! with "no such thing": an answer that must not be believed, or the instance would be made twice, or forgotten.

use crds::karpenter::NodeClaim;

use crate::hub::Shared;
use crate::ledger;
use crate::providers::Known;

/// Why the answers of this class's cloud must not be believed about this claim; none if they may be.
pub fn stranger(claim: &NodeClaim, known: &Known) -> Option<String> {
    // One that cannot be read is told by whoever acts on it; until then nothing is believed.
    let ledger = match ledger::read(claim) {
        Ok(Some(ledger)) => ledger,
        Ok(None) => return None,
        Err(bad) => return Some(bad.to_string()),
    };
    let now = known.account();
    if ledger.is_known_to(now.as_deref()) {
        return None;
    }
    let class = &claim.spec.node_class_ref.name;
    let ours = ledger.account.as_deref().unwrap_or_default();
    Some(match now {
        Some(theirs) => format!(
            "its instance belongs to account {ours}, and OpenStackNodeClass {class} now has credentials of account {theirs}, where it cannot be seen; give the class credentials of {ours} again until this claim is gone, and make another class for {theirs}"
        ),
        None => format!(
            "OpenStackNodeClass {class} has not yet said of which account its credentials are (this claim needs {ours}); see its condition CredentialsReady"
        ),
    })
}

/// Says it as an event, once it is certain that the account is another one.
pub async fn tell(hub: &Shared, claim: &NodeClaim, known: &Known, said: &str) {
    tracing::warn!(
        claim = claim.metadata.name,
        said,
        "the cloud's answers say nothing about this claim"
    );
    if known.account().is_some() {
        hub.tell_claim(claim, true, "AccountChanged", said.to_owned())
            .await;
    }
}
