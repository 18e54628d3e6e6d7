//! Which offerings did the cloud refuse lately?
//!
//! Only a hint: safe to lose, and asked again after a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// As long as Karpenter waits.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_mins(3);

#[derive(Default)]
pub(crate) struct Hints {
    refused: Mutex<BTreeMap<(String, String), Timestamp>>,
}

impl Hints {
    pub(crate) fn refused(&self, instance_type: &str, zone: &str, now: Timestamp) {
        let until = now.checked_add(AGAIN_AFTER).unwrap_or(now);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.retain(|_, until| *until > now);
        refused.insert((instance_type.to_owned(), zone.to_owned()), until);
    }

    /// Until when it is not worth asking for this type in this zone.
    pub(crate) fn until(
        &self,
        instance_type: &str,
        zone: &str,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let until = refused
            .get(&(instance_type.to_owned(), zone.to_owned()))
            .copied();
        until.filter(|until| *until > now)
    }
}
