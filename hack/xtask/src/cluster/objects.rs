//! Which objects must exist before a node can join? (What `kubeadm init` adds to an empty API server.)

use super::files::base64;

/// The token hollow nodes join with. Every test cluster has the same: it is a test cluster.
pub const BOOTSTRAP_TOKEN: &str = "abcdef.0123456789abcdef";

const NODES: &str = "system:bootstrappers:kubeadm:default-node-token";

/// Bootstrap token, the RBAC of TLS bootstrap, and `kube-public/cluster-info`, as one YAML stream.
pub(super) fn bootstrap(server: &str, ca: &str) -> String {
    let (id, secret) = BOOTSTRAP_TOKEN.split_once('.').unwrap_or_default();
    [token(id, secret), access(), cluster_info(server, ca)].join("---\n")
}

fn token(id: &str, secret: &str) -> String {
    format!(
        "apiVersion: v1
kind: Secret
metadata: {{name: bootstrap-token-{id}, namespace: kube-system}}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: \"{id}\"
  token-secret: \"{secret}\"
  usage-bootstrap-authentication: \"true\"
  usage-bootstrap-signing: \"true\"
  auth-extra-groups: {NODES}
"
    )
}

fn access() -> String {
    let approve = "system:certificates.k8s.io:certificatesigningrequests";
    let role = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: \"kubeadm:get-nodes\"}
rules: [{apiGroups: [\"\"], resources: [nodes], verbs: [get]}]
";
    [
        role.to_owned(),
        binding("cluster-admins", "cluster-admin", "kubeadm:cluster-admins"),
        binding("kubelet-bootstrap", "system:node-bootstrapper", NODES),
        binding(
            "node-autoapprove-bootstrap",
            &format!("{approve}:nodeclient"),
            NODES,
        ),
        binding(
            "node-autoapprove-certificate-rotation",
            &format!("{approve}:selfnodeclient"),
            "system:nodes",
        ),
        binding("get-nodes", "kubeadm:get-nodes", NODES),
    ]
    .join("---\n")
}

fn binding(name: &str, role: &str, group: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: \"kubeadm:{name}\"}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: \"{role}\"}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: \"{group}\"}}]
"
    )
}

/// Where a joining machine without kubeconfig finds address and CA, readable by everybody.
fn cluster_info(server: &str, ca: &str) -> String {
    format!(
        "apiVersion: v1
kind: ConfigMap
metadata: {{name: cluster-info, namespace: kube-public}}
data:
  kubeconfig: |
    apiVersion: v1
    kind: Config
    clusters: [{{name: \"\", cluster: {{server: \"{server}\", certificate-authority-data: {ca}}}}}]
    contexts: []
    users: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: \"kubeadm:bootstrap-signer-clusterinfo\", namespace: kube-public}}
rules: [{{apiGroups: [\"\"], resources: [configmaps], resourceNames: [cluster-info], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: \"kubeadm:bootstrap-signer-clusterinfo\", namespace: kube-public}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: \"kubeadm:bootstrap-signer-clusterinfo\"}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: \"system:anonymous\"}}]
",
        ca = base64(ca)
    )
}
