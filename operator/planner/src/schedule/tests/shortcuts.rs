//! Does placing many pods at once give what placing them one by one would have given?

use super::checker::Checked;
use super::world::world;
use crate::schedule::lots::Lots;
use crate::schedule::run::Run;
use crate::schedule::strategy::Strategy as Way;
use crate::schedule::{Budget, Ground, Schedule};
use crate::snapshot::{Snapshot, WhatIf};
use proptest::prelude::*;
use std::fmt::Write;

const WAYS: [Way; 4] = [Way::Efficient, Way::Exact, Way::Largest, Way::Even];

fn run(snapshot: &Snapshot, way: Way, budget: Budget, one_by_one: bool) -> Schedule {
    let ground = Ground::of(snapshot, None);
    let view = WhatIf::nothing_changes(snapshot);
    let mut run = Run::new(&ground, &view, budget, (way, Lots::default()));
    run.one_by_one = one_by_one;
    run.served().finish()
}

/// Few shapes of many pods each: that is what shortcuts are for.
fn crowds() -> impl Strategy<Value = String> {
    let kind = (
        1..9_i64,
        1..9_i64,
        prop::sample::select(vec!["a", "b,c", "a,b,c", "a,b,c"]),
    );
    let kinds = prop::collection::vec(kind, 1..6);
    let pool = prop::sample::select(vec![
        "",
        "",
        " limit.nodes=9",
        " limit.cpu=60",
        " limit.cpu=25",
        " limit.cpu=14",
        " limit.memory=90Gi taint=x:Prefer",
        " weight=5 taint=x",
        " need=node.kubernetes.io/instance-type:Exists::2",
    ]);
    let pools = prop::collection::vec(pool, 1..3);
    let node = (1..9_i64, prop::sample::select(vec!["a", "b", "c"]));
    let nodes = prop::collection::vec(node, 0..9);
    let others = prop::sample::select(vec![
        "",
        "",
        " port=80",
        " tolerate=x",
        " label.app=a spread=zone:1:app=a",
        " label.app=b spread=zone:2:app=b",
        " label.app=c spread=zone:1:app=c:min4",
        " label.app=a spread=host:3:app=a",
        " label.app=a apart=host:app=a",
        " label.app=a spread=zone:1:app=a apart=host:app=b",
        " label.app=b select.topology.kubernetes.io/zone=b",
        " label.app=c near=zone:app=c",
        " label.app=a volume=own:csi",
    ]);
    let pods = prop::collection::vec((1..9_i64, 1..50_u32, others), 1..5);
    let guard = prop::sample::select(vec!["", "", "", "guard 7\n"]);
    (kinds, pools, nodes, pods, guard).prop_map(|(kinds, pools, nodes, pods, guard)| {
        let mut text = guard.to_owned();
        for (at, (cpu, price, zones)) in kinds.iter().enumerate() {
            let _ = writeln!(
                text,
                "type t{at} cpu={cpu} memory={}Gi zones={zones} price={}",
                cpu * 4,
                // Mostly what they are worth, so that claims grow from type to type.
                cpu * 8 + price
            );
        }
        for (at, pool) in pools.iter().enumerate() {
            let _ = writeln!(text, "pool p{at}{pool}");
        }
        for (at, (cpu, zone)) in nodes.iter().enumerate() {
            let _ = writeln!(text, "node n{at} cpu={cpu} memory=32Gi zone={zone}");
        }
        for (at, (quarters, times, others)) in pods.iter().enumerate() {
            let _ = writeln!(text, "pod s{at} cpu={}m x{times}{others}", quarters * 250);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_at_once_get_the_places_that_each_would_have_got(text in crowds()) {
        let snapshot = world(&text);
        for way in WAYS {
            let fast = run(&snapshot, way, Budget::UNLIMITED, false);
            Checked::new(&snapshot, &fast).all();
            prop_assert_eq!(fast, run(&snapshot, way, Budget::UNLIMITED, true));
        }
    }

    #[test]
    fn budgets_end_a_shortcut_where_they_would_have_ended_the_long_way(
        text in crowds(),
        steps in 1..120_u64,
        memory in 400..40_000_u64,
    ) {
        let snapshot = world(&text);
        for way in WAYS {
            for budget in [Budget::steps(steps), Budget { memory, ..Budget::UNLIMITED }] {
                let fast = run(&snapshot, way, budget, false);
                prop_assert_eq!(fast, run(&snapshot, way, budget, true));
            }
        }
    }
}
