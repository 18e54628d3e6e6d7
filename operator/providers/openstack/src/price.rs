//! What does an hour of a flavor cost, as far as the class says?

use crds::shared::pricing::Pricing;
use planner::Price;

use crate::flavor::Flavor;

/// The first of: its entry in `types`, its extra spec, the sum of what its parts cost. None is unknown, never 0.
pub(crate) fn price(pricing: Option<&Pricing>, flavor: &Flavor) -> Option<Price> {
    let pricing = pricing?;
    let listed = || {
        let types = pricing.types.as_ref()?;
        let other = flavor
            .alias
            .as_ref()
            .and_then(|alias| types.get(alias.as_ref()));
        types.get(flavor.type_name.as_ref()).or(other)?.parse().ok()
    };
    let in_extra_spec = || {
        let key = pricing.extra_spec.as_ref()?;
        flavor.extra_specs.get(key)?.parse().ok()
    };
    listed()
        .or_else(in_extra_spec)
        .or_else(|| sum(pricing, flavor))
}

fn sum(pricing: &Pricing, flavor: &Flavor) -> Option<Price> {
    let parts = [
        (&pricing.cpu_hour, u64::from(flavor.vcpus.get()), 1),
        (
            &pricing.memory_gi_b_hour,
            u64::from(flavor.memory_mib.get()),
            1024,
        ),
        (
            &pricing.gpu_hour,
            flavor.gpus.as_ref().map_or(0, |gpus| u64::from(gpus.count)),
            1,
        ),
    ];
    let mut billionths: u128 = 0;
    for (rate, count, per) in parts {
        let Some(rate) = rate.as_ref().and_then(|text| text.parse::<Price>().ok()) else {
            continue;
        };
        billionths += u128::from(rate.billionths()) * u128::from(count) / per;
    }
    Price::from_billionths(u64::try_from(billionths).unwrap_or(u64::MAX))
}
