//! What do the nodes and pools amount to at this moment?
//!
//! Read off the mirror every few seconds. A series whose node or pool is gone goes with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use planner::drain::Owner;
use planner::{ResourceName, Resources, labels};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::gauge::Gauge;
use runtime::metrics::{Labels, Levels as Family, Metrics};

use super::{label, table};
use crate::hub::Shared;
use crate::ingest;
use crate::snapshot::{self, by_node};

const EVERY: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct OfNode {
    node_name: String,
    nodepool: String,
    instance_type: String,
    zone: String,
    region: String,
    arch: String,
    os: String,
    capacity_type: String,
    managed: String,
    resource_type: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct OfPool {
    resource_type: String,
    nodepool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct OfResource {
    resource_type: String,
}

#[derive(Clone)]
pub struct Levels {
    allocatable: Series<OfNode>,
    pods: Series<OfNode>,
    daemons: Series<OfNode>,
    overhead: Series<OfNode>,
    utilization: Series<OfResource>,
    limits: Series<OfPool>,
    usage: Series<OfPool>,
    nodes: Gauge,
    synced: Gauge,
}

/// One gauge per label set, and which were set last time.
#[derive(Clone)]
struct Series<L> {
    family: Family<L>,
    set: Arc<Mutex<BTreeSet<L>>>,
}

impl<L: Labels + Ord> Series<L> {
    fn new(metrics: &Metrics, name: &str) -> Self {
        Self {
            family: metrics.levels(name, table::help(name)),
            set: Arc::default(),
        }
    }

    fn replace(&self, fresh: BTreeMap<L, f64>) {
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in set.iter().filter(|labels| !fresh.contains_key(labels)) {
            self.family.remove(gone);
        }
        for (labels, amount) in &fresh {
            self.family.get_or_create(labels).set(*amount);
        }
        *set = fresh.into_keys().collect();
    }
}

/// What one node gives, and what is asked of it.
struct Filled<'a> {
    node: &'a Node,
    capacity: Resources,
    allocatable: Resources,
    pods: Resources,
    daemons: Resources,
}

impl Levels {
    pub(super) fn new(metrics: &Metrics) -> Self {
        let gauge = |name: &str| metrics.gauge(name, table::help(name));
        Self {
            allocatable: Series::new(metrics, "karpenter_nodes_allocatable"),
            pods: Series::new(metrics, "karpenter_nodes_total_pod_requests"),
            daemons: Series::new(metrics, "karpenter_nodes_total_daemon_requests"),
            overhead: Series::new(metrics, "karpenter_nodes_system_overhead"),
            utilization: Series::new(metrics, "karpenter_cluster_utilization_percent"),
            limits: Series::new(metrics, "karpenter_nodepools_limit"),
            usage: Series::new(metrics, "karpenter_nodepools_usage"),
            nodes: gauge("karpenter_cluster_state_node_count"),
            synced: gauge("karpenter_cluster_state_synced"),
        }
    }

    fn show_nodes(&self, nodes: &[Filled<'_>]) {
        let each = |of: &dyn Fn(&Filled<'_>) -> Resources| {
            let all = nodes.iter().flat_map(|filled| {
                let amounts = of(filled);
                let series: Vec<_> = amounts
                    .iter()
                    .map(|(name, amount)| (of_node(filled.node, name), units(name, amount)))
                    .collect();
                series
            });
            all.collect::<BTreeMap<_, _>>()
        };
        self.allocatable
            .replace(each(&|filled| filled.allocatable.clone()));
        self.pods.replace(each(&|filled| filled.pods.clone()));
        self.daemons.replace(each(&|filled| filled.daemons.clone()));
        self.overhead
            .replace(each(&|filled| filled.capacity.minus(&filled.allocatable)));
        let sum = |of: &dyn Fn(&Filled<'_>) -> Resources| {
            nodes
                .iter()
                .fold(Resources::new(), |sum, filled| sum.plus(&of(filled)))
        };
        let given = sum(&|filled| filled.allocatable.clone());
        let asked = sum(&|filled| filled.pods.plus(&filled.daemons));
        let share = given.iter().filter(|(_, given)| *given > 0);
        let share = share.map(|(name, given)| {
            let resource_type = name.as_str().to_owned();
            let percent = units(name, asked.get(name)) / units(name, given) * 100.0;
            (OfResource { resource_type }, percent)
        });
        self.utilization.replace(share.collect());
    }
}

/// Never ends.
pub async fn run(hub: &Shared) {
    loop {
        look(hub).await;
        tokio::time::sleep(EVERY).await;
    }
}

async fn look(hub: &Shared) {
    let levels = &hub.counts.levels;
    let synced = snapshot::caught_up(hub).await.is_ok();
    levels.synced.set(i64::from(synced));
    let nodes = hub.mirror.nodes.all();
    let bound = by_node(&hub.mirror.pods.all());
    let filled: Vec<_> = nodes
        .iter()
        .map(|node| {
            let pods = bound.get(&node.name_any()).map_or(&[][..], Vec::as_slice);
            fill(node, pods)
        })
        .collect();
    levels.show_nodes(&filled);
    let claims = hub.mirror.claims.all();
    let flying = claims
        .iter()
        .filter(|claim| hub.mirror.nodes.get(&claim.name_any()).is_none());
    let count = nodes.len() + flying.count();
    levels.nodes.set(i64::try_from(count).unwrap_or(i64::MAX));
    let (mut limits, mut usage) = (BTreeMap::new(), BTreeMap::new());
    for pool in hub.mirror.pools.all() {
        if !ingest::pool::is_ours(&pool) {
            continue;
        }
        let name = pool.name_any();
        let limit = ingest::amounts(pool.spec.limits.as_ref()).unwrap_or_default();
        limits.extend(of_pool(&name, &limit));
        let (_, used) = crate::controllers::pool::totals(hub, &name);
        usage.extend(of_pool(&name, &used));
    }
    levels.limits.replace(limits);
    levels.usage.replace(usage);
}

fn fill<'a>(node: &'a Node, pods: &[Arc<Pod>]) -> Filled<'a> {
    let (capacity, allocatable) = ingest::node::room(node);
    let mut filled = Filled {
        node,
        capacity,
        allocatable,
        pods: Resources::new(),
        daemons: Resources::new(),
    };
    for pod in pods {
        let takes = pod.spec.as_ref().map(ingest::pod::requests);
        let takes = takes.and_then(Result::ok).unwrap_or_default();
        let takes = takes.with(ResourceName::Pods, 1);
        let into = match ingest::pod::owner(pod) {
            Owner::DaemonSet => &mut filled.daemons,
            Owner::Workload | Owner::StatefulSet | Owner::Node => &mut filled.pods,
        };
        *into = into.plus(&takes);
    }
    filled
}

fn of_node(node: &Node, resource: &ResourceName) -> OfNode {
    let pool = label(node, labels::POOL);
    OfNode {
        node_name: node.name_any(),
        managed: (!pool.is_empty()).to_string(),
        nodepool: pool,
        instance_type: label(node, labels::INSTANCE_TYPE),
        zone: label(node, labels::ZONE),
        region: label(node, labels::REGION),
        arch: label(node, "kubernetes.io/arch"),
        os: label(node, "kubernetes.io/os"),
        capacity_type: label(node, labels::CAPACITY_TYPE),
        resource_type: resource.as_str().to_owned(),
    }
}

fn of_pool(pool: &str, amounts: &Resources) -> Vec<(OfPool, f64)> {
    let one = |(name, amount): (&ResourceName, i64)| {
        let labels = OfPool {
            resource_type: name.as_str().to_owned(),
            nodepool: pool.to_owned(),
        };
        (labels, units(name, amount))
    };
    amounts.iter().map(one).collect()
}

/// Cores, bytes, pieces.
#[allow(
    clippy::cast_precision_loss,
    reason = "a metric; exact up to 8 petabytes"
)]
fn units(name: &ResourceName, amount: i64) -> f64 {
    match name {
        ResourceName::Cpu => amount as f64 / 1000.0,
        ResourceName::Memory
        | ResourceName::EphemeralStorage
        | ResourceName::Pods
        | ResourceName::Nodes
        | ResourceName::Other(_) => amount as f64,
    }
}

#[cfg(test)]
pub(super) fn show_something(levels: &Levels) {
    let amounts = Resources::new().with(ResourceName::Cpu, 1);
    let node = Node::default();
    levels.show_nodes(&[Filled {
        node: &node,
        capacity: amounts.clone(),
        allocatable: amounts.clone(),
        pods: amounts.clone(),
        daemons: amounts.clone(),
    }]);
    let pool = || of_pool("general", &amounts).into_iter().collect();
    levels.limits.replace(pool());
    levels.usage.replace(pool());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(name: &str) -> Node {
        serde_json::from_value(json!({
            "metadata": { "name": name, "labels": { labels::POOL: "general", labels::ZONE: "z1" } },
            "status": {
                "capacity": { "cpu": "4", "memory": "8Gi" },
                "allocatable": { "cpu": "3500m", "memory": "7Gi" },
            },
        }))
        .unwrap()
    }

    fn pod(owner: Option<&str>) -> Arc<Pod> {
        let owners = owner.map(|kind| json!([{ "apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": true }]));
        let pod = json!({
            "metadata": { "name": "p", "namespace": "default", "ownerReferences": owners },
            "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "700m" } } }] },
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn a_node_shows_what_it_gives_and_what_is_asked_and_goes_with_the_node() {
        let metrics = Metrics::default();
        let levels = Levels::new(&metrics);
        let (a, b) = (node("a"), node("b"));
        let pods = [pod(None), pod(Some("DaemonSet"))];
        levels.show_nodes(&[fill(&a, &pods), fill(&b, &[])]);
        let text = metrics.text();
        let line = |name: &str, amount: &str| {
            text.lines().any(|line| {
                line.starts_with(&format!("karpenter_{name}{{node_name=\"a\""))
                    && line.contains("resource_type=\"cpu\"")
                    && line.ends_with(amount)
            })
        };
        assert!(line("nodes_allocatable", " 3.5"), "{text}");
        assert!(line("nodes_total_pod_requests", " 0.7"), "{text}");
        assert!(line("nodes_total_daemon_requests", " 0.7"), "{text}");
        assert!(line("nodes_system_overhead", " 0.5"), "{text}");
        assert!(
            text.contains("karpenter_cluster_utilization_percent{resource_type=\"cpu\"} 20.0\n"),
            "{text}"
        );
        levels.show_nodes(&[fill(&b, &[])]);
        assert!(!metrics.text().contains("node_name=\"a\""));
    }
}
