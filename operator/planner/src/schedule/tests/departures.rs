//! Where we depart from Karpenter on purpose: one test per row of the design's table that concerns scheduling.

use super::check;
use super::world::world;
use crate::schedule::{Budget, solve};
use crate::snapshot::WhatIf;
use std::collections::BTreeMap;

#[test]
fn equal_prices_are_broken_by_the_fewest_nodes_of_that_pool_in_the_zone_then_by_name() {
    check(
        "type t cpu=2 price=1 zones=a,b,c\npool p\nnode n1 pool=p cpu=2 used=2 zone=a\nnode n2 pool=other cpu=2 used=2 zone=b
         claim c1 pool=p offering=t/b taint=x\npod web cpu=2 x2",
        "web-1 -> p-0\nweb-2 -> p-1\np-0: t/c/on-demand at 1\np-1: t/a/on-demand at 1",
    );
}

#[test]
fn three_hundred_unconstrained_claims_over_three_equal_zones_differ_by_at_most_one() {
    let snapshot = world("type t cpu=2 price=1 zones=a,b,c\npod web cpu=2 x300");
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    let mut zones: BTreeMap<&str, u32> = BTreeMap::new();
    for opening in &schedule.openings {
        *zones
            .entry(
                snapshot.catalogs[0]
                    .offering(opening.offerings[0])
                    .zone
                    .as_ref(),
            )
            .or_default() += 1;
    }
    assert_eq!(
        zones.into_iter().collect::<Vec<_>>(),
        [("a", 100), ("b", 100), ("c", 100)]
    );
}

#[test]
fn an_unknown_price_comes_after_all_priced_ones_and_is_never_zero() {
    check(
        "type cheap cpu=8\ntype dear cpu=4 price=99\npod web cpu=2",
        "web -> default-0\ndefault-0: dear/a/on-demand at 99",
    );
    check(
        "type large cpu=8\ntype little cpu=4\npod web cpu=2",
        "web -> default-0\ndefault-0: little/a/on-demand at an unknown price",
    );
}

#[test]
fn while_a_claim_is_unlaunched_planning_goes_on_and_it_counts_with_its_first_offering() {
    check(
        "type t cpu=4 price=1\nclaim c1 offering=t/a\npod web cpu=2 x3",
        "web-1 -> claim c1\nweb-2 -> claim c1\nweb-3 -> default-0",
    );
}

#[test]
fn a_nomination_lives_as_long_as_its_claim_can_still_become_a_node() {
    // However old the claim is, its pods stay with it; once it leaves, they are planned anew.
    check(
        "type t cpu=4 price=1\nclaim c1 offering=t/a\npod web cpu=4",
        "web -> claim c1",
    );
    check(
        "type t cpu=4 price=1\nclaim c1 offering=t/a leaving\npod web cpu=4",
        "web -> default-0",
    );
}

#[test]
fn a_reservation_that_is_used_up_keeps_nobody_waiting() {
    // Upstream holds every reservation a claim could take until it is launched, and lets others wait for it.
    check(
        "type t cpu=2 reserved=a:1:0.1 reserved=b:1:0.1:other\ntype u cpu=2 price=1
         pool heavy weight=9 need=ct:In:reserved\npool light need=ct:In:on-demand\npod web cpu=2 x3",
        "web-1 -> heavy-0\nweb-2 -> heavy-1\nweb-3 -> light-0",
    );
}

#[test]
fn limits_on_nodes_are_consumed_within_one_run() {
    check(
        "type t cpu=2 price=1\npool p limit.nodes=2\npod web cpu=2 x3",
        "web-1 -> p-0\nweb-2 -> p-1\nweb-3: LimitReached",
    );
}

#[test]
fn a_zone_that_is_decided_when_a_claim_is_opened_is_the_one_with_the_fewest_nodes_too() {
    // `far` looks at zones, so that of `web` is decided at once: b, because the pool has a node in a.
    check(
        "type t cpu=2 price=1 zones=a,b\npool p\nnode n1 pool=p cpu=1 used=1 zone=a\nbound old label.app=web on=n1
         pod web cpu=2 label.app=web\npod far cpu=1 label.app=far near=zone:app=web",
        "web -> p-0\nfar -> p-1\np-0: t/b/on-demand at 1\np-1: t/a/on-demand at 1",
    );
}
