//! What could a CloudStackNodeClass say for the prototype (version v1)?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::status::CloudStackNodeClassStatus;

/// How instances on CloudStack are made, as the prototype had it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "karpenter.k8s.cloudstack",
    kind = "CloudStackNodeClass",
    plural = "cloudstacknodeclasses",
    singular = "cloudstacknodeclass",
    shortname = "csnc",
    shortname = "csncs",
    category = "karpenter",
    derive = "PartialEq",
    status = "CloudStackNodeClassStatus",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    version = "v1",
    storage = false,
    printcolumn(name = "Zone", type_ = "string", json_path = ".spec.zone", priority = "1"),
    deprecated = "v1 is deprecated, use v2: zone is zoneSelectorTerms, userData is userData.inline, rootDiskSize is rootDisk.sizeGiB, diskOffering is dataDisks[0].offering.name, sshKeyPair is sshKeyPairs[0]",
    doc = "How instances on CloudStack are made, as the prototype had it."
)]
#[serde(rename_all = "camelCase")]
pub struct CloudStackNodeClassSpec {
    /// Zone by name.
    pub zone: String,
    /// Chooses the network.
    #[schemars(length(max = 30))]
    #[x_kube(validation = Rule::new("self.size() != 0").message("networkSelectorTerms cannot be empty"))]
    #[x_kube(validation = Rule::new("self.all(x, has(x.tags) || has(x.id) || has(x.name))").message("expected at least one, got none, ['tags', 'id', 'name']"))]
    pub network_selector_terms: Vec<SelectorTerm>,
    /// Chooses service offerings.
    #[schemars(length(max = 30))]
    #[x_kube(validation = Rule::new("self.size() != 0").message("serviceOfferingSelectorTerms cannot be empty"))]
    #[x_kube(validation = Rule::new("self.all(x, has(x.tags) || has(x.id) || has(x.name))").message("expected at least one, got none, ['tags', 'id', 'name']"))]
    pub service_offering_selector_terms: Vec<SelectorTerm>,
    /// Chooses the template.
    #[schemars(length(max = 30))]
    #[x_kube(validation = Rule::new("self.size() != 0").message("templateSelectorTerms cannot be empty"))]
    #[x_kube(validation = Rule::new("self.all(x, has(x.tags) || has(x.id) || has(x.name) || has(x.osType))").message("expected at least one, got none, ['tags', 'id', 'name', 'osType']"))]
    pub template_selector_terms: Vec<TemplateSelectorTerm>,
    /// User data, not yet base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// Tags of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self.all(k, k != '')").message("empty tag keys aren't supported"))]
    #[x_kube(validation = Rule::new("self.all(k, k != 'karpenter.sh/nodepool')").message("tag contains a restricted tag matching karpenter.sh/nodepool"))]
    #[x_kube(validation = Rule::new("self.all(k, k != 'karpenter.sh/nodeclaim')").message("tag contains a restricted tag matching karpenter.sh/nodeclaim"))]
    #[x_kube(validation = Rule::new("self.all(k, k != 'karpenter.k8s.cloudstack/nodeclass')").message("tag contains a restricted tag matching karpenter.k8s.cloudstack/nodeclass"))]
    pub tags: Option<BTreeMap<String, String>>,
    /// Size of the root disk in GB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub root_disk_size: Option<i64>,
    /// Disk offering of a data disk, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_offering: Option<String>,
    /// Name of the SSH key pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_key_pair: Option<String>,
}

/// Chooses by tags, id or name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectorTerm {
    /// Resource tags, all of them; the value `*` means any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 20))]
    #[x_kube(validation = Rule::new("self.all(k, k != '' && self[k] != '')").message("empty tag keys or values aren't supported"))]
    pub tags: Option<BTreeMap<String, String>>,
    /// Id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Chooses templates by tags, id, name or operating system type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSelectorTerm {
    /// Resource tags, all of them; the value `*` means any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 20))]
    #[x_kube(validation = Rule::new("self.all(k, k != '' && self[k] != '')").message("empty tag keys or values aren't supported"))]
    pub tags: Option<BTreeMap<String, String>>,
    /// Id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Exact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Operating system type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_type: Option<String>,
}
