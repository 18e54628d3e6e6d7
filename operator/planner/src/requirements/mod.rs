//! Which values may a label have, when several parties have a say?
//!
//! `Requirement` is one label's allowed set, `Requirements` at most one per label. Two sets are compared in one of two modes
//! (`compatible.rs`): existing nodes are strict, new claims may leave well-known labels open.

mod compatible;
mod intersect;
mod requirement;
mod validate;

pub use compatible::{Conflict, Disjoint, Undefined};
pub use requirement::{BadRequirement, Operator, Requirement};
pub use validate::{BadTerm, check_term};

use std::fmt;
use std::sync::Arc;

/// Allowed values by label, at most one requirement per label, sorted by label.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirements(Vec<Requirement>);

impl Requirements {
    pub fn new() -> Self {
        Self::default()
    }

    /// Each label as the one value it has.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        labels
            .into_iter()
            .map(|(key, value)| Requirement::one_of(key, [value]))
            .collect()
    }

    /// The same for labels that are shared already; no text is copied.
    pub(crate) fn from_shared_labels(labels: &[(Text, Text)]) -> Self {
        let mut all: Vec<Requirement> = labels
            .iter()
            .map(|(key, value)| {
                let plain = crate::labels::normalised(key) == key.as_ref();
                if plain {
                    Requirement::shared_label(key.clone(), value.clone())
                } else {
                    Requirement::one_of(key, [value.as_ref()])
                }
            })
            .collect();
        all.sort_by(|a, b| a.key().cmp(b.key()));
        if all.windows(2).any(|pair| pair[0].key() == pair[1].key()) {
            return all.into_iter().collect();
        }
        Self(all)
    }

    /// Adds a requirement: where the label already has one, both must hold. An empty result becomes `DoesNotExist`,
    /// so callers compare first.
    pub fn add(&mut self, requirement: Requirement) {
        match self.find(requirement.key()) {
            Ok(at) => self.0[at] = self.0[at].intersection(&requirement),
            Err(at) => self.0.insert(at, requirement),
        }
    }

    /// Adds all of `others`.
    pub fn add_all(&mut self, others: &Self) {
        for requirement in &others.0 {
            self.add(requirement.clone());
        }
    }

    /// Puts a requirement in the place of what was there.
    pub fn replace(&mut self, requirement: Requirement) {
        match self.find(requirement.key()) {
            Ok(at) => self.0[at] = requirement,
            Err(at) => self.0.insert(at, requirement),
        }
    }

    pub fn remove(&mut self, key: &str) {
        if let Ok(at) = self.find(key) {
            self.0.remove(at);
        }
    }

    pub fn get(&self, key: &str) -> Option<&Requirement> {
        self.find(key).ok().map(|at| &self.0[at])
    }

    pub fn contains(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has_min_values(&self) -> bool {
        self.0
            .iter()
            .any(|requirement| requirement.min_values().is_some())
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|known| known.key().cmp(key))
    }
}

impl FromIterator<Requirement> for Requirements {
    fn from_iter<I: IntoIterator<Item = Requirement>>(list: I) -> Self {
        let mut all = Self::new();
        for requirement in list {
            all.add(requirement);
        }
        all
    }
}

impl fmt::Display for Requirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .0
            .iter()
            .filter(|requirement| requirement.key() != crate::labels::HOSTNAME);
        for (at, requirement) in shown.enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// A label key or value, shared.
pub type Text = Arc<str>;
