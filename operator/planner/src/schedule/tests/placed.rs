//! Which pods go to rooms that are there or on their way?

use super::check;

const SMALL: &str = "type small cpu=4 price=1\n";

#[test]
fn a_pod_that_fits_an_existing_node_buys_nothing() {
    check(
        "type small cpu=4 price=1
         node n1    cpu=4 used=2
         pod  web-1 cpu=1",
        "web-1 -> n1",
    );
}

#[test]
fn a_full_node_is_passed_by() {
    check(
        "type small cpu=4 price=1\nnode n1 cpu=4 used=4\npod web cpu=1",
        "web -> default-0",
    );
}

#[test]
fn a_node_that_is_overdrawn_in_any_resource_takes_nobody() {
    check(
        "type small cpu=4 price=1\nnode n1 cpu=4 memory=1Gi used.memory=2Gi\npod web cpu=1",
        "web -> default-0",
    );
}

#[test]
fn initialized_nodes_are_filled_before_others_and_by_name() {
    check(
        "node a cpu=4 uninitialized\nnode b cpu=4\nnode c cpu=4\npod web cpu=2 x6",
        "web-1 -> b\nweb-2 -> b\nweb-3 -> c\nweb-4 -> c\nweb-5 -> a\nweb-6 -> a",
    );
}

#[test]
fn a_leaving_node_gives_no_room() {
    check(
        "type small cpu=4 price=1\nnode n1 cpu=4 leaving\npod web cpu=1",
        "web -> default-0",
    );
}

#[test]
fn an_existing_node_must_have_the_label_asked_for() {
    let world = |label| format!("{SMALL}node n1 cpu=4 {label}\npod web cpu=1 select.team=blue");
    check(&world("label.team=blue"), "web -> n1");
    check(&world("label.team=red"), "web: LabelUnknown");
    check(&world(""), "web: LabelUnknown");
}

#[test]
fn an_older_label_on_a_node_is_understood() {
    check(
        "node n1 cpu=4 label.failure-domain.beta.kubernetes.io/zone=a\npod web cpu=1 select.topology.kubernetes.io/zone=a",
        "web -> n1",
    );
}

#[test]
fn a_taint_keeps_a_pod_off_an_existing_node_unless_tolerated() {
    check(
        "type small cpu=4 price=1\nnode n1 cpu=4 taint=gpu\npod a cpu=1\npod b cpu=1 tolerate=gpu",
        "a -> default-0\nb -> n1",
    );
}

#[test]
fn a_soft_taint_is_avoided_while_there_is_another_way() {
    check(
        "type small cpu=4 price=1\nnode n1 cpu=4 taint=busy:Prefer\npod a cpu=1",
        "a -> default-0",
    );
    check("node n1 cpu=4 taint=busy:Prefer\npod a cpu=1", "a -> n1");
}

#[test]
fn two_pods_with_one_host_port_do_not_share_a_node() {
    check(
        "node n1 cpu=4\nnode n2 cpu=4\npod web cpu=1 port=80 x2",
        "web-1 -> n1\nweb-2 -> n2",
    );
    check(
        "node n1 cpu=4 port=80\nnode n2 cpu=4\npod web cpu=1 port=80",
        "web -> n2",
    );
}

#[test]
fn daemons_that_are_still_to_land_keep_their_room() {
    check(
        "node n1 cpu=4\ndaemon log cpu=1\npod web cpu=1 x4",
        "web-1 -> n1\nweb-2 -> n1\nweb-3 -> n1\nweb-4: NoPool",
    );
}

#[test]
fn daemons_that_have_landed_are_not_counted_twice() {
    check(
        "node n1 cpu=4 used=1 daemons.cpu=1\ndaemon log cpu=1\npod web cpu=1 x3",
        "web-1 -> n1\nweb-2 -> n1\nweb-3 -> n1",
    );
}

#[test]
fn a_daemon_that_does_not_suit_a_node_takes_nothing_there() {
    check(
        "node n1 cpu=4\ndaemon log cpu=1 select.gpu=yes\npod web cpu=4",
        "web -> n1",
    );
    check(
        "node n1 cpu=4 taint=x\ndaemon log cpu=1\npod web cpu=4 tolerate=x",
        "web -> n1",
    );
}

#[test]
fn a_resource_the_node_does_not_have_is_short() {
    check(
        "node n1 cpu=4\nnode n2 cpu=4 gpu=1\npod web cpu=1 gpu=1",
        "web -> n2",
    );
}

#[test]
fn a_nodes_room_for_pods_counts() {
    check(
        "node n1 cpu=4 pods=1\npod web cpu=1 x2",
        "web-1 -> n1\nweb-2: NoPool",
    );
}

#[test]
fn the_first_affinity_term_that_can_be_met_is_enough() {
    check(
        "node n1 cpu=4 label.team=blue\npod web cpu=1 term=team:In:red term=team:In:blue",
        "web -> n1",
    );
}

#[test]
fn larger_pods_are_placed_first() {
    check(
        "node n1 cpu=4\npod a cpu=1\npod b cpu=4",
        "a: NoPool\nb -> n1",
    );
}

#[test]
fn pods_that_were_passed_over_go_first() {
    check(
        "node n1 cpu=4\npod a cpu=1 passed-over=1\npod b cpu=4",
        "a -> n1\nb: NoPool",
    );
}

#[test]
fn somebody_elses_node_takes_pods_too() {
    check(
        "node theirs cpu=4\npool p limit.cpu=1\npod web cpu=1",
        "web -> theirs",
    );
}

#[test]
fn a_claim_in_flight_takes_the_pods_it_was_opened_for() {
    check(
        "type small cpu=4 price=1\nclaim c1 offering=small/a\npod web cpu=2 x2",
        "web-1 -> claim c1\nweb-2 -> claim c1",
    );
}

#[test]
fn a_claim_in_flight_has_the_labels_of_its_offering() {
    let world = |zone| {
        format!(
            "type small cpu=4 price=1 zones=a,b\nclaim c1 offering=small/a\npod web cpu=2 select.topology.kubernetes.io/zone={zone}"
        )
    };
    check(&world("a"), "web -> claim c1");
    check(&world("b"), "web -> default-0");
}

#[test]
fn daemons_land_on_claims_in_flight_too() {
    check(
        "type small cpu=4 price=1\ndaemon log cpu=1\nclaim c1 offering=small/a\npod web cpu=4",
        "web: NothingLargeEnough",
    );
    check(
        "type small cpu=4 price=1\ndaemon log cpu=1\nclaim c1 offering=small/a\npod web cpu=3",
        "web -> claim c1",
    );
}

#[test]
fn a_claim_whose_type_left_the_catalog_counts_with_what_was_asked_for_it() {
    check(
        "type small cpu=4 price=1\nclaim c1 offering=old/a cpu=2 pods=5\npod web cpu=2",
        "web -> claim c1",
    );
}

#[test]
fn a_preference_costs_nobody_else_a_place() {
    // By its preference `big` would take the only room that `pinned` can have.
    let world = |cpu: u32| {
        format!(
            "pool p\nnode n1 cpu=2 used=0 zone=b\nnode n2 cpu={cpu} used=0 zone=a\npod big cpu=2 prefer=9:zone:In:a\npod pinned cpu=1 select.topology.kubernetes.io/zone=a"
        )
    };
    check(&world(2), "big -> n1\npinned -> n2");
    // Where there is room for both it is kept.
    check(&world(3), "big -> n2\npinned -> n2");
}

#[test]
fn a_host_that_is_only_preferred_is_taken_if_it_can_be() {
    let world = |host: &str| {
        format!(
            "type t cpu=8 price=1\nnode n1 cpu=4\nnode n2 cpu=4\npod web cpu=1 prefer=1:host:In:{host}"
        )
    };
    check(&world("n2"), "web -> n2");
    check(&world("nowhere"), "web -> n1");
}

#[test]
fn a_port_that_another_pod_has_just_got_is_taken() {
    check(
        "node n1 cpu=4\nnode n2 cpu=4\npod a cpu=2 port=80\npod b cpu=1 port=80",
        "a -> n1\nb -> n2",
    );
}

#[test]
fn more_cpu_comes_before_more_memory() {
    check(
        "node n1 cpu=2 memory=4Gi\npod a cpu=1 memory=4Gi\npod b cpu=2 memory=1Gi",
        "a: NoPool\nb -> n1",
    );
    check(
        "node n1 cpu=2 memory=4Gi\npod a cpu=1 memory=1Gi\npod b cpu=1 memory=4Gi",
        "a: NoPool\nb -> n1",
    );
}

#[test]
fn of_pods_of_one_size_who_waits_longest_is_served_first() {
    // Alike in everything, and alike in size only.
    for words in ["", "tolerate=x"] {
        check(
            &format!("node n1 cpu=1\npod a cpu=1 age=1 {words}\npod b cpu=1 age=5\npod c cpu=1"),
            "a: NoPool\nb -> n1\nc: NoPool",
        );
    }
}

#[test]
fn a_bound_on_a_label_is_not_met_by_a_node_without_it() {
    let world = |label: &str| format!("node n1 cpu=4 {label}\npod web cpu=1 term=n:Gt:5;n:NotIn:7");
    check(&world(""), "web: NoPool");
    check(&world("label.n=7"), "web: NoPool");
    check(&world("label.n=8"), "web -> n1");
}
