//! What holds for every world, however it was drawn?

use super::checker::Checked;
use super::world::world;
use crate::schedule::lots::Lots;
use crate::schedule::run::Run;
use crate::schedule::strategy::Strategy as Way;
use crate::schedule::{Budget, Ground, Schedule, solve};
use crate::snapshot::{Snapshot, WhatIf};
use proptest::prelude::*;

fn type_line() -> impl Strategy<Value = String> {
    (
        1..9_i64,
        1..33_i64,
        prop::option::of(1..9_i64),
        prop::sample::select(vec!["a", "a,b", "a,b,c"]),
        prop::sample::select(vec![
            "",
            "",
            "",
            " reserved=a:2",
            " reserved=b:1:0.5:shared",
            " reserved=a:3:2:shared reserved=c:1",
            " ct=spot,on-demand",
            " label.kubernetes.io/arch=arm64 overhead.cpu=100m",
        ]),
    )
        .prop_map(|(cpu, memory, price, zones, reserved)| {
            let price = price
                .map(|price| format!(" price={price}"))
                .unwrap_or_default();
            format!("cpu={cpu} memory={memory}Gi zones={zones}{price}{reserved}")
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
        " prefer=3:zone:In:b prefer=9:zone:In:c",
        " volume=own:csi:b",
        " volume=shared:csi",
        " select.karpenter.sh/capacity-type=reserved",
        " select.karpenter.sh/capacity-type=spot",
        " term=zone:In:b|c",
        " volume=own:csi volume=more:csi:a|b",
    ]);
    let others = prop::sample::select(vec![
        "",
        "",
        " label.app=a spread=zone:1:app=a",
        " label.app=a spread=zone:2:app=a spread=host:1:app=a",
        " label.app=b spread=host:2:app=b",
        " label.app=c apart=host:app=c",
        " label.app=c apart=zone:app=c",
        " label.app=d near=zone:app=d",
        " label.app=d near=host:app=d",
        " label.app=e near=zone:app=d",
        " label.app=e apart=zone:app=a",
        " label.app=f spread=ct:1:app=f prefer-apart=5:host:app=f",
        " label.app=g spread=zone:1:app=a:soft prefer-near=5:zone:app=d",
        " label.app=h spread=zone:1:app=h:min3:no-taints tolerate=x",
        " label.app=i spread=zone:1:app=i:any-node",
        " label.app=i near=host:app=i apart=zone:app=c",
        " label.app=j label.rev=1 spread=zone:1:app=j:key.rev",
        " label.app=a",
    ]);
    (1..12_i64, 1..9_i64, 1..6_u32, wish, others).prop_map(
        |(quarters, memory, times, wish, others)| {
            format!(
                "cpu={}m memory={memory}Gi x{times}{wish}{others}",
                quarters * 250
            )
        },
    )
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
        " zone=a volumes.csi=1",
        " zone=c uninitialized daemons.cpu=200m",
        " zone=a pool=pool-1 label.karpenter.sh/capacity-type=spot",
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

fn bound_line() -> impl Strategy<Value = String> {
    let who = prop::sample::select(vec![
        "label.app=a",
        "label.app=d",
        "label.app=c apart=zone:app=c",
        "label.app=x apart=host:app=b",
        "label.app=x volume=shared:csi",
    ]);
    (0..4_u32, 1..3_u32, who)
        .prop_map(|(node, times, who)| format!("{who} on=node-{node} x{times}"))
}

/// On its way: of a type that may have left the catalog since, and of which the cloud may have told more.
fn claim_line() -> impl Strategy<Value = String> {
    let rest = prop::sample::select(vec![
        "",
        " label.team=blue",
        " taint=x",
        " told.cpu=3",
        " leaving",
    ]);
    let kinds = prop::sample::select(vec!["on-demand", "on-demand", "spot", "reserved"]);
    let zones = prop::sample::select(vec!["a", "b", "c"]);
    (0..4_u32, zones, kinds, 0..3_u32, rest).prop_map(|(at, zone, kind, pool, rest)| {
        format!("pool=pool-{pool} offering=type-{at}/{zone}/{kind} cpu=2 memory=4Gi pods=9{rest}")
    })
}

fn daemon_line() -> impl Strategy<Value = String> {
    let rest = prop::sample::select(vec![
        "",
        "",
        " tolerate=x",
        " select.topology.kubernetes.io/zone=b",
        " term=team:In:blue term=arch:In:arm64",
        " port=80",
    ]);
    (1..5_i64, rest).prop_map(|(tenths, rest)| format!("cpu={}m{rest}", tenths * 100))
}

fn worlds() -> impl Strategy<Value = Vec<String>> {
    let limits = prop::sample::select(vec![
        vec![],
        vec!["volume-limit csi most=2".to_owned()],
        vec!["volume-limit csi type=type-0 most=1".to_owned()],
    ]);
    let guard = prop::sample::select(vec![vec![], vec!["guard 2".to_owned()]]);
    (
        named("type", type_line(), 6),
        named("pool", pool_line(), 4),
        named("node", node_line(), 5),
        named("pod", pod_line(), 8),
        named("daemon", daemon_line(), 3),
        named("bound", bound_line(), 5),
        named("claim", claim_line(), 3),
        (guard, limits),
    )
        .prop_map(|(a, b, c, d, e, f, g, (h, i))| [a, b, c, d, e, f, g, h, i].concat())
}

fn plan(lines: &[String]) -> (Snapshot, Schedule) {
    let snapshot = world(&lines.join("\n"));
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    (snapshot, schedule)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_holds_what_its_pods_ask_for_and_everybody_has_a_place_or_a_reason(lines in worlds()) {
        let (snapshot, schedule) = plan(&lines);
        Checked::new(&snapshot, &schedule).all();
    }

    #[test]
    fn every_strategy_gives_a_plan_that_holds(lines in worlds()) {
        let snapshot = world(&lines.join("\n"));
        let view = WhatIf::nothing_changes(&snapshot);
        let ground = Ground::of(&snapshot, None);
        let ways = [Way::Efficient, Way::Largest, Way::Exact, Way::Even].map(|way| (way, false));
        for (strategy, patient) in ways.into_iter().chain([(Way::Even, true)]) {
            let mut run = Run::new(&ground, &view, Budget::UNLIMITED, (strategy, Lots::default()));
            run.patient = patient;
            Checked::new(&snapshot, &run.served().finish()).all();
        }
    }

    #[test]
    fn a_what_if_that_changes_nothing_is_the_plan_itself(lines in worlds()) {
        let (snapshot, schedule) = plan(&lines);
        let view = WhatIf::without_nodes(&snapshot, [], &[]);
        prop_assert_eq!(Ground::of(&snapshot, None).solve(&view, Budget::UNLIMITED), schedule);
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
        let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::steps(steps));
        Checked::new(&snapshot, &schedule).what_is_placed();
        prop_assert!(!schedule.unserved.is_empty() || schedule.steps <= steps);
    }

    #[test]
    fn a_small_memory_gives_a_part_of_a_valid_plan(lines in worlds(), memory in 0..4000_u64) {
        let snapshot = world(&lines.join("\n"));
        let budget = Budget { memory, ..Budget::UNLIMITED };
        let schedule = solve(&WhatIf::nothing_changes(&snapshot), budget);
        Checked::new(&snapshot, &schedule).what_is_placed();
    }
}
