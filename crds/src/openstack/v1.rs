//! What may an OpenStackNodeClass say (version v1, the hub)?
//!
//! Nothing here has a schema default: what an older version did not say must stay unsaid, or it would read back changed.
//! The description of a field says what its absence means.

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::{FloatingIp, Port};
use super::select::{FlavorSelectorTerm, ImageSelectorTerm};
use super::status::OpenStackNodeClassStatus;
use crate::shared::bootstrap::Bootstrap;
use crate::shared::kubelet::Kubelet;
use crate::shared::pricing::Pricing;
use crate::shared::reference::SecretKeyRef;
use crate::shared::selector::TaggedTerm;
use crate::shared::user_data::{Template, UserDataFormat};

/// How instances on OpenStack are made.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "karpenter.k8s.openstack",
    kind = "OpenStackNodeClass",
    plural = "openstacknodeclasses",
    singular = "openstacknodeclass",
    shortname = "osnc",
    category = "karpenter",
    derive = "PartialEq",
    status = "OpenStackNodeClassStatus",
    version = "v1",
    storage = true,
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Flavors", type_ = "integer", json_path = ".status.flavors.count", description = "Flavors that may be bought"),
    printcolumn(name = "Image", type_ = "string", json_path = ".status.images[0].name", description = "Image new instances get"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "How instances on OpenStack are made."
)]
#[x_kube(validation = Rule::new("!has(self.bootstrap) || !has(self.bootstrap.mode) || self.bootstrap.mode != 'UserData' || has(self.userData)").message("bootstrap.mode UserData needs userData; add it or choose another mode"))]
#[serde(rename_all = "camelCase")]
pub struct OpenStackNodeClassSpec {
    /// Which cloud, and as whom. Absent means the operator's own environment (`OS_*`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud: Option<Cloud>,
    /// Chooses the image: any term may match, the newest active image wins.
    #[schemars(length(min = 1, max = 30))]
    pub image_selector_terms: Vec<ImageSelectorTerm>,
    /// Network ports of the instance, in order; the first carries the node's address.
    #[schemars(length(min = 1, max = 16))]
    pub ports: Vec<Port>,
    /// Security groups of every port that names none itself. Absent means the project's default group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 30))]
    pub security_group_selector_terms: Option<Vec<TaggedTerm>>,
    /// Flavors that may be bought; any term may match. Absent means every flavor the project sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub flavor_selector_terms: Option<Vec<FlavorSelectorTerm>>,
    /// Availability zones that may be used. Absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 50), inner(length(min = 1, max = 63)))]
    pub availability_zones: Option<Vec<String>>,
    /// Name of the key pair for SSH. It belongs to the user of the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub key_pair: Option<String>,
    /// Volumes and ephemeral disks. Absent means the flavor's own disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10))]
    #[x_kube(validation = Rule::new("self.filter(device, has(device.boot) && device.boot).size() <= 1").message("at most one block device may have boot: true; remove boot from the others"))]
    pub block_devices: Option<Vec<BlockDevice>>,
    /// Whether an instance gets a public address. Absent means no.
    #[serde(rename = "floatingIP", default, skip_serializing_if = "Option::is_none")]
    pub floating_ip: Option<FloatingIp>,
    /// Keeps instances apart or together. Absent means the scheduler's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_group: Option<ServerGroup>,
    /// Whether user data is also put on a config drive. Absent means the cloud's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_drive: Option<bool>,
    /// Tags of the instance, besides our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 48), inner(length(min = 1, max = 60)))]
    #[x_kube(validation = Rule::new("self.all(tag, !tag.contains('/') && !tag.contains(','))").message("Nova allows no slash and no comma in a tag; write for example team=web"))]
    pub server_tags: Option<Vec<String>>,
    /// Further hints for Nova's scheduler, handed over as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 20))]
    #[x_kube(validation = Rule::new("!('group' in self)").message("the server group is chosen by serverGroup; remove group from schedulerHints"))]
    pub scheduler_hints: Option<BTreeMap<String, String>>,
    /// Metadata of the instance. Nova allows no slash in a key: it is written as an underscore. Our own marks
    /// win.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Merged under metadata, with lower precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// What the machine runs at its first boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<UserData>,
    /// How a machine joins the cluster. Absent means by userData if there is any, else Kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Bootstrap>,
    /// Settings of the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<Kubelet>,
    /// Prices, since OpenStack has none. Absent means unknown: types are compared by size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// What the project's quota means for planning. Absent means Obey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_policy: Option<QuotaPolicy>,
    /// How long an instance may take to become active, for example `10m`. Absent means 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^([0-9]+(s|m|h))+$"))]
    pub create_timeout: Option<String>,
}

/// Which cloud, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.insecure) || !self.insecure || !has(self.caSecretRef)").message("insecure trusts every certificate, so caSecretRef would not be used; remove insecure"))]
#[serde(rename_all = "camelCase")]
pub struct Cloud {
    /// Secret with a clouds.yaml; its key is `clouds.yaml` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<SecretKeyRef>,
    /// Entry of clouds.yaml to use. Absent means the only one, or `openstack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub cloud_name: Option<String>,
    /// Region. Absent means the entry's region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub region: Option<String>,
    /// Secret with CA certificates to trust, PEM; its key is `ca.crt` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<SecretKeyRef>,
    /// Whether to skip the verification of certificates. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    /// Which endpoints of the service catalog to use. Absent means public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Interface>,
}

/// Endpoints of the service catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Interface {
    #[serde(rename = "public")]
    Public,
    #[serde(rename = "internal")]
    Internal,
    #[serde(rename = "admin")]
    Admin,
}

/// A volume or an ephemeral disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.ephemeral) || !self.ephemeral || !has(self.boot) || !self.boot").message("an instance cannot boot from an ephemeral disk of its own; remove boot or ephemeral"))]
#[x_kube(validation = Rule::new("!has(self.ephemeral) || !self.ephemeral || !(has(self.volumeType) || has(self.availabilityZone))").message("an ephemeral disk is no volume; remove volumeType and availabilityZone, or ephemeral"))]
#[serde(rename_all = "camelCase")]
pub struct BlockDevice {
    /// Size in GiB.
    #[schemars(range(min = 1))]
    pub size_gi_b: i32,
    /// Cinder volume type. Absent means the cloud's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub volume_type: Option<String>,
    /// Whether the instance boots from it. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<bool>,
    /// Tag of the device, as the machine's metadata shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 60))]
    pub name: Option<String>,
    /// Whether it goes away with the instance. Absent means true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_on_termination: Option<bool>,
    /// Cinder availability zone. Absent means the instance's zone where the cloud wants that, else any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub availability_zone: Option<String>,
    /// Whether it is a local disk of the hypervisor instead of a volume. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
}

/// Keeps instances apart or together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.id) || !has(self.name)").message("set at most one of serverGroup.id and serverGroup.name; remove the other"))]
#[x_kube(validation = Rule::new("!(has(self.id) || has(self.name)) || !(has(self.policy) || has(self.maxServersPerGroup))").message("an existing server group keeps its own policy; remove policy and maxServersPerGroup, or id and name"))]
#[serde(rename_all = "camelCase")]
pub struct ServerGroup {
    /// What the groups we create ask of the scheduler. Absent means soft-anti-affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ServerGroupPolicy>,
    /// Most instances in a group we create; then a further one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_servers_per_group: Option<i32>,
    /// Id of an existing group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 160))]
    pub id: Option<String>,
    /// Name of an existing group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name: Option<String>,
}

/// What a server group asks of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServerGroupPolicy {
    #[serde(rename = "affinity")]
    Affinity,
    #[serde(rename = "anti-affinity")]
    AntiAffinity,
    #[serde(rename = "soft-affinity")]
    SoftAffinity,
    #[serde(rename = "soft-anti-affinity")]
    SoftAntiAffinity,
}

/// What the machine runs at its first boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.inline) || !has(self.secretRef)").message("set at most one of userData.inline and userData.secretRef; remove the other"))]
#[serde(rename_all = "camelCase")]
pub struct UserData {
    /// The text itself. Everybody who can read the class can read it: tokens belong into a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<String>,
    /// Secret that holds the text; its key is `userData` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretKeyRef>,
    /// Whether the text is a template. Absent means None.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Template>,
    /// What reads the text on the machine. Absent means: recognised by its first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<UserDataFormat>,
}

/// What the project's quota means for planning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum QuotaPolicy {
    /// Types that would exceed it are not offered.
    Obey,
    /// Types are offered until the cloud refuses one.
    Ignore,
}
