//! Are pods spread as their constraints say? The suite of upstream's topology tests, in our words.

use super::domains::{hosts, refused, zones};
use super::{check, planned};

const THREE: &str = "type t cpu=8 price=1 zones=a,b,c\n";
const WEB: &str = "label.app=web";

#[test]
fn four_pods_over_three_zones_differ_by_at_most_one() {
    zones(
        &format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:app=web x4"),
        "1 1 2",
    );
}

#[test]
fn a_selector_of_expressions_spreads_like_one_of_labels() {
    zones(
        &format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:app~web|api x4"),
        "1 1 2",
    );
}

#[test]
fn a_pool_of_two_zones_gets_half_in_each() {
    zones(
        &format!("{THREE}pool p need=zone:In:a|b\npod web cpu=1 {WEB} spread=zone:1:app=web x4"),
        "2 2",
    );
}

#[test]
fn a_pools_label_pins_the_zone() {
    zones(
        &format!(
            "{THREE}pool p label.topology.kubernetes.io/zone=b\npod web cpu=1 {WEB} spread=zone:1:app=web x4"
        ),
        "4",
    );
}

#[test]
fn zones_of_several_pools_are_one_set_of_domains() {
    zones(
        &format!(
            "{THREE}pool p need=zone:In:a\npool q need=zone:In:b\npod web cpu=1 {WEB} spread=zone:1:app=web x4"
        ),
        "2 2",
    );
}

#[test]
fn pods_that_run_already_are_counted() {
    zones(
        &format!(
            "{THREE}node n1 cpu=1 used=1 zone=a\nbound old {WEB} on=n1\npod web cpu=1 {WEB} spread=zone:1:app=web x5"
        ),
        "1 2 2",
    );
}

#[test]
fn a_zone_where_nothing_can_be_had_stops_the_others_at_the_skew() {
    // c is known from its node, which is full; the other two may have one more than it each.
    let world = format!(
        "type t cpu=8 price=1 zones=a,b\nnode n1 cpu=1 used=1 zone=c\npod web cpu=1 {WEB} spread=zone:1:app=web x10"
    );
    zones(&world, "1 1");
    refused(&world, 8);
}

#[test]
fn a_larger_skew_lets_the_others_go_further() {
    let world = format!(
        "type t cpu=8 price=1 zones=a,b\nnode n1 cpu=1 used=1 zone=c\npod web cpu=1 {WEB} spread=zone:3:app=web x10"
    );
    zones(&world, "3 3");
}

#[test]
fn an_excluded_zone_does_not_hold_the_others_back() {
    zones(
        &format!("{THREE}pod web cpu=1 {WEB} term=zone:In:a|b spread=zone:1:app=web x6"),
        "3 3",
    );
}

#[test]
fn pods_on_nodes_that_do_not_match_are_not_compared() {
    // The bound pods are in c, where the new ones may not go: c is not looked at.
    zones(
        &format!(
            "{THREE}node n1 cpu=9 used=9 zone=c\nbound old {WEB} on=n1 x9\npod web cpu=1 {WEB} term=zone:In:a|b spread=zone:1:app=web x4"
        ),
        "2 2",
    );
}

#[test]
fn a_selector_of_none_spreads_nobody() {
    let world = format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:- x2");
    zones(&world, "2");
}

#[test]
fn a_selector_of_all_counts_every_pod_of_the_namespace() {
    zones(
        &format!(
            "{THREE}node n1 cpu=1 used=1 zone=a\nbound other label.x=y on=n1\nbound elsewhere ns=prod on=n1 x5\npod web cpu=1 {WEB} spread=zone:1: x5"
        ),
        "1 2 2",
    );
}

#[test]
fn who_is_not_counted_himself_only_needs_a_zone_within_the_skew() {
    let world = format!("{THREE}pod api cpu=1 label.app=api spread=zone:1:app=web x5");
    refused(&world, 0);
}

#[test]
fn two_services_that_spread_over_each_other_both_get_places() {
    refused(
        &format!(
            "{THREE}pod web cpu=1 {WEB} spread=zone:1:app=api x3\npod api cpu=1 label.app=api spread=zone:1:app=web x3"
        ),
        0,
    );
}

#[test]
fn fewer_zones_than_min_domains_allow_only_the_skew_in_each() {
    let world = format!(
        "type t cpu=8 price=1 zones=a,b\npod web cpu=1 {WEB} spread=zone:1:app=web:min3 x3"
    );
    zones(&world, "1 1");
    refused(&world, 1);
}

#[test]
fn as_many_zones_as_min_domains_change_nothing() {
    zones(
        &format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:app=web:min3 x11"),
        "3 4 4",
    );
    zones(
        &format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:app=web:min2 x11"),
        "3 4 4",
    );
}

#[test]
fn an_unknown_topology_key_refuses_that_pod_and_no_other() {
    check(
        &format!("{THREE}pod web cpu=1 {WEB} spread=rack:1:app=web\npod api cpu=1"),
        "api -> default-0\nweb: TopologyUnknown",
    );
}

#[test]
fn one_pod_per_host() {
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} spread=host:1:app=web x4"),
        "1 1 1 1",
    );
}

#[test]
fn a_skew_of_four_lets_four_share_a_host() {
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} spread=host:4:app=web x4"),
        "4",
    );
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} spread=host:4:app=web x6"),
        "2 4",
    );
}

#[test]
fn several_deployments_share_hosts_when_each_spreads_alone() {
    hosts(
        &format!(
            "{THREE}pod web cpu=1 {WEB} spread=host:1:app=web x2\npod api cpu=1 label.app=api spread=host:1:app=api x2"
        ),
        "2 2",
    );
}

#[test]
fn a_host_that_has_its_share_takes_no_more() {
    check(
        &format!(
            "node n1 cpu=8 used=1\nnode n2 cpu=8\nbound old {WEB} on=n1\npod web cpu=1 {WEB} spread=host:1:app=web"
        ),
        "web -> n2",
    );
}

#[test]
fn spreading_over_capacity_types_works_like_over_zones() {
    let two = "type t cpu=8 price=1 zones=a,b ct=spot,on-demand\n";
    let plan = planned(&format!("{two}pod web cpu=1 {WEB} spread=ct:1:app=web x4"));
    assert_eq!(plan.matches("/spot at").count(), 1, "{plan}");
    assert_eq!(plan.matches("/on-demand at").count(), 1, "{plan}");
}

#[test]
fn zone_and_host_spreads_hold_together() {
    let world = |pods: u32| {
        format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:app=web spread=host:3:app=web x{pods}")
    };
    zones(&world(2), "1 1");
    zones(&world(5), "1 2 2");
    zones(&world(10), "3 3 4");
    zones(&world(21), "7 7 7");
    hosts(&world(21), "1 1 1 3 3 3 3 3 3");
}

#[test]
fn zone_and_capacity_type_spreads_hold_together() {
    let two = "type t cpu=8 price=1 zones=a,b ct=spot,on-demand\n";
    let world = format!("{two}pod web cpu=1 {WEB} spread=zone:1:app=web spread=ct:1:app=web x10");
    zones(&world, "5 5");
    refused(&world, 0);
}

#[test]
fn a_custom_label_of_the_pool_can_be_spread_over() {
    let plan = planned(&format!(
        "{THREE}pool p need=rack:In:r1|r2\npod web cpu=1 {WEB} spread=rack:1:app=web x4"
    ));
    assert_eq!(
        plan.lines().filter(|line| line.contains(" at 1")).count(),
        2,
        "{plan}"
    );
}

#[test]
fn match_label_keys_spread_each_revision_alone() {
    zones(
        &format!(
            "{THREE}pod one cpu=1 {WEB} label.rev=1 spread=zone:1:app=web:key.rev x3\npod two cpu=1 {WEB} label.rev=2 spread=zone:1:app=web:key.rev x3"
        ),
        "2 2 2",
    );
}

#[test]
fn a_match_label_key_the_pod_does_not_have_does_nothing() {
    zones(
        &format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:app=web:key.nope x3"),
        "1 1 1",
    );
}

#[test]
fn a_tainted_domain_holds_back_unless_taints_are_honoured() {
    let world = |word: &str| {
        format!(
            "type t cpu=8 price=1 zones=a\nnode n1 cpu=1 used=1 zone=b taint=x\npod web cpu=1 {WEB} spread=zone:1:app=web{word} x5"
        )
    };
    zones(&world(""), "1");
    zones(&world(":no-taints"), "5");
}

#[test]
fn a_domain_only_a_tainted_pool_sells_holds_back_once_a_node_stands_there() {
    // Upstream lets it hold back even without a node, but kube-scheduler would bind both pods.
    let world = |node: &str, word: &str| {
        format!(
            "{THREE}pool p need=zone:In:a\npool q need=zone:In:b taint=x\n{node}\npod web cpu=1 {WEB} spread=zone:1:app=web{word} x2"
        )
    };
    let node = "node n1 cpu=1 used=1 zone=b taint=x";
    zones(&world(node, ""), "1");
    zones(&world(node, ":no-taints"), "2");
    zones(&world("", ""), "2");
}

#[test]
fn pools_that_exclude_each_other_by_taints_give_each_pod_its_own_domains() {
    let world = |word: &str| {
        format!(
            "{THREE}pool p need=zone:In:a|b taint=x\npool q need=zone:In:b|c taint=y\nnode n1 cpu=1 used=1 zone=c taint=y
             pod web cpu=1 {WEB} tolerate=x spread=zone:1:app=web{word} x6"
        )
    };
    zones(&world(":no-taints"), "3 3");
    // c is empty, and for who looks at every node it stays so.
    zones(&world(""), "1 1");
    let both = format!(
        "{}\npod api cpu=1 {WEB} tolerate=y spread=zone:1:app=web:no-taints x1",
        world(":no-taints")
    );
    refused(&both, 0);
}

#[test]
fn who_tolerates_everything_is_spread_over_the_domains_of_all_pools() {
    zones(
        &format!(
            "{THREE}pool p need=zone:In:a|b taint=x\npool q need=zone:In:b|c taint=y\npod web cpu=1 {WEB} tolerate=x tolerate=y spread=zone:1:app=web:no-taints x6"
        ),
        "2 2 2",
    );
}

#[test]
fn pods_in_a_domain_the_pod_cannot_go_to_count_when_affinity_is_ignored() {
    // a runs one pod; with affinity ignored a node without the label is looked at as well.
    let world = |word: &str| {
        format!(
            "type t cpu=8 price=1 zones=a,b\npool p label.team=red\nnode n1 cpu=1 used=1 zone=a label.team=blue\nbound old {WEB} on=n1 x2\npod web cpu=1 {WEB} select.team=red spread=zone:1:app=web{word} x4"
        )
    };
    zones(&world(""), "2 2");
    zones(&world(":any-node"), "1 3");
}

#[test]
fn a_soft_spread_is_given_up_when_it_cannot_be_kept() {
    let world = format!(
        "type t cpu=8 price=1 zones=a\nnode n1 cpu=1 used=1 zone=b\npod web cpu=1 {WEB} spread=zone:1:app=web:soft x5"
    );
    zones(&world, "5");
}

#[test]
fn a_soft_spread_is_kept_while_it_can_be() {
    zones(
        &format!("{THREE}pod web cpu=1 {WEB} spread=zone:1:app=web:soft x6"),
        "2 2 2",
    );
}

#[test]
fn soft_spreads_are_not_looked_at_when_preferences_are_ignored() {
    hosts(
        &format!("preferences ignore\n{THREE}pod web cpu=1 {WEB} spread=host:1:app=web:soft x6"),
        "6",
    );
}

#[test]
fn pods_of_another_namespace_are_not_counted() {
    zones(
        &format!(
            "{THREE}node n1 cpu=1 used=1 zone=a\nbound old ns=prod {WEB} on=n1 x5\npod web cpu=1 {WEB} spread=zone:1:app=web x3"
        ),
        "1 1 1",
    );
}

#[test]
fn existing_rooms_are_used_as_far_as_the_skew_allows() {
    check(
        &format!(
            "node n1 cpu=8 zone=a\nnode n2 cpu=8 zone=b\npod web cpu=1 {WEB} spread=zone:1:app=web x4"
        ),
        "web-1 -> n1\nweb-2 -> n2\nweb-3 -> n1\nweb-4 -> n2",
    );
}

#[test]
fn a_node_without_the_label_takes_no_pod_that_spreads_over_it() {
    check(
        &format!("node n1 cpu=8\nnode n2 cpu=8 zone=b\npod web cpu=1 {WEB} spread=zone:1:app=web"),
        "web -> n2",
    );
}

#[test]
fn an_unselected_pod_on_a_shared_claim_is_counted_in_the_zone_the_claim_gets() {
    // The big plain pod is meant by the spread: its claim's zone must be decided for the others to be spread right.
    let world = format!("{THREE}pod big cpu=4 {WEB}\npod web cpu=1 {WEB} spread=zone:1:app=web x2");
    zones(&world, "1 1 1");
}

#[test]
fn the_reason_names_the_key_the_skew_and_where_one_more_could_go() {
    let world = format!(
        "type t cpu=8 price=1 zones=a,b\nnode n1 cpu=1 used=1 zone=c\npod web cpu=1 {WEB} spread=zone:1:app=web x3"
    );
    let plan = planned(&world);
    assert!(plan.contains("web-3: SpreadUnmet"), "{plan}");
}

#[test]
fn a_node_that_is_overdrawn_is_still_a_domain() {
    // n1 cannot even carry its daemon, yet zone b is there and empty: a may have one more than it.
    zones(
        &format!(
            "type t cpu=8 price=1 zones=a\nnode n1 cpu=1 used=1 zone=b\ndaemon d cpu=1\npod web cpu=1 {WEB} spread=zone:1:app=web x3"
        ),
        "1",
    );
}

#[test]
fn only_who_tolerates_a_pools_taint_counts_its_zone_as_one_that_can_be_had() {
    // Each pod needs a node of its own, so a second look at what stands cannot help.
    let world = |tolerate: &str| {
        format!(
            "type t cpu=2 price=1 zones=a,b\npool p need=zone:In:a\npool q need=zone:In:b taint=x limit.nodes=1
             pod web cpu=2 {WEB} {tolerate} spread=zone:1:app=web:no-taints x4"
        )
    };
    zones(&world(""), "4");
    zones(&world("tolerate=x"), "1 2");
}

#[test]
fn a_zone_whose_last_node_is_leaving_holds_nobody_back() {
    zones(
        &format!(
            "type t cpu=2 price=1 zones=a,b\nnode n1 cpu=1 leaving zone=c\npod web cpu=2 {WEB} spread=zone:1:app=web x4"
        ),
        "2 2",
    );
}

#[test]
fn a_zone_that_is_sold_out_holds_nobody_back() {
    zones(
        &format!(
            "type t cpu=2 price=1 zones=a,b gone=b\npod web cpu=2 {WEB} spread=zone:1:app=web x3"
        ),
        "3",
    );
}

#[test]
fn what_a_pool_does_not_admit_of_its_types_holds_nobody_back() {
    hosts(
        &format!(
            "type t cpu=2 price=1 label.kubernetes.io/os=linux|windows\npool p need=kubernetes.io/os:In:linux
             pod web cpu=2 {WEB} spread=kubernetes.io/os:1:app=web x3"
        ),
        "1 1 1",
    );
}

#[test]
fn nodes_that_any_of_the_pods_terms_admits_are_looked_at() {
    zones(
        &format!(
            "type t cpu=8 price=1 zones=a,b\nnode n1 cpu=2 used=2 zone=a\nbound old {WEB} on=n1 x2
             pod web cpu=1 {WEB} term=zone:In:a term=zone:In:b spread=zone:1:app=web x4"
        ),
        "1 3",
    );
}

#[test]
fn a_taint_that_only_prefers_hides_no_node_from_who_honours_taints() {
    zones(
        &format!(
            "type t cpu=8 price=1 zones=a,b\nnode n1 cpu=2 used=2 zone=a taint=x:Prefer\nbound old {WEB} on=n1 x2
             pod web cpu=1 {WEB} spread=zone:1:app=web:no-taints x4"
        ),
        "1 3",
    );
}

#[test]
fn the_emptiest_domain_is_chosen_even_where_the_skew_would_allow_another() {
    let web = format!("bound old {WEB} on=n1\npod web cpu=1 {WEB} spread=zone:3:app=web");
    check(
        &format!("node n1 cpu=4 used=1 zone=a\nnode n2 cpu=4 zone=b\n{web}"),
        "web -> n2",
    );
    check(
        &format!("type t cpu=8 price=1 zones=a,b\nnode n1 cpu=1 used=1 zone=a\n{web}"),
        "web -> default-0\ndefault-0: t/b/on-demand at 1",
    );
}

const SPOT: &str = "type t cpu=8 price=1 zones=a,b ct=spot,on-demand\n";

#[test]
fn who_narrows_a_claim_lets_a_spread_see_the_pods_on_it() {
    // The first look of `web` at `big` is when `mid` has made its claim a spot claim.
    check(
        &format!(
            "{SPOT}pod big cpu=4 {WEB}\npod mid cpu=3 select.karpenter.sh/capacity-type=spot
             pod web cpu=1 {WEB} select.karpenter.sh/capacity-type=spot spread=zone:1:app=web"
        ),
        "big -> default-0\nmid -> default-0\nweb -> default-1",
    );
}

#[test]
fn who_would_see_more_pods_on_a_claim_by_joining_it_keeps_the_skew_with_them() {
    check(
        &format!(
            "{SPOT}pod big cpu=4 {WEB}\npod web cpu=1 {WEB} select.karpenter.sh/capacity-type=spot spread=zone:1:app=web"
        ),
        "big -> default-0\nweb -> default-1",
    );
}

#[test]
fn a_zone_of_nodes_the_pod_does_not_look_at_holds_nobody_back() {
    let world = |team: &str| {
        format!(
            "type t cpu=2 price=1 zones=a,b\npool p label.team=red\nnode n1 cpu=1 used=1 zone=c label.team={team}
             pod web cpu=2 {WEB} select.team=red spread=zone:1:app=web x4"
        )
    };
    zones(&world("blue"), "2 2");
    zones(&world("red"), "1 1");
}

#[test]
fn a_soft_spread_costs_nobody_else_a_place() {
    let world = format!(
        "type t cpu=4 price=1\npool p limit.nodes=2\npod web cpu=2 {WEB} spread=host:1:app=web:soft x2\npod api cpu=1 apart=host:app=web"
    );
    refused(&world, 0);
}

#[test]
fn who_narrows_a_claim_does_not_make_its_pods_count_twice() {
    let red = format!("{WEB} select.team=red spread=host:3:app=web");
    hosts(
        &format!(
            "type t cpu=16 price=1 zones=a,b\npool p label.team=red\npod web cpu=4 {red}
             pod mid cpu=3 select.topology.kubernetes.io/zone=b\npod more cpu=1 {red} x2"
        ),
        "4",
    );
}
