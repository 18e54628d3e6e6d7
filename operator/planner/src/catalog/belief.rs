//! Is a fresh price list to be believed, or does the last good one stay?
//!
//! One bad feed must not move a fleet. A list that is doubted is not used: the last good one is kept, with its age.

use super::Catalog;
use crate::price::Price;
use std::sync::Arc;

/// Why a fresh price list is not believed. Prices of zero or less cannot be written as a `Price` and never come this far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    OtherCurrency {
        was: Option<Arc<str>>,
        is: Option<Arc<str>>,
    },
    /// The price of an offering rose or fell tenfold or more.
    Jump {
        offering: String,
        was: Price,
        is: Price,
    },
    /// Fewer than half of the known prices are left.
    Truncated { were: usize, are: usize },
}

/// A jump by this factor is a mistake of units, not a price.
const JUMP: u64 = 10;

/// The first reason not to believe the fresh prices.
pub fn doubt(last: &Catalog, fresh: &Catalog) -> Option<Doubt> {
    if last.currency != fresh.currency {
        return Some(Doubt::OtherCurrency {
            was: last.currency.clone(),
            is: fresh.currency.clone(),
        });
    }
    let priced = |catalog: &Catalog| {
        catalog
            .offerings
            .iter()
            .filter(|offering| offering.price.is_some())
            .count()
    };
    let (were, are) = (priced(last), priced(fresh));
    if are * 2 < were {
        return Some(Doubt::Truncated { were, are });
    }
    last.offerings.iter().find_map(|old| {
        let id = fresh.find_offering(&old.instance_type, &old.zone, old.capacity_type)?;
        let (was, is) = (old.price?, fresh.offering(id).price?);
        let jumped =
            |low: Price, high: Price| low.billionths().saturating_mul(JUMP) <= high.billionths();
        (jumped(was, is) || jumped(is, was)).then(|| Doubt::Jump {
            offering: old.to_string(),
            was,
            is,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::catalog;

    fn prices(offerings: &[&str]) -> Catalog {
        catalog(&[("a", 1), ("b", 2), ("c", 4)], offerings)
            .unwrap()
            .in_currency("EUR")
    }

    #[test]
    fn a_fresh_price_is_refused_on_another_currency_a_tenfold_jump_or_a_truncated_list() {
        let last = prices(&["a z 1", "b z 2", "c z 3"]);
        assert_eq!(doubt(&last, &prices(&["a z 9.9", "b z 1.9", "c z"])), None);
        assert!(matches!(
            doubt(&last, &last.clone().in_currency("USD")),
            Some(Doubt::OtherCurrency { .. })
        ));
        let ten = doubt(&last, &prices(&["a z 1", "b z 20", "c z 3"]));
        assert!(matches!(ten, Some(Doubt::Jump { offering, .. }) if offering == "b/z/on-demand"));
        assert!(matches!(
            doubt(&last, &prices(&["a z 0.1", "b z 2", "c z 3"])),
            Some(Doubt::Jump { .. })
        ));
        assert_eq!(
            doubt(&last, &prices(&["a z 1", "b z", "c z"])),
            Some(Doubt::Truncated { were: 3, are: 1 })
        );
    }
}
