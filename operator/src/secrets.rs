//! Which Secrets may a class refer to, and what do they hold?
//!
//! Read by GET, only in the operator's namespace and those named by a flag; never listed, never watched.

use std::collections::BTreeMap;

use crds::openstack::v1::OpenStackNodeClass;
use crds::shared::reference::SecretKeyRef;

use crate::access::Access;
use crate::providers::{CannotOpen, ClassSecrets};

#[derive(Clone)]
pub struct SecretReader {
    pub access: Access,
    /// The operator's own and those of the flag.
    pub namespaces: Vec<String>,
}

impl SecretReader {
    /// Everything that opening the class needs.
    pub async fn of_class(&self, class: &OpenStackNodeClass) -> Result<ClassSecrets, CannotOpen> {
        let Some(cloud) = &class.spec.cloud else {
            return Ok(ClassSecrets::default());
        };
        let mut secrets = ClassSecrets::default();
        if let Some(named) = &cloud.credentials_secret_ref {
            let entries = self.entries("spec.cloud.credentialsSecretRef", named).await;
            secrets.credentials = Some(entries.map_err(credentials)?);
        }
        if let Some(named) = &cloud.ca_secret_ref {
            let field = "spec.cloud.caSecretRef";
            let text = self
                .text(field, named, "ca.crt")
                .await
                .map_err(credentials)?;
            secrets.ca = Some(text);
        }
        Ok(secrets)
    }

    /// One key of a Secret.
    pub async fn text(
        &self,
        field: &str,
        named: &SecretKeyRef,
        usual: &str,
    ) -> Result<Vec<u8>, String> {
        let entries = self.entries(field, named).await?;
        let key = named.key.as_deref().unwrap_or(usual);
        entries.get(key).cloned().ok_or_else(|| {
            format!(
                "{field}: Secret {}/{} has no key {key:?}; add it or name another key",
                named.namespace, named.name
            )
        })
    }

    async fn entries(
        &self,
        field: &str,
        named: &SecretKeyRef,
    ) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let SecretKeyRef {
            name, namespace, ..
        } = named;
        if !self.namespaces.contains(namespace) {
            let allowed = self.namespaces.join(", ");
            return Err(format!(
                "{field}: Secrets in namespace {namespace} may not be read; use one of {allowed}, or add it to --secret-namespaces"
            ));
        }
        let secret = self.access.secrets_in(namespace).get_opt(name).await;
        match secret {
            Ok(Some(secret)) => Ok(secret
                .data
                .unwrap_or_default()
                .into_iter()
                .map(|(key, value)| (key, value.0))
                .collect()),
            Ok(None) => Err(format!(
                "{field}: Secret {namespace}/{name} does not exist; create it"
            )),
            Err(kube::Error::Api(status)) => Err(format!(
                "{field}: Secret {namespace}/{name} cannot be read ({})",
                status.reason
            )),
            Err(_) => Err(format!(
                "{field}: Secret {namespace}/{name} cannot be read (no answer from the API server)"
            )),
        }
    }
}

fn credentials(message: String) -> CannotOpen {
    CannotOpen {
        condition: cloud::class::conditions::CREDENTIALS,
        reason: "SecretNotReadable",
        message,
    }
}
