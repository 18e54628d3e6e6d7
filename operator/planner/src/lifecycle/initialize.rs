//! Is a registered node ready for the pods it was bought for, and if not, what is it waiting for?
//!
//! There is no deadline: a node that never gets ready stays until it expires, is repaired, or a human acts.

use crate::resources::{ResourceName, Resources};
use crate::taints::Taint;

/// The node of a registered claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSeen {
    pub ready: bool,
    pub taints: Vec<Taint>,
    pub allocatable: Resources,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initialization {
    Done,
    Waits(Waiting),
    /// A reboot is under way; it ends first.
    Rebooting,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    NodeNotFound,
    NodeNotReady,
    StartupTaint(Taint),
    EphemeralTaint(Taint),
    ResourceMissing(ResourceName),
}

pub fn decide(
    node: Option<&NodeSeen>,
    startup: &[Taint],
    requests: &Resources,
    rebooting: bool,
) -> Initialization {
    if rebooting {
        return Initialization::Rebooting;
    }
    waiting(node, startup, requests).map_or(Initialization::Done, Initialization::Waits)
}

/// The first thing that is missing, in a fixed order.
fn waiting(node: Option<&NodeSeen>, startup: &[Taint], requests: &Resources) -> Option<Waiting> {
    let Some(node) = node else {
        return Some(Waiting::NodeNotFound);
    };
    if !node.ready {
        return Some(Waiting::NodeNotReady);
    }
    let is_startup = |taint: &&Taint| startup.iter().any(|startup| startup.matches(taint));
    if let Some(taint) = node.taints.iter().find(is_startup) {
        return Some(Waiting::StartupTaint(taint.clone()));
    }
    if let Some(taint) = node.taints.iter().find(|taint| taint.is_ephemeral()) {
        return Some(Waiting::EphemeralTaint(taint.clone()));
    }
    let missing = requests
        .iter()
        .find(|(name, amount)| *amount != 0 && node.allocatable.get(name) == 0);
    missing.map(|(name, _)| Waiting::ResourceMissing(name.clone()))
}

impl Waiting {
    /// The reason of the condition `Initialized`, as upstream writes it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NodeNotFound => "NodeNotFound",
            Self::NodeNotReady => "NodeNotReady",
            Self::StartupTaint(_) => "StartupTaintsExist",
            Self::EphemeralTaint(_) => "KnownEphemeralTaintsExist",
            Self::ResourceMissing(_) => "ResourceNotRegistered",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taints::Effect;

    fn node(ready: bool, taints: &[Taint], cpu: i64) -> NodeSeen {
        NodeSeen {
            ready,
            taints: taints.to_vec(),
            allocatable: Resources::new().with(ResourceName::Cpu, cpu),
        }
    }

    fn code(node: Option<&NodeSeen>) -> &'static str {
        let startup = [Taint::new("cni", "", Effect::NoSchedule)];
        let requests = Resources::new()
            .with(ResourceName::Cpu, 1000)
            .with(ResourceName::Memory, 0);
        match decide(node, &startup, &requests, false) {
            Initialization::Done => "done",
            Initialization::Waits(waiting) => waiting.code(),
            Initialization::Rebooting => "rebooting",
        }
    }

    #[test]
    fn a_node_waits_for_ready_startup_taints_ephemeral_taints_and_resources_in_this_order() {
        let cni = Taint::new("cni", "x", Effect::NoSchedule);
        let ccm = Taint::new(
            "node.cloudprovider.kubernetes.io/uninitialized",
            "true",
            Effect::NoSchedule,
        );
        assert_eq!(code(None), "NodeNotFound");
        assert_eq!(
            code(Some(&node(false, std::slice::from_ref(&cni), 0))),
            "NodeNotReady"
        );
        assert_eq!(
            code(Some(&node(true, &[ccm.clone(), cni], 0))),
            "StartupTaintsExist"
        );
        assert_eq!(
            code(Some(&node(true, &[ccm], 0))),
            "KnownEphemeralTaintsExist"
        );
        assert_eq!(code(Some(&node(true, &[], 0))), "ResourceNotRegistered");
        assert_eq!(code(Some(&node(true, &[], 4000))), "done");
    }

    #[test]
    fn a_reboot_ends_before_anything_else_is_judged() {
        assert_eq!(
            decide(None, &[], &Resources::new(), true),
            Initialization::Rebooting
        );
    }
}
