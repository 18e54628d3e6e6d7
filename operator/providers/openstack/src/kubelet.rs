//! What do the class's kubelet settings leave for pods, and what is the kubelet told?

use std::collections::BTreeMap;

use cloud::bootstrap;
use crds::shared::kubelet::{CpuManagerPolicy, Kubelet, TopologyManagerPolicy};
use planner::{BadResource, Quantity, ResourceName, Resources};

const MAX_PODS: u32 = 110;
/// The kernel's and the firmware's share of the memory a flavor promises, in percent.
const KERNEL_PERCENT: i64 = 5;

/// Most pods on a node with so many vCPUs.
pub(crate) fn pods(kubelet: Option<&Kubelet>, vcpus: u32) -> u32 {
    let positive = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok());
    let most = kubelet
        .and_then(|kubelet| positive(kubelet.max_pods))
        .unwrap_or(MAX_PODS);
    let per_core = kubelet
        .and_then(|kubelet| positive(kubelet.pods_per_core))
        .filter(|per_core| *per_core > 0);
    per_core.map_or(most, |per_core| most.min(per_core.saturating_mul(vcpus)))
}

/// What the machine keeps for itself.
pub(crate) fn overhead(
    kubelet: Option<&Kubelet>,
    capacity: &Resources,
) -> Result<Resources, BadResource> {
    let reserved = |list: Option<&BTreeMap<String, String>>| {
        let known = |key: &str| matches!(key, "cpu" | "memory" | "ephemeral-storage");
        let pairs = list.into_iter().flatten().filter(|(key, _)| known(key));
        Resources::parse(pairs.map(|(key, value)| (key.as_str(), value.as_str())))
    };
    let system = reserved(kubelet.and_then(|kubelet| kubelet.system_reserved.as_ref()))?;
    let kube = reserved(kubelet.and_then(|kubelet| kubelet.kube_reserved.as_ref()))?;
    let mut eviction = Resources::new();
    for (name, signal, usual) in [
        (ResourceName::Memory, "memory.available", "100Mi"),
        (ResourceName::EphemeralStorage, "nodefs.available", "10%"),
    ] {
        let hard = kubelet.and_then(|kubelet| kubelet.eviction_hard.as_ref());
        let soft = kubelet.and_then(|kubelet| kubelet.eviction_soft.as_ref());
        // Whoever sets one hard threshold loses the kubelet's defaults for all.
        let hard = hard.map_or(Some(usual), |hard| hard.get(signal).map(String::as_str));
        let soft = soft.and_then(|soft| soft.get(signal).map(String::as_str));
        let of = capacity.get(&name);
        let most = threshold(signal, hard, of)?.max(threshold(signal, soft, of)?);
        eviction.set(name, most);
    }
    let kernel = capacity.get(&ResourceName::Memory) / 100 * KERNEL_PERCENT;
    let kernel = Resources::new().with(ResourceName::Memory, kernel);
    Ok(system
        .plus(&kube)
        .plus(&eviction)
        .plus(&kernel)
        .without_zeros())
}

/// The same settings as the machine is told them.
pub fn settings(kubelet: Option<&Kubelet>) -> bootstrap::Kubelet {
    let Some(kubelet) = kubelet else {
        return bootstrap::Kubelet::default();
    };
    let positive = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok());
    let map = |list: &Option<BTreeMap<String, String>>| list.clone().unwrap_or_default();
    let cpu = |policy: CpuManagerPolicy| match policy {
        CpuManagerPolicy::None => "none",
        CpuManagerPolicy::Static => "static",
    };
    let topology = |policy: TopologyManagerPolicy| match policy {
        TopologyManagerPolicy::None => "none",
        TopologyManagerPolicy::BestEffort => "best-effort",
        TopologyManagerPolicy::Restricted => "restricted",
        TopologyManagerPolicy::SingleNumaNode => "single-numa-node",
    };
    bootstrap::Kubelet {
        cluster_dns: kubelet.cluster_dns.clone().unwrap_or_default(),
        max_pods: positive(kubelet.max_pods),
        pods_per_core: positive(kubelet.pods_per_core),
        system_reserved: map(&kubelet.system_reserved),
        kube_reserved: map(&kubelet.kube_reserved),
        eviction_hard: map(&kubelet.eviction_hard),
        eviction_soft: map(&kubelet.eviction_soft),
        eviction_soft_grace_period: map(&kubelet.eviction_soft_grace_period),
        eviction_max_pod_grace_period: kubelet.eviction_max_pod_grace_period,
        image_gc_high_threshold_percent: kubelet.image_gc_high_threshold_percent,
        image_gc_low_threshold_percent: kubelet.image_gc_low_threshold_percent,
        cpu_cfs_quota: kubelet.cpu_cfs_quota,
        cpu_manager_policy: kubelet
            .cpu_manager_policy
            .map(|policy| cpu(policy).to_owned()),
        topology_manager_policy: kubelet
            .topology_manager_policy
            .map(|policy| topology(policy).to_owned()),
        feature_gates: kubelet.feature_gates.clone().unwrap_or_default(),
    }
}

/// An amount or a share of the capacity.
fn threshold(signal: &str, text: Option<&str>, of: i64) -> Result<i64, BadResource> {
    let Some(text) = text else { return Ok(0) };
    if let Some(percent) = text
        .strip_suffix('%')
        .and_then(|percent| percent.parse::<Quantity>().ok())
    {
        let share = i128::from(of) * i128::from(percent.as_milli()) / 100_000;
        return Ok(i64::try_from(share).unwrap_or(i64::MAX));
    }
    let quantity: Quantity = text.parse().map_err(|cause| BadResource {
        name: signal.to_owned(),
        cause,
    })?;
    Ok(quantity.as_units())
}
