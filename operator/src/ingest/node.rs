//! What room does a node give?

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use planner::{Resources, Taint};

pub fn taints(node: &Node) -> Vec<Taint> {
    let list = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let one = |taint: &k8s_openapi::api::core::v1::Taint| {
        let effect = super::effect(&taint.effect)?;
        Some(Taint::new(
            &taint.key,
            taint.value.as_deref().unwrap_or(""),
            effect,
        ))
    };
    list.into_iter().flatten().filter_map(one).collect()
}

/// Taints as Kubernetes writes them; those that were there keep what we do not read (`timeAdded`).
pub fn written_taints(node: &Node, taints: &[Taint]) -> Vec<k8s_openapi::api::core::v1::Taint> {
    let there: Vec<_> = node
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten())
        .collect();
    let one = |taint: &Taint| {
        let same = there
            .iter()
            .find(|old| *old.key == *taint.key && old.effect == taint.effect.to_string());
        match same {
            Some(old) => (*old).clone(),
            None => k8s_openapi::api::core::v1::Taint {
                key: taint.key.to_string(),
                value: (!taint.value.is_empty()).then(|| taint.value.to_string()),
                effect: taint.effect.to_string(),
                time_added: None,
            },
        }
    };
    taints.iter().map(one).collect()
}

/// The machine's own id, whatever the form of the provider id.
pub fn instance_of(provider_id: &str) -> Option<&str> {
    let (_, rest) = provider_id.split_once("://")?;
    rest.rsplit('/').next().filter(|id| !id.is_empty())
}

pub fn provider_id(node: &Node) -> Option<&str> {
    node.spec
        .as_ref()?
        .provider_id
        .as_deref()
        .filter(|id| !id.is_empty())
}

pub fn is_ready(node: &Node) -> bool {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Capacity and allocatable; an amount that cannot be read counts as none.
pub fn room(node: &Node) -> (Resources, Resources) {
    let status = node.status.as_ref();
    let read = |list| super::resources(list).unwrap_or_default();
    (
        read(status.and_then(|status| status.capacity.as_ref())),
        read(status.and_then(|status| status.allocatable.as_ref())),
    )
}

pub fn is_leaving(node: &Node) -> bool {
    let disrupted = |taint: &Taint| taint.key.as_ref() == planner::taints::DISRUPTED;
    node.metadata.deletion_timestamp.is_some() || taints(node).iter().any(disrupted)
}

pub fn has_label(node: &Node, key: &str, value: &str) -> bool {
    node.labels().get(key).is_some_and(|there| there == value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("openstack:///abc", Some("abc"))]
    #[case("openstack://RegionOne/abc", Some("abc"))]
    #[case("abc", None)]
    #[case("openstack:///", None)]
    fn a_machine_is_known_by_its_id_whatever_the_form(
        #[case] text: &str,
        #[case] id: Option<&str>,
    ) {
        assert_eq!(instance_of(text), id);
    }
}
