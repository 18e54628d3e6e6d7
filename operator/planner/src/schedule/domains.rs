//! Which topology keys matter, and which values can each have?
//!
//! Values get numbers in the order of their names. The host name is not among the keys: there every place is a domain of
//! its own and its number is the place's.

use super::existing::Rooms;
use super::stock::Stock;
use crate::catalog::Offerings;
use crate::labels;
use crate::requirements::{Requirement, Text};
use crate::snapshot::Snapshot;
use crate::why::Why;
use std::collections::BTreeSet;

pub(super) type KeyId = usize;

/// The place does not have the label.
pub(super) const NONE: u32 = u32::MAX;
/// The place will have the label; which value is not decided.
pub(super) const OPEN: u32 = u32::MAX - 1;

#[derive(Default)]
pub(super) struct Domains {
    keys: Vec<Text>,
    /// By key, sorted.
    values: Vec<Vec<Text>>,
    /// By key, by stock, by domain: can the stock sell a node there?
    sold: Vec<Vec<Vec<bool>>>,
}

impl Domains {
    pub(super) fn of(
        snapshot: &Snapshot,
        stocks: &[Result<Stock<'_>, Why>],
        rooms: &Rooms,
    ) -> Self {
        let mut keys: BTreeSet<&Text> = BTreeSet::new();
        for (_, shape) in snapshot.pods.shapes() {
            keys.extend(shape.spreads.iter().map(|spread| &spread.key));
            keys.extend(shape.pod_terms().map(|term| &term.key));
        }
        let mut domains = Self::default();
        for key in keys {
            if key.as_ref() != labels::HOSTNAME {
                domains.add(key, stocks, rooms);
            }
        }
        domains
    }

    fn add(&mut self, key: &Text, stocks: &[Result<Stock<'_>, Why>], rooms: &Rooms) {
        let sold: Vec<BTreeSet<Text>> = stocks
            .iter()
            .map(|stock| {
                stock.as_ref().map_or_else(
                    |_| BTreeSet::new(),
                    |stock| values_sold(stock, key, &stock.buyable),
                )
            })
            .collect();
        let mut all: BTreeSet<Text> = sold.iter().flatten().cloned().collect();
        all.extend(
            rooms
                .kinds()
                .filter_map(|(place, _)| single(place.get(key))),
        );
        let open = |at: usize| {
            stocks[at]
                .as_ref()
                .ok()
                .and_then(|stock| left_open(stock, key))
        };
        all.extend((0..stocks.len()).filter_map(|at| open(at)?.any()));
        let has = |(at, set): (usize, &BTreeSet<Text>)| {
            let open = open(at).filter(|_| set.is_empty());
            let sells =
                |value: &Text| set.contains(value) || open.is_some_and(|open| open.has(value));
            all.iter().map(sells).collect()
        };
        self.sold.push(sold.iter().enumerate().map(has).collect());
        self.keys.push(key.clone());
        self.values.push(all.into_iter().collect());
    }

    /// `None` for the host name.
    pub(super) fn key(&self, key: &str) -> Option<KeyId> {
        self.keys
            .binary_search_by(|known| known.as_ref().cmp(key))
            .ok()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = (KeyId, &Text)> {
        self.keys.iter().enumerate()
    }

    pub(super) fn name(&self, key: KeyId) -> &Text {
        &self.keys[key]
    }

    pub(super) fn values(&self, key: KeyId) -> &[Text] {
        &self.values[key]
    }

    pub(super) fn find(&self, key: KeyId, value: &str) -> u32 {
        let found = self.values[key].binary_search_by(|known| known.as_ref().cmp(value));
        found.map_or(NONE, super::index)
    }

    pub(super) fn sold_by(&self, key: KeyId, stock: usize) -> &[bool] {
        &self.sold[key][stock]
    }
}

/// The value a requirement leaves, if it is only one.
pub(super) fn single(requirement: Option<&Requirement>) -> Option<Text> {
    match requirement?.listed()? {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// A label of our own that the pool wants on its nodes without saying which value: who asks for none gets any.
pub(super) fn left_open<'s>(stock: &'s Stock<'_>, key: &str) -> Option<&'s Requirement> {
    let asked = stock.template.get(key)?;
    (asked.listed().is_none() && !stock.known.contains(key)).then_some(asked)
}

/// The values of a label that nodes bought with these offerings of the pool can have. Zones and capacity types are those that can be had now.
pub(super) fn values_sold(stock: &Stock<'_>, key: &str, offerings: &Offerings) -> BTreeSet<Text> {
    let asked = stock.template.get(key);
    let admitted = |value: &Text| asked.is_none_or(|asked| asked.has(value));
    let mut values: BTreeSet<Text> = BTreeSet::new();
    for id in offerings.ids() {
        let offering = stock.catalog.offering(id);
        match key {
            labels::ZONE => drop(values.insert(offering.zone.clone())),
            labels::CAPACITY_TYPE => drop(values.insert(offering.capacity_type.as_str().into())),
            _ => {
                let kind = stock.catalog.instance_type(stock.catalog.type_of(id));
                let listed = kind.requirements.get(key).and_then(Requirement::listed);
                values.extend(listed.into_iter().flatten().cloned());
            }
        }
    }
    values.retain(admitted);
    let from_types = matches!(key, labels::ZONE | labels::CAPACITY_TYPE) || !values.is_empty();
    if !from_types {
        values.extend(
            asked
                .and_then(Requirement::listed)
                .into_iter()
                .flatten()
                .cloned(),
        );
    }
    values
}
