//! Which roles and bindings grant the operator what its table says, and not more?

use std::collections::BTreeMap;

use crds::admission::NAMESPACE;
use serde_json::{Value, json};

use super::reference::{Grant, Place};

/// The operator's account, and the name of its roles.
pub(super) const ACCOUNT: &str = "joiner";
/// Bound in each namespace whose Secrets classes may refer to.
pub(super) const SECRET_READER: &str = "joiner-secret-reader";

/// Roles first, then what binds them.
pub(super) fn roles(grants: &[Grant]) -> Vec<Value> {
    let mut by_place: BTreeMap<&Place, Vec<&Grant>> = BTreeMap::new();
    for grant in grants {
        by_place.entry(&grant.place).or_default().push(grant);
    }
    let granted = by_place
        .iter()
        .flat_map(|(place, grants)| [role(place, grants), binding(place)]);
    granted.collect()
}

fn role(place: &Place, grants: &[&Grant]) -> Value {
    let rules: Vec<Value> = grants.iter().map(|grant| rule(grant)).collect();
    let (kind, metadata) = match place {
        Place::Cluster => ("ClusterRole", json!({ "name": ACCOUNT })),
        Place::SecretNamespaces => ("ClusterRole", json!({ "name": SECRET_READER })),
        Place::Own => ("Role", json!({ "name": ACCOUNT, "namespace": NAMESPACE })),
        Place::Namespace(name) => ("Role", json!({ "name": ACCOUNT, "namespace": name })),
    };
    json!({ "apiVersion": RBAC, "kind": kind, "metadata": metadata, "rules": rules })
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn rule(grant: &Grant) -> Value {
    let mut rule = json!({
        "apiGroups": [grant.group],
        "resources": [grant.resource],
        "verbs": grant.verbs,
    });
    if !grant.names.is_empty() {
        rule["resourceNames"] = json!(grant.names);
    }
    rule
}

fn binding(place: &Place) -> Value {
    let (kind, metadata, role) = match place {
        Place::Cluster => (
            "ClusterRoleBinding",
            json!({ "name": ACCOUNT }),
            ("ClusterRole", ACCOUNT),
        ),
        Place::SecretNamespaces => (
            "RoleBinding",
            json!({ "name": SECRET_READER, "namespace": NAMESPACE }),
            ("ClusterRole", SECRET_READER),
        ),
        Place::Own => (
            "RoleBinding",
            json!({ "name": ACCOUNT, "namespace": NAMESPACE }),
            ("Role", ACCOUNT),
        ),
        Place::Namespace(name) => (
            "RoleBinding",
            json!({ "name": ACCOUNT, "namespace": name }),
            ("Role", ACCOUNT),
        ),
    };
    json!({
        "apiVersion": RBAC, "kind": kind, "metadata": metadata,
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role.0, "name": role.1 },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(place: Place, names: &[&str]) -> Grant {
        Grant {
            group: String::new(),
            resource: "secrets".to_owned(),
            verbs: vec!["get".to_owned()],
            names: names.iter().map(|&name| name.to_owned()).collect(),
            place,
            why: String::new(),
        }
    }

    #[test]
    fn a_right_in_one_namespace_is_not_given_in_the_cluster() {
        let made = roles(&[grant(Place::Namespace("kube-system".into()), &["a"])]);
        assert_eq!(made.len(), 2);
        assert_eq!(made[0]["kind"], "Role");
        assert_eq!(made[0]["metadata"]["namespace"], "kube-system");
        assert_eq!(made[0]["rules"][0]["resourceNames"], json!(["a"]));
        assert_eq!(made[1]["kind"], "RoleBinding");
        assert_eq!(made[1]["metadata"]["namespace"], "kube-system");
    }

    #[test]
    fn secrets_are_read_in_namespaces_that_somebody_binds() {
        let made = roles(&[grant(Place::SecretNamespaces, &[])]);
        assert_eq!(made[0]["kind"], "ClusterRole");
        assert_eq!(made[1]["kind"], "RoleBinding", "never cluster-wide");
        assert_eq!(
            made[0]["rules"][0].get("resourceNames"),
            None,
            "an empty list would mean nothing to some readers"
        );
    }
}
