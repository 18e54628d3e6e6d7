//! How does a class become a provider?

use std::sync::Arc;

use cloud::transport::allowance::Pace;
use cloud::transport::wire::Trust;
use cloud::transport::{Patience, Transport};
use cloud::{Clock, Http};
use crds::openstack::v1::{Interface as ClassInterface, OpenStackNodeClass};
use planner::{ClassRef, ClusterId};

use crate::client::Client;
use crate::credentials::{Credentials, Interface};
use crate::hints::Hints;
use crate::provider::OpenStack;

/// A class no provider can be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}; {fix}")]
pub struct BadClass {
    pub field: &'static str,
    pub problem: String,
    pub fix: &'static str,
}

/// What all providers of one process share.
#[derive(Clone)]
pub struct Opening {
    /// Whose instances are ours.
    pub cluster: ClusterId,
    pub http: Arc<dyn Http>,
    pub clock: Arc<dyn Clock>,
    pub pace: Pace,
    pub patience: Patience,
}

impl Opening {
    pub fn new(cluster: ClusterId, http: Arc<dyn Http>, clock: Arc<dyn Clock>) -> Self {
        Self {
            cluster,
            http,
            clock,
            pace: Pace::default(),
            patience: Patience::default(),
        }
    }
}

/// Opens one class with its credentials. Nothing is sent yet. What the class asks for is judged by `resolve`, so that a class
/// that was edited into nonsense can still terminate its instances.
pub fn open(
    class: &OpenStackNodeClass,
    credentials: Credentials,
    with: Opening,
) -> Result<OpenStack, BadClass> {
    let name = class.metadata.name.clone().ok_or_else(|| BadClass {
        field: "metadata.name",
        problem: "the class has no name".to_owned(),
        fix: "open it as it is stored",
    })?;
    let credentials = narrowed(credentials, class);
    let region = credentials.region.clone();
    let transport = Transport::new(with.http, with.clock.clone(), with.pace, with.patience);
    Ok(OpenStack {
        class: ClassRef::new("karpenter.k8s.openstack", "OpenStackNodeClass", name),
        spec: class.spec.clone(),
        cluster: with.cluster,
        region,
        client: Client::new(credentials, transport, with.clock.clone()),
        clock: with.clock,
        hints: Hints::default(),
    })
}

/// Whom the transport of this class trusts. `ca_pem` is what the class's Secret or the credentials' file holds.
pub fn trust(
    class: &OpenStackNodeClass,
    credentials: &Credentials,
    ca_pem: Option<Vec<u8>>,
) -> Trust {
    let cloud = class.spec.cloud.as_ref();
    let insecure = cloud
        .and_then(|cloud| cloud.insecure)
        .unwrap_or(credentials.insecure);
    Trust {
        private_ca: ca_pem,
        insecure,
    }
}

/// What the class says wins over what came with the credentials.
fn narrowed(mut credentials: Credentials, class: &OpenStackNodeClass) -> Credentials {
    let Some(cloud) = &class.spec.cloud else {
        return credentials;
    };
    if let Some(region) = &cloud.region {
        credentials.region = Some(region.clone());
    }
    if let Some(interface) = cloud.interface {
        credentials.interface = match interface {
            ClassInterface::Public => Interface::Public,
            ClassInterface::Internal => Interface::Internal,
            ClassInterface::Admin => Interface::Admin,
        };
    }
    credentials.insecure = cloud.insecure.unwrap_or(credentials.insecure);
    credentials
}
