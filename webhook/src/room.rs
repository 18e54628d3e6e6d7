//! Is there memory and processor time for one more review?
//!
//! A LIST sends all its objects in one review, so one request may be large; many large ones at once may not be. Bytes are
//! reserved before the body is read and kept until the answer has left, processor time only while a review is thought about.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How much of each is to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Of one request, in bytes.
    pub body: usize,
    /// Of all requests together, in bytes.
    pub bodies: usize,
    /// How long a client may take to send a body, and how long a request may wait for room.
    pub patience: Duration,
    /// Reviews being answered at the same time; more than processors make nothing faster.
    pub at_once: NonZeroUsize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            body: 64 << 20,
            bodies: 128 << 20,
            patience: Duration::from_secs(15),
            at_once: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

#[derive(Clone)]
pub struct Room {
    bounds: Bounds,
    kibibytes: Arc<Semaphore>,
    reviews: Arc<Semaphore>,
}

impl Room {
    pub fn new(bounds: Bounds) -> Self {
        // At least one body of the allowed size must fit, or a large one would wait for ever.
        let kibibytes = permits(bounds.bodies.max(bounds.body));
        Room {
            bounds,
            kibibytes: Arc::new(Semaphore::new(kibibytes as usize)),
            reviews: Arc::new(Semaphore::new(bounds.at_once.get())),
        }
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Waits for room for a body of this length; of unknown length, for the largest. `None` when none came in time.
    pub(crate) async fn for_body(&self, length: Option<usize>) -> Option<OwnedSemaphorePermit> {
        let wanted = permits(length.unwrap_or(self.bounds.body));
        let free = self.kibibytes.clone().acquire_many_owned(wanted);
        tokio::time::timeout(self.bounds.patience, free)
            .await
            .ok()?
            .ok()
    }

    pub(crate) async fn for_review(&self) -> Option<OwnedSemaphorePermit> {
        tokio::time::timeout(self.bounds.patience, self.reviews.clone().acquire_owned())
            .await
            .ok()?
            .ok()
    }
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024).max(1))
        .unwrap_or(u32::MAX)
        .min(MOST)
}

/// More than a semaphore on any platform holds would be a panic; a tebibyte is enough for everybody.
const MOST: u32 = 1 << 28;
