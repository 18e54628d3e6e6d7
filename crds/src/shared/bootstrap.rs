//! How does a fresh machine become a node of this cluster?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a machine joins the cluster. Absent means UserData if the class has userData, else Kubelet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("!has(self.mode) || self.mode != 'UserData' || !(has(self.tokenTTL) || has(self.endpoint) || has(self.caBundle) || has(self.before) || has(self.after) || has(self.merge))").message("mode UserData leaves joining to your own userData; remove the other fields of bootstrap or choose another mode"))]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// Who starts the kubelet. Absent means UserData if the class has userData, else Kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<BootstrapMode>,
    /// How long a join token lives, for example `30m`. Absent means until the registration deadline of its
    /// claim.
    #[serde(rename = "tokenTTL", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = r"^([0-9]+(s|m|h))+$"))]
    pub token_ttl: Option<String>,
    /// Address of the API server as nodes reach it, for example `https://10.0.0.1:6443`. Absent means the
    /// operator's flag, then `kube-public/cluster-info`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    #[x_kube(validation = Rule::new("self.startsWith('https://')").message("endpoint must begin with https://; write for example https://10.0.0.1:6443"))]
    pub endpoint: Option<String>,
    /// CA certificates of the API server, PEM. Absent means as for endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub ca_bundle: Option<String>,
    /// Commands to run before the node joins, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50), inner(length(max = 4096)))]
    pub before: Option<Vec<String>>,
    /// Commands to run after the node joined, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50), inner(length(max = 4096)))]
    pub after: Option<Vec<String>>,
    /// What happens to the class's userData in modes that write their own. Absent means Append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<BootstrapMerge>,
}

/// Who starts the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootstrapMode {
    /// The class's userData does everything.
    UserData,
    /// A kubelet that is installed on the image, joined by TLS bootstrap.
    Kubelet,
    /// `kubeadm join`.
    Kubeadm,
    /// The k3s agent.
    K3s,
    /// The RKE2 agent.
    #[serde(rename = "RKE2")]
    Rke2,
    /// A Talos machine configuration.
    Talos,
}

/// How userData and our own part meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BootstrapMerge {
    /// userData comes after our part.
    Append,
    /// userData replaces our part.
    Replace,
}
