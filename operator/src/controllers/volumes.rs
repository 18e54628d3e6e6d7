//! Which volumes still hang on a node, and what is said about it?

use std::collections::BTreeSet;
use std::sync::Arc;

use crds::shared::conditions::ConditionStatus;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use planner::drain::PodOnNode;
use planner::drain::volumes::{Volumes, VolumesView, decide};

use super::claim::Draft;
use crate::hub::Shared;
use crate::mirror::Mirror;

pub const DETACHED: &str = "VolumesDetached";

/// True if the machine may go as far as its volumes are concerned; the draft says why, or why not.
pub async fn gate(
    hub: &Shared,
    node: &Node,
    pods: &[(Arc<Pod>, PodOnNode)],
    deadline: Option<Timestamp>,
    draft: &mut Draft,
) -> bool {
    let now = hub.clock.now();
    let stay = pods.iter().filter(|(_, seen)| !seen.drainable(now));
    let view = VolumesView {
        attached: attached(&hub.mirror, &node.name_any()),
        staying: stay
            .flat_map(|(pod, _)| volumes_of(&hub.mirror, pod))
            .collect(),
        deadline,
    };
    match decide(&view, now) {
        Volumes::Detached => {
            draft.conditions.holds_now(DETACHED);
            true
        }
        Volumes::Wait(volumes) => {
            let names: Vec<_> = volumes.iter().take(5).map(AsRef::as_ref).collect();
            let said = format!(
                "{} volumes are still attached: {}",
                volumes.len(),
                names.join(", ")
            );
            draft.waits(DETACHED, "AwaitingVolumeDetachment", &said);
            hub.tell_node(node, false, "AwaitingVolumeDetachment", said)
                .await;
            false
        }
        Volumes::TooLate => {
            draft.conditions.set(
                DETACHED,
                ConditionStatus::False,
                "TerminationGracePeriodElapsed",
                "the deadline of the node has passed while volumes were attached",
            );
            true
        }
    }
}

/// Persistent volumes attached to a node.
fn attached(mirror: &Mirror, node: &str) -> BTreeSet<Arc<str>> {
    let all = mirror.attachments.all();
    let here = all.iter().filter(|one| one.spec.node_name == node);
    here.filter_map(|one| one.spec.source.persistent_volume_name.as_deref())
        .map(Arc::from)
        .collect()
}

/// Persistent volumes a pod uses, as far as its claims are bound.
fn volumes_of(mirror: &Mirror, pod: &Pod) -> Vec<Arc<str>> {
    let namespace = pod.namespace().unwrap_or_default();
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let claims = volumes.filter_map(|volume| {
        let named = volume.persistent_volume_claim.as_ref();
        // A claim that lives with its pod is called after both.
        let own = || format!("{}-{}", pod.name_any(), volume.name);
        named
            .map(|named| named.claim_name.clone())
            .or_else(|| volume.ephemeral.as_ref().map(|_| own()))
    });
    claims
        .filter_map(|name| {
            let claim = mirror.volume_claims.get(&format!("{namespace}/{name}"))?;
            claim.spec.as_ref()?.volume_name.as_deref().map(Arc::from)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn mirror() -> Mirror {
        let mirror = Mirror::empty();
        let claim = |name: &str, volume: &str| -> Value {
            json!({ "metadata": { "name": name, "namespace": "d" }, "spec": { "volumeName": volume } })
        };
        for claim in [claim("data", "pv-1"), claim("web-tmp", "pv-2")] {
            mirror.volume_claims.put(from_value(claim).unwrap());
        }
        for (name, node, source) in [
            ("a", "n", json!({ "persistentVolumeName": "pv-1" })),
            ("b", "n", json!({})),
            ("c", "other", json!({ "persistentVolumeName": "pv-2" })),
        ] {
            let attachment = json!({ "metadata": { "name": name }, "spec": { "attacher": "csi", "nodeName": node, "source": source } });
            mirror.attachments.put(from_value(attachment).unwrap());
        }
        mirror
    }

    #[test]
    fn only_persistent_volumes_on_this_node_count() {
        assert_eq!(
            attached(&mirror(), "n"),
            BTreeSet::from([Arc::from("pv-1")])
        );
    }

    #[test]
    fn a_pods_volumes_are_found_through_its_claims_also_those_that_live_with_it() {
        let pod = json!({
            "metadata": { "name": "web", "namespace": "d" },
            "spec": { "containers": [], "volumes": [
                { "name": "x", "persistentVolumeClaim": { "claimName": "data" } },
                { "name": "tmp", "ephemeral": {} },
                { "name": "y", "persistentVolumeClaim": { "claimName": "unbound" } },
                { "name": "z", "emptyDir": {} },
            ] },
        });
        let found = volumes_of(&mirror(), &from_value(pod).unwrap());
        assert_eq!(found, [Arc::from("pv-1"), Arc::from("pv-2")]);
    }
}
