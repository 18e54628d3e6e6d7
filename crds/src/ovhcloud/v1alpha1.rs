//! What could an OVHNodeClass say for the prototype (version v1alpha1)?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::status::OvhNodeClassStatus;

/// How nodes on OVHcloud are made, as the prototype had it.
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
    version = "v1alpha1",
    storage = false,
    deprecated = "v1alpha1 is deprecated, use v1: serviceName is projectID, kubeId is clusterID, credentialsSecretRef is credentials.secretRef, monthlyBilled is billing, antiAffinity is placement.antiAffinity, tags is nodeLabels",
    doc = "How nodes on OVHcloud are made, as the prototype had it."
)]
#[serde(rename_all = "camelCase")]
pub struct OvhNodeClassSpec {
    /// Public Cloud project.
    #[schemars(regex(pattern = r"^[a-f0-9]{32}$"))]
    pub service_name: String,
    /// Managed Kubernetes cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_id: Option<String>,
    /// Region of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Secret with applicationKey, applicationSecret and consumerKey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<CredentialsSecretRef>,
    /// Whether nodes are billed by the month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub monthly_billed: Option<bool>,
    /// Whether nodes of a pool are spread over hypervisors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub anti_affinity: Option<bool>,
    /// Labels of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// A Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsSecretRef {
    /// Name of the Secret.
    pub name: String,
    /// Namespace of the Secret.
    pub namespace: String,
}
