//! Which field of OVHNodeClass `v1alpha1` is which field of `v1`?

use serde_json::json;

use crate::convert::table::{FieldMap, How, Member, Pair, Rewrite};

pub static PAIR: Pair = Pair {
    group: "karpenter.ovhcloud.sh",
    kind: "OVHNodeClass",
    spoke: "v1alpha1",
    hub: "v1",
    spec: SPEC,
    status: STATUS,
};

const SPEC: &[FieldMap] = &[
    FieldMap::new("serviceName", "projectID", How::Same),
    FieldMap::new("kubeId", "clusterID", How::Same),
    FieldMap::same("region"),
    FieldMap::new("credentialsSecretRef", "credentials", How::Inside(&SECRET)),
    FieldMap::new("monthlyBilled", "billing", How::Rewrite(&BILLING)),
    FieldMap::new("antiAffinity", "placement", How::Inside(&ANTI_AFFINITY)),
    FieldMap::new("tags", "nodeLabels", How::Same),
];

const STATUS: &[FieldMap] = &[
    FieldMap::same("conditions"),
    FieldMap::same("discoveredFlavors"),
    FieldMap::same("flavors"),
    FieldMap::same("availabilityZones"),
    FieldMap::same("pools"),
    FieldMap::same("clusterID"),
    FieldMap::same("clusterVersion"),
    FieldMap::same("region"),
];

const SECRET: Member = Member { name: "secretRef", how: How::Same, instead_of: &[] };
const ANTI_AFFINITY: Member = Member { name: "antiAffinity", how: How::Same, instead_of: &[] };

const BILLING: Rewrite = Rewrite {
    up: |monthly| Some(json!(if monthly.as_bool()? { "Monthly" } else { "Hourly" })),
    down: |billing| match billing.as_str()? {
        "Monthly" => Some(json!(true)),
        "Hourly" => Some(json!(false)),
        _ => None,
    },
};
