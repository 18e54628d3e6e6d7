//! What do daemons take of new claims and of nodes, whatever keeps them away or lets them in?

use super::{check, planned};
use rstest::rstest;

const TWO: &str = "known size
type small cpu=2 price=1 label.size=s
type big cpu=4 price=2 label.size=b
";

/// A daemon of half a cpu makes `small` too small for a pod that would fill it.
#[rstest]
#[case("", "big/")]
#[case("select.node=invalid", "small/")]
#[case("term=node:In:invalid", "small/")]
#[case("term=node:NotIn:any", "big/")]
#[case("term=node:DoesNotExist", "big/")]
#[case("select.team=red", "big/")]
#[case("select.team=blue", "small/")]
#[case("select.size=b", "small/")]
#[case("select.size=s", "big/")]
#[case("select.size=none", "small/")]
#[case("term=size:In:none term=size:In:s", "big/")]
#[case("term=team:In:blue term=size:In:b", "small/")]
#[case("prefer=1:size:In:none", "big/")]
#[case("prefer=1:team:In:blue", "big/")]
#[case("select.karpenter.sh/nodepool=p", "big/")]
#[case("select.karpenter.sh/nodepool=q", "small/")]
#[case("select.karpenter.sh/initialized=true", "big/")]
#[case("select.karpenter.sh/registered=true", "big/")]
#[case("select.topology.kubernetes.io/zone=a", "big/")]
#[case("near=host:app=nobody", "big/")]
#[case("spread=rack:1:app=nobody", "big/")]
fn a_daemon_takes_room_where_its_own_terms_let_it_in(#[case] daemon: &str, #[case] expected: &str) {
    let plan = planned(&format!(
        "{TWO}pool p label.team=red\ndaemon log cpu=500m {daemon}\npod web cpu=2"
    ));
    assert!(plan.contains(expected), "{expected} expected of\n{plan}");
}

#[rstest]
#[case("taint=x", "", "small/")]
#[case("taint=x", "tolerate=x", "big/")]
#[case("taint=x:Prefer", "", "big/")]
#[case("taint=x taint=y:Prefer", "tolerate=x", "big/")]
#[case("taint=x taint=y", "tolerate=x", "small/")]
fn a_daemon_lands_where_it_tolerates_what_is_not_only_preferred(
    #[case] pool: &str,
    #[case] daemon: &str,
    #[case] expected: &str,
) {
    let plan = planned(&format!(
        "{TWO}pool p {pool}\ndaemon log cpu=500m {daemon}\npod web cpu=2 tolerate=x tolerate=y"
    ));
    assert!(plan.contains(expected), "{expected} expected of\n{plan}");
}

#[test]
fn daemons_too_large_for_every_type_leave_nothing_to_buy() {
    check(
        &format!("{TWO}daemon log cpu=5\npod web cpu=1"),
        "web: NothingLargeEnough",
    );
    check(
        &format!("{TWO}daemon log cpu=2500m\ndaemon net cpu=2\npod web cpu=1"),
        "web: NothingLargeEnough",
    );
}

#[test]
fn a_daemon_without_requests_takes_a_place_for_pods_only() {
    check(
        "type t cpu=1 pods=2 price=1\ndaemon log\npod web cpu=1",
        "web -> default-0",
    );
    check(
        "type t cpu=2 pods=2 price=1\ndaemon log\npod web cpu=1 x2",
        "web-1 -> default-0\nweb-2 -> default-1",
    );
}

#[test]
fn a_port_of_a_daemon_that_lands_elsewhere_is_free() {
    check(
        &format!("{TWO}daemon log port=80 select.size=none\npod web cpu=1 port=80"),
        "web -> default-0",
    );
    check(
        &format!("{TWO}daemon log port=80\npod web cpu=1 port=80"),
        "web: HostPortTaken",
    );
}

#[test]
fn a_daemon_pod_nobody_expected_takes_what_it_takes() {
    check(
        "node n1 cpu=4 used=2 daemons.cpu=2\ndaemon log cpu=1\npod web cpu=1 x3",
        "web-1 -> n1\nweb-2 -> n1\nweb-3: NoPool",
    );
}

#[test]
fn of_several_daemons_what_has_not_landed_yet_is_kept_free() {
    check(
        "node n1 cpu=4 used=1 daemons.cpu=1\ndaemon log cpu=1\ndaemon net cpu=1\npod web cpu=1 x3",
        "web-1 -> n1\nweb-2 -> n1\nweb-3: NoPool",
    );
}

/// A daemon on a node needs the label there; on a new claim the cloud may still bring it.
#[rstest]
#[case("", "", "")]
#[case(
    "label.karpenter.sh/initialized=true",
    "select.karpenter.sh/initialized=true",
    ""
)]
#[case("", "select.karpenter.sh/initialized=true", "web-4 -> n1")]
#[case("", "select.topology.kubernetes.io/zone=a", "web-4 -> n1")]
#[case("zone=a", "select.topology.kubernetes.io/zone=a", "")]
#[case("zone=b", "select.topology.kubernetes.io/zone=a", "web-4 -> n1")]
#[case("", "term=team:In:red term=team:DoesNotExist", "")]
#[case("", "term=team:In:red term=team:In:blue", "web-4 -> n1")]
fn a_daemon_is_expected_on_a_node_only_if_its_labels_say_so(
    #[case] node: &str,
    #[case] daemon: &str,
    #[case] last: &str,
) {
    let last = if last.is_empty() {
        "web-4: NoPool"
    } else {
        last
    };
    check(
        &format!("node n1 cpu=4 {node}\ndaemon log cpu=1 {daemon}\npod web cpu=1 x4"),
        &format!("web-1 -> n1\nweb-2 -> n1\nweb-3 -> n1\n{last}"),
    );
}
