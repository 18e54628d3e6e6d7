//! Which machine should a hollow node pretend to be, and with which flags does its kubelet start? (Pure.)

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A node to join. `Node::named("n1")` is a small machine that joins with the cluster's own token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub join: Join,
    pub provider_id: Option<String>,
    pub cpus: u32,
    pub memory: String,
    pub ephemeral_storage: String,
    /// Devices, e.g. `nvidia.com/gpu` → `1`.
    pub extended_resources: BTreeMap<String, String>,
    pub max_pods: u32,
    pub labels: BTreeMap<String, String>,
    /// `key=value:Effect`.
    pub taints: Vec<String>,
    /// `--cloud-provider=external`: registers with the uninitialized taint.
    pub external_cloud: bool,
}

/// What a node shows to the API server to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Join {
    /// The cluster's own bootstrap token.
    ClusterToken,
    /// Another token, with the cluster's address and CA.
    Token(String),
    /// A bootstrap kubeconfig as it would come from user data.
    Kubeconfig(String),
}

impl Node {
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            join: Join::ClusterToken,
            provider_id: None,
            cpus: 4,
            memory: "8Gi".into(),
            ephemeral_storage: "50Gi".into(),
            extended_resources: BTreeMap::new(),
            max_pods: 110,
            labels: BTreeMap::new(),
            taints: Vec::new(),
            external_cloud: false,
        }
    }

    /// The name of its process among the cluster's parts.
    pub(super) fn part(&self) -> String {
        part(&self.name)
    }

    pub(super) fn argv(&self, hollow_kubelet: &Path, place: &Place) -> Vec<String> {
        let mut argv = vec![
            hollow_kubelet.display().to_string(),
            format!("--name={}", self.name),
            format!("--bootstrap-kubeconfig={}", place.bootstrap.display()),
            format!("--root-dir={}", place.root.display()),
            format!("--cpus={}", self.cpus),
            format!("--memory={}", self.memory),
            format!("--ephemeral-storage={}", self.ephemeral_storage),
            format!("--max-pods={}", self.max_pods),
        ];
        let joined = |pairs: &BTreeMap<String, String>| {
            pairs
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
                .join(",")
        };
        let optional = [
            ("provider-id", self.provider_id.clone().unwrap_or_default()),
            ("node-ip", place.address.clone().unwrap_or_default()),
            ("extended-resources", joined(&self.extended_resources)),
            ("node-labels", joined(&self.labels)),
            ("register-with-taints", self.taints.join(",")),
            (
                "cloud-provider",
                if self.external_cloud {
                    "external".into()
                } else {
                    String::new()
                },
            ),
        ];
        argv.extend(
            optional
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(flag, value)| format!("--{flag}={value}")),
        );
        argv
    }
}

/// Where a node's files are.
pub(super) struct Place {
    pub(super) root: PathBuf,
    pub(super) bootstrap: PathBuf,
    pub(super) address: Option<String>,
}

pub(super) fn part(node: &str) -> String {
    format!("node-{node}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_says_everything_it_was_told_to_pretend() {
        let node = Node {
            provider_id: Some("openstack:///42".into()),
            extended_resources: BTreeMap::from([("nvidia.com/gpu".into(), "2".into())]),
            labels: BTreeMap::from([("a".into(), "1".into()), ("b".into(), "2".into())]),
            taints: vec!["k=v:NoSchedule".into(), "x:NoExecute".into()],
            external_cloud: true,
            ..Node::named("n1")
        };
        let place = Place {
            root: "/r".into(),
            bootstrap: "/b".into(),
            address: None,
        };
        let argv = node.argv(Path::new("/hollow"), &place).join(" ");
        assert_eq!(
            argv,
            "/hollow --name=n1 --bootstrap-kubeconfig=/b --root-dir=/r --cpus=4 --memory=8Gi --ephemeral-storage=50Gi \
             --max-pods=110 --provider-id=openstack:///42 --extended-resources=nvidia.com/gpu=2 --node-labels=a=1,b=2 \
             --register-with-taints=k=v:NoSchedule,x:NoExecute --cloud-provider=external"
        );
    }
}
