//! Which Secrets may a class refer to, and what do they hold?
//!
//! Read by GET, only in the operator's namespace and those named by a flag; never listed, never watched.

use std::collections::BTreeMap;

use cloud::Trouble;
use crds::openstack::v1::OpenStackNodeClass;
use crds::shared::reference::SecretKeyRef;

use crate::access::Access;
use crate::providers::ClassSecrets;

#[derive(Clone)]
pub struct SecretReader {
    pub access: Access,
    /// The operator's own and those of the flag.
    pub namespaces: Vec<String>,
}

/// Why what a class refers to cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unusable {
    /// One word for machines.
    pub reason: &'static str,
    /// The field, the object and the fix.
    pub message: String,
    /// Nobody answered: what was true before may still be true.
    pub transient: bool,
}

impl Unusable {
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            transient: false,
        }
    }

    /// As a condition of the class that does not hold.
    pub fn about(self, condition: &'static str) -> Trouble {
        Trouble {
            condition,
            reason: self.reason,
            message: self.message,
            transient: self.transient,
        }
    }
}

impl SecretReader {
    /// Everything that opening the class needs.
    pub async fn of_class(&self, class: &OpenStackNodeClass) -> Result<ClassSecrets, Unusable> {
        let Some(cloud) = &class.spec.cloud else {
            return Ok(ClassSecrets::default());
        };
        let mut secrets = ClassSecrets::default();
        if let Some(named) = &cloud.credentials_secret_ref {
            let field = "spec.cloud.credentialsSecretRef";
            secrets.credentials = Some(self.entries(field, named).await?);
        }
        if let Some(named) = &cloud.ca_secret_ref {
            let field = "spec.cloud.caSecretRef";
            secrets.ca = Some(self.text(field, named, "ca.crt").await?);
        }
        Ok(secrets)
    }

    /// One key of a Secret.
    pub async fn text(
        &self,
        field: &str,
        named: &SecretKeyRef,
        usual: &str,
    ) -> Result<Vec<u8>, Unusable> {
        let entries = self.entries(field, named).await?;
        let key = named.key.as_deref().unwrap_or(usual);
        entries.get(key).cloned().ok_or_else(|| {
            let SecretKeyRef {
                name, namespace, ..
            } = named;
            Unusable::new(
                "SecretKeyNotFound",
                format!(
                    "{field}: Secret {namespace}/{name} has no key {key:?}; add it or name another key"
                ),
            )
        })
    }

    async fn entries(
        &self,
        field: &str,
        named: &SecretKeyRef,
    ) -> Result<BTreeMap<String, Vec<u8>>, Unusable> {
        let SecretKeyRef {
            name, namespace, ..
        } = named;
        if !self.namespaces.contains(namespace) {
            let allowed = self.namespaces.join(", ");
            return Err(Unusable::new(
                "SecretNamespaceNotAllowed",
                format!(
                    "{field}: Secrets in namespace {namespace} may not be read; use one of {allowed}, or add it to --secret-namespaces"
                ),
            ));
        }
        match self.access.secrets_in(namespace).get_opt(name).await {
            Ok(Some(secret)) => Ok(secret
                .data
                .unwrap_or_default()
                .into_iter()
                .map(|(key, value)| (key, value.0))
                .collect()),
            Ok(None) => Err(Unusable::new(
                "SecretNotFound",
                format!("{field}: Secret {namespace}/{name} does not exist; create it"),
            )),
            // Its text may hold the Secret; its reason does not.
            Err(kube::Error::Api(status)) => Err(Unusable {
                transient: status.code != 403,
                ..Unusable::new(
                    "SecretNotReadable",
                    format!(
                        "{field}: Secret {namespace}/{name} cannot be read ({}); see the roles of the operator",
                        status.reason
                    ),
                )
            }),
            Err(_) => Err(Unusable {
                transient: true,
                ..Unusable::new(
                    "SecretNotReadable",
                    format!(
                        "{field}: Secret {namespace}/{name} cannot be read (no answer from the API server)"
                    ),
                )
            }),
        }
    }
}
