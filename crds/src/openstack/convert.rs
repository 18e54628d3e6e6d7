//! Which field of `v1openstack` is which field of `v1`?
//!
//! `imageRef` is in no table on purpose: the prototype never used it, so it is kept aside and nothing more.

use serde_json::json;

use crate::convert::table::{FieldMap, How, Member, Pair, Rewrite};

pub static PAIR: Pair = Pair {
    group: "karpenter.k8s.openstack",
    kind: "OpenStackNodeClass",
    spoke: "v1openstack",
    hub: "v1",
    spec: SPEC,
    status: STATUS,
};

const SPEC: &[FieldMap] = &[
    FieldMap::new("imageSelectorTerms", "imageSelectorTerms", How::Each(&How::Fields(IMAGE_TERM))),
    FieldMap::new("networks", "ports", How::Each(&How::Inside(&NETWORK))),
    FieldMap::new("securityGroups", "securityGroupSelectorTerms", How::Each(&How::Rewrite(&ID_OR_NAME))),
    FieldMap::same("keyPair"),
    FieldMap::new("disks", "blockDevices", How::Each(&How::Fields(DISK))),
    FieldMap::new("floatingIP", "floatingIP", How::Inside(&FLOATING_IP)),
    FieldMap::new("userData", "userData", How::Inside(&USER_DATA)),
    FieldMap::new("kubeletConfiguration", "kubelet", How::Fields(KUBELET)),
    FieldMap::same("labels"),
    FieldMap::same("metadata"),
];

const STATUS: &[FieldMap] = &[
    FieldMap::same("conditions"),
    FieldMap::same("images"),
    FieldMap::same("networks"),
    FieldMap::same("securityGroups"),
    FieldMap::same("flavors"),
    FieldMap::same("availabilityZones"),
    FieldMap::same("quota"),
];

const IMAGE_TERM: &[FieldMap] = &[FieldMap::same("id"), FieldMap::same("alias")];

const DISK: &[FieldMap] = &[FieldMap::same("sizeGiB"), FieldMap::same("volumeType"), FieldMap::same("boot")];

const KUBELET: &[FieldMap] = &[
    FieldMap::same("clusterDNS"),
    FieldMap::same("maxPods"),
    FieldMap::same("podsPerCore"),
    FieldMap::same("systemReserved"),
    FieldMap::same("kubeReserved"),
    FieldMap::same("evictionHard"),
    FieldMap::same("evictionSoft"),
    FieldMap::same("evictionSoftGracePeriod"),
    FieldMap::same("evictionMaxPodGracePeriod"),
    FieldMap::same("imageGCHighThresholdPercent"),
    FieldMap::same("imageGCLowThresholdPercent"),
    FieldMap::same("cpuCFSQuota"),
];

const NETWORK: Member = Member { name: "network", how: How::Rewrite(&ID_OR_NAME), instead_of: &[] };
const FLOATING_IP: Member = Member { name: "enabled", how: How::Same, instead_of: &[] };
const USER_DATA: Member = Member { name: "inline", how: How::Same, instead_of: &["secretRef"] };

/// One string is an id if it looks like one, else a name.
const ID_OR_NAME: Rewrite = Rewrite {
    up: |text| {
        let field = if is_uuid(text.as_str()?) { "id" } else { "name" };
        Some(json!({ field: text }))
    },
    down: |term| term.get("id").or_else(|| term.get("name")).filter(|text| text.is_string()).cloned(),
};

fn is_uuid(text: &str) -> bool {
    let hyphen = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, u8)| if hyphen(at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn up(text: &str) -> Option<Value> {
        (ID_OR_NAME.up)(&json!(text))
    }

    #[test]
    fn a_uuid_is_an_id_and_anything_else_a_name() {
        let uuid = "0a1b2c3d-4E5f-6789-abcd-ef0123456789";
        assert_eq!(up(uuid), Some(json!({"id": uuid})));
        for name in ["private", "", "0a1b2c3d4e5f6789abcdef0123456789", "0a1b2c3d-4E5f-6789-abcd-ef012345678g"] {
            assert_eq!(up(name), Some(json!({"name": name})), "{name}");
        }
    }
}
