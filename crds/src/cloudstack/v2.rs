//! What may a CloudStackNodeClass say (version v2, the hub)?
//!
//! Nothing here has a schema default: what an older version did not say must stay unsaid, or it would read back changed.
//! The description of a field says what its absence means.

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::disk::{DataDisk, RootDisk};
use super::placement::{Account, AffinityGroup, Boot, CustomOffering, Expunge};
use super::select::{AdditionalNetwork, ServiceOfferingSelectorTerm, TemplateSelectorTerm};
use super::status::CloudStackNodeClassStatus;
use crate::shared::bootstrap::Bootstrap;
use crate::shared::kubelet::Kubelet;
use crate::shared::pricing::Pricing;
use crate::shared::reference::{SecretKeyRef, SecretRef};
use crate::shared::selector::{LabelledTerm, NamedTerm};
use crate::shared::user_data::Template;

/// How instances on CloudStack are made.
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
    printcolumn(name = "Template", type_ = "string", json_path = ".status.templates[0].name", description = "Template new instances get"),
    printcolumn(name = "Zones", type_ = "string", json_path = ".status.zones[*].name", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    version = "v2",
    storage = true,
    doc = "How instances on CloudStack are made."
)]
#[x_kube(validation = Rule::new("!has(self.bootstrap) || !has(self.bootstrap.mode) || self.bootstrap.mode != 'UserData' || has(self.userData)").message("bootstrap.mode UserData needs userData; add it or choose another mode"))]
#[x_kube(validation = Rule::new("!has(self.projectID) || !has(self.account)").message("an instance belongs to a project or to an account; remove projectID or account"))]
#[serde(rename_all = "camelCase")]
pub struct CloudStackNodeClassSpec {
    /// Secret with the keys apiUrl, apiKey, secretKey. Absent means the operator's own environment
    /// (`CLOUDSTACK_*`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<SecretRef>,
    /// Zones that may be used; any term may match.
    #[schemars(length(min = 1, max = 30))]
    pub zone_selector_terms: Vec<NamedTerm>,
    /// Network of the first NIC, per zone; any term may match, the first by name wins.
    #[schemars(length(min = 1, max = 30))]
    pub network_selector_terms: Vec<LabelledTerm>,
    /// Networks of further NICs, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8))]
    pub additional_networks: Option<Vec<AdditionalNetwork>>,
    /// Service offerings that may be bought; any term may match.
    #[schemars(length(min = 1, max = 30))]
    pub service_offering_selector_terms: Vec<ServiceOfferingSelectorTerm>,
    /// Chooses the template: any term may match, the newest ready template wins.
    #[schemars(length(min = 1, max = 30))]
    pub template_selector_terms: Vec<TemplateSelectorTerm>,
    /// Security groups, in zones that have them. Absent means the account's default group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 30))]
    pub security_group_selector_terms: Option<Vec<NamedTerm>>,
    /// What the machine runs at its first boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<UserData>,
    /// How a machine joins the cluster. Absent means by userData if there is any, else Kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
    /// Settings of the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<Kubelet>,
    /// Tags of the instance. Our own tags win.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 50, "additionalProperties" = {"type": "string", "minLength": 1, "maxLength": 255}))]
    #[x_kube(validation = Rule::new("self.all(k, k != '' && size(k) <= 255)").message("a tag key has 1 to 255 characters; shorten or remove it"))]
    #[x_kube(validation = Rule::new("self.all(k, !(k in ['karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.sh/managed-by', 'karpenter.k8s.cloudstack/nodeclass']))").message("tags under karpenter.sh/nodepool, karpenter.sh/nodeclaim, karpenter.sh/managed-by, karpenter.k8s.cloudstack/nodeclass are written by the operator; remove them"))]
    pub tags: Option<BTreeMap<String, String>>,
    /// Root disk. Absent means as the template and the offering say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_disk: Option<RootDisk>,
    /// Data disks. They go away with the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10))]
    pub data_disks: Option<Vec<DataDisk>>,
    /// Names of SSH key pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10), inner(length(max = 255)))]
    pub ssh_key_pairs: Option<Vec<String>>,
    /// Keeps instances apart or together. Absent means the allocator's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity_group: Option<AffinityGroup>,
    /// Project that owns the instances. Absent means the account of the credentials.
    #[serde(rename = "projectID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub project_id: Option<String>,
    /// Account that owns the instances. Absent means the account of the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// Hypervisor to use. Absent means the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub hypervisor: Option<String>,
    /// Firmware of the instance. Absent means the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    /// Details handed over with the deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 50))]
    #[x_kube(validation = Rule::new("!('cpuNumber' in self || 'cpuSpeed' in self || 'memory' in self)").message("the size of a custom offering is chosen by customOffering; remove cpuNumber, cpuSpeed and memory from details"))]
    pub details: Option<BTreeMap<String, String>>,
    /// Whether a destroyed instance is expunged at once. Absent means Auto.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expunge: Option<Expunge>,
    /// Sizes to offer for service offerings without a fixed size. Absent means such offerings are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_offering: Option<CustomOffering>,
    /// Prices, since CloudStack has none. Absent means unknown: types are compared by size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// How long a deployment may take, for example `10m`. Absent means 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^([0-9]+(s|m|h))+$"))]
    pub create_timeout: Option<String>,
}

/// What the machine runs at its first boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("(has(self.inline) ? 1 : 0) + (has(self.secretRef) ? 1 : 0) + (has(self.registeredID) ? 1 : 0) <= 1").message("set at most one of userData.inline, userData.secretRef and userData.registeredID; remove the others"))]
#[x_kube(validation = Rule::new("!has(self.registeredID) || !has(self.template) || self.template == 'None'").message("registered user data cannot be a template; remove template"))]
#[serde(rename_all = "camelCase")]
pub struct UserData {
    /// The text itself. Everybody who can read the class can read it: tokens belong into a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<String>,
    /// Secret that holds the text; its key is `userData` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretKeyRef>,
    /// Id of user data registered in CloudStack.
    #[serde(rename = "registeredID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub registered_id: Option<String>,
    /// Whether the text is a template. Absent means None.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Template>,
}
