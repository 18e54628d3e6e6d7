//! Who is given what is paid for already, and who buys elsewhere?

use super::check;
use super::checker::Checked;
use super::world::world;
use crate::schedule::lots::Lots;
use crate::schedule::run::Run;
use crate::schedule::strategy::Strategy;
use crate::schedule::{Budget, Ground};
use crate::snapshot::WhatIf;

#[test]
fn what_is_reserved_is_used_before_anything_is_bought() {
    check(
        "type t cpu=2 price=1 reserved=a:1\npod web cpu=2",
        "web -> default-0\ndefault-0: t/a/reserved at an unknown price",
    );
}

#[test]
fn a_reservation_that_is_said_to_cost_more_is_used_first_all_the_same() {
    check(
        "type t cpu=2 price=1 reserved=a:1:9\npod web cpu=2",
        "web -> default-0\ndefault-0: t/a/reserved at 9",
    );
}

#[test]
fn only_as_many_claims_take_from_a_reservation_as_it_has_left() {
    check(
        "type t cpu=2 price=1 reserved=a:2:0.1\npod web cpu=2 x4",
        "web-1 -> default-0
         web-2 -> default-1
         web-3 -> default-2
         web-4 -> default-3
         default-0: t/a/reserved at 0.1
         default-1: t/a/reserved at 0.1
         default-2: t/a/on-demand at 1
         default-3: t/a/on-demand at 1",
    );
}

#[test]
fn several_pods_share_one_reserved_instance() {
    check(
        "type t cpu=4 price=1 reserved=a:1:0.1\npod web cpu=1 x4",
        "web-1 -> default-0
         web-2 -> default-0
         web-3 -> default-0
         web-4 -> default-0
         default-0: t/a/reserved at 0.1",
    );
}

#[test]
fn pools_share_a_reservation() {
    check(
        "type t cpu=2 price=1 reserved=a:1:0.1
         pool heavy weight=9 label.team=red
         pool light label.team=blue
         pod x cpu=2 select.team=red
         pod y cpu=2 select.team=blue",
        "x -> heavy-0\ny -> light-0\nheavy-0: t/a/reserved at 0.1\nlight-0: t/a/on-demand at 1",
    );
}

#[test]
fn types_share_a_reservation_of_one_name() {
    check(
        "type t cpu=2 price=1 reserved=a:1:0.1:both
         type u cpu=2 price=1 reserved=b:1:0.1:both
         pod x cpu=2 select.node.kubernetes.io/instance-type=t
         pod y cpu=2 select.node.kubernetes.io/instance-type=u",
        "x -> default-0\ny -> default-1\ndefault-0: t/a/reserved at 0.1\ndefault-1: u/a/on-demand at 1",
    );
}

#[test]
fn each_reservation_of_a_pool_is_used() {
    check(
        "type t cpu=2 price=1 reserved=a:1:0.1 reserved=b:1:0.2:other
         pod web cpu=2 x3",
        "web-1 -> default-0
         web-2 -> default-1
         web-3 -> default-2
         default-0: t/a/reserved at 0.1
         default-1: t/b/reserved at 0.2
         default-2: t/a/on-demand at 1",
    );
}

#[test]
fn a_claim_on_its_way_holds_its_part_of_a_reservation() {
    check(
        "type t cpu=2 price=1 reserved=a:1:0.1
         claim c1 offering=t/a/reserved taint=x
         pod web cpu=2",
        "web -> default-0\ndefault-0: t/a/on-demand at 1",
    );
}

#[test]
fn a_claim_that_outgrows_its_reservation_gives_it_back() {
    // The first pod takes the small reserved type; the second does not fit there and goes elsewhere.
    check(
        "type s cpu=2 reserved=a:1:0.1
         type l cpu=8 price=4
         pod big cpu=6
         pod web cpu=2",
        "big -> default-0\nweb -> default-0\ndefault-0: l/a/on-demand at 4",
    );
}

#[test]
fn who_takes_from_a_reservation_can_become_nothing_else() {
    check(
        "type t cpu=2 price=1 zones=a,b reserved=b:1:0.1\npod web cpu=1",
        "web -> default-0\ndefault-0: t/b/reserved at 0.1",
    );
}

#[test]
fn a_zone_asked_for_decides_whether_a_reservation_helps() {
    check(
        "type t cpu=2 price=1 zones=a,b reserved=b:1:0.1\npod web cpu=1 select.topology.kubernetes.io/zone=a",
        "web -> default-0\ndefault-0: t/a/on-demand at 1",
    );
}

#[test]
fn a_preference_for_what_is_reserved_is_given_up_when_nothing_is_left() {
    check(
        "type t cpu=2 price=1 reserved=a:1:0.1\npod web cpu=2 x2 prefer=5:ct:In:reserved",
        "web-1 -> default-0
         web-2 -> default-1
         default-0: t/a/reserved at 0.1
         default-1: t/a/on-demand at 1",
    );
}

#[test]
fn who_insists_on_what_is_reserved_is_refused_when_nothing_is_left() {
    let insists = "select.karpenter.sh/capacity-type=reserved";
    check(
        &format!("type t cpu=2 price=1 reserved=a:1:0.1\npod web cpu=2 x2 {insists}"),
        "web-1 -> default-0\nweb-2: ReservationUsedUp",
    );
    check(
        &format!("type t cpu=2 price=1 reserved=a:0\npod web cpu=2 {insists}"),
        "web: ReservationUsedUp",
    );
}

#[test]
fn a_choice_that_min_values_ask_for_does_not_count_what_others_hold() {
    check(
        "type t cpu=2 price=2 ct=spot reserved=a:1:0.1:one
         type u cpu=2 price=2 ct=spot reserved=a:1:0.1:one
         type v cpu=2 price=1
         pool p need=node.kubernetes.io/instance-type:Exists::3 need=ct:In:reserved|on-demand
         pod web cpu=2 x2",
        "web-1 -> p-0\nweb-2: MinValuesUnmet\np-0: t/a/reserved at 0.1",
    );
}

#[test]
fn of_what_is_said_about_one_reservation_the_least_is_believed() {
    check(
        "type t cpu=2 price=1 reserved=a:2:0.1:both
         type u cpu=2 price=1 reserved=b:1:0.1:both
         pod web cpu=2 select.node.kubernetes.io/instance-type=t x2",
        "web-1 -> default-0\nweb-2 -> default-1\ndefault-0: t/a/reserved at 0.1\ndefault-1: t/a/on-demand at 1",
    );
}

#[test]
fn what_is_paid_for_is_used_rather_than_one_claim_for_all() {
    check(
        "type s cpu=2 reserved=a:2\ntype l cpu=8 price=1\npod web cpu=2 x2",
        "web-1 -> default-0
         web-2 -> default-1
         default-0: s/a/reserved at an unknown price
         default-1: s/a/reserved at an unknown price",
    );
}

#[test]
fn an_outgrown_reservation_is_there_for_the_next() {
    check(
        "type s cpu=2 reserved=a:1:0.1
         type l cpu=8 price=4
         pod a cpu=2 label.app=a
         pod b cpu=1900m near=host:app=a
         pod c cpu=1800m apart=host:app=a",
        "a -> default-0\nb -> default-0\nc -> default-1\ndefault-0: l/a/on-demand at 4\ndefault-1: s/a/reserved at 0.1",
    );
}

#[test]
fn a_claim_that_is_launched_or_leaving_holds_no_part_of_what_the_cloud_says_is_left() {
    for words in ["told.cpu=2", "leaving"] {
        check(
            &format!(
                "type t cpu=2 price=1 reserved=a:1:0.1\nclaim c1 offering=t/a/reserved taint=x {words}\npod web cpu=2"
            ),
            "web -> default-0\ndefault-0: t/a/reserved at 0.1",
        );
    }
}

/// The reservation is given back by the first claim when it outgrows it; by then the second has passed that rung.
#[test]
fn a_claim_may_grow_into_a_reservation_that_was_given_back() {
    let snapshot = world(
        "type t0 cpu=3 memory=1Gi zones=a,b reserved=a:3:2:shared reserved=c:1
         type t1 cpu=5 memory=5Gi zones=a,b reserved=a:2
         type t2 cpu=6 memory=9Gi zones=a reserved=b:1:0.5:shared
         pod first cpu=2000m memory=1Gi x2 volume=own:csi volume=more:csi:a|b label.app=i spread=zone:1:app=i:any-node
         pod second cpu=250m memory=3Gi x4 label.app=i near=host:app=i apart=zone:app=c
         pod third cpu=2000m memory=2Gi label.app=d near=zone:app=d
         claim c pool=gone offering=t0/a/on-demand cpu=2 memory=4Gi pods=9",
    );
    let (ground, view) = (
        Ground::of(&snapshot, None),
        WhatIf::nothing_changes(&snapshot),
    );
    for way in [
        Strategy::Efficient,
        Strategy::Exact,
        Strategy::Largest,
        Strategy::Even,
    ] {
        let run = Run::new(&ground, &view, Budget::UNLIMITED, (way, Lots::default()));
        Checked::new(&snapshot, &run.served().finish()).all();
    }
}
