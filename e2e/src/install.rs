//! How is Joiner installed in a test's cluster: as its own install manifest says?

use std::fs;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use kube::{Client, ResourceExt};
use serde_json::Value;

use crate::apply::documents;
use crate::audit::Right;
use crate::ground::{Ground, repository};
use crate::{Binary, Emulator, Scratch, apply};

/// The namespace and the operator's account, as the manifest names them.
pub const NAMESPACE: &str = "joiner";
pub const ACCOUNT: &str = "joiner";

/// What cluster and processes need beyond the CRDs: the rest of the manifest is about pods.
const RIGHTS: [&str; 6] = [
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

/// `examples/install/joiner.yaml`.
pub struct Install {
    pub documents: Vec<DynamicObject>,
}

/// The operator's own kubeconfig, made for its account.
pub struct Account {
    folder: Scratch,
}

impl Install {
    pub fn read() -> Result<Self> {
        let file = repository().join("examples/install/joiner.yaml");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Ok(Self {
            documents: documents(&text)?,
        })
    }

    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &DynamicObject> {
        self.documents
            .iter()
            .filter(move |document| kind_of(document) == kind)
    }

    /// Namespace, accounts, roles and bindings.
    pub async fn apply_rights(&self, client: &Client) -> Result<()> {
        for document in self
            .documents
            .iter()
            .filter(|one| RIGHTS.contains(&kind_of(one)))
        {
            apply(client, &serde_json::to_string(document)?).await?;
        }
        Ok(())
    }

    /// Everything the operator's account is granted, one verb at a time.
    pub fn rights(&self) -> Result<Vec<Right>> {
        let mut rights = Vec::new();
        let bindings = self
            .of_kind("ClusterRoleBinding")
            .chain(self.of_kind("RoleBinding"));
        for binding in bindings {
            let subject = &binding.data["subjects"][0];
            if subject["name"] != ACCOUNT || subject["namespace"] != NAMESPACE {
                continue;
            }
            let role = self.role(binding)?;
            for rule in role.data["rules"].as_array().into_iter().flatten() {
                rights.extend(each(rule, binding.namespace().as_deref()));
            }
        }
        Ok(rights)
    }

    fn role(&self, binding: &DynamicObject) -> Result<&DynamicObject> {
        let named = &binding.data["roleRef"];
        let kind = named["kind"].as_str().unwrap_or_default();
        let inside = |role: &&DynamicObject| {
            named["name"] == role.name_any()
                && (kind == "ClusterRole" || role.namespace() == binding.namespace())
        };
        self.of_kind(kind).find(inside).with_context(|| {
            format!(
                "{} binds a role that the manifest lacks",
                binding.name_any()
            )
        })
    }
}

/// The product of a rule's lists.
fn each(rule: &Value, namespace: Option<&str>) -> Vec<Right> {
    let list = |field: &str| -> Vec<String> {
        let words = rule[field].as_array().into_iter().flatten();
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    let mut rights = Vec::new();
    for group in list("apiGroups") {
        for resource in list("resources") {
            for verb in list("verbs") {
                rights.push(Right {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb,
                    namespace: namespace.map(str::to_owned),
                    names: list("resourceNames"),
                });
            }
        }
    }
    rights
}

impl Account {
    /// Applies the rights and gets a token for the operator's account.
    pub async fn of_operator(ground: &Ground) -> Result<Self> {
        let client = ground.cluster.client().await?;
        Install::read()?.apply_rights(&client).await?;
        let text = ground.cluster.kubeconfig_as(NAMESPACE, ACCOUNT).await?;
        let folder = Scratch::new()?;
        folder.write("kubeconfig", &text)?;
        Ok(Self { folder })
    }

    /// As the audit log names it.
    pub fn user() -> String {
        format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}")
    }

    /// `joiner run` under this account, about to be started; with the credentials of a cloud, if one is given.
    pub fn operator(&self, cloud: Option<&Emulator>) -> Result<Binary> {
        let mut operator = Binary::named("joiner")?
            .arg("run")
            .arg("--kubeconfig")
            .arg(self.folder.path().join("kubeconfig"))
            .arg(format!("--namespace={NAMESPACE}"))
            .arg("--cluster-name=e2e")
            .arg("--metrics-port=0")
            .arg("--health-probe-port=0")
            .arg("--admin-address=127.0.0.1");
        for (name, value) in cloud.into_iter().flat_map(Emulator::env) {
            operator = operator.env(name, value);
        }
        Ok(operator)
    }
}

pub fn kind_of(document: &DynamicObject) -> &str {
    let types = document.types.as_ref();
    types.map_or("", |types| types.kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_of_the_manifest_is_bound_and_counted() {
        let install = Install::read().unwrap();
        let rights = install.rights().unwrap();
        let has = |verb: &str, resource: &str, namespace: Option<&str>| {
            rights.iter().any(|right| {
                right.verb == verb
                    && right.resource == resource
                    && right.namespace.as_deref() == namespace
            })
        };
        assert!(has("create", "pods/eviction", None));
        assert!(has("get", "secrets", Some("joiner")));
        assert!(has("create", "secrets", Some("kube-system")));
        assert!(!has("get", "secrets", None) && !has("list", "secrets", Some("joiner")));
    }
}
