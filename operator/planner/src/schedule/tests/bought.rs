//! Which claims are opened, from which pool, as what?

use super::{check, planned};

#[test]
fn the_cheapest_offering_that_fits_is_bought_first() {
    check(
        "type small cpu=2 price=1\ntype mid cpu=4 price=2\ntype big cpu=8 price=4\npod web cpu=3",
        "web -> default-0\ndefault-0: mid/a/on-demand at 2",
    );
}

#[test]
fn pods_share_a_claim_as_long_as_some_type_holds_them() {
    check(
        "type small cpu=2 price=1\ntype big cpu=8 price=3\npod web cpu=2 x5",
        "web-1 -> default-0\nweb-2 -> default-0\nweb-3 -> default-0\nweb-4 -> default-0\nweb-5 -> default-1
         default-0: big/a/on-demand at 3\ndefault-1: small/a/on-demand at 1",
    );
}

#[test]
fn smaller_pods_fill_what_larger_ones_left() {
    check(
        "type t cpu=4 price=1\npod big cpu=3\npod little cpu=1 x1",
        "big -> default-0\nlittle-1 -> default-0",
    );
}

#[test]
fn daemons_count_per_type() {
    check(
        "type plain cpu=2 price=1\ntype gpu cpu=2 price=2 label.fast=yes\nknown fast\ndaemon driver cpu=1 select.fast=yes\npod web cpu=2",
        "web -> default-0\ndefault-0: plain/a/on-demand at 1",
    );
}

#[test]
fn a_daemon_makes_a_small_type_too_small() {
    check(
        "type small cpu=2 price=1\ntype big cpu=4 price=2\ndaemon log cpu=500m\npod web cpu=2",
        "web -> default-0\ndefault-0: big/a/on-demand at 2",
    );
}

#[test]
fn each_daemon_or_term_is_judged_for_each_type_anew() {
    check(
        "known size\ntype x cpu=2 price=1 label.size=s\ntype y cpu=2 price=2 label.size=m
         daemon log cpu=1 term=size:In:s term=size:In:m\npod web cpu=2",
        "web: NothingLargeEnough",
    );
}

#[test]
fn requests_of_the_claim_include_the_daemons() {
    let plan = planned("type t cpu=4 price=1\ndaemon log cpu=1 memory=1Gi\npod web cpu=1 x2");
    assert!(plan.contains("for cpu=3 memory=1Gi pods=3"), "{plan}");
}

#[test]
fn overhead_is_not_for_sale() {
    check(
        "type t cpu=4 price=1 overhead.cpu=100m\npod web cpu=4",
        "web: NothingLargeEnough",
    );
}

#[test]
fn the_heavier_pool_is_asked_first_even_if_it_is_dearer() {
    check(
        "type cheap cpu=4 price=1\ntype dear cpu=4 price=9
         pool light need=node.kubernetes.io/instance-type:In:cheap\npool heavy weight=10 need=node.kubernetes.io/instance-type:In:dear\npod web cpu=1",
        "web -> heavy-0",
    );
}

#[test]
fn between_pools_of_equal_weight_the_later_name_wins_as_upstream() {
    check(
        "type t cpu=4 price=1\npool a\npool b\npod web cpu=1",
        "web -> b-0",
    );
}

#[test]
fn a_pool_that_does_not_suit_leaves_the_pod_to_the_next() {
    check(
        "type t cpu=4 price=1\npool a\npool b weight=5 taint=special\npod web cpu=1",
        "web -> a-0",
    );
    check(
        "type t cpu=4 price=1\npool a\npool b weight=5 state=paused\npod web cpu=1",
        "web -> a-0",
    );
    check(
        "type t cpu=4 price=1\npool a\npool b weight=5 state=broken\npod web cpu=1",
        "web -> a-0",
    );
    check(
        "type t cpu=4 price=1\npool a\npool b weight=5 state=fixed\npod web cpu=1",
        "web -> a-0",
    );
}

#[test]
fn a_soft_taint_of_a_pool_is_avoided_then_accepted() {
    check(
        "type t cpu=4 price=1\npool a\npool b weight=5 taint=x:Prefer\npod web cpu=1",
        "web -> a-0",
    );
    check(
        "type t cpu=4 price=1\npool b weight=5 taint=x:Prefer\npod web cpu=1",
        "web -> b-0",
    );
}

#[test]
fn a_pool_is_chosen_by_name_or_label_whatever_its_weight() {
    let world = |pod: &str| {
        format!(
            "type t cpu=4 price=1\npool a label.team=red\npool b weight=5 label.team=blue\npod web cpu=1 {pod}"
        )
    };
    check(&world(""), "web -> b-0");
    check(&world("select.karpenter.sh/nodepool=a"), "web -> a-0");
    check(&world("select.team=red"), "web -> a-0");
    check(&world("prefer=1:team:In:red"), "web -> a-0");
}

#[test]
fn a_pool_of_fixed_size_takes_pods_on_its_nodes_and_buys_nothing() {
    let world = |pods: u32| {
        format!(
            "type t cpu=4 price=1\npool p state=fixed\nnode n1 pool=p cpu=4\npod web cpu=4 x{pods}"
        )
    };
    check(&world(1), "web-1 -> n1");
    check(&world(2), "web-1 -> n1\nweb-2: NoPool");
}

#[test]
fn a_zone_asked_for_is_a_zone_bought() {
    check(
        "type t cpu=4 price=1 zones=a,b\npod web cpu=1 select.topology.kubernetes.io/zone=b",
        "web -> default-0\ndefault-0: t/b/on-demand at 1",
    );
}

#[test]
fn pods_that_need_different_zones_get_different_claims() {
    check(
        "type t cpu=8 price=1 zones=a,b\npod x cpu=1 select.topology.kubernetes.io/zone=a\npod y cpu=1 select.topology.kubernetes.io/zone=b",
        "x -> default-0\ny -> default-1",
    );
}

#[test]
fn a_custom_label_of_the_pool_can_be_asked_for() {
    let world = |team| {
        format!(
            "type t cpu=4 price=1\npool p need=team:In:blue|red\npod web cpu=1 select.team={team}"
        )
    };
    check(&world("red"), "web -> p-0");
    check(&world("green"), "web: LabelConflict");
}

#[test]
fn pods_that_narrow_a_label_to_different_values_do_not_share_a_claim() {
    check(
        "type t cpu=4 price=1\npool p need=team:In:blue|red\npod x cpu=1 select.team=red\npod y cpu=1 select.team=blue",
        "x -> p-0\ny -> p-1",
    );
}

#[test]
fn a_type_that_can_be_two_things_cannot_be_both_at_once() {
    check(
        "known os\ntype t cpu=4 price=1 label.os=linux|windows\npod x cpu=1 select.os=linux\npod y cpu=1 select.os=windows",
        "x -> default-0\ny -> default-1",
    );
}

#[test]
fn a_well_known_label_a_type_does_not_mention_does_not_exist_on_it() {
    check(
        "type plain cpu=4 price=1\ntype arm cpu=4 price=2 label.kubernetes.io/arch=arm64\npod web cpu=1 select.kubernetes.io/arch=arm64",
        "web -> default-0\ndefault-0: arm/a/on-demand at 2",
    );
}

#[test]
fn a_pool_may_name_a_type_by_its_alias() {
    check(
        "type a cpu=4 price=1\ntype b cpu=4 price=2 alias=flavor-7\npool p need=node.kubernetes.io/instance-type:In:flavor-7\npod web cpu=1",
        "web -> p-0\np-0: b/a/on-demand at 2",
    );
}

#[test]
fn bounds_on_a_type_label_choose_the_type() {
    check(
        "known cores\ntype a cpu=4 price=1 label.cores=4\ntype b cpu=4 price=2 label.cores=16\npod web cpu=1 term=cores:Gt:8",
        "web -> default-0\ndefault-0: b/a/on-demand at 2",
    );
}

#[test]
fn an_unavailable_offering_is_not_bought() {
    check(
        "type t cpu=4 price=1 zones=a,b gone=a\npod web cpu=1",
        "web -> default-0\ndefault-0: t/b/on-demand at 1",
    );
}

#[test]
fn a_limit_holds_across_claims_of_one_run() {
    check(
        "type two cpu=2 price=1\npool p limit.cpu=4\npod web cpu=2 x3",
        "web-1 -> p-0\nweb-2 -> p-1\nweb-3: LimitReached",
    );
}

#[test]
fn what_exists_and_what_is_on_its_way_counts_against_the_limit() {
    check(
        "type two cpu=2 price=1\npool p limit.cpu=6\nnode n1 pool=p cpu=2 used=2\nclaim c1 pool=p offering=two/a taint=x\npod web cpu=2 x2",
        "web-1 -> p-0\nweb-2: LimitReached",
    );
}

#[test]
fn a_leaving_node_counts_against_no_limit() {
    check(
        "type two cpu=2 price=1\npool p limit.cpu=2\nnode n1 pool=p cpu=2 leaving\npod web cpu=2",
        "web -> p-0",
    );
}

#[test]
fn a_limit_on_nodes_is_used_up_within_one_run() {
    check(
        "type two cpu=2 price=1\npool p limit.nodes=1\npod web cpu=2 x2",
        "web-1 -> p-0\nweb-2: LimitReached",
    );
}

#[test]
fn a_limit_leaves_the_types_that_still_fit_under_it() {
    check(
        "type two cpu=2 price=1\ntype eight cpu=8 price=2\npool p limit.cpu=5\npod web cpu=1 x3",
        "web-1 -> p-0\nweb-2 -> p-0\nweb-3 -> p-1\np-0: two/a/on-demand at 1\np-1: two/a/on-demand at 1",
    );
}

#[test]
fn a_limit_counts_only_what_will_be_bought() {
    // Upstream would hold 8 for the first claim, because it could become that, and refuse the second pod.
    check(
        "type two cpu=2 price=1\ntype eight cpu=8 price=9\npool p limit.cpu=8\npod a cpu=2 port=80\npod b cpu=2 port=80",
        "a -> p-0\nb -> p-1",
    );
}

#[test]
fn min_values_keep_a_choice_open() {
    check(
        "type a cpu=2 price=1\ntype b cpu=4 price=2\ntype c cpu=8 price=4
         pool p need=node.kubernetes.io/instance-type:Exists::2\npod web cpu=2 x4",
        "web-1 -> p-0\nweb-2 -> p-0\nweb-3 -> p-1\nweb-4 -> p-1",
    );
}

#[test]
fn min_values_that_cannot_be_met_refuse_or_relax_by_policy() {
    let world = "type a cpu=2 price=1\npool p need=node.kubernetes.io/instance-type:Exists::2\npod web cpu=2";
    check(world, "web: MinValuesUnmet");
    check(&format!("min-values best\n{world}"), "web -> p-0");
}

#[test]
fn only_values_that_the_requirement_admits_count_for_min_values() {
    check(
        "type a cpu=2 price=1 zones=x,y\npool p need=topology.kubernetes.io/zone:Exists::2\npod web cpu=2 select.topology.kubernetes.io/zone=x",
        "web: MinValuesUnmet",
    );
}

#[test]
fn only_so_many_types_are_written_on_a_claim() {
    let plan = planned(
        "max-types 2\ntype a cpu=2 price=1\ntype b cpu=2 price=2\ntype c cpu=2 price=3\npod web cpu=1",
    );
    assert!(plan.contains("or 1 others"), "{plan}");
}

#[test]
fn a_daemons_host_port_is_taken_on_every_type_it_lands_on() {
    check(
        "known fast\ntype x cpu=2 price=1 label.fast=no\ntype y cpu=2 price=2 label.fast=yes
         daemon log cpu=100m port=80 select.fast=no\npod web cpu=1 port=80",
        "web -> default-0\ndefault-0: y/a/on-demand at 2",
    );
}

#[test]
fn pods_with_one_host_port_get_a_claim_each() {
    check(
        "type t cpu=8 price=1\npod web cpu=1 port=80 x2",
        "web-1 -> default-0\nweb-2 -> default-1",
    );
}

#[test]
fn the_guard_lets_only_so_many_claims_be_on_their_way() {
    check(
        "guard 2\ntype t cpu=2 price=1\nclaim c1 offering=t/a taint=x\npod web cpu=2 x3",
        "web-1 -> default-0\nweb-2: GuardReached\nweb-3: GuardReached",
    );
}

#[test]
fn the_guard_makes_pods_wait_instead_of_taking_a_lighter_pool() {
    check(
        "guard 1\ntype t cpu=2 price=1\npool a\npool b weight=2\npod web cpu=2 x2",
        "web-1 -> b-0\nweb-2: GuardReached",
    );
}

#[test]
fn a_pool_is_chosen_by_its_class() {
    check(
        "type t cpu=2 price=1\npod web cpu=1 select.joiner.test/testclass=one\npod api cpu=1 select.joiner.test/testclass=two",
        "web -> default-0\napi: LabelConflict",
    );
}

#[test]
fn nobody_gets_a_new_claim_by_the_name_of_its_host() {
    check(
        "type t cpu=4 price=1\npod web cpu=1 select.kubernetes.io/hostname=n9",
        "web: LabelUnknown",
    );
    check(
        "type t cpu=4 price=1\npool p need=host:Exists\npod web cpu=1 select.kubernetes.io/hostname=n9",
        "web: NoPlace",
    );
}

#[test]
fn a_type_is_as_cheap_as_its_cheapest_offering() {
    check(
        "type x cpu=4 ct=spot,on-demand price.spot=1 price.on-demand=3\ntype y cpu=4 price=2\npod web cpu=1",
        "web -> default-0\ndefault-0: x/a/spot at 1",
    );
    check(
        "type x cpu=4 ct=spot,on-demand price.spot=3 price.on-demand=1\ntype y cpu=4 price=2\npod web cpu=1",
        "web -> default-0\ndefault-0: x/a/on-demand at 1",
    );
    // And so it is the cheaper one for each pod.
    check(
        "type x cpu=4 ct=spot,on-demand price.spot=1 price.on-demand=9\ntype y cpu=8 price=3\npod web cpu=4 x2",
        "web-1 -> default-0\nweb-2 -> default-1\ndefault-0: x/a/spot at 1\ndefault-1: x/a/spot at 1",
    );
}

/// Everything written on a claim can carry its pods, within the limits, and is taken from the same reservation.
#[test]
fn only_what_could_be_launched_is_written_on_a_claim() {
    let first = |world: &str| planned(world);
    for (world, expected) in [
        (
            "type s cpu=2 price=3\ntype m cpu=4 price=2\npod web cpu=3",
            "m/a/on-demand at 2 or 0 others",
        ),
        (
            "type s cpu=2 price=3\ntype m cpu=4 price=2\npod web cpu=2",
            "m/a/on-demand at 2 or 1 others",
        ),
        (
            "type s cpu=2 price=1\ntype l cpu=8 price=2\npool p limit.cpu=5\npod web cpu=1",
            "s/a/on-demand at 1 or 0 others",
        ),
        (
            "type s cpu=2 price=1\ntype l cpu=8 price=2\npool p limit.cpu=8\npod web cpu=1",
            "s/a/on-demand at 1 or 1 others",
        ),
        (
            "type t cpu=2 price=1 reserved=a:1:0.1\npod web cpu=2",
            "t/a/reserved at 0.1 or 0 others",
        ),
        (
            "type s cpu=2 price=1\ntype l cpu=8 price=2\ndaemon log port=80 select.node.kubernetes.io/instance-type=l\npod web cpu=1 port=80",
            "s/a/on-demand at 1 or 0 others",
        ),
    ] {
        assert!(
            first(world).contains(expected),
            "{expected} expected of\n{}",
            first(world)
        );
    }
}

#[test]
fn of_too_many_types_the_cheapest_are_written_on_a_claim() {
    let world = |most: u32| {
        format!(
            "max-types {most}\ntype a cpu=2 price=3\ntype b cpu=2 price=1\ntype c cpu=2 price=2\npod web cpu=1"
        )
    };
    assert_eq!(super::written::types(&world(1)), "b");
    assert_eq!(super::written::types(&world(2)), "b c");
    assert_eq!(super::written::types(&world(9)), "b c a");
}

#[test]
fn a_claim_of_a_tainted_pool_takes_only_who_tolerates_that() {
    check(
        "type t cpu=4 price=1\npool p weight=5 taint=x\npool q\npod a cpu=2 tolerate=x\npod b cpu=1",
        "a -> p-0\nb -> q-0",
    );
}

#[test]
fn who_narrows_a_claim_leaves_it_the_cheapest_type_that_carries_it() {
    check(
        "type s cpu=2 price=1 zones=a\ntype m cpu=4 price=2 zones=a,b\ntype l cpu=8 price=3 zones=a,b
         pod one cpu=3\npod two cpu=500m select.topology.kubernetes.io/zone=b",
        "one -> default-0\ntwo -> default-0\ndefault-0: m/b/on-demand at 2",
    );
}
