//! Are pods near to whom they want to be, and apart from whom they do not?

use super::domains::{hosts, refused, zones};
use super::{check, planned};

const THREE: &str = "type t cpu=8 price=1 zones=a,b,c\n";
const WEB: &str = "label.app=web";

#[test]
fn pods_that_are_near_by_host_share_one() {
    hosts(
        &format!("{THREE}pod db cpu=2 label.app=db\npod web cpu=1 {WEB} near=host:app=db x3"),
        "4",
    );
}

#[test]
fn a_pod_follows_the_one_that_runs_already() {
    check(
        &format!(
            "node n1 cpu=8 used=1\nnode n2 cpu=8 used=1\nbound db label.app=db on=n2\npod web cpu=1 {WEB} near=host:app=db"
        ),
        "web -> n2",
    );
}

#[test]
fn a_group_that_wants_to_be_together_begins_where_all_fit() {
    hosts(
        &format!("{THREE}node n1 cpu=1\npod web cpu=2 {WEB} near=host:app=web x4"),
        "4",
    );
    check(
        &format!("node n1 cpu=2\nnode n2 cpu=8\npod web cpu=2 {WEB} near=host:app=web x3"),
        "web-1 -> n2\nweb-2 -> n2\nweb-3 -> n2",
    );
}

#[test]
fn a_group_on_one_host_leaves_out_who_does_not_fit_there() {
    let world = format!("{THREE}pod web cpu=3 {WEB} near=host:app=web x4");
    hosts(&world, "2");
    refused(&world, 2);
}

#[test]
fn a_group_that_is_near_by_zone_shares_a_zone_and_not_a_host() {
    let world = format!("{THREE}pod web cpu=3 {WEB} near=zone:app=web x11");
    zones(&world, "11");
    refused(&world, 0);
}

#[test]
fn a_group_with_its_own_zone_goes_there() {
    let world = format!("{THREE}pod web cpu=3 {WEB} term=zone:In:b near=zone:app=web x4");
    zones(&world, "4");
    assert!(planned(&world).contains("t/b/on-demand"));
}

#[test]
fn a_pod_near_one_that_does_not_exist_is_refused_with_its_selector() {
    check(
        &format!("{THREE}pod web cpu=1 {WEB} near=zone:app=db"),
        "web: AffinityUnmet",
    );
}

#[test]
fn a_chain_of_affinities_is_followed_whatever_the_order_of_service() {
    let world = format!(
        "{THREE}pod a cpu=4 label.app=a near=zone:app=b\npod b cpu=3 label.app=b near=zone:app=c\npod c cpu=2 label.app=c near=zone:app=d\npod d cpu=1 label.app=d"
    );
    zones(&world, "4");
    refused(&world, 0);
}

#[test]
fn a_cycle_of_affinities_ends_with_reasons() {
    check(
        &format!(
            "{THREE}pod a cpu=1 label.app=a near=zone:app=b\npod b cpu=1 label.app=b near=zone:app=a"
        ),
        "a: AffinityUnmet\nb: AffinityUnmet",
    );
}

#[test]
fn an_unsatisfiable_link_refuses_who_depends_on_it() {
    check(
        &format!(
            "{THREE}pod a cpu=4 label.app=a near=zone:app=b\npod b cpu=1 label.app=b near=zone:app=nobody"
        ),
        "a: AffinityUnmet\nb: AffinityUnmet",
    );
}

#[test]
fn zonal_affinity_follows_a_target_that_is_pinned() {
    let world = format!(
        "{THREE}pod db cpu=1 label.app=db term=zone:In:c\npod web cpu=1 {WEB} near=zone:app=db x10"
    );
    zones(&world, "11");
    assert!(!planned(&world).contains("t/a/") && !planned(&world).contains("t/b/"));
}

#[test]
fn pods_apart_by_host_get_a_host_each() {
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} apart=host:app=web x3"),
        "1 1 1",
    );
}

#[test]
fn pods_apart_by_zone_get_a_zone_each_and_no_more() {
    let world = format!("{THREE}pod web cpu=1 {WEB} apart=zone:app=web x4");
    zones(&world, "1 1 1");
    refused(&world, 1);
    assert!(planned(&world).contains("web-4: AntiAffinityUnmet"));
}

#[test]
fn who_runs_already_keeps_others_apart() {
    let world = format!(
        "{THREE}node n1 cpu=1 used=1 zone=b\nbound old {WEB} on=n1\npod web cpu=1 {WEB} apart=zone:app=web x3"
    );
    zones(&world, "1 1");
}

#[test]
fn who_wants_to_be_alone_keeps_later_pods_away() {
    // The db's own term means web: where db is, web may not come, although web itself does not mind.
    hosts(
        &format!("{THREE}pod db cpu=4 label.app=db apart=host:app=web\npod web cpu=1 {WEB} x2"),
        "1 2",
    );
}

#[test]
fn who_wants_to_be_alone_and_runs_already_keeps_pods_away() {
    check(
        &format!(
            "node n1 cpu=8 used=1\nnode n2 cpu=8\nbound db label.app=db apart=host:app=web on=n1\npod web cpu=1 {WEB}"
        ),
        "web -> n2",
    );
}

#[test]
fn a_zone_of_somebody_who_wants_to_be_alone_is_avoided() {
    let world = format!(
        "{THREE}node n1 cpu=1 used=1 zone=a\nbound db label.app=db apart=zone:app=web on=n1\npod web cpu=1 {WEB} x2"
    );
    let plan = planned(&world);
    assert!(!plan.contains("t/a/"), "{plan}");
}

#[test]
fn when_he_is_in_every_zone_nobody_else_gets_a_place() {
    check(
        &format!(
            "type t cpu=8 price=1 zones=a\nnode n1 cpu=1 used=1 zone=a\nbound db label.app=db apart=zone:app=web on=n1\npod web cpu=1 {WEB}"
        ),
        "web: UnwantedThere",
    );
}

#[test]
fn a_preferred_term_of_somebody_else_keeps_nobody_away() {
    check(
        &format!(
            "node n1 cpu=8 used=1 zone=a\nbound db label.app=db prefer-apart=5:zone:app=web on=n1\npod web cpu=1 {WEB}"
        ),
        "web -> n1",
    );
}

#[test]
fn a_preferred_affinity_is_followed_if_possible_and_given_up_if_not() {
    check(
        &format!(
            "node n1 cpu=8\nnode n2 cpu=8 used=1\nbound db label.app=db on=n2\npod web cpu=1 {WEB} prefer-near=5:host:app=db"
        ),
        "web -> n2",
    );
    check(
        &format!("node n1 cpu=8\npod web cpu=1 {WEB} prefer-near=5:host:app=db"),
        "web -> n1",
    );
}

#[test]
fn a_preferred_anti_affinity_is_followed_if_possible_and_given_up_if_not() {
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} prefer-apart=5:host:app=web x3"),
        "1 1 1",
    );
    check(
        &format!(
            "node n1 cpu=8 used=1\nbound old {WEB} on=n1\npod web cpu=1 {WEB} prefer-apart=5:host:app=web"
        ),
        "web -> n1",
    );
}

#[test]
fn preferences_among_pods_are_not_looked_at_when_ignored() {
    hosts(
        &format!("preferences ignore\n{THREE}pod web cpu=1 {WEB} prefer-apart=5:host:app=web x3"),
        "3",
    );
}

#[test]
fn the_heaviest_preference_is_given_up_first_and_the_lighter_one_is_kept() {
    // Upstream's order: zone (weight 10) cannot hold for two pods in one zone, host (weight 1) can.
    hosts(
        &format!(
            "type t cpu=8 price=1 zones=a\npod web cpu=1 {WEB} prefer-apart=10:zone:app=web prefer-apart=1:host:app=web x3"
        ),
        "1 1 1",
    );
}

#[test]
fn a_term_means_the_pods_own_namespace_unless_it_says_otherwise() {
    let world = |term: &str| {
        format!(
            "namespace prod env=prod\nnode n1 cpu=8\nnode n2 cpu=8 used=1\nbound db ns=prod label.app=db on=n2\npod web cpu=1 {WEB} near=host:app=db{term}"
        )
    };
    check(&world(""), "web: AffinityUnmet, NoPool");
    check(&world(":ns.prod"), "web -> n2");
    check(&world(":ns-all"), "web -> n2");
    check(&world(":ns-with.env=prod"), "web -> n2");
    check(&world(":ns-with.env=test"), "web: AffinityUnmet, NoPool");
}

#[test]
fn mismatch_label_keys_keep_tenants_apart() {
    hosts(
        &format!(
            "{THREE}pod one cpu=1 label.tenant=1 apart=host::other.tenant x2\npod two cpu=1 label.tenant=2 apart=host::other.tenant x2"
        ),
        "2 2",
    );
}

#[test]
fn a_term_that_selects_nobody_keeps_nobody_apart() {
    hosts(&format!("{THREE}pod web cpu=1 {WEB} apart=host:- x3"), "3");
}

#[test]
fn anti_affinity_on_a_label_a_node_does_not_have_lets_the_pod_in() {
    check(
        &format!(
            "node n1 cpu=8 used=1\nbound old {WEB} on=n1\npod web cpu=1 {WEB} apart=rack:app=web"
        ),
        "web -> n1",
    );
}

#[test]
fn affinity_and_spread_together_choose_a_zone_that_both_allow() {
    let world = format!(
        "{THREE}node n1 cpu=1 used=1 zone=b\nbound db label.app=db on=n1\npod web cpu=1 {WEB} near=zone:app=db spread=host:1:app=web x3"
    );
    zones(&world, "3");
    hosts(&world, "1 1 1");
}

#[test]
fn all_terms_of_an_affinity_must_mean_the_same_pod() {
    check(
        &format!(
            "node n1 cpu=8 used=1\nnode n2 cpu=8 used=1\nbound a label.app=db on=n1\nbound b label.tier=x on=n2\npod web cpu=1 {WEB} near=host:app=db near=host:tier=x"
        ),
        "web: AffinityUnmet, NoPool",
    );
}

#[test]
fn affinity_by_architecture_follows_the_target() {
    let two = "type arm cpu=8 price=1 label.kubernetes.io/arch=arm64\ntype x86 cpu=8 price=2 label.kubernetes.io/arch=amd64\n";
    let plan = planned(&format!(
        "{two}pod db cpu=4 label.app=db select.kubernetes.io/arch=amd64\npod web cpu=6 {WEB} near=arch:app=db"
    ));
    assert!(!plan.contains("arm/"), "{plan}");
}

#[test]
fn anti_affinity_by_architecture_takes_the_other() {
    let two = "type arm cpu=8 price=1 label.kubernetes.io/arch=arm64\ntype x86 cpu=8 price=2 label.kubernetes.io/arch=amd64\n";
    let plan = planned(&format!(
        "{two}pod db cpu=4 label.app=db select.kubernetes.io/arch=amd64\npod web cpu=1 {WEB} apart=arch:app=db"
    ));
    assert!(plan.contains("arm/"), "{plan}");
}

#[test]
fn pods_that_share_a_host_go_there_together_even_if_they_are_spread_over_zones() {
    // One by one the first would fill up what the claim of `big` has left, and the second would have no place.
    check(
        "type t cpu=8 price=1 zones=a\ntype s cpu=2 price=0.4 zones=a\npod big cpu=4\npod pair cpu=1 label.app=p near=host:app=p spread=zone:1:app=p x2",
        "big -> default-0\npair-1 -> default-0\npair-2 -> default-0",
    );
}

#[test]
fn a_target_that_may_be_anywhere_draws_everybody_to_where_it_goes() {
    let world =
        format!("{THREE}pod db cpu=1 label.app=db\npod web cpu=1 {WEB} near=zone:app=db x10");
    zones(&world, "11");
    refused(&world, 0);
}

#[test]
fn a_group_that_runs_elsewhere_already_lets_nobody_begin_anew() {
    // Upstream opens a second place for who cannot go to the first; kube-scheduler would never bind it there.
    check(
        &format!(
            "{THREE}node n1 cpu=8 used=8 zone=b\nbound old {WEB} on=n1\npod web cpu=1 {WEB} term=zone:In:a near=host:app=web"
        ),
        "web: AffinityUnmet",
    );
    let world = |pods: &str| {
        format!(
            "{THREE}pod one cpu=2 {WEB} select.topology.kubernetes.io/zone=a near=zone:app=web\n{pods}"
        )
    };
    refused(&world(""), 0);
    refused(
        &world(&format!(
            "pod two cpu=1 {WEB} select.topology.kubernetes.io/zone=b near=zone:app=web"
        )),
        1,
    );
}

#[test]
fn who_wants_to_be_alone_in_a_zone_leaves_the_others_to_the_rest() {
    // Upstream cannot say in which zone the first will be, and lets the second wait for it.
    let world = format!("{THREE}pod db cpu=4 label.app=db apart=zone:app=web\npod web cpu=1 {WEB}");
    zones(&world, "1 1");
}

#[test]
fn a_preference_against_a_constraint_is_given_up_and_the_constraint_kept() {
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} spread=host:1:app=web prefer-near=9:host:app=web x3"),
        "1 1 1",
    );
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} apart=host:app=web prefer-near=9:host:app=web x3"),
        "1 1 1",
    );
    hosts(
        &format!("{THREE}pod web cpu=1 {WEB} near=host:app=web prefer-apart=9:host:app=web x3"),
        "3",
    );
}

#[test]
fn what_another_pod_only_prefers_does_not_keep_this_one_away() {
    hosts(
        &format!(
            "type t cpu=8 price=1\npool p limit.nodes=1\npod db cpu=4 label.app=db prefer-apart=9:host:app=web\npod web cpu=1 {WEB} x2"
        ),
        "3",
    );
}

#[test]
fn liked_neighbours_are_not_looked_at_when_preferences_are_ignored() {
    check(
        &format!(
            "preferences ignore\nnode n1 cpu=8\nnode n2 cpu=8 used=1\nbound db label.app=db on=n2\npod web cpu=1 {WEB} prefer-near=5:host:app=db"
        ),
        "web -> n1",
    );
}

#[test]
fn a_term_without_names_or_labels_of_namespaces_means_those_nobody_has_heard_of_as_well() {
    check(
        &format!(
            "node n1 cpu=8\nnode n2 cpu=8 used=1\nbound db ns=prod label.app=db on=n2\npod web cpu=1 {WEB} near=host:app=db:ns-all"
        ),
        "web -> n2",
    );
}

#[test]
fn namespaces_that_are_named_count_beside_those_that_are_selected() {
    let world = |named: &str| {
        format!(
            "namespace prod env=prod\nnode n1 cpu=8\nnode n2 cpu=8 used=1\nbound db ns=prod label.app=db on=n2
             pod web cpu=1 {WEB} near=host:app=db:ns.{named}:ns-with.env=test"
        )
    };
    check(&world("prod"), "web -> n2");
    check(&world("dev"), "web: AffinityUnmet, NoPool");
}

#[test]
fn match_label_keys_keep_each_revision_apart_from_itself_only() {
    let pods = |rev: u32| {
        format!("pod web{rev} cpu=1 {WEB} label.rev={rev} apart=host:app=web:key.rev x2\n")
    };
    hosts(&format!("{THREE}{}{}", pods(1), pods(2)), "2 2");
}

#[test]
fn a_group_begins_in_the_zone_with_room_for_all() {
    check(
        &format!(
            "node n1 cpu=2 zone=a\nnode n2 cpu=4 zone=b\nnode n3 cpu=4 zone=b\npod web cpu=2 {WEB} near=zone:app=web x3"
        ),
        "web-1 -> n2\nweb-2 -> n2\nweb-3 -> n3",
    );
}

#[test]
fn preferred_neighbours_are_given_up_before_preferred_nodes() {
    let db = "node n1 cpu=4 used=1 zone=a\nnode n2 cpu=4 zone=b\nbound db label.app=db on=n1\n";
    check(
        &format!("{db}pod web cpu=1 prefer=1:zone:In:b prefer-near=9:host:app=db"),
        "web -> n2",
    );
    check(
        &format!("{db}pod web cpu=1 prefer=1:zone:In:a prefer-apart=9:host:app=db"),
        "web -> n1",
    );
    // Of neighbours those to be near to are given up first.
    check(
        &format!("{db}pod web cpu=1 prefer-near=9:host:app=db prefer-apart=1:zone:app=db"),
        "web -> n2",
    );
}

#[test]
fn zones_are_taken_one_by_one_as_their_nodes_come_up() {
    let world = |there: &str| format!("{THREE}{there}pod web cpu=1 {WEB} apart=zone:app=web");
    let node = |zone: &str| {
        format!(
            "node {zone} cpu=1 used=1 zone={zone}\nbound in-{zone} {WEB} apart=zone:app=web on={zone}\n"
        )
    };
    let (a, b, c) = (node("a"), node("b"), node("c"));
    check(
        &world(&a),
        "web -> default-0\ndefault-0: t/b/on-demand at 1",
    );
    check(
        &world(&format!("{a}{b}")),
        "web -> default-0\ndefault-0: t/c/on-demand at 1",
    );
    check(
        &world(&format!("{a}{b}{c}")),
        "web: AntiAffinityUnmet, UnwantedThere",
    );
}

#[test]
fn a_group_does_not_begin_where_only_a_part_of_it_fits() {
    check(
        "type t cpu=8 price=1\npod big cpu=6\npod web cpu=1 label.app=web near=host:app=web x4",
        "big -> default-0\nweb-1 -> default-1\nweb-2 -> default-1\nweb-3 -> default-1\nweb-4 -> default-1",
    );
}

#[test]
fn a_group_that_fits_nowhere_as_a_whole_begins_where_nothing_is_bought() {
    let world =
        "type t cpu=3 price=1\nnode n1 cpu=4\npod web cpu=3 label.app=web near=host:app=web x3";
    assert!(planned(world).contains("web-1 -> n1"), "{}", planned(world));
    hosts(world, "1");
    refused(world, 2);
}
