//! How much of each resource is asked for, there, or left?
//!
//! CPU is counted in thousandths, everything else in whole units; both are exact and arithmetic saturates.

use crate::quantity::{BadQuantity, Notation, Quantity};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// The name of a resource; the order is the order of printing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceName {
    Cpu,
    Memory,
    EphemeralStorage,
    Pods,
    /// Only in limits: one per node.
    Nodes,
    Other(Arc<str>),
}

/// Amounts by resource, sorted by name. A resource may be present with the amount 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources(SmallVec<[(ResourceName, i64); 4]>);

/// One entry of a resource list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("resource {name}: {cause}")]
pub struct BadResource {
    pub name: String,
    #[source]
    pub cause: BadQuantity,
}

impl ResourceName {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::Other(name) => name,
        }
    }

    /// The amount of this resource that a quantity means: thousandths for cpu, whole units for the rest.
    pub fn amount(&self, quantity: Quantity) -> i64 {
        match self {
            Self::Cpu => quantity.as_milli(),
            _ => quantity.as_units(),
        }
    }

    /// An amount of this resource as Kubernetes writes it.
    pub fn quantity(&self, amount: i64) -> Quantity {
        match self {
            Self::Cpu => Quantity::milli(amount),
            Self::Memory | Self::EphemeralStorage => {
                Quantity::units(amount).in_notation(Notation::Binary)
            }
            Self::Other(name) if name.starts_with("hugepages-") => {
                Quantity::units(amount).in_notation(Notation::Binary)
            }
            Self::Pods | Self::Nodes | Self::Other(_) => Quantity::units(amount),
        }
    }
}

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::EphemeralStorage,
            "pods" => Self::Pods,
            "nodes" => Self::Nodes,
            other => Self::Other(other.into()),
        }
    }
}

impl Resources {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a resource list as Kubernetes writes it.
    pub fn parse<'a>(
        list: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, BadResource> {
        let mut resources = Self::new();
        for (name, text) in list {
            let quantity = text.parse().map_err(|cause| BadResource {
                name: name.to_owned(),
                cause,
            })?;
            let name = ResourceName::from(name);
            let amount = name.amount(quantity);
            resources.set(name, amount);
        }
        Ok(resources)
    }

    #[must_use]
    pub fn with(mut self, name: ResourceName, amount: i64) -> Self {
        self.set(name, amount);
        self
    }

    /// The amount, 0 if absent.
    pub fn get(&self, name: &ResourceName) -> i64 {
        self.find(name).map_or(0, |at| self.0[at].1)
    }

    pub fn contains(&self, name: &ResourceName) -> bool {
        self.find(name).is_ok()
    }

    pub fn set(&mut self, name: ResourceName, amount: i64) {
        match self.find(&name) {
            Ok(at) => self.0[at].1 = amount,
            Err(at) => self.0.insert(at, (name, amount)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, i64)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Union of both, amounts added.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.merged(other, i64::saturating_add)
    }

    /// Union of both, amounts subtracted; may go below zero.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.merged(other, i64::saturating_sub)
    }

    /// Union of both, the larger amount of each.
    #[must_use]
    pub fn larger(&self, other: &Self) -> Self {
        self.merged(other, i64::max)
    }

    /// Only what is present in both, the smaller amount of each.
    #[must_use]
    pub fn smaller_of_shared(&self, other: &Self) -> Self {
        Self(
            self.iter()
                .filter(|(name, _)| other.contains(name))
                .map(|(name, amount)| (name.clone(), amount.min(other.get(name))))
                .collect(),
        )
    }

    /// No amount below zero.
    #[must_use]
    pub fn at_least_zero(&self) -> Self {
        Self(
            self.0
                .iter()
                .map(|(name, amount)| (name.clone(), (*amount).max(0)))
                .collect(),
        )
    }

    /// Without the resources whose amount is 0.
    #[must_use]
    pub fn without_zeros(&self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(_, amount)| *amount != 0)
                .cloned()
                .collect(),
        )
    }

    /// The first resource of which `self` asks more than `room` has; a room that is already overdrawn fits nothing.
    pub fn first_shortage<'a>(&'a self, room: &'a Self) -> Option<&'a ResourceName> {
        let overdrawn = room.iter().find(|(_, amount)| *amount < 0);
        let short = self.iter().find(|(name, amount)| *amount > room.get(name));
        short.or(overdrawn).map(|(name, _)| name)
    }

    pub fn fits(&self, room: &Self) -> bool {
        self.first_shortage(room).is_none()
    }

    fn find(&self, name: &ResourceName) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(name))
    }

    fn merged(&self, other: &Self, combine: impl Fn(i64, i64) -> i64) -> Self {
        let mut all = self.clone();
        for (name, amount) in &mut all.0 {
            *amount = combine(*amount, other.get(name));
        }
        for (name, amount) in &other.0 {
            if !self.contains(name) {
                all.set(name.clone(), combine(0, *amount));
            }
        }
        all
    }
}

impl FromIterator<(ResourceName, i64)> for Resources {
    fn from_iter<I: IntoIterator<Item = (ResourceName, i64)>>(list: I) -> Self {
        let mut resources = Self::new();
        for (name, amount) in list {
            resources.set(name, amount);
        }
        resources
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, amount)) in self.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{name}={}", name.quantity(amount))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(list: &[(&str, &str)]) -> Resources {
        Resources::parse(list.iter().copied()).unwrap()
    }

    #[test]
    fn a_list_prints_in_canonical_form_whatever_its_order() {
        let list = read(&[
            ("example.com/gpu", "2"),
            ("memory", "2048Mi"),
            ("cpu", "1.1"),
            ("pods", "110"),
        ]);
        assert_eq!(
            list.to_string(),
            "cpu=1100m memory=2Gi pods=110 example.com/gpu=2"
        );
    }

    #[test]
    fn an_unreadable_entry_is_named() {
        let error = Resources::parse([("memory", "2Gb")]).unwrap_err();
        assert!(
            error.to_string().starts_with("resource memory: \"2Gb\""),
            "{error}"
        );
    }

    #[test]
    fn a_missing_resource_counts_as_none_and_an_overdrawn_room_fits_nothing() {
        let asked = read(&[("example.com/gpu", "1")]);
        assert_eq!(
            asked.first_shortage(&read(&[("cpu", "4")])),
            Some(&"example.com/gpu".into())
        );
        assert!(!read(&[("cpu", "1")]).fits(&read(&[("cpu", "2"), ("memory", "-1")])));
        assert!(read(&[("cpu", "2")]).fits(&read(&[("cpu", "2")])));
    }

    #[test]
    fn the_daemons_minimum_keeps_only_what_all_groups_have() {
        let least = read(&[("cpu", "2"), ("memory", "1Gi")])
            .smaller_of_shared(&read(&[("cpu", "1"), ("pods", "3")]));
        assert_eq!(least.to_string(), "cpu=1");
    }

    /// Often at the edges.
    fn amount() -> impl Strategy<Value = i64> {
        prop_oneof![
            Just(i64::MIN),
            Just(i64::MAX),
            Just(0),
            -9..9_i64,
            any::<i64>()
        ]
    }

    proptest! {
        #[test]
        fn adding_then_taking_away_changes_nothing(a in -1_000_000_i64..1_000_000, b in -1_000_000_i64..1_000_000) {
            let (a, b) = (Resources::new().with(ResourceName::Cpu, a), Resources::new().with(ResourceName::Cpu, b).with(ResourceName::Memory, b));
            let back = a.plus(&b).minus(&b).without_zeros();
            prop_assert_eq!(back, a.without_zeros());
        }

        #[test]
        fn no_arithmetic_wraps(a in amount(), b in amount()) {
            let list = |amount| Resources::new().with(ResourceName::Cpu, amount).with(ResourceName::Memory, amount);
            let exact = |text: Resources| [text.get(&ResourceName::Cpu), text.get(&ResourceName::Memory)];
            let capped = |wide: i128| i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX });
            let (wide_a, wide_b) = (i128::from(a), i128::from(b));
            prop_assert_eq!(exact(list(a).plus(&list(b))), [capped(wide_a + wide_b); 2]);
            prop_assert_eq!(exact(list(a).minus(&list(b))), [capped(wide_a - wide_b); 2]);
            prop_assert_eq!(exact(Resources::new().minus(&list(b))), [capped(-wide_b); 2]);
        }

        #[test]
        fn what_is_larger_holds_both_and_what_is_left_fits(a in amount(), b in amount()) {
            let (a, b) = (Resources::new().with(ResourceName::Cpu, a), Resources::new().with(ResourceName::Cpu, b).with(ResourceName::Pods, 1));
            let both = a.larger(&b).at_least_zero();
            prop_assert!(a.fits(&both) && b.fits(&both));
        }

        #[test]
        fn an_amount_reads_back_as_it_was_printed(amount in 0..=i64::MAX, name in proptest::sample::select(vec!["cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "example.com/gpu"])) {
            let name = ResourceName::from(name);
            prop_assert_eq!(name.amount(name.quantity(amount).to_string().parse().unwrap()), amount);
        }
    }
}
