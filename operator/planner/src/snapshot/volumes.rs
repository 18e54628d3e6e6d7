//! Where can a pod's volumes be reached from, and how many of them does a node take?

use crate::requirements::{Requirement, Text};

/// One persistent volume of a pod, bound or to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Volume {
    /// `namespace/name` of the claim. `Pods::gather` blanks it unless several pods share the claim.
    pub claim: Text,
    /// The CSI driver that attaches it; `None`: nothing has to be attached.
    pub driver: Option<Text>,
    /// One of these must hold where the pod runs; empty: anywhere.
    pub alternatives: Vec<Vec<Requirement>>,
}

/// What is known about attaching volumes beside what nodes say themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    pub limits: Vec<VolumeLimit>,
}

/// How many volumes of one driver a node of a type takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VolumeLimit {
    /// `None`: every type.
    pub instance_type: Option<Text>,
    pub driver: Text,
    pub most: u32,
}

impl Volumes {
    /// The limit of a type for a driver; the type's own word counts more than the one for every type.
    pub fn limit(&self, instance_type: &str, driver: &str) -> Option<u32> {
        let of = |wanted: Option<&str>| {
            self.limits
                .iter()
                .filter(|limit| {
                    limit.driver.as_ref() == driver && limit.instance_type.as_deref() == wanted
                })
                .map(|limit| limit.most)
                .min()
        };
        of(Some(instance_type)).or_else(|| of(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_types_own_limit_counts_more_than_that_of_every_type() {
        let limit = |kind: Option<&str>, most| VolumeLimit {
            instance_type: kind.map(Into::into),
            driver: "csi".into(),
            most,
        };
        let volumes = Volumes {
            limits: vec![limit(None, 5), limit(Some("big"), 20)],
        };
        assert_eq!(volumes.limit("big", "csi"), Some(20));
        assert_eq!(volumes.limit("small", "csi"), Some(5));
        assert_eq!(volumes.limit("small", "nfs"), None);
    }
}
