//! What has been tried for a claim, durably?
//!
//! The values behind the annotation `joiner.dev/ledger`; writing and reading it is the operator's.

use crate::catalog::CapacityType;
use crate::identity::{ClusterId, InstanceId};
use jiff::Timestamp;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Names one offering outside of its catalog: `type/zone/capacity-type`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferingName {
    pub instance_type: Arc<str>,
    pub zone: Arc<str>,
    pub capacity_type: CapacityType,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    pub cluster: ClusterId,
    /// Of the lease under which it was written: whoever sees a higher one than his own must stop.
    pub epoch: u64,
    /// The account or project in which everything is tried; none where clouds have none.
    pub account: Option<Arc<str>>,
    pub attempts: Vec<Attempt>,
}

/// One try to launch an instance. A claim never tries two offerings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub offering: OfferingName,
    pub state: AttemptState,
    /// When the state was written.
    pub at: Timestamp,
    /// Ports, volumes and the like, by kind and id.
    pub sides: Vec<(Arc<str>, Arc<str>)>,
    /// What the cloud said, shortened.
    pub said: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// Written before the create call: an instance may exist.
    Intended,
    Created {
        instance: InstanceId,
    },
    /// Termination was asked for.
    Ending {
        instance: Option<InstanceId>,
    },
    /// Positively absent.
    Gone,
}

impl Ledger {
    /// Do the answers of this account say anything about this claim? In any other, all that is ours looks gone.
    pub fn is_known_to(&self, account: Option<&str>) -> bool {
        match (self.account.as_deref(), account) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(ours), Some(theirs)) => ours == theirs,
        }
    }
}

impl Attempt {
    pub fn intended(offering: OfferingName, at: Timestamp) -> Self {
        Self {
            offering,
            state: AttemptState::Intended,
            at,
            sides: Vec::new(),
            said: None,
        }
    }
}

impl fmt::Display for OfferingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/{}",
            self.instance_type, self.zone, self.capacity_type
        )
    }
}

/// A text that does not name an offering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an offering; it must read type/zone/capacity-type")]
pub struct BadOfferingName(pub String);

impl FromStr for OfferingName {
    type Err = BadOfferingName;

    /// The type may hold slashes, the zone and capacity type may not.
    fn from_str(text: &str) -> Result<Self, BadOfferingName> {
        let bad = || BadOfferingName(text.to_owned());
        let (rest, capacity_type) = text.rsplit_once('/').ok_or_else(bad)?;
        let (instance_type, zone) = rest.rsplit_once('/').ok_or_else(bad)?;
        if instance_type.is_empty() || zone.is_empty() {
            return Err(bad());
        }
        let capacity_type = capacity_type.parse().map_err(|()| bad())?;
        Ok(Self {
            instance_type: instance_type.into(),
            zone: zone.into(),
            capacity_type,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_account_and_one_nobody_named_know_nothing_of_the_claim() {
        let ledger = |account: Option<&str>| Ledger {
            cluster: "c".into(),
            epoch: 1,
            account: account.map(Into::into),
            attempts: Vec::new(),
        };
        assert!(ledger(Some("a")).is_known_to(Some("a")));
        assert!(!ledger(Some("a")).is_known_to(Some("b")));
        assert!(!ledger(Some("a")).is_known_to(None));
        assert!(ledger(None).is_known_to(Some("b")));
    }

    #[test]
    fn an_offering_reads_back_as_it_was_written() {
        for text in ["b3-8/gra-a/on-demand", "family/b3-8/gra-a/spot"] {
            assert_eq!(text.parse::<OfferingName>().unwrap().to_string(), text);
        }
        for text in ["", "b3-8", "b3-8/a", "b3-8/a/free", "//spot"] {
            assert!(text.parse::<OfferingName>().is_err(), "{text}");
        }
    }
}
