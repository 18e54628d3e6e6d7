//! How large may each ReplicaSet of a Deployment be at this moment? Pure.

use serde_json::{Value, json};

use crate::kubernetes::reading::share;

/// What the Deployment asks for.
#[derive(Debug, Clone, Copy)]
pub struct Rollout {
    pub replicas: i64,
    pub surge: i64,
    pub unavailable: i64,
    pub recreate: bool,
    pub paused: bool,
}

/// One ReplicaSet as it is.
#[derive(Debug, Clone)]
pub struct Set {
    pub name: String,
    pub current: bool,
    pub wanted: i64,
    pub available: i64,
    /// Pods that are not over yet, terminating ones included.
    pub has_pods: bool,
}

/// (maxSurge rounded up, maxUnavailable rounded down); not both may be zero.
pub fn bounds(rolling: &Value, replicas: i64) -> (i64, i64) {
    let quarter = json!("25%");
    let read = |member: &str, up: bool| {
        let written = rolling.get(member).unwrap_or(&quarter);
        share(written, replicas, up).unwrap_or(0).max(0)
    };
    match (read("maxSurge", true), read("maxUnavailable", false)) {
        (0, 0) => (0, 1),
        bounds => bounds,
    }
}

/// The sets that must change, and to what. `sets` are in order of age.
pub fn sizes(rollout: &Rollout, sets: &[Set]) -> Vec<(String, i64)> {
    let (current, old): (Vec<&Set>, Vec<&Set>) = sets.iter().partition(|set| set.current);
    let mut next = match current.first() {
        // paused before its first set, or with a template nobody has: the newest one scales
        None => scale_newest(rollout, &old),
        Some(_) if rollout.paused => scale_newest(rollout, &sets.iter().collect::<Vec<_>>()),
        Some(current) if rollout.recreate => recreate(rollout, current, &old),
        Some(current) => roll(rollout, current, &old),
    };
    next.retain(|(name, size)| {
        let set = sets.iter().find(|set| set.name == *name);
        set.is_some_and(|set| set.wanted != *size)
    });
    next
}

fn scale_newest(rollout: &Rollout, sets: &[&Set]) -> Vec<(String, i64)> {
    let newest = sets.iter().rev().find(|set| set.wanted > 0).or(sets.last());
    let others = sets.iter().map(|set| set.wanted).sum::<i64>();
    newest
        .map(|set| {
            let rest = others - set.wanted;
            (set.name.clone(), (rollout.replicas - rest).max(0))
        })
        .into_iter()
        .collect()
}

fn recreate(rollout: &Rollout, current: &Set, old: &[&Set]) -> Vec<(String, i64)> {
    if old.iter().any(|set| set.wanted > 0) {
        return old.iter().map(|set| (set.name.clone(), 0)).collect();
    }
    if old.iter().any(|set| set.has_pods) {
        return Vec::new();
    }
    vec![(current.name.clone(), rollout.replicas)]
}

fn roll(rollout: &Rollout, current: &Set, old: &[&Set]) -> Vec<(String, i64)> {
    let total = current.wanted + old.iter().map(|set| set.wanted).sum::<i64>();
    let room = (rollout.replicas + rollout.surge - total).max(0);
    let missing = rollout.replicas - current.wanted;
    let grown = if missing > 0 {
        current.wanted + missing.min(room)
    } else {
        rollout.replicas
    };
    let mut next = vec![(current.name.clone(), grown)];
    if grown == current.wanted {
        next.extend(shrink(rollout, current, old));
    }
    next
}

/// Takes old pods away: first those nobody can use, then as many as may be missing.
fn shrink(rollout: &Rollout, current: &Set, old: &[&Set]) -> Vec<(String, i64)> {
    let least = rollout.replicas - rollout.unavailable;
    let total = current.wanted + old.iter().map(|set| set.wanted).sum::<i64>();
    let not_yet = (current.wanted - current.available).max(0);
    let mut spare = (total - least - not_yet).max(0);
    let mut next: Vec<(String, i64)> = Vec::new();
    let mut available = current.available;
    for set in old {
        let broken = (set.wanted - set.available).clamp(0, spare);
        spare -= broken;
        available += set.available;
        next.push((set.name.clone(), set.wanted - broken));
    }
    let mut may_go = (available - least).max(0).min(spare);
    for (size, set) in next.iter_mut().map(|(_, size)| size).zip(old) {
        let go = (*size).min(may_go).min(set.available);
        *size -= go;
        may_go -= go;
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Rollout = Rollout {
        replicas: 10,
        surge: 3,
        unavailable: 2,
        recreate: false,
        paused: false,
    };

    fn set(name: &str, wanted: i64, available: i64) -> Set {
        Set {
            name: name.into(),
            current: name == "new",
            wanted,
            available,
            has_pods: wanted > 0,
        }
    }

    fn check(rollout: &Rollout, sets: &[Set], wanted: &[(&str, i64)]) {
        let next = sizes(rollout, sets);
        let next: Vec<(&str, i64)> = next.iter().map(|(name, size)| (&**name, *size)).collect();
        assert_eq!(next, wanted, "{sets:?}");
    }

    #[test]
    fn a_rolling_update_never_has_too_many_pods_nor_too_few() {
        check(&TEN, &[set("old", 10, 10), set("new", 0, 0)], &[("new", 3)]);
        check(&TEN, &[set("old", 10, 10), set("new", 3, 0)], &[("old", 8)]);
        check(&TEN, &[set("old", 8, 8), set("new", 3, 0)], &[("new", 5)]);
        check(&TEN, &[set("old", 8, 8), set("new", 5, 0)], &[]);
        check(&TEN, &[set("old", 8, 8), set("new", 5, 5)], &[("old", 3)]);
        check(&TEN, &[set("old", 3, 3), set("new", 10, 10)], &[("old", 0)]);
    }

    #[test]
    fn old_pods_that_nobody_can_use_go_first() {
        check(&TEN, &[set("old", 10, 6), set("new", 3, 0)], &[("old", 8)]);
    }

    #[test]
    fn scaling_is_done_at_once() {
        check(&TEN, &[set("new", 4, 4)], &[("new", 10)]);
        let zero = Rollout { replicas: 0, ..TEN };
        check(&zero, &[set("new", 4, 4)], &[("new", 0)]);
    }

    #[test]
    fn recreate_waits_for_the_last_old_pod() {
        let recreate = Rollout {
            recreate: true,
            ..TEN
        };
        check(
            &recreate,
            &[set("old", 10, 10), set("new", 0, 0)],
            &[("old", 0)],
        );
        let mut leaving = set("old", 0, 0);
        leaving.has_pods = true;
        check(&recreate, &[leaving, set("new", 0, 0)], &[]);
        check(
            &recreate,
            &[set("old", 0, 0), set("new", 0, 0)],
            &[("new", 10)],
        );
    }

    #[test]
    fn a_paused_one_scales_but_does_not_roll() {
        let paused = Rollout {
            paused: true,
            ..TEN
        };
        check(&paused, &[set("old", 5, 5)], &[("old", 10)]);
        check(&paused, &[set("old", 10, 10), set("new", 0, 0)], &[]);
    }

    #[test]
    fn surge_rounds_up_and_unavailable_down_and_not_both_are_zero() {
        assert_eq!(bounds(&Value::Null, 10), (3, 2));
        assert_eq!(bounds(&Value::Null, 1), (1, 0));
        assert_eq!(
            bounds(&json!({"maxSurge": 0, "maxUnavailable": 0}), 5),
            (0, 1)
        );
    }
}
