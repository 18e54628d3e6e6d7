//! May we still change anything in this cloud?
//!
//! Reading is always allowed. A changing call is refused after the lease ended or while somebody has paused us, and one
//! that is under way is dropped when the lease ends: whatever had not left by then never leaves.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use planner::{Catalog, Identity, InstanceId};
use tokio::time::Instant;

use crate::class::{ClassTrouble, Quota, Resolved};
use crate::error::CloudError;
use crate::instance::{Drift, Footprint, Instance, Order};
use crate::provider::Provider;
use crate::said::Said;

/// Decides whether a changing call may be made.
pub trait MayAct: Send + Sync {
    fn may_act(&self) -> Result<Permit, Refusal>;
}

/// Leave to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// When the leave ends; none means it does not end by itself.
    pub until: Option<Instant>,
}

/// Why we may not act, for example "another replica leads" or "paused by joiner.dev/paused".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

/// A provider that changes nothing without leave.
pub struct Leased<P: ?Sized> {
    permit: Arc<dyn MayAct>,
    provider: Box<P>,
}

impl<F: Fn() -> Result<Permit, Refusal> + Send + Sync> MayAct for F {
    fn may_act(&self) -> Result<Permit, Refusal> {
        self()
    }
}

impl<P: Provider + ?Sized> Leased<P> {
    pub fn new(provider: Box<P>, permit: Arc<dyn MayAct>) -> Self {
        Self { permit, provider }
    }

    async fn changing<T>(
        &self,
        call: impl Future<Output = Result<T, CloudError>> + Send,
    ) -> Result<T, CloudError> {
        let permit = self
            .permit
            .may_act()
            .map_err(|Refusal(why)| refused(&why))?;
        let Some(until) = permit.until else {
            return call.await;
        };
        if until <= Instant::now() {
            return Err(refused("the lease has ended"));
        }
        tokio::time::timeout_at(until, call)
            .await
            .unwrap_or_else(|_| {
                Err(CloudError::unknown(
                    "the lease ended before the cloud answered",
                ))
            })
    }
}

fn refused(why: &str) -> CloudError {
    CloudError::Throttled {
        retry_after: None,
        said: Said::new(&format!("nothing was sent: {why}")),
    }
}

#[async_trait]
impl<P: Provider + ?Sized> Provider for Leased<P> {
    async fn resolve(&self) -> Result<Resolved, ClassTrouble> {
        self.provider.resolve().await
    }

    async fn catalog(&self, on: &Resolved) -> Result<Catalog, CloudError> {
        self.provider.catalog(on).await
    }

    async fn launch(&self, order: &Order) -> Result<Instance, CloudError> {
        self.changing(self.provider.launch(order)).await
    }

    async fn find(&self, who: &Identity) -> Result<Vec<Instance>, CloudError> {
        self.provider.find(who).await
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, CloudError> {
        self.provider.get(id).await
    }

    async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        self.provider.list().await
    }

    async fn terminate(&self, what: &Footprint) -> Result<(), CloudError> {
        self.changing(self.provider.terminate(what)).await
    }

    async fn reboot(&self, id: &InstanceId, operation: &str) -> Result<(), CloudError> {
        self.changing(self.provider.reboot(id, operation)).await
    }

    async fn quota(&self) -> Result<Quota, CloudError> {
        self.provider.quota().await
    }

    async fn console(&self, id: &InstanceId) -> Result<String, CloudError> {
        self.provider.console(id).await
    }

    fn drifted(&self, resolved: &Resolved, instance: &Instance) -> Option<Drift> {
        self.provider.drifted(resolved, instance)
    }
}
