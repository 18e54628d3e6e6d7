//! Does nothing change in a cloud without leave?

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cloud::{
    ClassTrouble, CloudError, Drift, Footprint, Instance, Leased, Order, Permit, Provider, Quota,
    Refusal, Resolved,
};
use planner::{Catalog, Identity, InstanceId};
use tokio::time::Instant;

/// Counts what reaches it; a termination takes ten seconds before it leaves.
#[derive(Default)]
struct Counting {
    read: AtomicUsize,
    changed: Arc<AtomicUsize>,
}

#[async_trait]
impl Provider for Counting {
    async fn resolve(&self) -> Result<Resolved, ClassTrouble> {
        Ok(Resolved::default())
    }
    async fn catalog(&self, _: &Resolved) -> Result<Catalog, CloudError> {
        Err(CloudError::Gone)
    }
    async fn launch(&self, _: &Order) -> Result<Instance, CloudError> {
        self.changed.fetch_add(1, Ordering::SeqCst);
        Err(CloudError::Gone)
    }
    async fn find(&self, _: &Identity) -> Result<Vec<Instance>, CloudError> {
        Ok(Vec::new())
    }
    async fn get(&self, _: &InstanceId) -> Result<Instance, CloudError> {
        Err(CloudError::Gone)
    }
    async fn list(&self) -> Result<Vec<Instance>, CloudError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        Ok(Vec::new())
    }
    async fn terminate(&self, _: &Footprint) -> Result<(), CloudError> {
        tokio::time::sleep(Duration::from_secs(10)).await;
        self.changed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
    async fn terminate_only(&self, _: &Identity, _: &InstanceId) -> Result<(), CloudError> {
        self.changed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
    async fn reboot(&self, _: &InstanceId, _: &str) -> Result<(), CloudError> {
        self.changed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
    async fn quota(&self) -> Result<Quota, CloudError> {
        Ok(Quota::default())
    }
    async fn console(&self, _: &InstanceId) -> Result<String, CloudError> {
        Ok(String::new())
    }
    fn drifted(&self, _: &Resolved, _: &Instance) -> Option<Drift> {
        None
    }
}

fn footprint() -> Footprint {
    Footprint {
        identity: Identity {
            cluster: "c".into(),
            claim: "u".into(),
        },
        instance: None,
        side: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_provider_reads_and_changes_nothing() {
    let changed = Arc::new(AtomicUsize::new(0));
    let provider = Counting {
        changed: changed.clone(),
        ..Counting::default()
    };
    let paused = || Err(Refusal("paused by joiner.dev/paused".into()));
    let leased = Leased::new(Box::new(provider), Arc::new(paused));
    leased.list().await.unwrap();
    let outcome = leased.terminate(&footprint()).await.unwrap_err();
    assert!(matches!(outcome, CloudError::Throttled { .. }));
    assert!(
        outcome.to_string().contains("joiner.dev/paused"),
        "{outcome}"
    );
    assert!(leased.reboot(&"a".into(), "1").await.is_err());
    assert_eq!(changed.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_not_left_when_the_lease_ends_never_leaves() {
    let changed = Arc::new(AtomicUsize::new(0));
    let provider: Box<dyn Provider> = Box::new(Counting {
        changed: changed.clone(),
        ..Counting::default()
    });
    let until = Arc::new(Mutex::new(Instant::now() + Duration::from_secs(5)));
    let permit = until.clone();
    let leased = Leased::new(
        provider,
        Arc::new(move || {
            Ok(Permit {
                until: Some(*permit.lock().unwrap()),
            })
        }),
    );
    assert!(matches!(
        leased.terminate(&footprint()).await,
        Err(CloudError::Unknown(_))
    ));
    tokio::time::advance(Duration::from_mins(1)).await;
    assert!(
        matches!(
            leased.terminate(&footprint()).await,
            Err(CloudError::Throttled { .. })
        ),
        "the lease is over"
    );
    assert_eq!(changed.load(Ordering::SeqCst), 0);
    *until.lock().unwrap() = Instant::now() + Duration::from_mins(1);
    leased.terminate(&footprint()).await.unwrap();
    assert_eq!(changed.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_renewed_in_time_prolongs_the_call_and_its_loss_drops_it() {
    let changed = Arc::new(AtomicUsize::new(0));
    let provider: Box<dyn Provider> = Box::new(Counting {
        changed: changed.clone(),
        ..Counting::default()
    });
    // Renewed every two seconds for three more, until nobody renews any longer.
    let start = Instant::now();
    let last_renewal = Arc::new(Mutex::new(start + Duration::from_mins(1)));
    let renewals = last_renewal.clone();
    let leased = Leased::new(
        provider,
        Arc::new(move || {
            let now = Instant::now().min(*renewals.lock().unwrap());
            let renewed = start + Duration::from_secs((now - start).as_secs() / 2 * 2);
            Ok(Permit {
                until: Some(renewed + Duration::from_secs(3)),
            })
        }),
    );
    leased.terminate(&footprint()).await.unwrap();
    assert_eq!(
        changed.load(Ordering::SeqCst),
        1,
        "ten seconds, three leases"
    );
    *last_renewal.lock().unwrap() = Instant::now() + Duration::from_secs(4);
    let outcome = leased.terminate(&footprint()).await.unwrap_err();
    assert!(matches!(outcome, CloudError::Unknown(_)), "{outcome}");
    assert!(
        outcome.to_string().contains("the lease has ended"),
        "{outcome}"
    );
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(
        changed.load(Ordering::SeqCst),
        1,
        "what was dropped never leaves"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_and_the_end_of_the_lease_at_one_moment_lead_to_nothing_more() {
    let changed = Arc::new(AtomicUsize::new(0));
    let provider: Box<dyn Provider> = Box::new(Counting {
        changed: changed.clone(),
        ..Counting::default()
    });
    // The step before takes exactly as long as the lease lasts: as after a stop of the whole process.
    let until = Instant::now() + Duration::from_secs(10);
    let permit = move || Ok(Permit { until: Some(until) });
    let leased = Leased::new(provider, Arc::new(permit));
    assert!(leased.terminate(&footprint()).await.is_err());
    assert_eq!(changed.load(Ordering::SeqCst), 0);
}
