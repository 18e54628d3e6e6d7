//! Do the default constraints of kube-scheduler's configuration reach the pods that have none?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use clap::Parser;
use operator::plan::{Answer, Asked, Trouble, answer};

const CATALOG: &str = "apiVersion: joiner.dev/v1alpha1
kind: Catalog
instanceTypes:
- name: large
  capacity: {cpu: '16', memory: 64Gi, pods: '110'}
  offerings:
  - {price: 1, requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]}
  - {price: 1, requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]}
  - {price: 1, requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [c]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]}
";

const POOL: &str = "apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}
";

const EVENLY: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
";

/// Six pods of one ReplicaSet; `more` is added to their spec.
fn pods(more: &str) -> String {
    let mut text = POOL.to_owned();
    for at in 0..6 {
        let _ = write!(
            text,
            "---
apiVersion: v1
kind: Pod
metadata:
  name: web-{at}
  namespace: default
  labels: {{app: web}}
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}}]
spec:
  containers: [{{name: main, image: any, resources: {{requests: {{cpu: '1'}}}}}}]
{more}"
        );
    }
    text
}

fn planned(name: &str, objects: &str, configuration: Option<&str>) -> Result<Answer, Trouble> {
    let folder: PathBuf =
        std::env::temp_dir().join(format!("joiner-defaults-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut words = vec!["plan".to_owned()];
    words.extend(["-f".to_owned(), file("objects.yaml", objects)]);
    words.extend(["--catalog".to_owned(), file("catalog.yaml", CATALOG)]);
    if let Some(text) = configuration {
        words.extend([
            "--scheduler-config".to_owned(),
            file("scheduler.yaml", text),
        ]);
    }
    let asked = Asked::try_parse_from(words).unwrap();
    let answer = answer(&asked, "2026-01-01T00:00:00Z".parse().unwrap());
    fs::remove_dir_all(&folder).unwrap();
    answer
}

/// Pods by zone.
fn zones(answer: &Answer) -> Vec<(String, usize)> {
    let mut zones: BTreeMap<String, usize> = BTreeMap::new();
    for claim in &answer.plan.claims {
        let zone = claim.cheapest.as_ref().unwrap().zone.clone();
        *zones.entry(zone).or_default() += claim.pods.len();
    }
    zones.into_iter().collect()
}

#[test]
fn without_a_configuration_pods_share_one_node() {
    let answer = planned("none", &pods(""), None).unwrap();
    assert_eq!(answer.plan.totals.claims, 1);
}

#[test]
fn pods_without_constraints_are_spread_as_the_configuration_says() {
    let answer = planned("given", &pods(""), Some(EVENLY)).unwrap();
    let even = ["a", "b", "c"].map(|zone| (zone.to_owned(), 2));
    assert_eq!(zones(&answer), even);
}

#[test]
fn a_pod_with_a_constraint_of_its_own_keeps_to_that_one() {
    let own = "  topologySpreadConstraints: [{maxSkew: 6, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]\n";
    let answer = planned("own", &pods(own), Some(EVENLY)).unwrap();
    assert_eq!(answer.plan.totals.claims, 1);
}

/// The configuration with this one default constraint.
fn by_default(constraint: &str) -> String {
    let (head, _) = EVENLY.split_once("      - {").unwrap();
    format!("{head}      - {{{constraint}}}\n")
}

#[test]
fn hosts_are_spread_over_by_default_like_zones() {
    let text = by_default(
        "maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule",
    );
    let answer = planned("hosts", &pods(""), Some(&text)).unwrap();
    assert_eq!(answer.plan.totals.claims, 6);
}

#[test]
fn the_least_number_of_domains_is_carried_over() {
    // Three zones are there and four are asked for: one pod in each, and no more.
    let text = by_default(
        "maxSkew: 1, minDomains: 4, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule",
    );
    let answer = planned("least", &pods(""), Some(&text)).unwrap();
    assert_eq!(
        zones(&answer),
        ["a", "b", "c"].map(|zone| (zone.to_owned(), 1))
    );
    assert_eq!(answer.plan.refusals.len(), 3);
}

#[test]
fn a_default_that_must_hold_refuses_and_one_that_should_is_given_up() {
    let unknown = |when: &str| {
        let text = by_default(&format!(
            "maxSkew: 1, topologyKey: rack, whenUnsatisfiable: {when}"
        ));
        planned("unknown", &pods(""), Some(&text)).unwrap().plan
    };
    assert_eq!(unknown("DoNotSchedule").refusals.len(), 6);
    assert!(unknown("ScheduleAnyway").refusals.is_empty());
}

#[test]
fn a_pod_that_belongs_to_nobody_is_spread_by_nothing() {
    let alone = pods("").replace("  ownerReferences:", "  finalizers: [] # ");
    assert_ne!(alone, pods(""));
    let answer = planned("alone", &alone, Some(EVENLY)).unwrap();
    assert_eq!(answer.plan.totals.claims, 1);
}

#[test]
fn pods_that_run_already_are_counted_by_default_too() {
    let old = |name: &str| {
        format!("---
{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default, labels: {{app: web}}}}, spec: {{nodeName: n, containers: []}}}}
")
    };
    let node = "---
{apiVersion: v1, kind: Node, metadata: {name: n, labels: {topology.kubernetes.io/zone: a}}, status: {allocatable: {pods: '2'}}}
";
    let text = pods("") + node + &old("x") + &old("y");
    let answer = planned("counted", &text, Some(EVENLY)).unwrap();
    // Eight in all, so three, three and two of them; two are in a already.
    let zones = zones(&answer);
    assert_eq!(zones.iter().map(|(_, pods)| pods).sum::<usize>(), 6);
    let most = |zone: &str| if zone == "a" { 1 } else { 3 };
    assert!(
        zones.iter().all(|(zone, pods)| *pods <= most(zone)),
        "{zones:?}"
    );
}

#[test]
fn each_workload_and_each_revision_of_it_is_spread_alone() {
    let revision = |of: &str| {
        pods("")
            .split_off(POOL.len())
            .replace("name: web-", &format!("name: {of}-"))
            .replace(
                "{app: web}",
                &format!("{{app: web, pod-template-hash: {of}}}"),
            )
    };
    let other = revision("x")
        .replace("app: web", "app: api")
        .replace("name: x-", "name: api-");
    let text = POOL.to_owned() + &revision("one") + &revision("two") + &other;
    let answer = planned("revisions", &text, Some(EVENLY)).unwrap();
    for of in ["one", "two", "api"] {
        let mut by_zone: BTreeMap<String, usize> = BTreeMap::new();
        for claim in &answer.plan.claims {
            let zone = claim.cheapest.as_ref().unwrap().zone.clone();
            let mine = claim
                .pods
                .iter()
                .filter(|pod| pod.contains(&format!("/{of}-")));
            *by_zone.entry(zone).or_default() += mine.count();
        }
        assert_eq!(by_zone.into_values().collect::<Vec<_>>(), [2, 2, 2], "{of}");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_named_with_its_field() {
    for (name, from, to, named) in [
        ("kind", "kind: KubeScheduler", "kind: KubeProxy", "kind"),
        ("skew", "maxSkew: 1", "maxSkew: many", "defaultConstraints"),
        ("zero", "maxSkew: 1", "maxSkew: 0", "defaultConstraints"),
        ("yaml", "profiles:", "profiles: {", "scheduler.yaml"),
    ] {
        let text = EVENLY.replace(from, to);
        let said = planned(name, &pods(""), Some(&text)).unwrap_err();
        let said = said.to_string();
        let fine = said.contains("scheduler.yaml") && said.contains(named);
        assert!(fine, "{name}: {said}");
    }
}
