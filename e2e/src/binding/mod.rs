//! Does a scheduler agree with the planner: every planned pod binds to its planned node, every refused one stays Pending?
//!
//! Nodes are plain objects and nobody runs pods on them. A few hundred generated clusters, some at a time.

pub mod case;
pub mod disks;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;
use xtask::bench::schedule::cluster::cluster;

use self::case::{Case, ROUND, tied_to};
use crate::Scratch;

/// Cases that are in the cluster at the same time.
const TOGETHER: usize = 30;
const PATIENCE: Duration = Duration::from_mins(2);
const EVERY: Duration = Duration::from_millis(250);
/// A pod that was refused is tried again after at most ten seconds; what has not changed for longer never will.
const NEVER: u32 = 60;
const SIDE_BY_SIDE: usize = 24;

/// Who makes the volumes of claims that were given a node?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disks {
    Cluster,
    Test,
}

/// Plays the clusters of these seeds and tells what both said.
pub async fn play(client: &Client, seeds: &[u64], disks: Disks) -> Result<Sum> {
    let scratch = Scratch::new()?;
    let mut sum = Sum::default();
    for (at, seeds) in seeds.chunks(TOGETHER).enumerate() {
        let round = Round {
            client: client.clone(),
            name: format!("r{at}"),
            disks,
        };
        let cases = seeds
            .iter()
            .map(|seed| Case::of(cluster(*seed), *seed, &round.name, &scratch));
        let cases = cases.collect::<Result<Vec<_>>>()?;
        round.play(&cases, &mut sum).await?;
        round.clear(&cases).await?;
    }
    Ok(sum)
}

/// What was played, and where planner and scheduler disagree.
#[derive(Debug, Default)]
pub struct Sum {
    pub cases: usize,
    pub nodes: usize,
    pub opened: usize,
    pub planned: usize,
    pub refused: usize,
    /// Refused for a spread, and bound, where a claim was free to come up in an emptier zone and did not. Such a pod waits
    /// until the machine is there, and its scheduler binds it.
    pub early: Vec<String>,
    pub wrong: Vec<String>,
}

impl Sum {
    /// No placement is refused. Nobody is bound who was refused, but for those few who wait for a zone to be decided.
    pub fn agrees(&self) -> Result<()> {
        ensure!(self.wrong.is_empty(), "{:#?}", self.wrong);
        let few = self.early.len() * 200 <= self.refused;
        ensure!(few, "of {} refused: {:#?}", self.refused, self.early);
        Ok(())
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standing = self.nodes - self.opened;
        write!(
            f,
            "{} cases: {} pods on {} planned and {standing} standing nodes, {} refused, {} of them too early",
            self.cases,
            self.planned,
            self.opened,
            self.refused,
            self.early.len()
        )
    }
}

/// Some cases that are in the cluster together.
struct Round {
    client: Client,
    name: String,
    disks: Disks,
}

/// What the scheduler has said about a pod.
#[derive(Debug, PartialEq)]
enum Verdict {
    On(String),
    Refused(String),
    None,
}

impl Round {
    async fn play(&self, cases: &[Case], sum: &mut Sum) -> Result<()> {
        let all = |of: fn(&Case) -> &Vec<Value>| cases.iter().flat_map(of);
        self.create::<Namespace>(all(|case| &case.namespaces).cloned())
            .await?;
        self.create::<StorageClass>(all(|case| &case.classes).cloned())
            .await?;
        self.create::<PersistentVolume>(all(|case| &case.volumes).cloned())
            .await?;
        self.create_in::<PersistentVolumeClaim>(all(|case| &case.disks))
            .await?;
        self.create::<Node>(all(|case| &case.nodes).cloned())
            .await?;
        self.create::<CSINode>(all(|case| &case.limits).cloned())
            .await?;
        self.create_in::<Pod>(all(|case| &case.bound)).await?;
        let daemons = all(|case| &case.daemons);
        self.create_in::<Pod>(daemons.clone()).await?;
        self.judged(daemons, |_| true).await?;

        let planned = all(|case| &case.planned);
        self.create_in::<Pod>(planned.clone()).await?;
        let verdicts = self
            .judged(planned.clone(), |one| matches!(one, Verdict::On(_)))
            .await?;
        for pod in planned {
            let node = tied_to(pod).to_owned();
            let verdict = &verdicts[&key(pod)];
            if *verdict != Verdict::On(node.clone()) {
                sum.wrong
                    .push(format!("{}: planned on {node}, but {verdict:?}", key(pod)));
            }
        }
        let refused = all(|case| &case.refused);
        self.create_in::<Pod>(refused.clone()).await?;
        let verdicts = self.judged(refused, |_| true).await?;
        for case in cases {
            for pod in &case.refused {
                let Verdict::On(node) = &verdicts[&key(pod)] else {
                    continue;
                };
                let why = why(case, &key(pod));
                let told = format!("{}: refused, but bound to {node}: {why}", key(pod));
                if case.leaves_a_zone_open() && why.contains("SpreadUnmet: ") {
                    sum.early.push(told);
                } else {
                    sum.wrong.push(told);
                }
            }
        }
        sum.cases += cases.len();
        sum.nodes += all(|case| &case.nodes).count();
        sum.opened += cases
            .iter()
            .map(|case| case.plan.claims.len())
            .sum::<usize>();
        sum.planned += all(|case| &case.planned).count();
        sum.refused += all(|case| &case.refused).count();
        Ok(())
    }

    /// Waits until the scheduler has judged all of these pods, and as hoped for. What it never does is told as it stands.
    async fn judged<'a>(
        &self,
        pods: impl Iterator<Item = &'a Value>,
        hoped: impl Fn(&Verdict) -> bool,
    ) -> Result<BTreeMap<String, Verdict>> {
        let wanted: BTreeSet<String> = pods.map(key).collect();
        let deadline = Instant::now() + PATIENCE;
        let mut still = 0;
        let mut before = usize::MAX;
        loop {
            if self.disks == Disks::Test {
                disks::make(&self.client).await?;
            }
            let pods: Api<Pod> = Api::all(self.client.clone());
            let of_round = ListParams::default().labels(&format!("{ROUND}={}", self.name));
            let listed = pods.list(&of_round).await?;
            let mut verdicts: BTreeMap<String, Verdict> = listed
                .iter()
                .map(|pod| {
                    (
                        format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any()),
                        verdict(pod),
                    )
                })
                .collect();
            verdicts.retain(|name, _| wanted.contains(name));
            let judged = |one: &&Verdict| **one != Verdict::None && hoped(one);
            let open = wanted.len() - verdicts.values().filter(judged).count();
            let all_judged = verdicts.values().all(|one| *one != Verdict::None);
            still = if open == before && all_judged {
                still + 1
            } else {
                0
            };
            before = open;
            if open == 0 || still > NEVER {
                return Ok(verdicts);
            }
            if Instant::now() > deadline {
                bail!("{open} of {} pods without a verdict", wanted.len());
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn create<K>(&self, objects: impl Iterator<Item = Value>) -> Result<()>
    where
        K: kube::Resource<DynamicType = ()> + DeserializeOwned + Serialize + Clone + fmt::Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let api = &api;
        futures::stream::iter(objects.map(Ok))
            .try_for_each_concurrent(SIDE_BY_SIDE, async |object| {
                let object: K = serde_json::from_value(object)?;
                api.create(&PostParams::default(), &object).await?;
                Ok(())
            })
            .await
    }

    async fn create_in<'a, K>(&self, objects: impl Iterator<Item = &'a Value>) -> Result<()>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + DeserializeOwned
            + Serialize
            + Clone
            + fmt::Debug,
    {
        futures::stream::iter(objects.map(Ok))
            .try_for_each_concurrent(SIDE_BY_SIDE, async |object: &Value| {
                let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
                let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
                let typed: K = serde_json::from_value(object.clone())?;
                api.create(&PostParams::default(), &typed).await?;
                Ok(())
            })
            .await
    }

    /// Makes room for the next round.
    async fn clear(&self, cases: &[Case]) -> Result<()> {
        let now = DeleteParams::default().grace_period(0);
        let all = ListParams::default();
        let namespaces = cases.iter().flat_map(|case| &case.namespaces);
        futures::stream::iter(namespaces.map(Ok))
            .try_for_each_concurrent(SIDE_BY_SIDE, async |namespace: &Value| {
                let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
                let pods: Api<Pod> = Api::namespaced(self.client.clone(), name);
                pods.delete_collection(&now, &all).await?;
                Ok::<_, anyhow::Error>(())
            })
            .await?;
        let nodes: Api<Node> = Api::all(self.client.clone());
        nodes.delete_collection(&now, &all).await?;
        Ok(())
    }
}

fn key(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

fn verdict(pod: &Pod) -> Verdict {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    if let Some(node) = node {
        return Verdict::On(node);
    }
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.clone());
    let said = conditions
        .into_iter()
        .flatten()
        .find(|one| one.type_ == "PodScheduled" && one.status == "False");
    said.map_or(Verdict::None, |one| {
        Verdict::Refused(one.message.unwrap_or_default())
    })
}

/// What the plan said about a pod.
fn why(case: &Case, pod: &str) -> String {
    let found = case.plan.refusals.iter().find(|one| one.pod == pod);
    let reasons = found.into_iter().flat_map(|one| &one.why);
    let told: Vec<String> = reasons
        .map(|one| format!("{}: {}", one.reason, one.message))
        .collect();
    told.join("; ")
}
