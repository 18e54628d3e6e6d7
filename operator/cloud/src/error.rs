//! What does a failure mean for whoever asked?
//!
//! Few meanings, not many codes: each says what to do next. The vendor's text is carried, never matched above a provider.

use std::error::Error;
use std::time::Duration;

use crate::said::Said;

/// The six meanings of failure.
#[derive(Debug, thiserror::Error)]
pub enum CloudError {
    /// Forget it: a positive, authenticated answer says that it does not exist.
    #[error("it does not exist any more")]
    Gone,
    /// Try another offering: nothing of this one is to be had.
    #[error("no capacity ({scope}): {said}")]
    NoCapacity { scope: Scope, said: Said },
    /// Wait, then ask the same again: nothing happened.
    #[error("not now: {said}")]
    Throttled {
        retry_after: Option<Duration>,
        said: Said,
    },
    /// Stop and tell a human.
    #[error("not allowed in: {said}")]
    Unauthorized { said: Said },
    /// Never send this request again as it is: nothing happened and nothing will.
    #[error("refused: {said}")]
    Rejected { said: Said },
    /// It may have happened: look first.
    #[error("outcome unknown: {0}")]
    Unknown(#[source] Box<dyn Error + Send + Sync>),
}

/// How far a lack of capacity reaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// This instance type in this zone with this capacity type.
    Offering,
    /// This instance type in this zone, however it is paid.
    TypeInZone,
    /// The project's quota of a resource, as the vendor names it (`instances`, `cores`, `ram`, `port`).
    Quota { resource: String },
}

/// May the object be forgotten? Only if the cloud said that it is gone.
pub fn may_forget<T>(outcome: &Result<T, CloudError>) -> bool {
    matches!(outcome, Err(CloudError::Gone))
}

impl CloudError {
    pub fn rejected(text: &str) -> Self {
        Self::Rejected { said: text.into() }
    }

    /// Doubt, in our own words.
    pub fn unknown(text: &str) -> Self {
        Self::doubt(Said::new(text))
    }

    pub fn doubt(said: Said) -> Self {
        Self::Unknown(Box::new(Doubt(said)))
    }

    /// Would the same question have another answer in a while, without anybody changing anything?
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Throttled { .. } | Self::Unknown(_) => true,
            Self::Gone
            | Self::NoCapacity { .. }
            | Self::Unauthorized { .. }
            | Self::Rejected { .. } => false,
        }
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Offering => f.write_str("this offering"),
            Self::TypeInZone => f.write_str("this instance type in this zone"),
            Self::Quota { resource } => write!(f, "quota of {resource}"),
        }
    }
}

/// What is known about an outcome that is not known.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Doubt(Said);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gone_may_be_forgotten() {
        let outcomes: [Result<(), CloudError>; 4] = [
            Ok(()),
            Err(CloudError::unknown("no answer")),
            Err(CloudError::rejected("no")),
            Err(CloudError::Throttled {
                retry_after: None,
                said: Said::default(),
            }),
        ];
        assert!(outcomes.iter().all(|outcome| !may_forget(outcome)));
        assert!(may_forget::<()>(&Err(CloudError::Gone)));
    }
}
