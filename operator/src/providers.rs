//! Which cloud stands behind a class, and what did it last say?
//!
//! One provider per class object, opened again when its generation or a Secret of it changes. A class that was deleted keeps its
//! provider for as long as claims may need it to terminate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cloud::{
    CloudError, Footprint, Instance, Leased, MayAct, Order, Permit, Provider, Refusal, Resolved,
};
use crds::openstack::v1::OpenStackNodeClass;
use planner::{Catalog, ClusterId};
use runtime::Clock;
use runtime::lease::Leadership;

use crate::brakes::{self, Brake};
use crate::mirror::Store;

/// Secrets a class refers to, as read by the process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClassSecrets {
    pub credentials: Option<BTreeMap<String, Vec<u8>>>,
    pub ca: Option<Vec<u8>>,
}

/// What is wrong with opening a class.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CannotOpen {
    pub condition: &'static str,
    pub reason: &'static str,
    pub message: String,
}

/// How a class becomes a provider. The real one speaks over sockets, the simulation's into an emulator.
pub trait Open: Send + Sync {
    fn open(
        &self,
        class: &OpenStackNodeClass,
        secrets: &ClassSecrets,
        cluster: &ClusterId,
    ) -> Result<Box<dyn Provider>, CannotOpen>;
}

/// A class with its cloud.
pub struct Known {
    pub class: OpenStackNodeClass,
    pub secrets: ClassSecrets,
    /// For reading. Changing calls go through `launch` and `terminate`.
    pub provider: Leased<dyn Provider>,
    leave: Leave,
    said: RwLock<Answers>,
}

#[derive(Clone, Default)]
struct Answers {
    resolved: Option<Arc<Resolved>>,
    catalog: Option<Arc<Catalog>>,
}

impl Known {
    pub async fn launch(&self, order: &Order) -> Result<Instance, CloudError> {
        self.leave.while_leading(self.provider.launch(order)).await
    }

    pub async fn terminate(&self, what: &Footprint) -> Result<(), CloudError> {
        self.leave
            .while_leading(self.provider.terminate(what))
            .await
    }

    pub fn resolved(&self) -> Option<Arc<Resolved>> {
        self.said
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .resolved
            .clone()
    }

    pub fn catalog(&self) -> Option<Arc<Catalog>> {
        self.said
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .catalog
            .clone()
    }

    pub fn learn(&self, resolved: Arc<Resolved>, catalog: Arc<Catalog>) {
        let mut said = self.said.write().unwrap_or_else(PoisonError::into_inner);
        *said = Answers {
            resolved: Some(resolved),
            catalog: Some(catalog),
        };
    }

    /// Nothing can be bought until the class is right again; what was bought can still be terminated.
    pub fn close_shop(&self) {
        let mut said = self.said.write().unwrap_or_else(PoisonError::into_inner);
        *said = Answers::default();
    }

    /// Asks for the catalog again, for example after a refusal. Keeps the old one if the cloud does not answer.
    pub async fn refresh_catalog(&self) {
        let Some(resolved) = self.resolved() else {
            return;
        };
        match self.provider.catalog(&resolved).await {
            Ok(catalog) => self.learn(resolved, Arc::new(catalog)),
            Err(error) => tracing::warn!(%error, "the catalog could not be read again"),
        }
    }
}

/// Leave to change things in the cloud: while we hold the lease and nobody has paused us.
#[derive(Clone)]
pub struct Leave {
    pub leadership: Leadership,
    pub clock: Clock,
    pub brake: Brake,
    pub classes: Store<OpenStackNodeClass>,
}

impl Leave {
    /// Drops the call when the lease ends, and not before: a renewal in the meantime prolongs it. A call that was dropped too
    /// early would be looked for, not found yet, and made a second time.
    async fn while_leading<T>(
        &self,
        call: impl Future<Output = Result<T, CloudError>>,
    ) -> Result<T, CloudError> {
        tokio::select! {
            biased;
            () = self.ended() => Err(CloudError::unknown("the lease ended before the cloud answered")),
            answer = call => answer,
        }
    }

    async fn ended(&self) {
        while let Some(held) = self.leadership.held() {
            self.clock.sleep_until(held.until).await;
        }
    }
}

#[derive(Clone)]
pub struct Providers {
    open: Arc<dyn Open>,
    cluster: ClusterId,
    leave: Leave,
    known: Arc<Mutex<BTreeMap<String, Arc<Known>>>>,
}

struct ClassLeave {
    leave: Leave,
    class: String,
}

impl MayAct for ClassLeave {
    fn may_act(&self) -> Result<Permit, Refusal> {
        if let Some(by) = self.leave.brake.pulled() {
            return Err(Refusal(format!("paused by {by}")));
        }
        let class = self.leave.classes.get(&self.class);
        if class.is_some_and(|class| brakes::is_paused(&*class)) {
            return Err(Refusal(format!(
                "paused by {} on class {}",
                brakes::PAUSED,
                self.class
            )));
        }
        if !self.leave.leadership.may_act() {
            return Err(Refusal("this process does not hold the lease".to_owned()));
        }
        // Its end is watched by `while_leading`, which knows of renewals.
        Ok(Permit { until: None })
    }
}

impl Providers {
    pub fn new(open: Arc<dyn Open>, cluster: ClusterId, leave: Leave) -> Self {
        Self {
            open,
            cluster,
            leave,
            known: Arc::default(),
        }
    }

    pub fn get(&self, class: &str) -> Option<Arc<Known>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(class).cloned()
    }

    pub fn all(&self) -> Vec<(String, Arc<Known>)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .iter()
            .map(|(name, one)| (name.clone(), one.clone()))
            .collect()
    }

    /// Whether the class already has a provider of this generation and these Secrets.
    pub fn is_current(
        &self,
        name: &str,
        class: &OpenStackNodeClass,
        secrets: &ClassSecrets,
    ) -> bool {
        self.get(name).is_some_and(|known| {
            known.class.metadata.uid == class.metadata.uid
                && known.class.metadata.generation == class.metadata.generation
                && known.secrets == *secrets
        })
    }

    /// Opens the class and puts it in the place of what was there.
    pub fn reopen(
        &self,
        name: &str,
        class: &OpenStackNodeClass,
        secrets: ClassSecrets,
    ) -> Result<Arc<Known>, CannotOpen> {
        let provider = self.open.open(class, &secrets, &self.cluster)?;
        let leave = ClassLeave {
            leave: self.leave.clone(),
            class: name.to_owned(),
        };
        let known = Arc::new(Known {
            class: class.clone(),
            secrets,
            provider: Leased::new(provider, Arc::new(leave)),
            leave: self.leave.clone(),
            said: RwLock::default(),
        });
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    pub fn forget(&self, name: &str) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name);
    }
}
