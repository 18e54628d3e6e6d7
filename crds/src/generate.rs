//! Which CustomResourceDefinitions does `cargo xtask gen` write?

pub mod schema;
mod yaml;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, ServiceReference, WebhookClientConfig,
    WebhookConversion,
};

pub use yaml::to_yaml;

use crate::admission::{INJECT_CA, NAMESPACE, SERVICE};

/// Every CRD we ship, sorted by name, with the conversion stanza where a kind has several versions.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut crds = crate::karpenter::crds();
    for (hub, older) in [
        crate::openstack::crds(),
        crate::cloudstack::crds(),
        crate::ovhcloud::crds(),
    ] {
        crds.push(versions(hub, older));
    }
    crds.push(crate::joiner::crd());
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

/// One CRD that serves several versions: `hub` is stored, the `older` ones are converted by our webhook.
///
/// The conversion stanza is part of the CRD on purpose: applying it again without would switch conversion off, and the
/// API server would then hand out stored objects under the wrong version.
pub fn versions(
    hub: CustomResourceDefinition,
    older: Vec<CustomResourceDefinition>,
) -> CustomResourceDefinition {
    let mut merged = hub;
    for version in &mut merged.spec.versions {
        version.storage = true;
    }
    for crd in older {
        debug_assert_eq!(
            (&crd.spec.group, &crd.spec.names.kind, &crd.spec.scope),
            (
                &merged.spec.group,
                &merged.spec.names.kind,
                &merged.spec.scope
            ),
            "versions of different kinds cannot share a CRD"
        );
        merged
            .spec
            .versions
            .extend(crd.spec.versions.into_iter().map(|mut version| {
                version.storage = false;
                version
            }));
    }
    let (annotation, certificate) = INJECT_CA;
    let annotations = merged.metadata.annotations.get_or_insert_default();
    annotations.insert(annotation.to_owned(), certificate.to_owned());
    merged.spec.conversion = Some(conversion());
    schema::polish(merged)
}

fn conversion() -> CustomResourceConversion {
    let service = ServiceReference {
        namespace: NAMESPACE.to_owned(),
        name: SERVICE.to_owned(),
        path: Some("/convert".to_owned()),
        port: Some(443),
    };
    CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(WebhookConversion {
            client_config: Some(WebhookClientConfig {
                service: Some(service),
                ..Default::default()
            }),
            conversion_review_versions: vec!["v1".to_owned()],
        }),
    }
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt as _;

    use super::*;
    use crate::karpenter::NodePool;

    #[test]
    fn crds_come_sorted_by_name() {
        let names: Vec<_> = all()
            .into_iter()
            .filter_map(|crd| crd.metadata.name)
            .collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(names.contains(&"nodepools.karpenter.sh".to_owned()));
    }

    #[test]
    fn only_the_hub_is_stored_and_the_webhook_converts() {
        let mut old = NodePool::crd();
        old.spec.versions[0].name = "v0".to_owned();
        let merged = versions(NodePool::crd(), vec![old]);
        let stored: Vec<_> = merged
            .spec
            .versions
            .iter()
            .map(|v| (v.name.as_str(), v.served, v.storage))
            .collect();
        assert_eq!(stored, [("v1", true, true), ("v0", true, false)]);
        let conversion = serde_json::to_value(merged.spec.conversion).unwrap();
        assert_eq!(
            conversion,
            serde_json::json!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"service": {"namespace": "joiner", "name": "joiner-webhook", "path": "/convert", "port": 443}},
                    "conversionReviewVersions": ["v1"],
                },
            })
        );
        assert_eq!(
            merged.metadata.annotations.unwrap()["cert-manager.io/inject-ca-from"],
            "joiner/joiner-webhook"
        );
    }
}
