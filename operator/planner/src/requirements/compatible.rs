//! May a pod that asks for these labels go where those labels are, or can still become?
//!
//! The question is not symmetric: `self` is the place, `incoming` is who wants in.

use super::{Operator, Requirement, Requirements, Text};
use crate::labels::WellKnown;
use std::fmt;

/// Which labels the place may leave undefined although they are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Undefined<'a> {
    /// None: the labels of an existing node are all there is.
    Refused,
    /// Well-known ones: the cloud will fill them in.
    WellKnown(&'a WellKnown),
}

/// The first label on which both do not agree, in label order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The place does not have this label. `hint` is a label that was perhaps meant.
    Unknown { key: Text, hint: Option<Text> },
    /// Both have the label, with no value in common.
    Disjoint(Box<Disjoint>),
}

/// What was asked for and what is allowed, with nothing in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Disjoint {
    pub asked: Requirement,
    pub allowed: Requirement,
}

impl Requirements {
    /// May `incoming` go here?
    pub fn compatible(&self, incoming: &Self, undefined: Undefined<'_>) -> Result<(), Conflict> {
        for asked in &incoming.0 {
            let may_be_undefined = match undefined {
                Undefined::Refused => false,
                Undefined::WellKnown(known) => known.contains(asked.key()),
            };
            if may_be_undefined || self.contains(asked.key()) || asked.accepts_absence() {
                continue;
            }
            return Err(Conflict::Unknown {
                key: asked.key.clone(),
                hint: self.hint(asked.key(), undefined),
            });
        }
        self.intersects(incoming)
    }

    /// Does whatever meets this meet the other one too?
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let inside = |asked: &Requirement| {
            let has = self.get(asked.key());
            has.is_some_and(|has| has.intersection(asked) == *has)
        };
        other.iter().all(inside)
    }

    /// Have all labels named by both a value in common? Labels named by one only do not matter.
    pub fn intersects(&self, incoming: &Self) -> Result<(), Conflict> {
        for asked in &incoming.0 {
            let Some(allowed) = self.get(asked.key()) else {
                continue;
            };
            if allowed.agrees(asked) {
                continue;
            }
            return Err(Conflict::Disjoint(Box::new(Disjoint {
                asked: asked.clone(),
                allowed: allowed.clone(),
            })));
        }
        Ok(())
    }

    /// A known label that looks like the misspelt one: it contains it, or has the same name behind the slash.
    fn hint(&self, key: &str, undefined: Undefined<'_>) -> Option<Text> {
        let tail = |key: &str| key.rsplit_once('/').map(|(_, tail)| tail.to_owned());
        let mine = tail(key);
        // A letter or two stand in every label.
        let similar = |known: &str| {
            (key.len() > 2 && known.contains(key)) || (mine.is_some() && tail(known) == mine)
        };
        let well_known: Vec<&str> = match undefined {
            Undefined::Refused => Vec::new(),
            Undefined::WellKnown(known) => known.keys().collect(),
        };
        well_known
            .into_iter()
            .chain(self.0.iter().map(Requirement::key))
            .find(|known| similar(known))
            .map(Into::into)
    }
}

impl Requirement {
    /// Do both allow a common value, or do both accept that the label is not there?
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.has_intersection(other) || (self.accepts_absence() && other.accepts_absence())
    }

    /// A node without the label satisfies `NotIn` and `DoesNotExist`, but no bound and not `Exists` besides `NotIn`.
    pub(crate) fn accepts_absence(&self) -> bool {
        self.bounds() == (None, None)
            && !self.present
            && matches!(self.operator(), Operator::NotIn | Operator::DoesNotExist)
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key, hint: None } => write!(f, "label {key} has no known values"),
            Self::Unknown {
                key,
                hint: Some(hint),
            } => write!(f, "label {key} has no known values (typo of {hint}?)"),
            Self::Disjoint(both) => write!(f, "{} asked, {} allowed", both.asked, both.allowed),
        }
    }
}

#[cfg(test)]
mod tests;
