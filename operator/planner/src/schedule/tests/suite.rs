//! Which pods get a claim from which pool? Upstream's scheduling suite as tables.

use super::domains::{hosts, refused};
use super::planned;
use rstest::rstest;

const TYPES: &str = "known size
type small cpu=2 price=1 zones=a,b,c ct=spot,on-demand label.kubernetes.io/arch=amd64 label.kubernetes.io/os=linux label.size=2
type arm cpu=4 price=2 zones=a,b ct=on-demand label.kubernetes.io/arch=arm64 label.kubernetes.io/os=linux|windows label.size=4
type large cpu=16 price=8 zones=c ct=on-demand label.kubernetes.io/arch=amd64 label.kubernetes.io/os=windows label.size=16
";

/// The pool's words, the pod's words, and the offering bought first, or the reason.
fn bought(pool: &str, pod: &str, expected: &str) {
    let plan = planned(&format!("{TYPES}pool p {pool}\npod web cpu=1 {pod}"));
    let line = plan
        .lines()
        .find(|line| line.starts_with("p-0: ") || line.starts_with("web: "))
        .unwrap_or("");
    assert!(line.contains(expected), "{expected} expected of\n{plan}");
}

#[rstest]
#[case("", "", "small/")]
#[case("label.team=red", "", "small/")]
#[case("label.team=red", "select.team=blue", "LabelConflict")]
#[case("label.team=red", "select.nope=x", "LabelUnknown")]
#[case("label.team=red", "select.team=red", "small/")]
#[case("label.team=red", "term=team:In:red|blue", "small/")]
#[case("label.team=red", "term=team:In:blue", "LabelConflict")]
#[case("need=team:In:red|blue", "select.team=blue", "small/")]
#[case("need=team:In:red|blue", "term=team:NotIn:red", "small/")]
#[case("need=team:In:red", "term=team:NotIn:red", "LabelConflict")]
#[case("need=team:Exists", "select.team=x", "small/")]
#[case("need=team:DoesNotExist", "select.team=x", "LabelConflict")]
#[case("need=team:DoesNotExist", "term=team:DoesNotExist", "small/")]
#[case("", "term=team:In:x", "LabelUnknown")]
#[case("", "term=team:Exists", "LabelUnknown")]
#[case("", "term=team:NotIn:x", "small/")]
#[case("", "term=team:DoesNotExist", "small/")]
#[case("label.team=red", "term=team:Exists", "small/")]
#[case("label.team=red", "term=team:DoesNotExist", "LabelConflict")]
#[case("label.team=red", "term=team:NotIn:blue", "small/")]
#[case("label.kubernetes.io/x=red", "select.kubernetes.io/x=red", "small/")]
#[case(
    "label.sub.kubernetes.io/x=red",
    "select.sub.kubernetes.io/x=blue",
    "LabelConflict"
)]
#[case("", "select.sub.kubernetes.io/x=blue", "LabelUnknown")]
#[case("need=n:Gt:5", "term=n:Lt:5", "LabelConflict")]
#[case("need=n:Gt:5", "term=n:Lt:7", "small/")]
#[case("need=n:Gte:5", "select.n=5", "small/")]
#[case("need=n:Gte:5", "select.n=five", "LabelConflict")]
#[case("need=n:Lte:5", "select.n=6", "LabelConflict")]
#[case("need=team:NotIn:red", "select.team=red", "LabelConflict")]
#[case("need=team:NotIn:red", "select.team=blue", "small/")]
fn a_custom_label_is_met_as_the_algebra_says(
    #[case] pool: &str,
    #[case] pod: &str,
    #[case] expected: &str,
) {
    bought(pool, pod, expected);
}

#[rstest]
#[case("", "select.topology.kubernetes.io/zone=b", "small/b/")]
#[case("need=zone:In:c", "", "small/c/")]
#[case(
    "need=zone:In:c",
    "select.topology.kubernetes.io/zone=a",
    "LabelConflict"
)]
#[case("", "select.topology.kubernetes.io/zone=z", "NoTypeWithLabel")]
#[case("", "term=zone:NotIn:a|b", "small/c/")]
#[case("need=zone:NotIn:a", "term=zone:NotIn:b", "small/c/")]
#[case("need=zone:In:c", "term=zone:NotIn:c", "LabelConflict")]
#[case("need=zone:In:c", "term=zone:In:a|b", "LabelConflict")]
#[case("need=zone:In:c", "term=zone:In:b|c", "small/c/")]
#[case("", "term=zone:Exists", "small/")]
#[case("", "term=zone:DoesNotExist", "NoTypeWithLabel")]
#[case(
    "need=zone:In:a|b need=arch:In:amd64|arm64",
    "term=zone:NotIn:a;arch:NotIn:amd64;size:Gt:2",
    "arm/b/"
)]
#[case(
    "need=zone:In:c need=ct:In:on-demand",
    "select.kubernetes.io/os=linux select.kubernetes.io/arch=amd64",
    "small/c/on-demand"
)]
#[case("need=kubernetes.io/os:In:darwin", "", "PoolNotReady")]
#[case(
    "need=kubernetes.io/os:In:darwin",
    "select.topology.kubernetes.io/zone=a",
    "PoolNotReady"
)]
#[case(
    "need=arch:In:arm64",
    "select.kubernetes.io/os=windows term=zone:In:b;ct:In:on-demand",
    "arm/b/on-demand"
)]
#[case("", "term=size:Gt:3", "arm/")]
#[case("", "term=size:Gt:4", "large/")]
#[case("", "term=size:Gte:16", "large/")]
#[case("", "term=size:Lt:4", "small/")]
#[case("", "term=size:Lte:1", "NoTypeWithLabel")]
#[case("need=size:Gt:2", "term=size:Lt:16", "arm/")]
#[case("", "select.kubernetes.io/arch=arm64", "arm/")]
#[case("", "select.beta.kubernetes.io/arch=arm64", "arm/")]
#[case("", "select.kubernetes.io/os=windows", "arm/")]
#[case(
    "",
    "select.kubernetes.io/os=windows select.kubernetes.io/arch=amd64",
    "large/"
)]
#[case("", "select.kubernetes.io/os=darwin", "NoTypeWithLabel")]
#[case("", "select.node.kubernetes.io/instance-type=large", "large/")]
#[case("", "select.node.kubernetes.io/instance-type=none", "NoTypeWithLabel")]
#[case("", "select.karpenter.sh/capacity-type=spot", "/spot")]
#[case("need=ct:In:on-demand", "", "/on-demand")]
#[case(
    "need=ct:In:on-demand",
    "select.karpenter.sh/capacity-type=spot",
    "LabelConflict"
)]
#[case(
    "",
    "select.karpenter.sh/capacity-type=spot select.kubernetes.io/arch=arm64",
    "NoTypeWithLabel"
)]
#[case("", "select.karpenter.sh/nodepool=p", "small/")]
#[case("", "select.karpenter.sh/nodepool=q", "LabelConflict")]
#[case("", "term=zone:In:a|b;arch:In:arm64", "arm/a/")]
#[case("need=arch:In:arm64", "", "arm/")]
#[case(
    "need=arch:In:arm64",
    "select.topology.kubernetes.io/zone=c",
    "NoTypeWithLabel"
)]
#[case("need=zone:In:c need=kubernetes.io/os:In:windows", "", "large/c/")]
#[case("", "term=zone:In:z term=zone:In:b", "small/b/")]
#[case("", "term=size:Gt:99 term=size:Gt:98 term=size:Gt:3", "arm/")]
#[case("", "term=zone:In:z", "NoTypeWithLabel")]
#[case("", "term=zone:In:z term=zone:In:y", "NoTypeWithLabel")]
fn a_well_known_label_chooses_the_offering(
    #[case] pool: &str,
    #[case] pod: &str,
    #[case] expected: &str,
) {
    bought(pool, pod, expected);
}

#[rstest]
#[case("prefer=1:zone:In:b", "small/b/")]
#[case("prefer=1:zone:In:z", "small/")]
#[case("prefer=1:zone:In:b prefer=9:zone:In:c", "small/c/")]
#[case("prefer=1:zone:In:b prefer=9:zone:In:z", "small/b/")]
#[case("prefer=1:zone:In:x prefer=9:zone:In:z", "small/")]
#[case("term=zone:In:a prefer=1:zone:In:b", "small/a/")]
#[case("prefer=1:zone:NotIn:a|b", "small/c/")]
#[case("term=zone:In:z term=zone:In:b prefer=1:arch:In:arm64", "arm/b/")]
#[case("select.topology.kubernetes.io/zone=b prefer=1:size:Gt:2", "arm/b/")]
#[case("term=zone:In:a term=zone:In:b prefer=5:zone:In:b", "small/")]
#[case("term=zone:In:a|b prefer=1:zone:In:b|c", "small/b/")]
#[case("term=zone:NotIn:c prefer=1:zone:NotIn:a", "small/b/")]
#[case("term=zone:NotIn:a prefer=1:zone:In:a", "small/")]
#[case("term=zone:NotIn:b|c prefer=1:zone:NotIn:a", "small/a/")]
#[case(
    "select.kubernetes.io/arch=amd64 term=zone:In:b|c prefer=1:size:Gt:2;zone:In:c",
    "large/c/"
)]
fn a_preference_is_followed_and_given_up_by_weight(#[case] pod: &str, #[case] expected: &str) {
    bought("", pod, expected);
}

#[rstest]
#[case("prefer=1:arch:In:arm64", "small/")]
#[case("prefer=1:zone:In:c", "small/a/")]
fn preferences_are_not_looked_at_when_ignored(#[case] pod: &str, #[case] expected: &str) {
    let plan = planned(&format!(
        "preferences ignore\n{TYPES}pool p\npod web cpu=1 {pod}"
    ));
    assert!(plan.contains(expected), "{plan}");
}

#[test]
fn a_preference_that_could_hold_only_with_an_earlier_term_does_not_lose_the_pod() {
    // Upstream would be left with the last term alone; the earlier one is tried once more without preferences.
    refused(
        "type t cpu=4 price=1 zones=a\nnode n1 cpu=4 used=4 zone=b\npool p\npod web cpu=1 term=zone:In:a;team:DoesNotExist term=zone:In:z prefer=5:zone:In:q",
        0,
    );
}

const SPECIAL: &str = "known special
type plain cpu=2 price=1
type gilded cpu=2 price=2 label.special=yes
";

/// A label some types have and others do not.
#[rstest]
#[case("", "plain/")]
#[case("term=special:Exists", "gilded/")]
#[case("select.special=yes", "gilded/")]
#[case("select.special=no", "NoTypeWithLabel")]
#[case("term=special:DoesNotExist", "plain/")]
#[case("term=special:NotIn:yes", "plain/")]
#[case("term=special:NotIn:no", "plain/")]
#[case("prefer=1:special:Exists", "gilded/")]
fn a_label_only_some_types_have_chooses_among_them(#[case] pod: &str, #[case] expected: &str) {
    let plan = planned(&format!("{SPECIAL}pool p\npod web cpu=1 {pod}"));
    assert!(plan.contains(expected), "{expected} expected of\n{plan}");
}

#[test]
fn who_only_wants_the_label_to_exist_leaves_its_value_to_others() {
    let world = |more: &str| {
        format!("{TYPES}pool p label.team=red\npod a cpu=1 term=team:Exists\npod b cpu=1 {more}")
    };
    hosts(&world("select.team=red"), "2");
    refused(&world("select.team=blue"), 1);
}

#[test]
fn who_shares_a_claim_leaves_to_the_next_only_what_both_allow() {
    let two = "type t cpu=8 price=1 zones=a,b,c\n";
    let pods =
        "pod x cpu=1 term=zone:In:a|b\npod y cpu=1 term=zone:In:b|c\npod z cpu=1 term=zone:In:b";
    hosts(&format!("{two}{pods}"), "3");
    assert!(planned(&format!("{two}{pods}")).contains("t/b/on-demand"));
}

#[test]
fn a_request_for_nothing_is_no_request() {
    hosts(
        "type t cpu=1 price=1\npod a cpu=1 gpu=0 ephemeral-storage=0",
        "1",
    );
    refused("type t cpu=1 price=1\npod a cpu=1 gpu=1", 1);
}

#[test]
fn the_only_type_that_suits_is_bought_whatever_it_costs() {
    let plan = planned("type s cpu=2 price=1\ntype l cpu=9 gpu=1 price=99\npod a cpu=1 gpu=1");
    assert!(plan.contains("l/a/on-demand at 99"), "{plan}");
}

#[test]
fn a_soft_taint_is_accepted_only_after_all_preferences_are_given_up() {
    let plan = planned(
        "type t cpu=4 price=1 zones=a,b\npool p taint=x:Prefer\npod web cpu=1 prefer=1:zone:In:b",
    );
    assert!(plan.contains("t/a/"), "{plan}");
}

#[test]
fn compatible_pods_share_a_claim_and_incompatible_ones_do_not() {
    let two = "type t cpu=8 price=1 zones=a,b\n";
    hosts(
        &format!(
            "{two}pod a cpu=1 select.topology.kubernetes.io/zone=a\npod b cpu=1 term=zone:In:a|b"
        ),
        "2",
    );
    hosts(
        &format!(
            "{two}pod a cpu=1 select.topology.kubernetes.io/zone=a\npod b cpu=1 select.topology.kubernetes.io/zone=b"
        ),
        "1 1",
    );
}

#[test]
fn pods_of_different_architectures_get_claims_of_their_own() {
    hosts(
        &format!(
            "{TYPES}pod a cpu=1 select.kubernetes.io/arch=arm64\npod b cpu=1 select.kubernetes.io/arch=amd64"
        ),
        "1 1",
    );
}

#[test]
fn resources_that_no_type_has_together_split_the_pods_and_a_pod_that_wants_both_is_refused() {
    let two = "type gpu cpu=4 gpu=1 price=5\ntype ram cpu=4 memory=2Ti price=5\n";
    hosts(
        &format!("{two}pod a cpu=1 gpu=1\npod b cpu=1 memory=1500Gi"),
        "1 1",
    );
    refused(&format!("{two}pod c cpu=1 gpu=1 memory=1500Gi"), 1);
}

#[test]
fn a_pod_without_requests_still_takes_a_place_for_pods() {
    hosts("type t cpu=1 pods=2 price=1\npod a x5", "1 2 2");
}

#[test]
fn the_room_for_pods_limits_a_claim() {
    hosts("type t cpu=64 pods=3 price=1\npod a cpu=100m x7", "1 3 3");
}
