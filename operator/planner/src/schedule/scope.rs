//! The pods of which namespaces does a term mean?

use crate::requirements::Text;
use crate::snapshot::{Namespace, PodTerm};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    All,
    Names(Vec<Text>),
}

impl Scope {
    pub(super) fn of(term: &PodTerm, own: &Text, namespaces: &[Namespace]) -> Self {
        let Some(selector) = &term.namespace_selector else {
            return Self::Names(if term.namespaces.is_empty() {
                vec![own.clone()]
            } else {
                term.namespaces.clone()
            });
        };
        if selector.expressions().is_empty() {
            return Self::All;
        }
        let mut names = term.namespaces.clone();
        let selected = namespaces
            .iter()
            .filter(|namespace| selector.matches(&namespace.labels));
        names.extend(selected.map(|namespace| namespace.name.clone()));
        names.sort_unstable();
        names.dedup();
        Self::Names(names)
    }

    pub(super) fn both(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, one) | (one, Self::All) => one,
            (Self::Names(mut names), Self::Names(others)) => {
                names.retain(|name| others.contains(name));
                Self::Names(names)
            }
        }
    }

    pub(super) fn has(&self, namespace: &Text) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.contains(namespace),
        }
    }
}
