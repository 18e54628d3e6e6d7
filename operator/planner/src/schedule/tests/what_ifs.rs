//! What does the same snapshot say without a node, or at other prices?

use super::planned;
use super::world::world;
use crate::Price;
use crate::schedule::{Budget, Ground, solve};
use crate::snapshot::{NodeId, Prices, Snapshot, WhatIf};

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

#[test]
fn a_pod_that_is_placed_anew_does_not_count_where_it_was() {
    let snapshot = world(
        "node n1 cpu=4 used=1 zone=a\nnode n2 cpu=4 used=1 zone=b\nbound web cpu=1 label.app=web spread=zone:1:app=web on=n1
         bound api cpu=1 label.app=web spread=zone:1:app=web on=n2",
    );
    let web: Vec<_> = snapshot
        .pods
        .members()
        .filter(|(_, pod)| pod.name.as_ref() == "web")
        .map(|(id, _)| id)
        .collect();
    let view = WhatIf {
        extra: &web,
        ..WhatIf::nothing_changes(&snapshot)
    };
    assert_eq!(solve(&view, Budget::UNLIMITED).text(&snapshot), "web -> n1");
}

#[test]
fn a_zone_whose_only_node_is_thought_away_holds_nobody_back() {
    let snapshot = world(
        "type t cpu=8 price=1 zones=a\nnode n1 cpu=1 used=1 zone=b\npod web cpu=1 label.app=web spread=zone:1:app=web x3",
    );
    let stays = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    assert_eq!(stays.placements.len(), 1);
    let view = WhatIf::without_nodes(&snapshot, [NodeId(0)], &[]);
    assert_eq!(solve(&view, Budget::UNLIMITED).placements.len(), 3);
}

#[test]
fn a_node_whose_owner_of_anti_affinity_is_thought_away_lets_others_in_elsewhere() {
    let snapshot = world(
        "node n1 cpu=4 used=1 zone=a\nnode n2 cpu=4 zone=a\nbound db cpu=1 label.app=db apart=zone:app=web on=n1\npod web cpu=1 label.app=web",
    );
    assert_eq!(
        solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED)
            .placements
            .len(),
        0
    );
    let view = WhatIf::without_nodes(&snapshot, [NodeId(0)], &[]);
    assert_eq!(solve(&view, Budget::UNLIMITED).text(&snapshot), "web -> n2");
}

#[test]
fn a_thousand_questions_from_one_ground_get_the_answers_of_a_fresh_one() {
    let nodes = super::lines(0..10, |at| {
        format!("node n{at} cpu=4 used=2 zone=z{}", at % 3)
    });
    let pods = super::lines(0..10, |at| {
        format!("bound p{at} cpu=2 label.app=web spread=zone:1:app=web on=n{at}")
    });
    let snapshot = world(&format!(
        "type t cpu=4 price=1 zones=z0,z1,z2\n{nodes}\n{pods}"
    ));
    let ground = Ground::of(&snapshot, None);
    for at in 0..1000_u32 {
        let node = NodeId(at % 10);
        let extra: Vec<_> = snapshot
            .pods
            .members()
            .filter(|(_, pod)| pod.node.as_ref() == Some(&snapshot.node(node).name))
            .map(|(id, _)| id)
            .collect();
        let view = WhatIf::without_nodes(&snapshot, [node], &extra);
        let answer = ground.solve(&view, Budget::UNLIMITED);
        assert_eq!(answer.placements.len(), 1);
        if at < 10 {
            assert_eq!(answer, solve(&view, Budget::UNLIMITED));
        }
    }
}

fn without_first(snapshot: &Snapshot) -> String {
    let view = WhatIf::without_nodes(snapshot, [NodeId(0)], &[]);
    solve(&view, Budget::UNLIMITED).text(snapshot)
}

#[test]
fn a_zone_whose_only_node_is_thought_away_keeps_nobody_from_a_claim_of_his_own() {
    let snapshot = world(
        "type t cpu=2 price=1 zones=a\nnode n1 cpu=1 used=1 zone=b\npod web cpu=2 label.app=web spread=zone:1:app=web x3",
    );
    let view = WhatIf::without_nodes(&snapshot, [NodeId(0)], &[]);
    assert_eq!(solve(&view, Budget::UNLIMITED).openings.len(), 3);
    let stays = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    assert_eq!(stays.openings.len(), 1);
}

#[test]
fn a_host_that_is_thought_away_is_not_the_emptiest() {
    let snapshot = world(
        "pool p\nnode n1 cpu=4\nnode n2 cpu=4\npod web cpu=1 label.app=web spread=host:1:app=web x2",
    );
    assert_eq!(without_first(&snapshot), "web-1 -> n2\nweb-2 -> n2");
}

#[test]
fn a_pod_that_is_placed_anew_does_not_keep_itself_away() {
    let snapshot = world(
        "node n1 cpu=4 used=1 zone=a\nbound web cpu=1 label.app=web apart=zone:app=web on=n1",
    );
    let web: Vec<_> = snapshot.pods.members().map(|(id, _)| id).collect();
    let view = WhatIf {
        extra: &web,
        ..WhatIf::nothing_changes(&snapshot)
    };
    assert_eq!(solve(&view, Budget::UNLIMITED).text(&snapshot), "web -> n1");
}

#[test]
fn a_leaving_node_that_is_thought_away_gives_its_limit_back_only_once() {
    let snapshot = world(
        "type t cpu=4 price=1\npool p limit.cpu=4\nnode n1 pool=p cpu=4 leaving\nnode n2 pool=p cpu=4 used=4\npod web cpu=4",
    );
    assert_eq!(without_first(&snapshot), "web: LimitReached");
}

#[test]
fn a_node_that_is_thought_away_does_not_crowd_its_zone() {
    let text =
        "type t cpu=4 price=1 zones=a,b\npool p\nnode n1 pool=p cpu=4 used=4 zone=a\npod web cpu=4";
    let snapshot = world(text);
    assert!(planned(text).contains("p-0: t/b/on-demand"));
    let plan = without_first(&snapshot);
    assert!(plan.contains("p-0: t/a/on-demand"), "{plan}");
}

#[test]
fn a_node_that_is_thought_away_lets_the_guard_of_its_pool_count_one_less() {
    let nodes = super::lines(0..20, |at| format!("node n{at:02} pool=p cpu=1 used=1"));
    let snapshot = world(&format!(
        "guard 1\ntype t cpu=2 price=1\npool p\n{nodes}\npod web cpu=2 x2"
    ));
    let all = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    assert_eq!(all.openings.len(), 2);
    let view = WhatIf::without_nodes(&snapshot, [NodeId(0)], &[]);
    assert_eq!(solve(&view, Budget::UNLIMITED).openings.len(), 1);
}

#[test]
fn another_price_decides_which_type_is_cheapest_though_a_sibling_offering_is_dear() {
    let snapshot =
        world("type a cpu=4 price=2 zones=x,y\ntype b cpu=4 price=1 zones=x\npod web cpu=1");
    let price = Price::from_billionths;
    let prices = Prices(vec![vec![price(9_000_000_000), price(7), price(8)]]);
    let view = WhatIf {
        prices: Some(&prices),
        ..WhatIf::nothing_changes(&snapshot)
    };
    let plan = solve(&view, Budget::UNLIMITED).text(&snapshot);
    assert!(plan.contains("a/y/on-demand at 0.000000007"), "{plan}");
}
