//! Which offerings can become a node with this label?

use super::stock::Stock;
use crate::catalog::{OfferingId, Offerings, TypeId};
use crate::labels;
use crate::requirements::{Requirement, Requirements, Undefined};

impl Stock<'_> {
    /// The offerings of the catalog that meet the requirement.
    pub(super) fn find_meeting(&self, asked: &Requirement) -> Offerings {
        let mut set = self.catalog.none();
        let mut last: Option<(TypeId, bool)> = None;
        for (at, offering) in self.catalog.offerings().iter().enumerate() {
            let id = OfferingId(super::index(at));
            let here = match asked.key() {
                labels::ZONE => asked.has(&offering.zone),
                labels::CAPACITY_TYPE => asked.has(offering.capacity_type.as_str()),
                _ => {
                    // Offerings of one type stand side by side: it is asked once.
                    let kind = self.catalog.type_of(id);
                    let meets = match last {
                        Some((known, meets)) if known == kind => meets,
                        _ => self.type_meets(kind, asked),
                    };
                    last = Some((kind, meets));
                    meets
                }
            };
            if here {
                set.insert(id);
            }
        }
        set
    }

    /// Can a node of this type have the label as asked? A well-known label that a type does not mention does not exist on
    /// it; custom ones come from the pool, zone and capacity type from the offering.
    /// What the pool sells to who asks for this.
    pub(super) fn sold_to(&self, way: &Requirements) -> Offerings {
        let open = Undefined::WellKnown(self.known);
        if self.template.compatible(way, open).is_err() {
            return self.catalog.none();
        }
        let mut sold = self.buyable.clone();
        for asked in way.iter() {
            let given = self.template.get(asked.key());
            let both = given.map_or_else(|| asked.clone(), |given| given.intersection(asked));
            sold.keep_only(&self.find_meeting(&both));
        }
        sold
    }

    pub(super) fn type_meets(&self, id: TypeId, asked: &Requirement) -> bool {
        let key = asked.key();
        if let Some(has) = self.catalog.instance_type(id).requirements.get(key) {
            return has.agrees(asked);
        }
        let from_elsewhere = matches!(key, labels::POOL | labels::ZONE | labels::CAPACITY_TYPE)
            || self
                .pool
                .labels
                .iter()
                .any(|(label, _)| labels::normalised(label) == key);
        from_elsewhere || !self.known.contains(key) || asked.accepts_absence()
    }
}
