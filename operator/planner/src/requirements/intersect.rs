//! Which values satisfy two requirements on one label, and are there any?

use super::{Requirement, Text};
use smallvec::SmallVec;

impl Requirement {
    /// The values both allow. Of minValues the larger one stays. Nothing in common becomes `DoesNotExist`.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let min_values = self.min_values.max(other.min_values);
        let (gte, lte) = tighter_bounds(self, other);
        if crossed(gte, lte) {
            return Self::absent(&self.key).with_min_values(min_values);
        }
        let complement = self.complement && other.complement;
        let bounded = Self {
            key: self.key.clone(),
            complement,
            values: SmallVec::new(),
            gte,
            lte,
            present: false,
            min_values,
        };
        let mut values: SmallVec<[Text; 2]> = match (self.complement, other.complement) {
            (true, true) => self.values.iter().chain(&other.values).cloned().collect(),
            (false, _) => self
                .values
                .iter()
                .filter(|value| other.has(value))
                .cloned()
                .collect(),
            (true, false) => other
                .values
                .iter()
                .filter(|value| self.has(value))
                .cloned()
                .collect(),
        };
        // Also drops excluded values that the bounds exclude anyway, so equal sets print equally.
        values.retain(|value| bounded.within_bounds(value));
        values.sort_unstable();
        values.dedup();
        let (gte, lte) = if complement { (gte, lte) } else { (None, None) };
        let excludes = complement && !values.is_empty() && (gte, lte) == (None, None);
        Self {
            values,
            gte,
            lte,
            present: excludes && !(self.accepts_absence() && other.accepts_absence()),
            ..bounded
        }
    }

    /// Is there a value both allow? Never builds the set.
    pub fn has_intersection(&self, other: &Self) -> bool {
        let (gte, lte) = tighter_bounds(self, other);
        if crossed(gte, lte) {
            return false;
        }
        match (self.complement, other.complement) {
            (true, true) => true,
            (false, _) => self.values.iter().any(|value| other.has(value)),
            (true, false) => other.values.iter().any(|value| self.has(value)),
        }
    }
}

fn tighter_bounds(a: &Requirement, b: &Requirement) -> (Option<i64>, Option<i64>) {
    let least = a.gte.max(b.gte);
    let most = match (a.lte, b.lte) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    (least, most)
}

fn crossed(gte: Option<i64>, lte: Option<i64>) -> bool {
    matches!((gte, lte), (Some(least), Some(most)) if least > most)
}

#[cfg(test)]
mod tests;
