//! What may an OVHNodeClass say (version v1, the hub)?
//!
//! Only billing and placement have schema defaults, because their counterparts in v1alpha1 always had them.

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pool::Pool;
use super::status::OvhNodeClassStatus;
use crate::shared::reference::SecretRef;

/// How nodes of OVHcloud Managed Kubernetes are made.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "karpenter.ovhcloud.sh",
    kind = "OVHNodeClass",
    root = "OvhNodeClass",
    plural = "ovhnodeclasses",
    singular = "ovhnodeclass",
    shortname = "ovhnc",
    shortname = "ovhncs",
    category = "karpenter",
    derive = "PartialEq",
    status = "OvhNodeClassStatus",
    version = "v1",
    storage = true,
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Region", type_ = "string", json_path = ".status.region"),
    printcolumn(name = "Billing", type_ = "string", json_path = ".spec.billing"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "How nodes of OVHcloud Managed Kubernetes are made."
)]
#[x_kube(validation = Rule::new("!has(self.placement) || !has(self.placement.antiAffinity) || !self.placement.antiAffinity || !has(self.pool) || !has(self.pool.maxNodesPerPool) || self.pool.maxNodesPerPool <= 5").message("OVHcloud allows at most 5 nodes in a pool with anti-affinity; lower pool.maxNodesPerPool or remove placement.antiAffinity"))]
#[serde(rename_all = "camelCase")]
pub struct OvhNodeClassSpec {
    /// Public Cloud project.
    #[serde(rename = "projectID")]
    #[schemars(regex(pattern = r"^[a-f0-9]{32}$"))]
    pub project_id: String,
    /// Managed Kubernetes cluster. Absent means the cluster the operator runs in.
    #[serde(rename = "clusterID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 160))]
    pub cluster_id: Option<String>,
    /// Region of the cluster, for example `EU-WEST-PAR`. Absent means: asked from the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub region: Option<String>,
    /// As whom to speak. Absent means the operator's own environment (`OVH_*`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// How nodes are billed. Monthly exists for b2, c2, d2 and r2 flavors only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Hourly"))]
    pub billing: Option<Billing>,
    /// Where nodes run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"antiAffinity": false}))]
    pub placement: Option<Placement>,
    /// Labels of the nodes, besides those of the pool. Reserved labels are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_labels: Option<BTreeMap<String, String>>,
    /// Annotations of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 50))]
    pub node_annotations: Option<BTreeMap<String, String>>,
    /// Availability zones that may be used. Absent means all of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10), inner(length(min = 1, max = 63)))]
    pub availability_zones: Option<Vec<String>>,
    /// Flavors that may be bought; any term may match. Absent means every flavor of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub flavor_selector_terms: Option<Vec<FlavorSelectorTerm>>,
    /// Whether nodes get public addresses. Absent means the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floating_i_ps: Option<bool>,
    /// How nodes are put into node pools. Absent means one pool for each node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Where prices come from. Absent means the public catalog of FR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// How long a GPU node may take to join, for example `90m`. Absent means 90m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^([0-9]+(s|m|h))+$"))]
    pub gpu_registration_timeout: Option<String>,
}

/// As whom to speak with OVHcloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.secretRef)").message("credentials need a Secret; add secretRef or remove credentials to use the operator's own"))]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Secret with applicationKey, applicationSecret, consumerKey, or clientId and clientSecret; endpoint may
    /// be in it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// Kind of the credentials. Absent means: recognised by the keys of the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<CredentialsType>,
    /// API endpoint. Absent means the Secret's, then ovh-eu.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
}

/// Kind of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CredentialsType {
    /// Application key, application secret and consumer key.
    ApplicationKey,
    /// A service account.
    OAuth2,
}

/// API endpoint of OVHcloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Endpoint {
    #[serde(rename = "ovh-eu")]
    Eu,
    #[serde(rename = "ovh-ca")]
    Ca,
    #[serde(rename = "ovh-us")]
    Us,
}

/// How nodes are billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Billing {
    Hourly,
    Monthly,
}

/// Where nodes run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// Whether nodes of a pool are spread over hypervisors; such a pool holds at most five.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub anti_affinity: Option<bool>,
}

/// Chooses flavors. All fields given must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.name) || has(self.nameRegex) || has(self.category)").message("a flavor term must set at least one of name, nameRegex and category; add one or remove the term"))]
#[x_kube(validation = Rule::new("!has(self.name) || !has(self.nameRegex)").message("set at most one of name and nameRegex; remove the other"))]
#[serde(rename_all = "camelCase")]
pub struct FlavorSelectorTerm {
    /// Exact name, for example `b3-8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub name: Option<String>,
    /// Regular expression the whole name must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub name_regex: Option<String>,
    /// Letter of the category, for example `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z]$"))]
    pub category: Option<String>,
}

/// Where prices come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    /// OVHcloud subsidiary whose catalog counts, for example `FR`. Absent means FR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Z]{2,4}$"))]
    pub subsidiary: Option<String>,
    /// Savings plans you hold: covered nodes cost what the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50))]
    pub savings_plans: Option<Vec<SavingsPlan>>,
}

/// A savings plan you hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavingsPlan {
    /// Flavor it covers.
    #[schemars(length(min = 1, max = 63))]
    pub flavor: String,
    /// How many nodes it covers.
    #[schemars(range(min = 1))]
    pub count: i32,
    /// Price of a covered node per hour, a decimal string. Absent means 0: it is paid anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(r#"self.matches('^[0-9]+(\\.[0-9]{1,9})?$')"#).message("a price is a decimal such as 0.0425 with at most nine decimals, in quotes; remove signs and the currency"))]
    pub price: Option<String>,
}
