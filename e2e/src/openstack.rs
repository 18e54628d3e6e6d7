//! Which class, provider and order does a test on OpenStack use, if it does not care?

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use cloud::bootstrap::UserData;
use cloud::{Chosen, Clock, Http, Order, Resolved};
use crds::openstack::v1::OpenStackNodeClass;
use jiff::Timestamp;
use openstack::{Credentials, OpenStack, Opening, open};
use planner::{CapacityType, Identity};
use serde_json::{Value, json};

use crate::emulator::{Emulated, Emulator};

/// A class of the emulator's usual world; members of `spec` win over the usual ones.
pub fn class(spec: &Value) -> Result<OpenStackNodeClass> {
    let mut whole = json!({
        "imageSelectorTerms": [{"name": "k8s-ubuntu-24.04"}],
        "ports": [{"network": {"name": "k8s"}}],
        "securityGroupSelectorTerms": [{"name": "k8s-node"}],
    });
    for (key, value) in spec.as_object().context("a spec is an object")? {
        whole[key] = value.clone();
    }
    let object = json!({"apiVersion": "karpenter.k8s.openstack/v1", "kind": "OpenStackNodeClass",
                        "metadata": {"name": "default"}, "spec": whole});
    Ok(serde_json::from_value(object)?)
}

/// A port of our own besides the one Nova makes: the longest launch there is.
pub fn with_own_port() -> Value {
    json!({"ports": [{"network": {"name": "k8s"}},
                     {"network": {"name": "storage"}, "tags": ["nodes"]}]})
}

/// A provider on a cloud of this process.
pub fn provider_on(cloud: &Emulated, cluster: &str, spec: &Value) -> Result<OpenStack> {
    let with = Opening::new(cluster.into(), cloud.http(), cloud.clock());
    Ok(open(&class(spec)?, cloud.credentials()?, with)?)
}

/// A provider that reaches its cloud over sockets.
pub fn provider_at(
    credentials: Credentials,
    http: Arc<dyn Http>,
    cluster: &str,
) -> Result<OpenStack> {
    let clock: Arc<dyn Clock> = Arc::new(Timestamp::now);
    let with = Opening::new(cluster.into(), http, clock);
    Ok(open(&class(&json!({}))?, credentials, with)?)
}

/// A provider on an emulator beside this process.
pub fn provider_of(emulator: &Emulator, cluster: &str) -> Result<OpenStack> {
    provider_at(emulator.credentials()?, emulator.http()?, cluster)
}

pub fn identity(cluster: &str, claim: &str) -> Identity {
    Identity {
        cluster: cluster.into(),
        claim: claim.into(),
    }
}

/// An `m1.medium` in `az-b`.
pub fn order(on: &Resolved, who: &Identity, name: &str, user_data: UserData) -> Order {
    Order {
        identity: who.clone(),
        name: name.into(),
        offering: Chosen {
            instance_type: "m1.medium".into(),
            zone: "az-b".into(),
            capacity_type: CapacityType::OnDemand,
        },
        on: Arc::new(on.clone()),
        user_data,
        marks: BTreeMap::from([("karpenter.sh/nodepool".to_owned(), "np1".to_owned())]),
    }
}
