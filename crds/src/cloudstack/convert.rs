//! Which field of CloudStackNodeClass `v1` is which field of `v2`?

use serde_json::json;

use crate::convert::table::{FieldMap, How, Member, Pair, Rewrite};

pub static PAIR: Pair = Pair {
    group: "karpenter.k8s.cloudstack",
    kind: "CloudStackNodeClass",
    spoke: "v1",
    hub: "v2",
    spec: SPEC,
    status: STATUS,
};

const SPEC: &[FieldMap] = &[
    FieldMap::new("zone", "zoneSelectorTerms", How::First(&How::Rewrite(&ZONE))),
    FieldMap::new("networkSelectorTerms", "networkSelectorTerms", How::Each(&How::Fields(TERM))),
    FieldMap::new("serviceOfferingSelectorTerms", "serviceOfferingSelectorTerms", How::Each(&How::Fields(TERM))),
    FieldMap::new("templateSelectorTerms", "templateSelectorTerms", How::Each(&How::Fields(TEMPLATE_TERM))),
    FieldMap::new("userData", "userData", How::Inside(&USER_DATA)),
    FieldMap::same("tags"),
    FieldMap::new("rootDiskSize", "rootDisk", How::Inside(&ROOT_DISK_SIZE)),
    FieldMap::new("diskOffering", "dataDisks", How::First(&How::Inside(&DISK_OFFERING))),
    FieldMap::new("sshKeyPair", "sshKeyPairs", How::First(&How::Same)),
];

const STATUS: &[FieldMap] = &[
    FieldMap::same("networks"),
    FieldMap::same("serviceOfferings"),
    FieldMap::same("templates"),
    FieldMap::same("conditions"),
    FieldMap::same("zones"),
    FieldMap::same("securityGroups"),
];

const TERM: &[FieldMap] = &[FieldMap::same("tags"), FieldMap::same("id"), FieldMap::same("name")];

const TEMPLATE_TERM: &[FieldMap] =
    &[FieldMap::same("tags"), FieldMap::same("id"), FieldMap::same("name"), FieldMap::same("osType")];

/// Setting the text in `v1` replaces whatever else the user data was.
const USER_DATA: Member = Member { name: "inline", how: How::Same, instead_of: &["secretRef", "registeredID"] };
const ROOT_DISK_SIZE: Member = Member { name: "sizeGiB", how: How::Same, instead_of: &[] };
const DISK_OFFERING: Member = Member { name: "offering", how: How::Inside(&OFFERING_NAME), instead_of: &[] };
const OFFERING_NAME: Member = Member { name: "name", how: How::Same, instead_of: &["id"] };

/// `v1` knows zones by name only, and always knows one: a zone the hub knows by id alone shows its id, a term that says
/// nothing an empty name.
const ZONE: Rewrite = Rewrite {
    up: |zone| zone.is_string().then(|| json!({ "name": zone })),
    down: |term| {
        let term = term.as_object()?;
        let zone = term.get("name").or_else(|| term.get("id")).cloned().unwrap_or_else(|| json!(""));
        zone.is_string().then_some(zone)
    },
};
