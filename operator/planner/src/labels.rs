//! Which label keys have a meaning of their own, and under which older names are they still written?

use std::sync::Arc;

pub const POOL: &str = "karpenter.sh/nodepool";
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
pub const REGISTERED: &str = "karpenter.sh/registered";
pub const INITIALIZED: &str = "karpenter.sh/initialized";
pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const REGION: &str = "topology.kubernetes.io/region";
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
pub const ARCH: &str = "kubernetes.io/arch";
pub const OS: &str = "kubernetes.io/os";
pub const HOSTNAME: &str = "kubernetes.io/hostname";
pub const WINDOWS_BUILD: &str = "node.kubernetes.io/windows-build";

/// Keys a new claim may leave open: the cloud fills them in.
const WELL_KNOWN: [&str; 8] = [
    POOL,
    CAPACITY_TYPE,
    ZONE,
    REGION,
    INSTANCE_TYPE,
    ARCH,
    OS,
    WINDOWS_BUILD,
];

/// Label keys that may be undefined on a claim and still be asked for: the core set and what the clouds add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WellKnown {
    more: Vec<Arc<str>>,
}

impl WellKnown {
    pub fn with(more: impl IntoIterator<Item = Arc<str>>) -> Self {
        let mut more: Vec<_> = more.into_iter().collect();
        more.sort_unstable();
        more.dedup();
        Self { more }
    }

    pub fn contains(&self, key: &str) -> bool {
        WELL_KNOWN.contains(&key)
            || self
                .more
                .binary_search_by(|known| known.as_ref().cmp(key))
                .is_ok()
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        WELL_KNOWN
            .into_iter()
            .chain(self.more.iter().map(AsRef::as_ref))
    }
}

/// The key an older spelling stands for. Never applied to topology keys.
pub fn normalised(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" => ZONE,
        "failure-domain.beta.kubernetes.io/region" => REGION,
        "beta.kubernetes.io/arch" => ARCH,
        "beta.kubernetes.io/os" => OS,
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE,
        key => key,
    }
}

/// May nobody but us write or ask for this key?
pub fn restricted(key: &str, well_known: &WellKnown) -> bool {
    if well_known.contains(key) {
        return false;
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    key == HOSTNAME || domain == "karpenter.sh" || domain.ends_with(".karpenter.sh")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(ZONE, false)]
    #[case(CAPACITY_TYPE, false)]
    #[case(HOSTNAME, true)]
    #[case(INITIALIZED, true)]
    #[case("x.karpenter.sh/y", true)]
    #[case("foo-karpenter.sh/y", false)]
    #[case("karpenter.sh/anything", true)]
    #[case("kubernetes.io/custom", false)]
    #[case("sub.kubernetes.io/custom", false)]
    #[case("node.kubernetes.io/custom", false)]
    #[case("k8s.io/custom", false)]
    #[case(POOL, false)]
    #[case(INSTANCE_TYPE, false)]
    #[case(ARCH, false)]
    #[case(OS, false)]
    #[case(REGION, false)]
    #[case(WINDOWS_BUILD, false)]
    #[case("team", false)]
    fn only_our_own_domain_and_the_host_name_are_restricted(
        #[case] key: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(restricted(key, &WellKnown::default()), expected);
    }

    #[test]
    fn a_cloud_can_make_a_key_well_known() {
        let known = WellKnown::with(["size".into(), "x.karpenter.sh/y".into()]);
        assert!(known.contains("size") && !restricted("x.karpenter.sh/y", &known));
    }
}
