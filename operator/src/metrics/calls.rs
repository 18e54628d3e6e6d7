//! How long do calls of a cloud take, and how do they fail?
//!
//! A provider around the provider: whoever opens a class gets this one, and nobody can forget to count.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cloud::class::{ClassTrouble, Quota, Resolved};
use cloud::{CloudError, Drift, Footprint, Instance, Order, Provider};
use crds::openstack::v1::OpenStackNodeClass;
use planner::{Catalog, ClusterId, Identity, InstanceId};
use prometheus_client::encoding::EncodeLabelSet;
use runtime::Clock;
use runtime::clock::Moment;
use runtime::metrics::{Counters, Histograms, Metrics, WAIT_SECONDS};

use super::{counters, histograms};
use crate::providers::{CannotOpen, ClassSecrets, Open};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Call {
    method: &'static str,
    provider: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Failure {
    method: &'static str,
    provider: &'static str,
    error: &'static str,
}

#[derive(Clone)]
pub struct Calls {
    durations: Histograms<Call>,
    failures: Counters<Failure>,
}

/// Opens classes whose calls are counted.
pub struct Counted {
    pub open: Arc<dyn Open>,
    pub calls: Calls,
    pub clock: Clock,
}

struct CountedProvider {
    provider: Box<dyn Provider>,
    name: &'static str,
    calls: Calls,
    clock: Clock,
}

impl Calls {
    pub(super) fn new(metrics: &Metrics) -> Self {
        Self {
            durations: histograms(metrics, "karpenter_cloudprovider_duration_seconds", || {
                prometheus_client::metrics::histogram::Histogram::new(WAIT_SECONDS)
            }),
            failures: counters(metrics, "karpenter_cloudprovider_errors_total"),
        }
    }
}

impl Calls {
    fn note(&self, call: &Call, took: Duration, error: Option<&'static str>) {
        let durations = self.durations.get_or_create(call);
        durations.observe(took.as_secs_f64());
        if let Some(error) = error {
            let failure = Failure {
                method: call.method,
                provider: call.provider,
                error,
            };
            self.failures.get_or_create(&failure).inc();
        }
    }
}

impl Open for Counted {
    fn open(
        &self,
        class: &OpenStackNodeClass,
        secrets: &ClassSecrets,
        cluster: &ClusterId,
    ) -> Result<Box<dyn Provider>, CannotOpen> {
        Ok(Box::new(CountedProvider {
            provider: self.open.open(class, secrets, cluster)?,
            name: "openstack",
            calls: self.calls.clone(),
            clock: self.clock.clone(),
        }))
    }
}

impl CountedProvider {
    fn count(&self, method: &'static str, begun: Moment, error: Option<&'static str>) {
        let provider = self.name;
        let took = self.clock.moment().since(begun);
        self.calls.note(&Call { method, provider }, took, error);
    }

    async fn counted<T>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T, CloudError>> + Send,
    ) -> Result<T, CloudError> {
        let begun = self.clock.moment();
        let answer = call.await;
        self.count(method, begun, answer.as_ref().err().map(meaning));
        answer
    }
}

/// Upstream's word where there is one.
fn meaning(error: &CloudError) -> &'static str {
    match error {
        CloudError::Gone => "NodeClaimNotFoundError",
        CloudError::NoCapacity { .. } => "InsufficientCapacityError",
        CloudError::Throttled { .. } => "Throttled",
        CloudError::Unauthorized { .. } => "Unauthorized",
        CloudError::Rejected { .. } => "Rejected",
        CloudError::Unknown(_) => "Unknown",
    }
}

#[async_trait]
impl Provider for CountedProvider {
    async fn resolve(&self) -> Result<Resolved, ClassTrouble> {
        let begun = self.clock.moment();
        let answer = self.provider.resolve().await;
        let error = answer.as_ref().err().map(|_| "ClassTrouble");
        self.count("Resolve", begun, error);
        answer
    }

    async fn catalog(&self, on: &Resolved) -> Result<Catalog, CloudError> {
        self.counted("GetInstanceTypes", self.provider.catalog(on))
            .await
    }

    async fn launch(&self, order: &Order) -> Result<Instance, CloudError> {
        self.counted("Create", self.provider.launch(order)).await
    }

    async fn find(&self, who: &Identity) -> Result<Vec<Instance>, CloudError> {
        self.counted("Find", self.provider.find(who)).await
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, CloudError> {
        self.counted("Get", self.provider.get(id)).await
    }

    async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        self.counted("List", self.provider.list()).await
    }

    async fn terminate(&self, what: &Footprint) -> Result<(), CloudError> {
        self.counted("Delete", self.provider.terminate(what)).await
    }

    async fn terminate_only(&self, who: &Identity, id: &InstanceId) -> Result<(), CloudError> {
        self.counted("Delete", self.provider.terminate_only(who, id))
            .await
    }

    async fn reboot(&self, id: &InstanceId, operation: &str) -> Result<(), CloudError> {
        self.counted("Reboot", self.provider.reboot(id, operation))
            .await
    }

    async fn quota(&self) -> Result<Quota, CloudError> {
        self.counted("Quota", self.provider.quota()).await
    }

    async fn console(&self, id: &InstanceId) -> Result<String, CloudError> {
        self.counted("Console", self.provider.console(id)).await
    }

    fn drifted(&self, resolved: &Resolved, instance: &Instance) -> Option<Drift> {
        self.provider.drifted(resolved, instance)
    }
}

#[cfg(test)]
pub(super) fn count_something(calls: &Calls) {
    let call = Call {
        method: "Create",
        provider: "openstack",
    };
    let error = meaning(&CloudError::Gone);
    calls.note(&call, Duration::from_millis(2), Some(error));
}
