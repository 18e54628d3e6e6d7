//! What does the same snapshot say without a node, or at other prices?

use super::world::world;
use crate::Price;
use crate::schedule::{Budget, solve};
use crate::snapshot::{NodeId, Prices, WhatIf};

#[test]
fn the_pods_of_a_node_that_is_thought_away_are_placed_elsewhere() {
    let snapshot = world("node n1 cpu=4 used=2\nnode n2 cpu=4\nbound web cpu=2");
    let extra: Vec<_> = snapshot.pods.members().map(|(id, _)| id).collect();
    let view = WhatIf::without_nodes(&snapshot, [NodeId(0)], &extra);
    assert_eq!(solve(&view, Budget::UNLIMITED).text(&snapshot), "web -> n2");
}

#[test]
fn a_bound_pod_is_not_placed_unless_asked_for() {
    let snapshot = world("node n1 cpu=4 used=2\nbound web cpu=2");
    assert_eq!(
        solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED).text(&snapshot),
        ""
    );
}

#[test]
fn a_node_thought_away_frees_its_pools_limit() {
    let snapshot = world(
        "type t cpu=4 price=1\npool p limit.cpu=4\nnode n1 pool=p cpu=4 used=4\nbound web cpu=4",
    );
    let extra: Vec<_> = snapshot.pods.members().map(|(id, _)| id).collect();
    let view = WhatIf::without_nodes(&snapshot, [NodeId(0)], &extra);
    let plan = solve(&view, Budget::UNLIMITED).text(&snapshot);
    assert!(plan.contains("web -> p-0"), "{plan}");
}

#[test]
fn other_prices_change_what_is_bought() {
    let snapshot = world("type a cpu=4 price=1\ntype b cpu=4 price=2\npod web cpu=1");
    let prices = Prices(vec![vec![None, Price::from_billionths(5)]]);
    let view = WhatIf {
        prices: Some(&prices),
        ..WhatIf::nothing_changes(&snapshot)
    };
    let plan = solve(&view, Budget::UNLIMITED).text(&snapshot);
    assert!(plan.contains("b/a/on-demand at 0.000000005"), "{plan}");
}
