//! What can be bought for one class, where, at which price, and is it there right now?
//!
//! A catalog is whole or it does not exist. Types are sorted by name and offerings by type, zone and capacity type, so an
//! offering is a bit position (`OfferingId`) and a set of offerings is a bit set (`Offerings`).

mod belief;
mod offerings;
mod order;

pub use belief::{Doubt, doubt};
pub use offerings::Offerings;
pub use order::Ranking;

use crate::identity::ClassRef;
use crate::labels;
use crate::price::Price;
use crate::requirements::{Requirement, Requirements};
use crate::resources::{ResourceName, Resources};
use jiff::{SignedDuration, Timestamp};
use std::fmt;
use std::sync::Arc;

/// A thing that can be bought: a flavor, a service offering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceType {
    pub name: Arc<str>,
    /// Other names of it, such as the flavor's id. Pools may use them, labels never do.
    pub aliases: Vec<Arc<str>>,
    pub capacity: Resources,
    /// What the machine keeps for itself: allocatable = capacity - overhead.
    pub overhead: Resources,
    /// What a node of it can be, label by label. The catalog adds the instance-type label; zone and capacity type belong to
    /// the offerings. A well-known label that is not named here (architecture, operating system, region) does not exist on it.
    pub requirements: Requirements,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapacityType {
    Reserved,
    Spot,
    OnDemand,
}

/// Instance type × zone × capacity type, with price and availability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offering {
    pub instance_type: Arc<str>,
    pub zone: Arc<str>,
    pub capacity_type: CapacityType,
    pub price: Option<Price>,
    pub availability: Availability,
    /// What its instances are taken from, if somebody counts them.
    pub reservation: Option<Reservation>,
}

/// Instances that are paid for already, used or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Offerings of one name, in whatever catalog, share it.
    pub name: Arc<str>,
    pub left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Available,
    /// The cloud said no; worth asking again at that time.
    UnavailableUntil(Timestamp),
    /// Not to be had, for no known time.
    Unavailable,
}

/// The position of a type in its catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// The position of an offering in its catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferingId(pub u32);

/// All instance types visible to one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    class: ClassRef,
    fetched_at: Timestamp,
    currency: Option<Arc<str>>,
    types: Vec<InstanceType>,
    allocatable: Vec<Resources>,
    offerings: Vec<Offering>,
    type_of: Vec<TypeId>,
}

/// A catalog that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCatalog {
    #[error("instance type {0} is listed twice; give each a name of its own")]
    TypeTwice(Arc<str>),
    #[error("offering {0} is listed twice; write it once")]
    OfferingTwice(String),
    #[error("offering {offering} is of instance type {instance_type}, which is not in the catalog")]
    TypeMissing {
        offering: String,
        instance_type: Arc<str>,
    },
    #[error("instance type {instance_type}: {resource} is negative")]
    Negative {
        instance_type: Arc<str>,
        resource: ResourceName,
    },
}

impl Catalog {
    pub fn new(
        class: ClassRef,
        fetched_at: Timestamp,
        mut types: Vec<InstanceType>,
        mut offerings: Vec<Offering>,
    ) -> Result<Self, BadCatalog> {
        types.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = types.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(BadCatalog::TypeTwice(pair[0].name.clone()));
        }
        for kind in &mut types {
            check_amounts(kind)?;
            kind.requirements.replace(Requirement::one_of(
                labels::INSTANCE_TYPE,
                [kind.name.as_ref()],
            ));
        }
        offerings.sort_by(|a, b| a.key().cmp(&b.key()));
        if let Some(pair) = offerings
            .windows(2)
            .find(|pair| pair[0].key() == pair[1].key())
        {
            return Err(BadCatalog::OfferingTwice(pair[0].to_string()));
        }
        let type_of = offerings
            .iter()
            .map(|offering| position(&types, offering))
            .collect::<Result<_, _>>()?;
        let allocatable = types.iter().map(InstanceType::allocatable).collect();
        Ok(Self {
            class,
            fetched_at,
            currency: None,
            types,
            allocatable,
            offerings,
            type_of,
        })
    }

    #[must_use]
    pub fn in_currency(mut self, currency: impl Into<Arc<str>>) -> Self {
        self.currency = Some(currency.into());
        self
    }

    pub fn class(&self) -> &ClassRef {
        &self.class
    }

    pub fn fetched_at(&self) -> Timestamp {
        self.fetched_at
    }

    pub fn currency(&self) -> Option<&str> {
        self.currency.as_deref()
    }

    /// How long ago the cloud said all this.
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.fetched_at)
    }

    pub fn types(&self) -> &[InstanceType] {
        &self.types
    }

    pub fn offerings(&self) -> &[Offering] {
        &self.offerings
    }

    pub fn offering(&self, id: OfferingId) -> &Offering {
        &self.offerings[id.0 as usize]
    }

    pub fn type_of(&self, id: OfferingId) -> TypeId {
        self.type_of[id.0 as usize]
    }

    pub fn instance_type(&self, id: TypeId) -> &InstanceType {
        &self.types[id.0 as usize]
    }

    pub fn allocatable(&self, id: TypeId) -> &Resources {
        &self.allocatable[id.0 as usize]
    }

    /// The type of this name, else the one that has it as an alias.
    pub fn find_type(&self, name: &str) -> Option<TypeId> {
        let by_name = self
            .types
            .binary_search_by(|kind| kind.name.as_ref().cmp(name))
            .ok();
        let by_alias = || {
            self.types
                .iter()
                .position(|kind| kind.aliases.iter().any(|alias| alias.as_ref() == name))
        };
        by_name.or_else(by_alias).map(|at| TypeId(index(at)))
    }

    pub fn find_offering(
        &self,
        kind: &str,
        zone: &str,
        capacity_type: CapacityType,
    ) -> Option<OfferingId> {
        let key = (kind, zone, capacity_type);
        self.offerings
            .binary_search_by(|offering| offering.key().cmp(&key))
            .ok()
            .map(|at| OfferingId(index(at)))
    }

    /// What can be bought at this moment.
    pub fn available(&self, now: Timestamp) -> Offerings {
        let mut set = self.none();
        for (at, offering) in self.offerings.iter().enumerate() {
            if offering.is_available(now) {
                set.insert(OfferingId(index(at)));
            }
        }
        set
    }

    /// The empty set of this catalog's offerings.
    pub fn none(&self) -> Offerings {
        Offerings::with_room_for(self.offerings.len())
    }
}

impl InstanceType {
    /// Capacity less overhead; huge pages are carved out of memory. Resources the type does not have are not made up.
    pub fn allocatable(&self) -> Resources {
        let mut left: Resources = self
            .capacity
            .iter()
            .map(|(name, amount)| (name.clone(), amount.saturating_sub(self.overhead.get(name))))
            .collect();
        for (name, amount) in self.capacity.iter() {
            if name.as_str().starts_with("hugepages-") {
                left.set(
                    ResourceName::Memory,
                    left.get(&ResourceName::Memory)
                        .saturating_sub(amount)
                        .max(0),
                );
            }
        }
        left
    }
}

impl Offering {
    pub fn new(instance_type: &str, zone: &str, capacity_type: CapacityType) -> Self {
        Self {
            instance_type: instance_type.into(),
            zone: zone.into(),
            capacity_type,
            price: None,
            availability: Availability::Available,
            reservation: None,
        }
    }

    #[must_use]
    pub fn at(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    #[must_use]
    pub fn unavailable_until(mut self, until: Timestamp) -> Self {
        self.availability = Availability::UnavailableUntil(until);
        self
    }

    #[must_use]
    pub fn reserved_in(mut self, name: impl Into<Arc<str>>, left: u32) -> Self {
        self.reservation = Some(Reservation {
            name: name.into(),
            left,
        });
        self
    }

    pub fn is_available(&self, now: Timestamp) -> bool {
        match self.availability {
            Availability::Available => !self.is_used_up(),
            Availability::UnavailableUntil(until) => until <= now && !self.is_used_up(),
            Availability::Unavailable => false,
        }
    }

    /// All its reservation had is in use.
    pub fn is_used_up(&self) -> bool {
        self.reservation.as_ref().is_some_and(|one| one.left == 0)
    }

    fn key(&self) -> (&str, &str, CapacityType) {
        (&self.instance_type, &self.zone, self.capacity_type)
    }
}

impl CapacityType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Spot => "spot",
            Self::OnDemand => "on-demand",
        }
    }
}

impl std::str::FromStr for CapacityType {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Reserved, Self::Spot, Self::OnDemand]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or(())
    }
}

impl fmt::Display for CapacityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Offering {
    /// As the ledger's annotation writes it: `type/zone/capacity-type`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/{}",
            self.instance_type, self.zone, self.capacity_type
        )
    }
}

fn check_amounts(kind: &InstanceType) -> Result<(), BadCatalog> {
    match kind
        .capacity
        .iter()
        .chain(kind.overhead.iter())
        .find(|(_, amount)| *amount < 0)
    {
        Some((resource, _)) => Err(BadCatalog::Negative {
            instance_type: kind.name.clone(),
            resource: resource.clone(),
        }),
        None => Ok(()),
    }
}

fn position(types: &[InstanceType], offering: &Offering) -> Result<TypeId, BadCatalog> {
    types
        .binary_search_by(|kind| kind.name.cmp(&offering.instance_type))
        .map(|at| TypeId(index(at)))
        .map_err(|_| BadCatalog::TypeMissing {
            offering: offering.to_string(),
            instance_type: offering.instance_type.clone(),
        })
}

/// Catalogs hold thousands of entries, never billions.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
