//! When a cloud does not let us in any more, who looks whether there are new credentials?
//!
//! Secrets are read every minute anyway. A call that was refused brings that look forward, so that a rotated password does
//! not cost a minute; not more often than every few seconds, because a look asks the cloud too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cloud::{
    ClassTrouble, CloudError, Drift, Footprint, Instance, Order, Provider, Quota, Resolved,
};
use crds::openstack::v1::OpenStackNodeClass;
use kube::ResourceExt;
use planner::{Catalog, ClusterId, Identity, InstanceId};
use tokio::time::Instant;

use crate::providers::{CannotOpen, ClassSecrets, Open};
use crate::wake::Wake;

/// Looks that were brought forward are so far apart.
const APART: Duration = Duration::from_secs(5);

/// Opens classes so that a refusal wakes them.
pub struct Rereading {
    pub open: Arc<dyn Open>,
    pub wake: Wake,
}

impl Open for Rereading {
    fn open(
        &self,
        class: &OpenStackNodeClass,
        secrets: &ClassSecrets,
        cluster: &ClusterId,
    ) -> Result<Box<dyn Provider>, CannotOpen> {
        let provider = self.open.open(class, secrets, cluster)?;
        Ok(Box::new(Watched {
            provider,
            refused: Refused {
                class: class.name_any(),
                wake: self.wake.clone(),
                last: Mutex::default(),
            },
        }))
    }
}

/// A provider whose refusals are heard.
struct Watched {
    provider: Box<dyn Provider>,
    refused: Refused,
}

struct Refused {
    class: String,
    wake: Wake,
    last: Mutex<Option<Instant>>,
}

impl Refused {
    fn heard<T>(&self, answer: Result<T, CloudError>) -> Result<T, CloudError> {
        if matches!(answer, Err(CloudError::Unauthorized { .. })) && self.is_due() {
            tracing::info!(
                class = self.class,
                "the cloud refused the credentials; reading them again"
            );
            self.wake.class_named(&self.class);
        }
        answer
    }

    fn is_due(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| last.elapsed() >= APART);
        if due {
            *last = Some(Instant::now());
        }
        due
    }
}

#[async_trait]
impl Provider for Watched {
    /// Whoever resolves has just read the credentials: a refusal here would wake itself.
    async fn resolve(&self) -> Result<Resolved, ClassTrouble> {
        self.provider.resolve().await
    }

    async fn catalog(&self, on: &Resolved) -> Result<Catalog, CloudError> {
        self.provider.catalog(on).await
    }

    async fn launch(&self, order: &Order) -> Result<Instance, CloudError> {
        self.refused.heard(self.provider.launch(order).await)
    }

    async fn find(&self, who: &Identity) -> Result<Vec<Instance>, CloudError> {
        self.refused.heard(self.provider.find(who).await)
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, CloudError> {
        self.refused.heard(self.provider.get(id).await)
    }

    async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        self.refused.heard(self.provider.list().await)
    }

    async fn terminate(&self, what: &Footprint) -> Result<(), CloudError> {
        self.refused.heard(self.provider.terminate(what).await)
    }

    async fn terminate_only(&self, who: &Identity, id: &InstanceId) -> Result<(), CloudError> {
        self.refused
            .heard(self.provider.terminate_only(who, id).await)
    }

    async fn reboot(&self, id: &InstanceId, operation: &str) -> Result<(), CloudError> {
        self.refused
            .heard(self.provider.reboot(id, operation).await)
    }

    async fn quota(&self) -> Result<Quota, CloudError> {
        self.refused.heard(self.provider.quota().await)
    }

    async fn console(&self, id: &InstanceId) -> Result<String, CloudError> {
        self.refused.heard(self.provider.console(id).await)
    }

    fn drifted(&self, resolved: &Resolved, instance: &Instance) -> Option<Drift> {
        self.provider.drifted(resolved, instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_refusal_wakes_its_class_once_in_a_while_and_other_failures_do_not() {
        let pods = crate::metrics::Counts::new(&runtime::metrics::Metrics::default()).pods;
        let (wake, mut woken) = crate::wake::channels(runtime::Clock::real(), pods);
        let refused = Refused {
            class: "default".to_owned(),
            wake,
            last: Mutex::default(),
        };
        let hear = |error| drop(refused.heard::<()>(Err(error)));
        let unauthorized = || CloudError::Unauthorized { said: "no".into() };
        hear(CloudError::unknown("no answer"));
        assert!(woken.classes.try_recv().is_err());
        hear(unauthorized());
        hear(unauthorized());
        assert_eq!(woken.classes.try_recv().unwrap(), "default");
        assert!(woken.classes.try_recv().is_err());
        tokio::time::advance(APART).await;
        hear(unauthorized());
        assert!(woken.classes.try_recv().is_ok());
    }
}
