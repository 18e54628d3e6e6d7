//! Which less important pods would have to leave so that this one fits?

use super::census::Census;
use super::choose::Candidate;
use super::spot::{Spot, Spots};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Preemption {
    pub(super) node: String,
    /// Keys of pods.
    pub(super) victims: Vec<String>,
}

/// The node where the least important pods leave, and the fewest of them. Only room is made this way, and nodes where
/// such pods are leaving already are waited for.
pub(super) fn preempt(
    who: Candidate<'_>,
    curable: &[String],
    spots: &Spots,
    census: &Census,
) -> Option<Preemption> {
    if !who.shape.may_preempt {
        return None;
    }
    let options = curable.iter().filter_map(|name| {
        let spot = spots.get(name)?;
        let victims = victims(who, spot, census)?;
        let ranks = victims.iter().filter_map(|key| census.placed.get(key));
        let ranks: Vec<i64> = ranks.map(|placed| placed.shape.priority).collect();
        let worst = ranks.iter().max().copied().unwrap_or(i64::MIN);
        Some((
            (worst, ranks.iter().sum::<i64>(), victims.len(), name),
            victims,
        ))
    });
    let best = options.min_by(|(one, _), (two, _)| one.cmp(two));
    best.map(|((_, _, _, name), victims)| Preemption {
        node: name.clone(),
        victims,
    })
}

fn victims(who: Candidate<'_>, spot: &Spot, census: &Census) -> Option<Vec<String>> {
    let mut lower: Vec<(&String, i64)> = spot
        .pods
        .iter()
        .filter_map(|key| Some((key, census.placed.get(key)?.shape.priority)))
        .filter(|(_, priority)| *priority < who.shape.priority)
        .collect();
    lower.sort_by_key(|(key, priority)| (*priority, *key));
    let mut freed = spot.clone();
    let mut victims = Vec::new();
    for (key, _) in lower {
        let placed = census.placed.get(key)?;
        freed.take(key, &placed.shape);
        victims.push(key.clone());
        let ports = &who.shape.ports;
        let free = !ports
            .iter()
            .any(|port| freed.ports.iter().any(|have| have.conflicts(port)));
        if free && freed.short_of(who.key, who.shape).is_empty() {
            return Some(victims);
        }
    }
    None
}
