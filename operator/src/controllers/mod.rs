//! How is each object led to what it should be, one step at a time?
//!
//! `drive` is the loop around all of them: keys come in by news or by time, each key has one turn at a time, several keys have
//! theirs side by side.

pub mod claim;
pub mod class;
pub mod collect;
pub mod disrupt;
pub mod drain;
pub mod migrate;
pub mod pool;
pub mod provision;
pub mod queue;
pub mod untaint;
pub mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use queue::{Again, Queue, backoff};

use crate::write::WriteError;

/// Why a turn could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum Turn {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot read from the API server: {0}")]
    Read(#[source] Box<kube::Error>),
    #[error("{0}")]
    Other(String),
}

impl From<kube::Error> for Turn {
    fn from(error: kube::Error) -> Self {
        Self::Read(Box::new(error))
    }
}

pub type Outcome = Result<Again, Turn>;

/// Keys that have their turn at the same time.
const SIDE_BY_SIDE: usize = 64;

/// Gives keys their turns until told to stop. A turn that has begun is dropped then: whatever it was about to do is decided
/// again by whoever comes next.
pub async fn drive<F, Fut>(
    name: &'static str,
    mut news: UnboundedReceiver<String>,
    stop: CancellationToken,
    turn: F,
) where
    F: Fn(String) -> Fut,
    Fut: Future<Output = Outcome>,
{
    let mut queue = Queue::default();
    let mut busy: BTreeSet<String> = BTreeSet::new();
    let mut failures: BTreeMap<String, u32> = BTreeMap::new();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < SIDE_BY_SIDE {
            let Some(key) = queue.take(Instant::now(), |key| busy.contains(key)) else {
                break;
            };
            busy.insert(key.clone());
            let work = turn(key.clone());
            running.push(async move { (key, work.await) });
        }
        let next = queue.next(|key| busy.contains(key));
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            Some((key, outcome)) = running.next(), if !running.is_empty() => {
                busy.remove(&key);
                let again = settle(name, &key, outcome, &mut failures);
                if let Some(at) = again {
                    queue.add(key, at);
                }
            }
            key = news.recv() => match key {
                Some(key) => queue.add(key, Instant::now()),
                None => return,
            },
            () = sleep_until(next), if running.len() < SIDE_BY_SIDE => {}
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn settle(
    name: &'static str,
    key: &str,
    outcome: Outcome,
    failures: &mut BTreeMap<String, u32>,
) -> Option<Instant> {
    let failed = failures.get(key).copied().unwrap_or(0);
    let again = match outcome {
        Ok(again) => again,
        Err(Turn::Write(WriteError::Conflict)) => Again::After(backoff(0)),
        Err(error) => {
            tracing::warn!(controller = name, key, %error, "a turn failed; trying again");
            Again::Backoff
        }
    };
    if again == Again::Backoff {
        failures.insert(key.to_owned(), failed.saturating_add(1));
    } else {
        failures.remove(key);
    }
    let now = Instant::now();
    match again {
        Again::Never => None,
        Again::Now => Some(now),
        Again::After(after) => Some(now + after),
        Again::Backoff => Some(now + backoff(failed)),
    }
}
