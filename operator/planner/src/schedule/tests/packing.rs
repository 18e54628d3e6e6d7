//! Is the plan as cheap as it can easily be?

use super::domains::{hosts, price, refused};

#[test]
fn the_smallest_type_that_fits_is_bought() {
    price(
        "type s cpu=2 price=1\ntype m cpu=4 price=2\ntype l cpu=8 price=4\npod a cpu=1",
        "1",
    );
}

#[test]
fn several_small_pods_share_the_smallest_type() {
    price(
        "type s cpu=2 price=1\ntype m cpu=4 price=2\npod a cpu=500m x4",
        "1",
    );
}

#[test]
fn a_large_type_that_is_cheap_for_its_size_takes_many_pods() {
    price(
        "type s cpu=1 price=1\ntype l cpu=64 price=10\npod a cpu=1 x64",
        "10",
    );
}

#[test]
fn a_large_type_that_is_dear_for_its_size_is_left_alone() {
    price(
        "type s cpu=2 price=1\ntype l cpu=64 price=100\npod a cpu=2 x8",
        "8",
    );
}

#[test]
fn many_different_shapes_still_share_the_cheap_large_type() {
    let pods = super::lines(1..=32, |at| format!("pod p{at} cpu={}m", 900 + at));
    price(
        &format!("type s cpu=1 price=1\ntype l cpu=32 price=8\n{pods}"),
        "8",
    );
}

#[test]
fn the_last_claim_is_no_larger_than_its_pods_need() {
    price(
        "type s cpu=2 price=2\ntype l cpu=16 price=8\npod a cpu=1 x18",
        "10",
    );
}

#[test]
fn small_pods_fill_the_claims_that_pods_of_their_own_hosts_left_half_empty() {
    price(
        "type s cpu=2 price=2\ntype l cpu=16 price=16\npod big cpu=1500m label.app=x apart=host:app=x x4\npod small cpu=500m x4",
        "8",
    );
}

#[test]
fn a_claim_grows_when_that_is_cheaper_than_another() {
    price(
        "type s cpu=2 price=2\ntype m cpu=4 price=3\npod a cpu=2\npod b cpu=1900m",
        "3",
    );
}

#[test]
fn another_claim_is_opened_when_growing_is_dearer() {
    price(
        "type s cpu=2 price=2\ntype m cpu=4 price=9\npod a cpu=2\npod b cpu=1900m",
        "4",
    );
}

#[test]
fn a_cheaper_zone_is_taken() {
    price(
        "type s cpu=2 price=2 zones=a\ntype t cpu=2 price=1 zones=b\npod a cpu=2",
        "1",
    );
}

#[test]
fn existing_room_costs_nothing() {
    price("type s cpu=2 price=2\nnode n1 cpu=8\npod a cpu=2 x4", "0");
}

#[test]
fn one_claim_rather_than_a_pool_of_less_weight() {
    // The heavier pool may have one node only: it grows before the lighter pool is asked.
    hosts(
        "type s cpu=2 price=1\ntype l cpu=16 price=9\npool p weight=5 limit.nodes=1\npool q\npod a cpu=1 x8",
        "8",
    );
}

/// The first plan that comes to mind, as what-ifs ask for it by the thousand.
fn sketched(text: &str) -> usize {
    let snapshot = super::world::world(text);
    let view = crate::snapshot::WhatIf::nothing_changes(&snapshot);
    let ground = crate::schedule::Ground::of(&snapshot, None);
    let plan = ground.sketch(&view, crate::schedule::Budget::UNLIMITED);
    plan.openings.len()
}

#[test]
fn a_roomier_type_that_is_hardly_dearer_for_each_pod_saves_a_claim() {
    let world =
        |price: &str| format!("type s cpu=2 price=1\ntype l cpu=4 price={price}\npod a cpu=2 x2");
    price(&world("2.06"), "2.06");
    price(&world("2.07"), "2");
    assert_eq!(sketched(&world("2.06")), 1);
    assert_eq!(sketched(&world("2.07")), 2);
}

/// Worlds in which only one way to fill claims finds the good plan.
#[test]
fn no_single_greed_decides_what_a_plan_costs() {
    // Up to the type that is cheapest for the pods at hand: four of 2 do not fill a t0.
    price(
        "type t0 cpu=8 price=5\ntype t1 cpu=3 price=2\npod p0 cpu=2 x4\npod p1 cpu=1500m x4",
        "9",
    );
    // As far as any type allows: whoever comes later fills the large ones.
    price(
        "type t0 cpu=2 price=4 zones=a,b\ntype t1 cpu=8 price=4\ntype t2 cpu=3 price=2 zones=a,b
         pod p0 cpu=500m x2\npod p1 cpu=2 x4\npod p2 cpu=3 x3 label.app=w spread=host:1:app=w",
        "10",
    );
    // A zone that is not the emptiest but cheaper, as far as the skew allows.
    price(
        "type x cpu=4 price=5 zones=a\ntype y cpu=4 price=1 zones=b\npod web cpu=4 label.app=web spread=zone:3:app=web x4",
        "8",
    );
    // Who has to give up a wish waits: otherwise he takes the room of who keeps his.
    price(
        "type t0 cpu=6 price=3\ntype t1 cpu=4 price=2
         pod p0 cpu=3 x4 prefer=1:zone:In:b\npod p1 cpu=1500m x4 prefer-apart=5:host:app=w label.app=w",
        "12",
    );
    price(
        "type t0 cpu=8 price=3 zones=a,b\ntype t1 cpu=4 price=1 zones=a,b\npod p0 cpu=3 x3",
        "3",
    );
}

#[test]
fn who_gets_no_place_if_claims_are_cheap_gets_one_if_they_are_filled_evenly() {
    let world = "type t0 cpu=6 price=4\ntype t1 cpu=4 price=1\npool p limit.cpu=12\npod web cpu=3 x4 label.app=w spread=host:1:app=w";
    refused(world, 0);
    hosts(world, "2 2");
}

#[test]
fn the_last_of_many_claims_is_filled_too() {
    price(
        "type t cpu=8 price=1\npod big cpu=8 label.app=x apart=host:app=x x40\npod mid cpu=5 x3\npod small cpu=3 x3",
        "43",
    );
}
