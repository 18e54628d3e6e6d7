//! May we still change anything in this cloud?
//!
//! Reading is always allowed. A changing call is refused after the lease ended or while somebody has paused us. One that is
//! under way asks again when its leave runs out: a renewed lease prolongs it, a lost one drops it, and whatever had not left by
//! then never leaves. It must not be dropped earlier: a create that was given up too soon would be looked for, not found yet,
//! and made a second time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use planner::{Catalog, Identity, InstanceId};
use tokio::time::{Instant, sleep_until};

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
        let mut until = self.leave().map_err(|Refusal(why)| refused(&why))?;
        let (mut call, mut end) = (pin!(call), pin!(sleep_until(far(until))));
        poll_fn(|context| {
            // The leave is looked at before every step of the call: a process that was stopped for longer than its lease
            // finds the answer to its last step and the end of its lease at the same moment.
            while end.as_mut().poll(context).is_ready()
                || until.is_some_and(|at| at <= Instant::now())
            {
                until = match self.leave() {
                    Ok(longer) => longer,
                    Err(Refusal(why)) => return Poll::Ready(Err(dropped(&why))),
                };
                end.as_mut().reset(far(until));
            }
            call.as_mut().poll(context)
        })
        .await
    }

    /// Until when we may act, if we may now.
    fn leave(&self) -> Result<Option<Instant>, Refusal> {
        let Permit { until } = self.permit.may_act()?;
        if until.is_some_and(|at| at <= Instant::now()) {
            return Err(Refusal("the lease has ended".to_owned()));
        }
        Ok(until)
    }
}

/// A leave without end is looked at again tomorrow.
fn far(until: Option<Instant>) -> Instant {
    until.unwrap_or_else(|| Instant::now() + Duration::from_hours(24))
}

fn dropped(why: &str) -> CloudError {
    CloudError::doubt(Said::new(&format!(
        "given up before the cloud answered: {why}"
    )))
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

    async fn terminate_only(&self, who: &Identity, id: &InstanceId) -> Result<(), CloudError> {
        self.changing(self.provider.terminate_only(who, id)).await
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
