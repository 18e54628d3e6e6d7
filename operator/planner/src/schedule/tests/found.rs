//! Do plans hold that a comparison over somebody else's random clusters once found wrong?

use super::{check, planned};
use rstest::rstest;

#[rstest]
#[case::a_label_that_must_be_there_with_another_value_needs_a_type_that_has_it(
    "known family\ntype x cpu=4 price=1\npool a\npod p cpu=1 term=family:Exists;family:NotIn:r",
    "p: NoTypeWithLabel"
)]
#[case::a_label_that_gets_any_value_gets_the_same_one_on_every_node(
    "type x cpu=4 price=1\npool a need=rack:Exists
     pod p cpu=1 label.app=p\npod q cpu=1 apart=rack:app=p",
    "p -> a-0\nq: AntiAffinityUnmet"
)]
#[case::a_label_that_gets_any_value_can_get_one_that_another_pool_names(
    "type x cpu=4 price=1\npool a need=rack:NotIn:r9\npool b need=rack:In:r2 taint=gpu
     pod p cpu=1 label.app=p spread=rack:1:app=p",
    "p -> a-0"
)]
#[case::who_was_refused_for_a_limit_is_asked_again_when_a_claim_came_out_smaller(
    "type g cpu=2 memory=8Gi\ntype c cpu=8 memory=1Gi price=1\npool b limit.cpu=24
     pod port cpu=333m port=80 x4\npod mem memory=4Gi x4",
    "mem-1 -> b-0\nmem-2 -> b-0\nmem-3 -> b-3\nmem-4 -> b-3\nport-1 -> b-0\nport-2 -> b-1\nport-3 -> b-2\nport-4 -> b-3"
)]
#[case::a_term_that_nothing_meets_admits_no_domain(
    "known family\ntype x cpu=4 zones=a,c price=1\npool p
     pod w1 cpu=1 label.app=w term=topology.kubernetes.io/zone:In:a
     pod w2 cpu=1 label.app=w x2 term=topology.kubernetes.io/zone:In:c
     pod s cpu=100m label.app=w spread=zone:1:app=w term=family:In:g term=topology.kubernetes.io/zone:In:c",
    "s -> p-1\nw1 -> p-0\nw2-1 -> p-1\nw2-2 -> p-1"
)]
#[case::one_pod_alone_takes_the_zone_that_is_cheap_for_it(
    "type big cpu=32 memory=128Gi zones=a price=0.6\ntype small cpu=4 memory=16Gi zones=b price=0.15
     pod p cpu=1 memory=6Gi label.app=p apart=zone:app=p",
    "p -> default-0\ndefault-0: small/b/on-demand at 0.15"
)]
#[case::a_soft_spread_that_is_ignored_decides_no_zone(
    "preferences\ntype big cpu=32 memory=128Gi zones=a price=0.6\ntype small cpu=4 memory=16Gi zones=b price=0.15
     pod p memory=9Gi label.app=p spread=zone:1:app=p:soft\npod q cpu=1 memory=1Gi label.app=p",
    "p -> default-0\nq -> default-0\ndefault-0: small/b/on-demand at 0.15"
)]
#[case::who_came_too_late_for_a_spread_may_go_first(
    "type x cpu=4 zones=a,c price=1
     node n zone=b cpu=1
     pod q cpu=600m memory=2Gi label.app=w
     pod p cpu=500m label.app=w spread=zone:1:app=w term=topology.kubernetes.io/zone:In:b",
    "p -> n\nq -> default-0"
)]
#[case::nobody_is_near_to_two_things_that_no_pod_is_both_of(
    "node n zone=b cpu=4
     pod other cpu=1 label.app=x in=team-a\npod p cpu=1 near=zone:app=x:ns.team-a near=host:app=x",
    "p: AffinityUnmet, AffinityUnmet, NoPool\nother -> n"
)]
#[case::nobody_is_refused_because_a_spread_would_like_to_know_whether_it_looks_at_the_claim(
    "known family\ntype a cpu=8 label.family=m price=1\ntype b cpu=8 label.family=c price=1
     pool p need=node.kubernetes.io/instance-type:Exists::2
     pod v cpu=2 label.app=w\npod w cpu=1 label.app=w spread=zone:1:app=w term=family:In:m",
    "v -> p-0\nw: MinValuesUnmet"
)]
#[case::a_claim_of_the_lighter_pool_does_not_grow_to_keep_a_new_one_of_that_pool_away(
    "type c32 cpu=32 zones=a price=0.99\ntype c4 cpu=4 zones=a price=0.12\ntype c8 cpu=8 zones=b price=0.22
     pool heavy weight=10 limit.cpu=4\npool light
     pod p1 cpu=3200m\npod p2 cpu=3 apart=zone:app=db\npod p3 cpu=3 label.x=y",
    "p1 -> heavy-0\np2 -> light-0\np3 -> light-1
     heavy-0: c4/a/on-demand at 0.12\nlight-0: c4/a/on-demand at 0.12\nlight-1: c4/a/on-demand at 0.12"
)]
fn found(#[case] world: &str, #[case] plan: &str) {
    check(world, plan);
}

#[test]
fn min_values_are_written_even_if_others_have_taken_of_the_limit_since() {
    let plan = planned(
        "type c2 cpu=2 price=2\ntype c4 cpu=4 price=4\ntype c8 cpu=8 price=8\ntype c16 cpu=16 price=16
         pool p limit.cpu=16 need=node.kubernetes.io/instance-type:Exists::3
         pod big cpu=1500m\npod w cpu=1 x3",
    );
    assert!(
        plan.contains("p-0: c4/a/on-demand at 4 or 2 others"),
        "{plan}"
    );
}
