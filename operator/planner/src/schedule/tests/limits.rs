//! Does a pool buy no more than its limits allow?

use super::check;
use rstest::rstest;

/// Pools of one type of 4 cpus, 16Gi and one gpu; what is there already is full.
#[rstest]
#[case("limit.cpu=4", "", "web cpu=4", "web -> p-0")]
#[case("limit.cpu=3", "", "web cpu=1", "web: LimitReached")]
#[case("limit.cpu=3900m", "", "web cpu=1", "web: LimitReached")]
#[case("limit.cpu=0", "", "web cpu=1", "web: LimitReached")]
#[case("limit.memory=16Gi", "", "web cpu=1", "web -> p-0")]
#[case("limit.memory=15Gi", "", "web cpu=1", "web: LimitReached")]
#[case("limit.gpu=1", "", "web gpu=1", "web -> p-0")]
#[case("limit.gpu=0", "", "web gpu=1", "web: LimitReached")]
#[case("limit.pods=5", "", "web cpu=1", "web: LimitReached")]
#[case("limit.nodes=0", "", "web cpu=1", "web: LimitReached")]
#[case(
    "limit.nodes=1",
    "node n1 pool=p cpu=4 used=4",
    "web cpu=1",
    "web: LimitReached"
)]
#[case(
    "limit.nodes=2",
    "node n1 pool=p cpu=4 used=4",
    "web cpu=1",
    "web -> p-0"
)]
#[case(
    "limit.cpu=8",
    "node n1 pool=p cpu=4 used=4",
    "web cpu=1",
    "web -> p-0"
)]
#[case(
    "limit.cpu=7",
    "node n1 pool=p cpu=4 used=4",
    "web cpu=1",
    "web: LimitReached"
)]
#[case(
    "limit.cpu=2",
    "node n1 pool=p cpu=4 used=4",
    "web cpu=1",
    "web: LimitReached"
)]
#[case(
    "limit.cpu=7",
    "node n1 pool=q cpu=4 used=4",
    "web cpu=1",
    "web -> p-0"
)]
#[case("limit.cpu=7", "node n1 cpu=4 used=4", "web cpu=1", "web -> p-0")]
#[case(
    "limit.cpu=7 limit.memory=1Ti",
    "claim c1 pool=p offering=t/a taint=x",
    "web cpu=1",
    "web: LimitReached"
)]
#[case("limit.unheard-of=0", "", "web cpu=1", "web -> p-0")]
fn a_claim_is_opened_only_if_all_limits_hold_with_it(
    #[case] pool: &str,
    #[case] there: &str,
    #[case] pod: &str,
    #[case] expected: &str,
) {
    check(
        &format!("type t cpu=4 memory=16Gi gpu=1 price=1\npool p {pool}\n{there}\npod {pod}"),
        expected,
    );
}

#[test]
fn what_the_limit_still_allows_is_bought() {
    check(
        "type t cpu=4 price=1\npool p limit.cpu=6\npod web cpu=3 x2",
        "web-1 -> p-0\nweb-2: LimitReached",
    );
}

#[test]
fn a_limit_does_not_keep_pods_off_what_is_there() {
    check(
        "type t cpu=4 price=1\npool p limit.cpu=1\nnode n1 pool=p cpu=4\npod web cpu=1",
        "web -> n1",
    );
}

#[test]
fn a_pool_at_its_limit_leaves_the_pod_to_the_next() {
    check(
        "type t cpu=4 price=1\npool a\npool b weight=5 limit.cpu=4\npod web cpu=4 x2",
        "web-1 -> b-0\nweb-2 -> a-0",
    );
}

#[test]
fn a_claim_that_is_leaving_counts_against_no_limit() {
    check(
        "type t cpu=4 price=1\npool p limit.cpu=4\nclaim c1 pool=p offering=t/a leaving\npod web cpu=4",
        "web -> p-0",
    );
}

#[test]
fn a_claim_counts_with_what_the_cloud_says_it_has() {
    let world = |cpu: u32| {
        format!(
            "type t cpu=4 price=1\npool p limit.cpu=9\nclaim c1 pool=p offering=t/a told.cpu={cpu} taint=x\npod web cpu=4"
        )
    };
    check(&world(5), "web -> p-0");
    check(&world(6), "web: LimitReached");
}

#[test]
fn a_larger_pool_may_have_more_claims_on_their_way() {
    let world = |nodes: usize| {
        let nodes = super::lines(0..nodes, |at| format!("node n{at} pool=p cpu=1 used=1"));
        format!("guard 1\ntype t cpu=2 price=1\npool p\n{nodes}\npod web cpu=2 x3")
    };
    check(
        &world(19),
        "web-1 -> p-0\nweb-2: GuardReached\nweb-3: GuardReached",
    );
    check(
        &world(20),
        "web-1 -> p-0\nweb-2 -> p-1\nweb-3: GuardReached",
    );
}

#[test]
fn what_the_guard_holds_back_is_not_crowded_into_what_stands() {
    check(
        "guard 1\ntype t cpu=2 price=1 zones=a,b\npod web cpu=1 label.app=web spread=zone:1:app=web x2",
        "web-1 -> default-0\nweb-2: SpreadUnmet, GuardReached",
    );
}
