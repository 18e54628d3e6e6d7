//! Where no other domain can be had: are pods kept out of those that have nodes no longer than kube-scheduler keeps them?

use super::domains::{hosts, refused, refused_in_turn, zones};
use super::world::world;
use crate::schedule::{Budget, solve};
use crate::snapshot::WhatIf;

const WEB: &str = "label.app=web";

#[test]
fn hosts_are_filled_evenly_when_no_more_can_be_made() {
    let world = format!(
        "pool p\nnode n1 cpu=4 used=0\nnode n2 cpu=4 used=0\npod web cpu=1 {WEB} spread=host:1:app=web x8"
    );
    hosts(&world, "4 4");
}

#[test]
fn a_full_host_stops_the_others_at_the_skew() {
    let world = format!(
        "pool p\nnode n1 cpu=2 used=0\nnode n2 cpu=9 used=0\npod web cpu=1 {WEB} spread=host:2:app=web x9"
    );
    hosts(&world, "2 4");
    refused(&world, 3);
}

#[test]
fn fewer_hosts_than_asked_for_stay_at_the_skew() {
    let world = format!(
        "pool p\nnode n1 cpu=4 used=0\nnode n2 cpu=4 used=0\npod web cpu=1 {WEB} spread=host:1:app=web:min3 x8"
    );
    hosts(&world, "1 1");
}

#[test]
fn a_zone_beyond_the_limits_holds_nobody_back_as_long_as_no_node_stands_there() {
    let world = |node: &str| {
        format!(
            "type t cpu=8 price=1 zones=a,b\npool p limit.cpu=8\n{node}\npod web cpu=1 {WEB} spread=zone:1:app=web x4"
        )
    };
    zones(&world(""), "4");
    zones(&world("node n1 cpu=1 used=1 zone=b"), "1");
}

#[test]
fn a_claim_that_may_come_to_stand_in_another_zone_holds_back() {
    // The big pod's claim is not bound to a zone: it could be the one in b.
    let world = format!(
        "type t cpu=8 price=1 zones=a,b\npool p limit.cpu=16\npod big cpu=8\npod web cpu=1 {WEB} spread=zone:1:app=web x4"
    );
    refused_in_turn(&world, 3);
}

#[test]
fn hosts_that_lack_the_other_label_are_not_compared() {
    let world = format!(
        "pool p\nnode n0 cpu=4 used=0\nnode n1 cpu=4 used=0 zone=a\nnode n2 cpu=4 used=0 zone=a\npod web cpu=1 {WEB} spread=zone:5:app=web spread=host:1:app=web x8"
    );
    hosts(&world, "4 4");
}

#[test]
fn who_wants_to_be_near_a_pod_placed_at_second_look_follows_it() {
    let world = format!(
        "pool p\nnode n1 cpu=4 used=0\npod web cpu=1 {WEB} spread=host:1:app=web x2\npod shy cpu=1 label.app=shy apart=host:app=shy near=host:app=web"
    );
    refused(&world, 0);
}

#[test]
fn a_claim_that_may_yet_become_what_the_spread_looks_at_is_compared() {
    // The full claim in zone a may come up on the spot: then its zone has none of these pods.
    refused_in_turn(
        "type t cpu=4 price=1 zones=a ct=spot,on-demand
         type u cpu=4 price=9 zones=b ct=spot
         pool p limit.nodes=2
         pod here cpu=4 select.topology.kubernetes.io/zone=a
         pod there cpu=2 select.topology.kubernetes.io/zone=b
         pod web cpu=900m x3 label.app=web spread=zone:1:app=web select.karpenter.sh/capacity-type=spot",
        2,
    );
}

#[test]
fn claims_that_lack_the_other_label_are_not_compared() {
    let world = format!(
        "type t cpu=8 price=1\npool p limit.nodes=1\nnode n1 cpu=4 label.rack=r1\nnode n2 cpu=4 label.rack=r1\npod big cpu=8
         pod web cpu=1 {WEB} spread=rack:9:app=web spread=host:1:app=web x8"
    );
    hosts(&world, "1 4 4");
}

#[test]
fn claims_that_the_spread_never_looks_at_are_not_compared() {
    let world = format!(
        "type t cpu=4 price=1\npool b label.team=blue limit.nodes=1\npool r label.team=red limit.nodes=1\npod here cpu=4 select.team=blue
         pod web cpu=1 {WEB} select.team=red spread=host:1:app=web x3"
    );
    hosts(&world, "1 3");
}

#[test]
fn nobody_is_crowded_together_while_others_still_wait_to_be_served() {
    // Zone b can have no node, but `web` crowds a only once `api` has what it needs.
    let snapshot = world(&format!(
        "type t cpu=2 price=1 zones=a,b\npool p need=zone:In:a\npool q need=zone:In:b limit.nodes=0
         node n1 cpu=2 used=1 zone=a\nbound old {WEB} on=n1
         pod web cpu=1 {WEB} spread=zone:1:app=web\npod api cpu=500m apart=host:app=web"
    ));
    let placed = |memory| {
        let budget = Budget {
            memory,
            ..Budget::UNLIMITED
        };
        let plan = solve(&WhatIf::nothing_changes(&snapshot), budget);
        (plan.unserved.len(), plan.placements.len())
    };
    assert_eq!((placed(1), placed(u64::MAX)), ((1, 0), (0, 2)));
}

#[test]
fn what_memory_holds_back_is_not_crowded_into_what_stands() {
    let snapshot = world(&format!(
        "type t cpu=2 price=1 zones=a,b\npod web cpu=1 {WEB} spread=zone:1:app=web x2"
    ));
    let placed = |memory| {
        let budget = Budget {
            memory,
            ..Budget::UNLIMITED
        };
        let plan = solve(&WhatIf::nothing_changes(&snapshot), budget);
        (plan.openings.len(), plan.placements.len())
    };
    let all: Vec<_> = (0..2000).map(placed).collect();
    assert!(all.contains(&(0, 0)) && all.contains(&(1, 1)) && all.contains(&(2, 2)));
    assert!(all.iter().all(|(claims, pods)| claims == pods));
}
