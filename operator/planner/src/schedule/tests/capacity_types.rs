//! Are pods spread over capacity types, alone and together with hosts, zones and labels of pools?

use super::domains::{capacity_types, hosts, refused, zones};
use super::world::world;
use crate::schedule::{Budget, solve};
use crate::snapshot::WhatIf;
use rstest::rstest;

const BOTH: &str = "type t cpu=64 price=1 zones=a,b,c ct=spot,on-demand\n";
/// One pod runs on a full spot node, and the pool buys on demand only.
const ONE_ON_SPOT: &str = "type t cpu=64 price=1 ct=spot,on-demand
pool p need=ct:In:on-demand
node n1 cpu=1 used=1 label.karpenter.sh/capacity-type=spot label.kubernetes.io/arch=amd64
bound old label.app=web on=n1
";

#[rstest]
#[case("pod web cpu=1 label.app=web spread=ct:1:app=web x4", "2 2")]
#[case("pod web cpu=1 label.app=web spread=ct:1:app=web x5", "2 3")]
#[case("pod web cpu=1 label.app=web spread=ct:1:app~web|api x4", "2 2")]
#[case(
    "pool p need=ct:In:spot|on-demand\npod web cpu=1 label.app=web spread=ct:1:app=web x4",
    "2 2"
)]
#[case(
    "pool p need=ct:In:spot\npod web cpu=1 label.app=web spread=ct:1:app=web x4",
    "4"
)]
#[case(
    "pool p need=ct:In:spot\npool q need=ct:In:on-demand\npod web cpu=1 label.app=web spread=ct:1:app=web x4",
    "2 2"
)]
#[case("pod web cpu=1 label.app=web spread=ct:1:- x2", "2")]
#[case(
    "pod web cpu=1 label.app=web term=ct:In:spot spread=ct:1:app=web x5",
    "5"
)]
#[case(
    "pod web cpu=1 label.app=web select.karpenter.sh/capacity-type=spot spread=ct:1:app=web x5",
    "5"
)]
fn pods_are_spread_over_the_capacity_types_they_may_have(
    #[case] pods: &str,
    #[case] expected: &str,
) {
    let world = format!("{BOTH}{pods}");
    capacity_types(&world, expected);
    refused(&world, 0);
}

#[rstest]
#[case("spread=ct:1:app=web", "2")]
#[case("spread=ct:2:app=web", "3")]
#[case("spread=ct:1:app=web:soft", "5")]
#[case("spread=ct:1:app=api", "5")]
#[case("spread=ct:1:app=web term=ct:In:on-demand", "5")]
fn a_capacity_type_that_can_not_be_had_any_more_holds_back_who_must_be_even(
    #[case] spread: &str,
    #[case] expected: &str,
) {
    capacity_types(
        &format!("{ONE_ON_SPOT}pod web cpu=1 label.app=web {spread} x5"),
        expected,
    );
}

#[test]
fn only_pods_that_are_meant_and_run_on_a_node_with_the_label_count() {
    // One of spot counts; another app, another namespace and a node that does not say its capacity type do not.
    capacity_types(
        "type t cpu=64 price=1 ct=spot,on-demand
         node n1 cpu=9 used=9 label.karpenter.sh/capacity-type=spot
         node n2 cpu=9 used=9
         bound one label.app=web on=n1\nbound api label.app=api on=n1 x5
         bound far ns=prod label.app=web on=n1 x5\nbound lost label.app=web on=n2 x5
         pod web cpu=1 label.app=web spread=ct:1:app=web x5",
        "2 3",
    );
}

/// Batches of 2, 5, 10 and 21 pods, one after the other in upstream.
#[rstest]
#[case(2, "1 1")]
#[case(5, "2 3")]
#[case(10, "5 5")]
#[case(21, "10 11")]
fn hosts_and_capacity_types_hold_together(#[case] pods: u32, #[case] expected: &str) {
    let world = format!(
        "{BOTH}pod web cpu=1 label.app=web spread=ct:1:app=web spread=host:3:app=web x{pods}"
    );
    capacity_types(&world, expected);
    refused(&world, 0);
}

#[test]
fn a_label_that_pools_divide_among_them_gives_a_ratio_of_capacity_types() {
    // Four parts of five are spot's.
    let world = format!(
        "{BOTH}pool s need=ct:In:spot need=part:In:2|3|4|5\npool o need=ct:In:on-demand need=part:In:1\npod web cpu=1 label.app=web spread=part:1:app=web x20"
    );
    capacity_types(&world, "4 16");
    hosts(&world, "4 4 4 4 4");
}

#[test]
fn zones_capacity_types_and_hosts_hold_together() {
    for pods in [1, 4, 9, 20] {
        let text = format!(
            "{BOTH}pod web cpu=1 label.app=web spread=ct:1:app=web spread=zone:2:app=web spread=host:3:app=web x{pods}"
        );
        let snapshot = world(&text);
        let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
        super::checker::Checked::new(&snapshot, &schedule).all();
        refused(&text, 0);
    }
}

#[test]
fn an_architecture_is_a_domain_like_any_other() {
    let world = "type x86 cpu=64 price=1 label.kubernetes.io/arch=amd64
        type arm cpu=64 price=2 label.kubernetes.io/arch=arm64
        pod web cpu=1 label.app=web spread=arch:1:app=web x4";
    hosts(world, "2 2");
    // Who can only run on one of them is not compared with the other.
    hosts(
        &world.replace("spread=", "select.kubernetes.io/arch=arm64 spread="),
        "4",
    );
}

#[test]
fn several_deployments_of_two_architectures_spread_over_hosts_each_alone() {
    let deployment = |app: &str, arch: &str| {
        format!(
            "pod {app} cpu=1 label.app={app} select.kubernetes.io/arch={arch} spread=host:1:app={app} x2\n"
        )
    };
    let types = "type x86 cpu=64 price=1 label.kubernetes.io/arch=amd64\ntype arm cpu=64 price=1 label.kubernetes.io/arch=arm64\n";
    let pods =
        deployment("web", "amd64") + &deployment("db", "arm64") + &deployment("api", "arm64");
    hosts(&format!("{types}{pods}"), "1 1 2 2");
}

#[test]
fn a_zone_that_is_far_behind_is_filled_first() {
    zones(
        "type t cpu=64 price=1 zones=a,b,c\nnode n1 cpu=9 used=9 zone=a\nbound old label.app=web on=n1 x3
         pod web cpu=1 label.app=web spread=zone:1:app=web x3",
        "1 2",
    );
    zones(
        "type t cpu=64 price=1 zones=a,b,c\nnode n1 cpu=9 used=9 zone=a\nbound old label.app=web on=n1 x3
         pod web cpu=1 label.app=web spread=zone:1:app=web x9",
        "1 4 4",
    );
}

#[test]
fn a_crowded_zone_takes_who_has_no_other_as_long_as_the_skew_allows_it() {
    // Upstream's non-minimum domain: a and b have one each, everybody else goes to c.
    let world = |skew: u32| {
        format!(
            "type t cpu=64 price=1 zones=a,b,c\npool p need=zone:In:c\nnode n1 cpu=1 used=1 zone=a\nnode n2 cpu=1 used=1 zone=b
             bound x label.app=web on=n1\nbound y label.app=web on=n2
             pod web cpu=1 label.app=web spread=zone:{skew}:app=web x10"
        )
    };
    zones(&world(5), "6");
    refused(&world(5), 4);
    zones(&world(1), "2");
}

#[test]
fn a_node_that_does_not_say_its_zone_is_nobodys_domain() {
    zones(
        "type t cpu=64 price=1 zones=a,b,c\nnode n1 cpu=1 used=1 zone=a\nnode n2 cpu=1 used=1
         bound old label.app=web on=n1\nbound lost label.app=web on=n2 x5
         pod web cpu=1 label.app=web spread=zone:1:app=web x5",
        "1 2 2",
    );
}

#[test]
fn each_selector_of_nodes_compares_its_own_nodes() {
    // Same keys, other values: upstream lets them share one filter.
    let deployment = |zone: &str, pods: u32| {
        format!(
            "pod {zone} cpu=1 label.app=web select.topology.kubernetes.io/zone={zone} spread=zone:1:app=web x{pods}\n"
        )
    };
    let pods = deployment("a", 5) + &deployment("b", 10);
    zones(&format!("{BOTH}{pods}"), "5 10");
    refused(&format!("{BOTH}{pods}"), 0);
    let deployment = |kind: &str, pods: u32| {
        format!(
            "pod {kind} cpu=1 label.app=web select.karpenter.sh/capacity-type={kind} spread=ct:1:app=web x{pods}\n"
        )
    };
    let pods = deployment("spot", 5) + &deployment("on-demand", 10);
    capacity_types(&format!("{BOTH}{pods}"), "5 10");
}

#[test]
fn pods_that_ask_for_the_same_label_with_other_values_do_not_share_what_they_count() {
    // Two blue pods run in a: the red ones do not see them, the blue ones go to b.
    let old = "type t cpu=64 price=1 zones=a,b\npool r label.team=red\npool b label.team=blue\nnode n1 cpu=9 used=9 zone=a label.team=blue\nbound old label.app=web on=n1 x2\n";
    let pods = |team: &str, pods: u32| {
        format!("pod {team} cpu=1 label.app=web select.team={team} spread=zone:1:app=web x{pods}\n")
    };
    zones(&format!("{old}{}", pods("red", 4)), "2 2");
    zones(&format!("{old}{}", pods("blue", 2)), "2");
    zones(
        &format!("{old}{}{}", pods("red", 4), pods("blue", 2)),
        "2 4",
    );
}

#[test]
fn zones_a_pod_can_not_have_are_compared_as_soon_as_it_can() {
    let old = "type t cpu=64 price=1 zones=a,b,c\nnode n1 cpu=9 used=9 zone=a\nnode n2 cpu=9 used=9 zone=b\nnode n3 cpu=9 used=9 zone=c
        bound x label.app=web on=n1 x3\nbound y label.app=web on=n2 x3\n";
    let web = "pod web cpu=1 label.app=web spread=zone:1:app=web";
    zones(&format!("{old}{web} term=zone:In:b|c"), "1");
    zones(
        &format!("{old}bound z label.app=web on=n3\n{web} x5"),
        "1 1 3",
    );
}

#[test]
fn a_preferred_zone_does_not_narrow_what_is_compared() {
    zones(
        &format!("{BOTH}pod web cpu=1 label.app=web prefer=1:zone:In:a|b spread=zone:1:app=web x6"),
        "2 2 2",
    );
}

#[test]
fn a_pools_requirement_and_its_label_pin_the_zone_together() {
    zones(
        &format!(
            "{BOTH}pool p need=zone:In:a|b label.topology.kubernetes.io/zone=b\npod web cpu=1 label.app=web spread=zone:1:app=web x4"
        ),
        "4",
    );
}

/// The claim of `any` is counted while it could still be anywhere, and then bought in the zone that `far` does not look at.
#[test]
fn a_claim_that_may_come_up_where_a_spread_does_not_look_is_not_counted_too_early() {
    let text = "type t cpu=4 memory=8Gi zones=a,b reserved=a:3:2:shared reserved=c:1
        type s cpu=1 memory=1Gi zones=a price=1
        pod far cpu=2 memory=7Gi x4 term=zone:NotIn:a label.app=f spread=ct:1:app=f prefer-apart=5:host:app=f
        pod any cpu=250m memory=2Gi label.app=f spread=ct:1:app=f prefer-apart=5:host:app=f";
    let snapshot = world(text);
    let schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    super::checker::Checked::new(&snapshot, &schedule).all();
}
