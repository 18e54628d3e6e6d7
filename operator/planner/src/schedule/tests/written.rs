//! What is written on a claim, for whoever launches it and for the node it becomes?

use super::world::world;
use crate::labels;
use crate::schedule::{Budget, Opening, solve};
use crate::snapshot::{Snapshot, WhatIf};

/// The first claim of the plan.
fn opened(text: &str) -> (Snapshot, Opening) {
    let snapshot = world(text);
    let mut schedule = solve(&WhatIf::nothing_changes(&snapshot), Budget::UNLIMITED);
    assert!(
        !schedule.openings.is_empty(),
        "{}",
        schedule.text(&snapshot)
    );
    (snapshot, schedule.openings.remove(0))
}

/// Its types in buying order.
pub(super) fn types(text: &str) -> String {
    let (snapshot, opening) = opened(text);
    let catalog = &snapshot.catalogs[0];
    let offerings = opening.offerings.iter().map(|id| catalog.offering(*id));
    let mut types: Vec<&str> = offerings.map(|one| one.instance_type.as_ref()).collect();
    types.dedup();
    types.join(" ")
}

/// What the claim asks for, without what every claim of the test's pool asks for.
fn asks(text: &str, expected: &str) {
    let (_, opening) = opened(text);
    let plain = [labels::POOL, "joiner.test/testclass"];
    let asked = opening.requirements.iter();
    let asked = asked.filter(|one| !plain.contains(&one.key()));
    let mut shown: Vec<String> = asked.map(ToString::to_string).collect();
    shown.sort_unstable();
    assert_eq!(shown.join(", "), expected);
}

/// Labels of the claim, without what every claim of the test's pool has.
fn has(text: &str, expected: &str) {
    let (_, opening) = opened(text);
    let plain = [labels::POOL, "joiner.test/testclass"];
    let shown: Vec<String> = (opening.labels.iter())
        .filter(|(key, _)| !plain.contains(&key.as_ref()))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(shown.join(" "), expected);
}

const SOLD: &str =
    "karpenter.sh/capacity-type In [on-demand], node.kubernetes.io/instance-type In [t]";

#[test]
fn a_claim_asks_for_the_types_and_capacity_types_that_can_be_bought() {
    asks(
        "type s cpu=2 price=1\ntype m cpu=4 price=2 ct=spot,on-demand\ntype l cpu=8 price=3 ct=spot\npod web cpu=3",
        "karpenter.sh/capacity-type In [on-demand spot], node.kubernetes.io/instance-type In [l m]",
    );
}

#[test]
fn a_claim_asks_for_what_its_pool_and_its_pods_ask_for() {
    asks("type t cpu=2 price=1\npod web cpu=1", SOLD);
    asks(
        "type t cpu=2 price=1 zones=a,b,c\npool p need=zone:In:a|b\npod web cpu=1 term=zone:In:b|c",
        &format!("{SOLD}, topology.kubernetes.io/zone In [b]"),
    );
    asks(
        "type t cpu=2 price=1 label.kubernetes.io/arch=arm64\npool p need=team:In:red|blue\npod web cpu=1 select.kubernetes.io/arch=arm64 term=team:NotIn:red",
        "karpenter.sh/capacity-type In [on-demand], kubernetes.io/arch In [arm64], node.kubernetes.io/instance-type In [t], team In [blue]",
    );
}

#[test]
fn a_claim_that_leaves_the_zone_open_does_not_name_one() {
    asks("type t cpu=2 price=1 zones=a,b\npod web cpu=1", SOLD);
}

#[test]
fn no_claim_names_a_host() {
    asks(
        "type t cpu=2 price=1\npod web cpu=1 term=host:NotIn:n1",
        SOLD,
    );
}

#[test]
fn a_choice_that_was_asked_for_stays_on_the_claim() {
    asks(
        "type s cpu=2 price=1\ntype l cpu=4 price=2\npool p need=node.kubernetes.io/instance-type:Exists::2 need=ct:Exists::1\npod web cpu=1",
        "karpenter.sh/capacity-type In [on-demand] minValues 1, node.kubernetes.io/instance-type In [l s] minValues 2",
    );
}

#[test]
fn a_choice_that_is_lowered_is_written_as_what_there_is_and_told() {
    let world = "type t cpu=2 price=1\npool p need=node.kubernetes.io/instance-type:Exists::2\npod web cpu=1";
    let lenient = format!("min-values best\n{world}");
    asks(
        &lenient,
        "karpenter.sh/capacity-type In [on-demand], node.kubernetes.io/instance-type In [t] minValues 1",
    );
    assert!(opened(&lenient).1.min_values_relaxed);
    let enough = lenient.replace("::2", "::1");
    assert!(!opened(&enough).1.min_values_relaxed);
}

#[test]
fn what_is_reserved_is_named_with_its_zone() {
    asks(
        "type t cpu=2 price=1 zones=a,b reserved=b:1:0.1\npod web cpu=1",
        "karpenter.sh/capacity-type In [reserved], node.kubernetes.io/instance-type In [t], topology.kubernetes.io/zone In [b]",
    );
}

#[test]
fn a_claim_has_the_labels_of_its_pools_template() {
    has(
        "type t cpu=2 price=1\npool p label.team=red\npod web cpu=1",
        "team=red",
    );
}

#[test]
fn a_zone_that_the_template_names_is_a_label_of_the_claim() {
    has(
        "type t cpu=2 price=1 zones=a,b\npool p label.topology.kubernetes.io/zone=b\npod web cpu=1",
        "topology.kubernetes.io/zone=b",
    );
}

#[test]
fn a_label_of_ones_own_that_is_asked_for_gets_a_value() {
    let pool = |need: &str| format!("type t cpu=2 price=1\npool p need={need}\npod web cpu=1");
    has(&pool("team:In:red|blue"), "team=blue");
    has(
        &format!("{} select.team=red", pool("team:In:red|blue")),
        "team=red",
    );
    has(&pool("n:Gt:5"), "n=6");
    has(&pool("n:NotIn:0"), "n=1");
    has(&pool("team:DoesNotExist"), "");
}

#[test]
fn what_the_cloud_will_say_of_a_node_is_not_said_before() {
    has(
        "type t cpu=2 price=1 zones=a label.kubernetes.io/arch=arm64\npool p need=zone:In:a\npod web cpu=1 select.kubernetes.io/arch=arm64",
        "",
    );
}

#[test]
fn daemons_are_asked_for_once_and_as_little_as_any_type_needs() {
    let requests = |text: &str| opened(text).1.requests.to_string();
    let two = "known size\ntype s cpu=4 price=1 label.size=s\ntype l cpu=8 price=2 label.size=l\n";
    let log = "daemon log cpu=1\n";
    assert_eq!(
        requests(&format!("{two}{log}pod web cpu=1 x2")),
        "cpu=3 pods=3"
    );
    let more = "daemon more cpu=500m select.size=l\n";
    assert_eq!(
        requests(&format!("{two}{log}{more}pod web cpu=1 x2")),
        "cpu=3 pods=3"
    );
    assert_eq!(
        requests(&format!("{two}{log}{more}pod web cpu=1 x2 select.size=l")),
        "cpu=3500m pods=4"
    );
}
