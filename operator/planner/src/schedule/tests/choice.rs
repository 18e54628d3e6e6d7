//! Do enough different types, zones and labels stay to choose from, as `minValues` asks?

use super::{check, planned};
use rstest::rstest;

/// Four types of 1, 2, 4 and 8 cores; `n` is the number of cores.
const FOUR: &str = "known n
type t1 cpu=1 price=1 zones=a label.n=1 label.kubernetes.io/arch=amd64
type t2 cpu=2 price=2 zones=a,b label.n=2 label.kubernetes.io/arch=amd64
type t4 cpu=4 price=4 zones=a,b label.n=4 label.kubernetes.io/arch=arm64
type t8 cpu=8 price=8 zones=b,c label.n=8 label.kubernetes.io/arch=arm64
";

/// The pod gets a claim of a pool with such requirements, or this reason.
fn leaves_enough(needs: &str, reason: &str) {
    let plan = planned(&format!("{FOUR}pool p {needs}\npod web cpu=1"));
    let expected = if reason.is_empty() {
        "web -> p-0"
    } else {
        reason
    };
    assert!(plan.contains(expected), "{expected} expected of\n{plan}");
}

#[rstest]
#[case("node.kubernetes.io/instance-type:Exists::4", "")]
#[case("node.kubernetes.io/instance-type:Exists::5", "MinValuesUnmet")]
#[case("node.kubernetes.io/instance-type:In:t2|t4:2", "")]
#[case("node.kubernetes.io/instance-type:In:t2|t4|none:3", "MinValuesUnmet")]
#[case("node.kubernetes.io/instance-type:NotIn:t2|t4:2", "")]
#[case("node.kubernetes.io/instance-type:NotIn:t2|t4:3", "MinValuesUnmet")]
#[case("n:Gt:1:3", "")]
#[case("n:Gt:2:3", "MinValuesUnmet")]
#[case("n:Gte:2:3", "")]
#[case("n:Lt:8:3", "")]
#[case("n:Lt:4:3", "MinValuesUnmet")]
#[case("n:Lte:4:3", "")]
#[case("zone:Exists::3", "")]
#[case("zone:Exists::4", "MinValuesUnmet")]
#[case("zone:In:a|b:2", "")]
#[case("kubernetes.io/arch:Exists::2", "")]
#[case("kubernetes.io/arch:In:amd64|arm64|riscv:3", "MinValuesUnmet")]
#[case("ct:Exists::1", "")]
#[case("ct:Exists::2", "MinValuesUnmet")]
fn as_many_values_as_asked_for_must_be_left(#[case] need: &str, #[case] reason: &str) {
    leaves_enough(&format!("need={need}"), reason);
}

/// Two requirements on one label: both hold, and of the two numbers the larger.
#[rstest]
#[case(
    "node.kubernetes.io/instance-type:In:t1|t2|t4:1",
    "node.kubernetes.io/instance-type:NotIn:t1:2",
    ""
)]
#[case(
    "node.kubernetes.io/instance-type:In:t1|t2|t4:1",
    "node.kubernetes.io/instance-type:NotIn:t1:3",
    "MinValuesUnmet"
)]
#[case(
    "node.kubernetes.io/instance-type:In:t1|t2|t4:3",
    "node.kubernetes.io/instance-type:NotIn:t1:1",
    "MinValuesUnmet"
)]
#[case("n:Gt:1:1", "n:Lt:8:2", "")]
#[case("n:Gt:1:1", "n:Lt:8:3", "MinValuesUnmet")]
#[case("n:Gt:1:3", "n:Lt:8:1", "MinValuesUnmet")]
#[case("n:Gt:1:3", "zone:Exists::3", "")]
#[case("n:Gt:1:3", "zone:Exists::4", "MinValuesUnmet")]
#[case("n:Gt:1:4", "zone:Exists::3", "MinValuesUnmet")]
fn several_requirements_must_all_leave_enough(
    #[case] one: &str,
    #[case] other: &str,
    #[case] reason: &str,
) {
    leaves_enough(&format!("need={one} need={other}"), reason);
}

/// A type may be several things, of which the pool admits only some.
#[rstest]
#[case("kubernetes.io/os:Exists::2", "web -> p-0")]
#[case("kubernetes.io/os:In:linux|windows:2", "web -> p-0")]
#[case("kubernetes.io/os:In:linux|darwin:2", "web: MinValuesUnmet")]
#[case("kubernetes.io/os:NotIn:windows:2", "web: MinValuesUnmet")]
fn only_values_that_the_pool_admits_are_a_choice(#[case] need: &str, #[case] expected: &str) {
    let both = "type t cpu=2 price=1 label.kubernetes.io/os=linux|windows\n";
    check(
        &format!("{both}pool p need={need}\npod web cpu=1"),
        expected,
    );
}

#[test]
fn only_types_that_carry_the_pods_are_a_choice() {
    let world = |cpu: u32| {
        format!("{FOUR}pool p need=node.kubernetes.io/instance-type:Exists::2\npod web cpu={cpu}")
    };
    check(&world(4), "web -> p-0");
    check(&world(5), "web: NothingLargeEnough, MinValuesUnmet");
}

#[test]
fn a_claim_takes_no_more_pods_than_leave_a_choice() {
    // With four pods only t4 and t8 are left, with five only t8.
    check(
        &format!(
            "{FOUR}pool p limit.nodes=1 need=node.kubernetes.io/instance-type:Exists::2\npod web cpu=1 x5"
        ),
        "web-1 -> p-0\nweb-2 -> p-0\nweb-3 -> p-0\nweb-4 -> p-0\nweb-5: LimitReached",
    );
}

#[test]
fn types_that_a_choice_needs_are_written_on_the_claim_however_many() {
    // Upstream would cut them away and then refuse the pod.
    let world = |least: u32| {
        format!(
            "max-types 3\n{FOUR}pool p need=node.kubernetes.io/instance-type:Exists::{least}\npod web cpu=1"
        )
    };
    assert!(planned(&world(4)).contains("t1/a/on-demand at 1 or 6 others"));
    check(&world(5), "web: MinValuesUnmet");
}

#[rstest]
#[case("need=node.kubernetes.io/instance-type:Exists::9")]
#[case("need=zone:Exists::9")]
#[case("need=zone:Exists::9 need=node.kubernetes.io/instance-type:Exists::9")]
fn the_lenient_policy_asks_for_as_many_as_there_are(#[case] need: &str) {
    let world = format!("{FOUR}pool p {need}\npod web cpu=1");
    assert!(planned(&world).starts_with("web: MinValuesUnmet"));
    check(&format!("min-values best\n{world}"), "web -> p-0");
}

#[test]
fn the_lenient_policy_relaxes_the_heavier_pool_before_it_takes_a_lighter_one() {
    let world = format!(
        "{FOUR}pool light\npool heavy weight=9 need=node.kubernetes.io/instance-type:Exists::9\npod web cpu=1"
    );
    check(&world, "web -> light-0");
    check(&format!("min-values best\n{world}"), "web -> heavy-0");
}

#[test]
fn however_many_pods_wait_a_claim_takes_no_more_than_leave_a_choice() {
    check(
        &format!(
            "{FOUR}pool p limit.nodes=1 need=node.kubernetes.io/instance-type:Exists::2\npod web cpu=1 x6"
        ),
        "web-1 -> p-0\nweb-2 -> p-0\nweb-3 -> p-0\nweb-4 -> p-0\nweb-5: LimitReached\nweb-6: LimitReached",
    );
}
