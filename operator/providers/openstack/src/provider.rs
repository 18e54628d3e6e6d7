//! How does OpenStack keep the contract of a cloud?

use std::sync::Arc;

use async_trait::async_trait;
use cloud::{
    ClassTrouble, Clock, CloudError, Drift, Footprint, Instance, InstanceState, Order, Provider,
    Quota, Resolved, Said, Scope,
};
use crds::openstack::v1::OpenStackNodeClassSpec;
use planner::{Catalog, ClassRef, ClusterId, Identity, InstanceId};

use crate::catalog::{Stock, obeys_quota};
use crate::client::Client;
use crate::client::limits::Absolute;
use crate::hints::Hints;
use crate::{drift, find, launch, reboot, resolve, terminate};

/// Lines of a console that are worth showing.
const CONSOLE_LINES: u32 = 50;

/// One class in its cloud, with its credentials.
pub struct OpenStack {
    pub(crate) class: ClassRef,
    pub(crate) spec: OpenStackNodeClassSpec,
    pub(crate) cluster: ClusterId,
    pub(crate) region: Option<String>,
    pub(crate) client: Client,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hints: Hints,
}

impl OpenStack {
    /// The cloud gave up on an instance for lack of capacity: do not offer that for a while.
    fn learn_from(&self, instance: &Instance) {
        let (Some(kind), Some(zone)) = (&instance.instance_type, &instance.zone) else {
            return;
        };
        if let InstanceState::Failed {
            scope: Some(Scope::Offering | Scope::TypeInZone),
            ..
        } = &instance.state
        {
            self.hints.refused(kind, zone, self.clock.now());
        }
    }
}

#[async_trait]
impl Provider for OpenStack {
    async fn resolve(&self) -> Result<Resolved, ClassTrouble> {
        resolve::resolve(&self.client, &self.spec).await
    }

    async fn catalog(&self, on: &Resolved) -> Result<Catalog, CloudError> {
        let flavors = resolve::usable(&self.client.flavors().await?);
        let mut quota = None;
        if obeys_quota(&self.spec) {
            quota = Some(self.quota().await?);
        }
        let stock = Stock {
            class: &self.class,
            spec: &self.spec,
            on,
            region: self.region.as_deref(),
            quota,
            hints: &self.hints,
            now: self.clock.now(),
        };
        stock.catalog(&flavors)
    }

    async fn launch(&self, order: &Order) -> Result<Instance, CloudError> {
        if order.identity.cluster != self.cluster {
            return Err(CloudError::Rejected {
                said: Said::new("the order is of another cluster"),
            });
        }
        let outcome = launch::launch(&self.client, &self.spec, order).await;
        if let Err(CloudError::NoCapacity {
            scope: Scope::Offering | Scope::TypeInZone,
            ..
        }) = &outcome
        {
            let offering = &order.offering;
            self.hints
                .refused(&offering.instance_type, &offering.zone, self.clock.now());
        }
        outcome
    }

    async fn find(&self, who: &Identity) -> Result<Vec<Instance>, CloudError> {
        let found = find::find(&self.client, who).await?;
        for instance in &found {
            self.learn_from(instance);
        }
        Ok(found)
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, CloudError> {
        let instance = find::get(&self.client, id).await?;
        if instance.identity.cluster != self.cluster {
            return Err(CloudError::Rejected {
                said: Said::new("the instance is of another cluster"),
            });
        }
        self.learn_from(&instance);
        Ok(instance)
    }

    async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        find::list(&self.client, &self.cluster).await
    }

    async fn terminate(&self, what: &Footprint) -> Result<(), CloudError> {
        if what.identity.cluster != self.cluster {
            return Err(CloudError::Rejected {
                said: Said::new("the instance is of another cluster"),
            });
        }
        terminate::terminate(&self.client, what).await
    }

    async fn terminate_only(&self, who: &Identity, id: &InstanceId) -> Result<(), CloudError> {
        if who.cluster != self.cluster {
            return Err(CloudError::Rejected {
                said: Said::new("the instance is of another cluster"),
            });
        }
        terminate::terminate_only(&self.client, who, id).await
    }

    async fn reboot(&self, id: &InstanceId, operation: &str) -> Result<(), CloudError> {
        reboot::reboot(&self.client, &self.cluster, id, operation).await
    }

    async fn quota(&self) -> Result<Quota, CloudError> {
        Ok(left(&self.client.limits().await?))
    }

    async fn console(&self, id: &InstanceId) -> Result<String, CloudError> {
        self.client.console_output(id.as_str(), CONSOLE_LINES).await
    }

    fn drifted(&self, resolved: &Resolved, instance: &Instance) -> Option<Drift> {
        drift::drifted(resolved, instance)
    }
}

/// −1 is unlimited, and what is absent is not limited either.
fn left(limits: &Absolute) -> Quota {
    let left = |most: Option<i64>, used: Option<i64>| {
        let most = most.filter(|most| *most >= 0)?;
        u64::try_from((most - used.unwrap_or(0)).max(0)).ok()
    };
    Quota {
        instances: left(limits.max_total_instances, limits.total_instances_used),
        cores: left(limits.max_total_cores, limits.total_cores_used),
        memory_mib: left(limits.max_total_ram, limits.total_ram_used),
    }
}
