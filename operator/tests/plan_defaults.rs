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
