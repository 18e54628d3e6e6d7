//! Do pods that wait find the claims that were opened for them, whatever they ask for?

use super::domains::{hosts, refused, zones};
use super::{check, planned};

const THREE: &str = "type t cpu=8 price=1 zones=a,b,c\n";

#[test]
fn pods_spread_over_zones_go_to_the_claims_that_are_coming_up_there() {
    zones(
        &format!(
            "{THREE}claim c1 offering=t/a\nclaim c2 offering=t/b\npod web cpu=1 label.app=web spread=zone:1:app=web x4"
        ),
        "1 1 2",
    );
    let plan = planned(&format!(
        "{THREE}claim c1 offering=t/a\nclaim c2 offering=t/b\nclaim c3 offering=t/c\npod web cpu=1 label.app=web spread=zone:1:app=web x6"
    ));
    assert!(!plan.contains("default-"), "{plan}");
}

#[test]
fn pods_spread_over_hosts_count_each_claim_as_one() {
    check(
        &format!(
            "{THREE}claim c1 offering=t/a\nclaim c2 offering=t/b\npod web cpu=1 label.app=web spread=host:1:app=web x3"
        ),
        "web-1 -> claim c1\nweb-2 -> claim c2\nweb-3 -> default-0",
    );
}

#[test]
fn pods_near_each_other_wait_for_one_claim_together() {
    check(
        &format!("{THREE}claim c1 offering=t/b\npod web cpu=1 label.app=web near=zone:app=web x2"),
        "web-1 -> claim c1\nweb-2 -> claim c1",
    );
}

#[test]
fn a_second_claim_is_opened_only_for_who_does_not_fit_the_first() {
    check(
        &format!("{THREE}claim c1 offering=t/a\npod big cpu=8\npod web cpu=1"),
        "big -> claim c1\nweb -> default-0",
    );
    check(
        &format!(
            "{THREE}claim c1 offering=t/a\npod web cpu=1 select.topology.kubernetes.io/zone=b\npod api cpu=1"
        ),
        "web -> default-0\napi -> claim c1",
    );
}

#[test]
fn a_claims_own_labels_and_taints_count() {
    check(
        &format!(
            "{THREE}pool p\nclaim c1 pool=p offering=t/a label.team=red\npod web cpu=1 select.team=red"
        ),
        "web -> claim c1",
    );
    check(
        &format!(
            "{THREE}pool p\nclaim c1 pool=p offering=t/a taint=x\npod web cpu=1\npod api cpu=1 tolerate=x"
        ),
        "web -> p-0\napi -> claim c1",
    );
}

#[test]
fn one_host_port_is_had_once_on_a_claim_too() {
    check(
        &format!("{THREE}claim c1 offering=t/a\npod web cpu=1 port=80 x2"),
        "web-1 -> claim c1\nweb-2 -> default-0",
    );
}

#[test]
fn nodes_that_are_ready_come_before_nodes_that_are_not_and_both_before_claims() {
    check(
        &format!(
            "{THREE}node z cpu=1 zone=a\nnode a cpu=1 zone=a uninitialized\nclaim c1 offering=t/a\npod web cpu=1 x3"
        ),
        "web-1 -> z\nweb-2 -> a\nweb-3 -> claim c1",
    );
}

#[test]
fn of_many_nodes_all_that_are_ready_are_filled_first() {
    let nodes = super::lines(0..100, |at| {
        format!(
            "node n{at} cpu=1 {}",
            if at % 2 == 0 { "" } else { "uninitialized" }
        )
    });
    let plan = planned(&format!("{nodes}\npod web cpu=1 x50"));
    for line in plan.lines() {
        assert!(line.ends_with(['0', '2', '4', '6', '8']), "{line}");
    }
    refused(&format!("{nodes}\npod web cpu=1 x50"), 0);
}

#[test]
fn a_node_that_does_not_suit_is_passed_by_for_a_claim_that_does() {
    check(
        &format!("{THREE}node n1 cpu=8 zone=a\npod web cpu=1 select.topology.kubernetes.io/zone=c"),
        "web -> default-0",
    );
    hosts(
        "type t cpu=8 price=1 label.kubernetes.io/arch=amd64\nnode n1 cpu=8 label.kubernetes.io/arch=arm64\npod web cpu=1 term=arch:NotIn:arm64 x2",
        "2",
    );
}

#[test]
fn daemons_take_their_ports_on_a_claim_too() {
    check(
        "type t cpu=4 price=1\ndaemon log port=80\nclaim c1 offering=t/a\npod web cpu=1 port=80",
        "web: HostPortTaken",
    );
}

#[test]
fn a_claim_has_the_labels_of_its_pool_and_of_its_type() {
    let world = |asked: &str| {
        format!(
            "type t cpu=4 price=1 label.kubernetes.io/arch=arm64\nclaim c1 offering=t/a\npod web cpu=1 select.{asked}"
        )
    };
    check(&world("karpenter.sh/nodepool=default"), "web -> claim c1");
    check(&world("kubernetes.io/arch=arm64"), "web -> claim c1");
}

#[test]
fn a_claim_attaches_no_more_volumes_than_its_type() {
    check(
        "type t cpu=4 price=1\nvolume-limit csi most=1\nclaim c1 offering=t/a\npod a cpu=1 volume=a:csi\npod b cpu=1 volume=b:csi",
        "a -> claim c1\nb -> default-0",
    );
}

#[test]
fn what_the_cloud_says_of_a_claim_counts_more_than_the_catalog() {
    let world = |cpu: u32| {
        format!("type t cpu=4 price=1\nclaim c1 offering=t/a told.cpu=2\npod web cpu={cpu}")
    };
    check(&world(2), "web -> claim c1");
    check(&world(4), "web -> default-0");
}

#[test]
fn a_daemon_that_waits_for_the_node_to_be_initialized_lands_on_a_claim_in_the_end() {
    let world = |cpu: u32| {
        format!(
            "type t cpu=4 price=1\ndaemon log cpu=1 select.karpenter.sh/initialized=true\nclaim c1 offering=t/a\npod web cpu={cpu}"
        )
    };
    check(&world(3), "web -> claim c1");
    check(&world(4), "web: NothingLargeEnough");
}

#[test]
fn a_claim_that_cannot_carry_its_daemons_takes_nobody() {
    check(
        "type t cpu=4 price=1\ndaemon log memory=2Ti\nclaim c1 offering=t/a\npod web cpu=1",
        "web: NothingLargeEnough",
    );
}
