//! Which kinds convert, with their schemas, their types and what only one version of them can say?

use crds::convert::Pair;
use crds::{cloudstack, openstack, ovhcloud};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub struct Kind {
    pub pair: Pair,
    pub hub_schema: Value,
    pub spoke_schema: Value,
    pub hub_type: fn(&Value) -> Result<Value, String>,
    pub spoke_type: fn(&Value) -> Result<Value, String>,
    /// Fields of the older version's spec without a counterpart.
    pub spoke_only: &'static [&'static str],
    /// Fields inside mapped hub fields that an edit of that field in the older version must not touch.
    pub unseen: &'static [&'static str],
}

pub fn all() -> Vec<Kind> {
    let kind = |pair: &Pair, crds: (CustomResourceDefinition, Vec<CustomResourceDefinition>)| Kind {
        pair: *pair,
        hub_schema: schema(&crds.0),
        spoke_schema: schema(&crds.1[0]),
        hub_type: |_| Ok(Value::Null),
        spoke_type: |_| Ok(Value::Null),
        spoke_only: &[],
        unseen: &[],
    };
    vec![
        Kind {
            hub_type: typed::<openstack::v1::OpenStackNodeClass>,
            spoke_type: typed::<openstack::v1openstack::OpenStackNodeClass>,
            spoke_only: &["imageRef"],
            unseen: &[
                "/spec/kubelet/cpuManagerPolicy",
                "/spec/kubelet/featureGates",
                "/spec/userData/template",
                "/spec/userData/format",
                "/spec/floatingIP/networkSelectorTerms",
            ],
            ..kind(&openstack::convert::PAIR, openstack::crds())
        },
        Kind {
            hub_type: typed::<cloudstack::v2::CloudStackNodeClass>,
            spoke_type: typed::<cloudstack::v1::CloudStackNodeClass>,
            unseen: &["/spec/userData/template", "/spec/rootDisk/offering"],
            ..kind(&cloudstack::convert::PAIR, cloudstack::crds())
        },
        Kind {
            hub_type: typed::<ovhcloud::v1::OvhNodeClass>,
            spoke_type: typed::<ovhcloud::v1alpha1::OvhNodeClass>,
            unseen: &["/spec/credentials/endpoint", "/spec/credentials/type"],
            ..kind(&ovhcloud::convert::PAIR, ovhcloud::crds())
        },
    ]
}

/// Through the Rust type and back.
pub fn typed<T: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, String> {
    let typed: T = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    serde_json::to_value(typed).map_err(|error| error.to_string())
}

pub fn schema(crd: &CustomResourceDefinition) -> Value {
    let schema = crd.spec.versions[0].schema.as_ref().unwrap();
    serde_json::to_value(schema.open_api_v3_schema.as_ref().unwrap()).unwrap()
}
