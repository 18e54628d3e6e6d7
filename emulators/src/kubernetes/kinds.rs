//! Which kinds are served, under which names, and with which subresources?

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// One served resource. Its `id` is `plural` or `plural.group`: `pods`, `deployments.apps`.
#[derive(Debug, Clone, Default)]
pub struct Kind {
    pub id: String,
    pub group: String,
    /// Served versions, the preferred one first.
    pub versions: Vec<String>,
    /// The version objects are stored in.
    pub storage: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub namespaced: bool,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    /// Besides the object itself: `status`, `scale`, `eviction`, …
    pub subresources: Vec<String>,
    /// Does `metadata.generation` count changes outside metadata and status?
    pub counts_generation: bool,
    /// Only `create` makes sense: reviews and token requests are answered, not stored.
    pub asked_only: bool,
    /// Schema, printer columns and the like of a custom resource, by version.
    pub custom: BTreeMap<String, Arc<Custom>>,
}

/// What a CustomResourceDefinition says about one version.
#[derive(Debug, Clone, Default)]
pub struct Custom {
    pub schema: Value,
    pub columns: Value,
    /// Paths of the scale subresource: `specReplicasPath`, `statusReplicasPath`, `labelSelectorPath`.
    pub scale: Value,
    /// JSON paths that may be used in field selectors.
    pub selectable: Vec<String>,
    pub served: bool,
}

/// All kinds by id.
#[derive(Debug, Clone)]
pub struct Kinds(BTreeMap<String, Arc<Kind>>);

impl Kind {
    pub fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|have| have == subresource)
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }
}

impl Kinds {
    pub fn built_in() -> Self {
        let kinds = TABLE.iter().map(row).map(Arc::new);
        Self(kinds.map(|kind| (kind.id.clone(), kind)).collect())
    }

    pub fn get(&self, id: &str) -> Option<&Arc<Kind>> {
        self.0.get(id)
    }

    /// By what stands in a path.
    pub fn served(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        let kind = self.0.get(&id(plural, group))?;
        let served = kind.versions.iter().any(|have| have == version);
        served.then_some(kind)
    }

    /// By what stands in a manifest.
    pub fn of_kind(&self, api_version: &str, name: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.0.values().find(|kind| {
            kind.kind == name && kind.group == group && kind.versions.iter().any(|v| v == version)
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.0.values()
    }

    pub fn insert(&mut self, kind: Kind) {
        self.0.insert(kind.id.clone(), Arc::new(kind));
    }

    pub fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }
}

pub fn id(plural: &str, group: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}

type Row = (
    &'static str, // group
    &'static str, // versions
    &'static str, // plural
    &'static str, // kind
    char,         // 'n' namespaced, 'c' cluster; upper case: counts generations
    &'static str, // subresources
    &'static str, // short names
);

fn row((group, versions, plural, kind, scope, subresources, short): &Row) -> Kind {
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let versions = words(versions);
    let all = [
        "pods",
        "services",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "jobs",
        "cronjobs",
        "replicationcontrollers",
        "horizontalpodautoscalers",
    ];
    Kind {
        id: id(plural, group),
        group: (*group).to_owned(),
        storage: versions.first().cloned().unwrap_or_default(),
        versions,
        plural: (*plural).to_owned(),
        singular: kind.to_lowercase(),
        kind: (*kind).to_owned(),
        list_kind: format!("{kind}List"),
        namespaced: scope.eq_ignore_ascii_case(&'n'),
        short_names: words(short),
        categories: if all.contains(plural) {
            vec!["all".to_owned()]
        } else {
            Vec::new()
        },
        subresources: words(subresources),
        counts_generation: scope.is_uppercase(),
        asked_only: subresources.contains("ask"),
        custom: BTreeMap::new(),
    }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("", "v1", "configmaps", "ConfigMap", 'n', "", "cm"),
    ("", "v1", "endpoints", "Endpoints", 'n', "", "ep"),
    ("", "v1", "events", "Event", 'n', "", "ev"),
    ("", "v1", "limitranges", "LimitRange", 'n', "", "limits"),
    ("", "v1", "namespaces", "Namespace", 'c', "status finalize", "ns"),
    ("", "v1", "nodes", "Node", 'c', "status", "no"),
    ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", 'n', "status", "pvc"),
    ("", "v1", "persistentvolumes", "PersistentVolume", 'c', "status", "pv"),
    ("", "v1", "pods", "Pod", 'N', "status binding eviction log ephemeralcontainers resize", "po"),
    ("", "v1", "podtemplates", "PodTemplate", 'N', "", ""),
    ("", "v1", "replicationcontrollers", "ReplicationController", 'N', "status scale", "rc"),
    ("", "v1", "resourcequotas", "ResourceQuota", 'n', "status", "quota"),
    ("", "v1", "secrets", "Secret", 'n', "", ""),
    ("", "v1", "serviceaccounts", "ServiceAccount", 'n', "token", "sa"),
    ("", "v1", "services", "Service", 'n', "status", "svc"),
    ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", 'C', "", ""),
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", 'C', "", ""),
    ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", 'C', "status", ""),
    ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", 'C', "", ""),
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", 'C', "status", "crd crds"),
    ("apps", "v1", "controllerrevisions", "ControllerRevision", 'n', "", ""),
    ("apps", "v1", "daemonsets", "DaemonSet", 'N', "status", "ds"),
    ("apps", "v1", "deployments", "Deployment", 'N', "status scale", "deploy"),
    ("apps", "v1", "replicasets", "ReplicaSet", 'N', "status scale", "rs"),
    ("apps", "v1", "statefulsets", "StatefulSet", 'N', "status scale", "sts"),
    ("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", 'c', "ask", ""),
    ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", 'c', "ask", ""),
    ("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", 'n', "ask", ""),
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", 'c', "ask", ""),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", 'c', "ask", ""),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", 'c', "ask", ""),
    ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", 'n', "status", "hpa"),
    ("batch", "v1", "cronjobs", "CronJob", 'N', "status", "cj"),
    ("batch", "v1", "jobs", "Job", 'N', "status", ""),
    ("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", 'c', "status approval", "csr"),
    ("coordination.k8s.io", "v1", "leases", "Lease", 'n', "", ""),
    ("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", 'N', "", ""),
    ("events.k8s.io", "v1", "events", "Event", 'n', "", "ev"),
    ("networking.k8s.io", "v1", "ingresses", "Ingress", 'N', "status", "ing"),
    ("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", 'N', "", "netpol"),
    ("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", 'c', "", ""),
    ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", 'N', "status", "pdb"),
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", 'c', "", ""),
    ("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", 'c', "", ""),
    ("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", 'n', "", ""),
    ("rbac.authorization.k8s.io", "v1", "roles", "Role", 'n', "", ""),
    ("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", 'C', "", ""),
    ("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", 'n', "status", ""),
    ("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", 'n', "", ""),
    ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", 'C', "", ""),
    ("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", 'C', "", "pc"),
    ("storage.k8s.io", "v1", "csidrivers", "CSIDriver", 'c', "", ""),
    ("storage.k8s.io", "v1", "csinodes", "CSINode", 'c', "", ""),
    ("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", 'n', "", ""),
    ("storage.k8s.io", "v1", "storageclasses", "StorageClass", 'c', "", "sc"),
    ("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", 'c', "status", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_path_and_by_manifest() {
        let kinds = Kinds::built_in();
        let by_path = kinds.served("apps", "v1", "deployments").unwrap();
        let by_manifest = kinds.of_kind("apps/v1", "Deployment").unwrap();
        assert_eq!(by_path.id, "deployments.apps");
        assert!(Arc::ptr_eq(by_path, by_manifest));
        assert!(kinds.served("apps", "v1beta1", "deployments").is_none());
        assert!(kinds.of_kind("v1", "Pod").unwrap().has("eviction"));
    }
}
