//! Of the nodes that could take a pod, which is the best?

use super::shape::Shape;
use super::spot::Spot;
use super::surroundings::Surroundings;
use crate::kubernetes::taints::tolerated;

/// The highest score; of equal ones the first by name, so that the same world gives the same answer.
pub(super) fn best<'a>(
    shape: &Shape,
    open: &[&'a Spot],
    around: &Surroundings,
) -> Option<&'a Spot> {
    if let [only] = open {
        return Some(only);
    }
    let mut totals: Vec<i64> = open.iter().map(|spot| room(shape, spot)).collect();
    let mut add = |weight: i64, values: Vec<i64>| {
        let (low, high) = (values.iter().min(), values.iter().max());
        let (low, high) = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
        if low == high {
            return;
        }
        for (total, value) in totals.iter_mut().zip(values) {
            *total += weight * 100 * (value - low) / (high - low);
        }
    };
    let each = |rate: &dyn Fn(&Spot) -> i64| open.iter().map(|spot| rate(spot)).collect();
    if !shape.likings.is_empty() {
        add(2, each(&|spot| liked(shape, spot)));
    }
    add(3, each(&|spot| -avoided(shape, spot)));
    if !shape.spreads.is_empty() {
        add(2, each(&|spot| -around.crowd(spot)));
    }
    if !shape.rather.is_empty() {
        add(2, each(&|spot| around.company(spot)));
    }
    let rated = open.iter().zip(totals);
    let best = rated.min_by_key(|(spot, total)| (std::cmp::Reverse(*total), &spot.name));
    best.map(|(spot, _)| *spot)
}

/// How much is left afterwards, and how evenly: 0 to 200.
fn room(shape: &Shape, spot: &Spot) -> i64 {
    // a pod that asks for nothing still uses something
    let asked = |asked: i64, usual: i64| if asked == 0 { usual } else { asked };
    let cpu = spot.used.cpu + asked(shape.amounts.cpu, 100);
    let memory = spot.used.memory + asked(shape.amounts.memory, 200 << 20);
    let thousandths = |used: i64, total: i64| {
        let part = i128::from(used) * 1000 / i128::from(total.max(1));
        i64::try_from(part.min(1000)).unwrap_or(1000)
    };
    let cpu = thousandths(cpu, spot.allocatable.cpu);
    let memory = thousandths(memory, spot.allocatable.memory);
    let left = (2000 - cpu - memory) / 20;
    let even = 100 - (cpu - memory).abs() / 20;
    left + even
}

fn liked(shape: &Shape, spot: &Spot) -> i64 {
    let likings = shape.likings.iter();
    likings
        .filter(|liking| liking.term.matches(&spot.name, &spot.labels))
        .map(|liking| liking.weight)
        .sum()
}

fn avoided(shape: &Shape, spot: &Spot) -> i64 {
    let taints = spot
        .taints
        .iter()
        .filter(|taint| taint.effect == "PreferNoSchedule");
    let taints = taints.filter(|taint| !tolerated(taint, &shape.tolerations));
    i64::try_from(taints.count()).unwrap_or(0)
}
