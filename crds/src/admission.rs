//! For which writes does the API server ask our webhook, and what happens while it is down?
//!
//! `failurePolicy: Ignore`, because a webhook that is down must never stop a cluster from being changed: every rule is
//! checked again where it matters and then shows as a condition. `matchPolicy: Exact`, so that `object` and `oldObject`
//! arrive in the version the user wrote; only then can we see that a replace drops fields the old version cannot say.

use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Where the generated manifests expect `joiner-webhook`.
pub const NAMESPACE: &str = "joiner";
pub const SERVICE: &str = "joiner-webhook";
/// cert-manager copies the CA of this Certificate into whatever carries the annotation.
pub const INJECT_CA: (&str, &str) = ("cert-manager.io/inject-ca-from", "joiner/joiner-webhook");

/// (group, versions, plural) of everything `/validate` looks at.
const VALIDATED: &[(&str, &[&str], &str)] = &[
    ("karpenter.sh", &["v1"], "nodepools"),
    (
        "karpenter.k8s.openstack",
        &["v1openstack", "v1"],
        "openstacknodeclasses",
    ),
    (
        "karpenter.k8s.cloudstack",
        &["v1", "v2"],
        "cloudstacknodeclasses",
    ),
    (
        "karpenter.ovhcloud.sh",
        &["v1alpha1", "v1"],
        "ovhnodeclasses",
    ),
    ("joiner.dev", &["v1alpha1"], "nodegroups"),
];

pub fn validating_webhook() -> ValidatingWebhookConfiguration {
    let (annotation, certificate) = INJECT_CA;
    ValidatingWebhookConfiguration {
        metadata: ObjectMeta {
            name: Some(SERVICE.to_owned()),
            annotations: Some([(annotation.to_owned(), certificate.to_owned())].into()),
            ..ObjectMeta::default()
        },
        webhooks: Some(vec![ValidatingWebhook {
            name: "validate.joiner.dev".to_owned(),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: WebhookClientConfig {
                service: Some(ServiceReference {
                    name: SERVICE.to_owned(),
                    namespace: NAMESPACE.to_owned(),
                    path: Some("/validate".to_owned()),
                    port: Some(443),
                }),
                ..WebhookClientConfig::default()
            },
            failure_policy: Some("Ignore".to_owned()),
            match_policy: Some("Exact".to_owned()),
            rules: Some(VALIDATED.iter().map(rule).collect()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(5),
            ..ValidatingWebhook::default()
        }]),
    }
}

fn rule((group, versions, plural): &(&str, &[&str], &str)) -> RuleWithOperations {
    let list = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    RuleWithOperations {
        api_groups: list(&[group]),
        api_versions: list(versions),
        operations: list(&["CREATE", "UPDATE"]),
        resources: list(&[plural]),
        scope: Some("Cluster".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Only we write claims, and overlays have nothing that CEL cannot say.
    const UNCHECKED: [&str; 2] = ["nodeclaims", "nodeoverlays"];

    #[test]
    fn every_served_version_of_what_users_write_is_validated() {
        let served: BTreeSet<(String, String, String)> = crate::generate::all()
            .into_iter()
            .map(|crd| crd.spec)
            .filter(|spec| !UNCHECKED.contains(&spec.names.plural.as_str()))
            .flat_map(|spec| {
                let (group, plural) = (spec.group, spec.names.plural);
                spec.versions
                    .into_iter()
                    .map(move |version| (group.clone(), version.name, plural.clone()))
            })
            .collect();
        let listed: BTreeSet<(String, String, String)> = VALIDATED
            .iter()
            .flat_map(|(group, versions, plural)| {
                versions
                    .iter()
                    .map(|version| (group.to_string(), version.to_string(), plural.to_string()))
            })
            .collect();
        assert_eq!(listed, served);
    }
}
