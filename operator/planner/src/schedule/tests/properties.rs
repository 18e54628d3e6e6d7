//! What holds for every world, however it was drawn?

use super::world::world;
use crate::resources::{ResourceName, Resources};
use crate::schedule::{Budget, Schedule, Spot, solve};
use crate::snapshot::{Snapshot, WhatIf};
use proptest::prelude::*;

fn type_line() -> impl Strategy<Value = String> {
    (
        1..9_i64,
        1..33_i64,
        prop::option::of(1..9_i64),
        prop::sample::select(vec!["a", "a,b", "a,b,c"]),
    )
        .prop_map(|(cpu, memory, price, zones)| {
            let price = price
                .map(|price| format!(" price={price}"))
                .unwrap_or_default();
            format!("cpu={cpu} memory={memory}Gi zones={zones}{price}")
        })
}

fn pod_line() -> impl Strategy<Value = String> {
    let wish = prop::sample::select(vec![
        "",
        "",
        "",
        " select.topology.kubernetes.io/zone=b",
        " tolerate=x",
        " port=80",
        " select.team=blue",
        " term=team:In:red term=topology.kubernetes.io/zone:In:c",
        " select.team=blue term=team:In:red",
    ]);
    (1..12_i64, 1..9_i64, 1..6_u32, wish).prop_map(|(quarters, memory, times, wish)| {
        format!("cpu={}m memory={memory}Gi x{times}{wish}", quarters * 250)
    })
}

fn pool_line() -> impl Strategy<Value = String> {
    let limit = prop::sample::select(vec![
        "",
        "",
        " limit.cpu=8",
        " limit.nodes=2",
        " limit.memory=40Gi limit.cpu=20",
    ]);
    let rest = prop::sample::select(vec![
        "",
        " taint=x",
        " label.team=blue",
        " need=team:In:blue|red",
        " taint=y:Prefer",
    ]);
    (0..3_i32, limit, rest)
        .prop_map(|(weight, limit, rest)| format!("weight={weight}{limit}{rest}"))
}

fn node_line() -> impl Strategy<Value = String> {
    let rest = prop::sample::select(vec![
        "",
        " label.team=blue",
        " taint=x",
        " zone=b pool=pool-0",
        " leaving",
        " port=80",
    ]);
    (1..9_i64, 0..3_i64, rest)
        .prop_map(|(cpu, used, rest)| format!("cpu={cpu} memory=16Gi used={used}{rest}"))
}

fn named(
    kind: &'static str,
    line: impl Strategy<Value = String>,
    most: usize,
) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(line, 0..most).prop_map(move |lines| {
        lines
            .into_iter()
            .enumerate()
            .map(|(at, line)| format!("{kind} {kind}-{at} {line}"))
            .collect()
    })
}

fn worlds() -> impl Strategy<Value = Vec<String>> {
    let daemon = (1..5_i64).prop_map(|tenths| format!("cpu={}m", tenths * 100));
    let guard = prop::sample::select(vec![vec![], vec!["guard 2".to_owned()]]);
    (
        named("type", type_line(), 6),
        named("pool", pool_line(), 4),
        named("node", node_line(), 5),
        named("pod", pod_line(), 8),
        named("daemon", daemon, 2),
        guard,
    )
        .prop_map(|(a, b, c, d, e, f)| [a, b, c, d, e, f].concat())
}

fn plan(lines: &[String]) -> (Snapshot, Schedule) {
    let snapshot = world(&lines.join("\n"));
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    (snapshot, schedule)
}

fn asked_of(snapshot: &Snapshot, schedule: &Schedule, spot: Spot) -> Resources {
    let there = schedule.placements.iter().filter(|(_, at)| *at == spot);
    there.fold(Resources::new(), |sum, (pod, _)| {
        sum.plus(&snapshot.pods.shape_of(*pod).requests)
    })
}

fn check_nothing_is_overcommitted(snapshot: &Snapshot, schedule: &Schedule) {
    for (_, spot) in &schedule.placements {
        let asked = asked_of(snapshot, schedule, *spot);
        match spot {
            Spot::Node(id) => {
                let node = snapshot.node(*id);
                assert!(
                    !node.leaving && asked.plus(&node.used).fits(&node.allocatable),
                    "{}",
                    node.name
                );
            }
            Spot::Claim(_) => {}
            Spot::Opening(at) => {
                let opening = &schedule.openings[*at as usize];
                let catalog = &snapshot.catalogs[0];
                for id in &opening.offerings {
                    // `requests` hold the daemons too.
                    let room = catalog.allocatable(catalog.type_of(*id));
                    assert!(
                        opening.requests.fits(room),
                        "{}: {} in {room}",
                        opening.handle,
                        opening.requests
                    );
                    assert!(asked.fits(&opening.requests));
                }
            }
        }
    }
}

fn check_limits_hold(snapshot: &Snapshot, schedule: &Schedule) {
    for pool in snapshot.pools.iter().filter(|pool| !pool.limits.is_empty()) {
        let one = Resources::new().with(ResourceName::Nodes, 1);
        let nodes = snapshot
            .nodes
            .iter()
            .filter(|node| node.pool.as_ref() == Some(&pool.name) && !node.leaving);
        let mut used = nodes.fold(Resources::new(), |sum, node| {
            sum.plus(&node.capacity).plus(&one)
        });
        let over_before = !used.fits(&pool.limits)
            && used
                .iter()
                .any(|(name, amount)| pool.limits.contains(name) && amount > pool.limits.get(name));
        let openings: Vec<_> = schedule
            .openings
            .iter()
            .filter(|opening| snapshot.pool(opening.pool).name == pool.name)
            .collect();
        for opening in &openings {
            let catalog = &snapshot.catalogs[0];
            used = used
                .plus(
                    &catalog
                        .instance_type(catalog.type_of(opening.offerings[0]))
                        .capacity,
                )
                .plus(&one);
        }
        for (name, limit) in pool.limits.iter() {
            assert!(
                used.get(name) <= limit || (over_before && openings.is_empty()),
                "{} {name}",
                pool.name
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_overcommitted_limits_hold_and_everybody_has_a_place_or_a_reason(lines in worlds()) {
        let (snapshot, schedule) = plan(&lines);
        check_nothing_is_overcommitted(&snapshot, &schedule);
        check_limits_hold(&snapshot, &schedule);
        let refused: Vec<_> = schedule.refused(&snapshot.pods).collect();
        for (id, pod) in snapshot.pods.members() {
            let placed = schedule.placements.iter().filter(|(placed, _)| *placed == id).count();
            let reasons = refused.iter().filter(|(pod, whys)| *pod == id && !whys.is_empty()).count();
            prop_assert_eq!(placed + reasons, 1, "{}", pod.name);
        }
    }

    #[test]
    fn shuffled_input_gives_the_same_plan(lines in worlds().prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle()))) {
        let ((one, first), (other, second)) = (plan(&lines.0), plan(&lines.1));
        prop_assert_eq!(first.text(&one), second.text(&other));
        prop_assert_eq!(first, second);
    }

    #[test]
    fn a_short_budget_gives_a_part_of_a_valid_plan(lines in worlds(), steps in 0..60_u64) {
        let snapshot = world(&lines.join("\n"));
        let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget { steps });
        check_nothing_is_overcommitted(&snapshot, &schedule);
        check_limits_hold(&snapshot, &schedule);
    }

    #[test]
    fn a_pods_labels_and_taints_are_respected_on_every_node(lines in worlds()) {
        let (snapshot, schedule) = plan(&lines);
        for (pod, spot) in &schedule.placements {
            let Spot::Node(id) = spot else { continue };
            let (shape, node) = (snapshot.pods.shape_of(*pod), snapshot.node(*id));
            let holds = |term: &crate::Requirement| match node.label(term.key()) {
                Some(value) => term.has(value),
                None => term.accepts_absence(),
            };
            prop_assert!(shape.selector.iter().all(holds));
            prop_assert!(shape.terms.is_empty() || shape.terms.iter().any(|term| term.iter().all(holds)));
            let hard = node.taints.iter().filter(|taint| taint.effect != crate::Effect::PreferNoSchedule);
            for taint in hard {
                prop_assert!(shape.tolerations.iter().any(|toleration| toleration.tolerates(taint)));
            }
        }
    }
}
