//! What does a candidate see of an API server over a bad network?
//!
//! One server, many links. A request travels, is applied, and its answer travels back; each leg can be slow or lost. A
//! caller that gives up does not take its request back: it may still arrive.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use tokio::sync::oneshot;

use super::api::{LeaseApi, LeaseTrouble};

#[derive(Clone, Default)]
pub(super) struct FakeServer {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    lease: Option<Lease>,
    version: u64,
}

/// What happens to one call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trip {
    /// Takes so long to get there, and so long to come back.
    Arrives(Duration, Duration),
    /// Never gets there; the caller hears nothing.
    Vanishes,
    /// Gets there and is done, but the caller hears nothing.
    AnswerVanishes(Duration),
    /// The connection is refused at once.
    Refused,
}

type Fate = Arc<Mutex<dyn FnMut() -> Trip + Send>>;

/// One candidate's way to the server.
#[derive(Clone)]
pub(super) struct Link {
    server: FakeServer,
    fate: Fate,
}

enum Call {
    Get,
    Create(Box<Lease>),
    Replace(Box<Lease>),
}

impl FakeServer {
    pub(super) fn link(&self, fate: impl FnMut() -> Trip + Send + 'static) -> Link {
        Link {
            server: self.clone(),
            fate: Arc::new(Mutex::new(fate)),
        }
    }

    /// A link on which nothing goes wrong.
    pub(super) fn good_link(&self) -> Link {
        self.link(|| Trip::Arrives(Duration::from_millis(5), Duration::from_millis(5)))
    }

    pub(super) fn lease(&self) -> Option<Lease> {
        self.state.lock().unwrap().lease.clone()
    }

    /// Changes the lease behind everybody's back.
    pub(super) fn put(&self, lease: Option<Lease>) {
        let mut state = self.state.lock().unwrap();
        state.version += 1;
        let version = state.version.to_string();
        state.lease = lease.map(|mut lease| {
            lease.metadata.resource_version = Some(version);
            lease
        });
    }

    fn apply(&self, call: Call) -> Result<Option<Lease>, LeaseTrouble> {
        let current = self.lease();
        match (call, current) {
            (Call::Get, current) => return Ok(current),
            (Call::Create(_), Some(_)) => return Err(LeaseTrouble::Conflict),
            (Call::Replace(_), None) => return Err(LeaseTrouble::Gone),
            (Call::Create(lease), None) => self.put(Some(*lease)),
            (Call::Replace(lease), Some(current)) => {
                if lease.metadata.resource_version != current.metadata.resource_version {
                    return Err(LeaseTrouble::Conflict);
                }
                self.put(Some(*lease));
            }
        }
        Ok(self.lease())
    }
}

impl Link {
    async fn call(&self, call: Call) -> Result<Option<Lease>, LeaseTrouble> {
        let trip = (self.fate.lock().unwrap())();
        let (there, back) = match trip {
            Trip::Refused => return Err(LeaseTrouble::Unknown("connection refused".into())),
            Trip::Vanishes => std::future::pending().await,
            Trip::Arrives(there, back) => (there, Some(back)),
            Trip::AnswerVanishes(there) => (there, None),
        };
        let server = self.server.clone();
        let (answer, heard) = oneshot::channel();
        tokio::spawn(async move {
            tokio::time::sleep(there).await;
            let said = server.apply(call);
            match back {
                Some(back) => tokio::time::sleep(back).await,
                None => std::future::pending().await,
            }
            let _ = answer.send(said);
        });
        heard
            .await
            .unwrap_or_else(|_| Err(LeaseTrouble::Unknown("connection closed".into())))
    }

    async fn write(&self, call: Call) -> Result<Lease, LeaseTrouble> {
        self.call(call).await?.ok_or(LeaseTrouble::Gone)
    }
}

impl LeaseApi for Link {
    async fn get(&self) -> Result<Option<Lease>, LeaseTrouble> {
        self.call(Call::Get).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LeaseTrouble> {
        self.write(Call::Create(Box::new(lease.clone()))).await
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, LeaseTrouble> {
        self.write(Call::Replace(Box::new(lease.clone()))).await
    }

    fn name(&self) -> &str {
        super::NAME
    }
}
