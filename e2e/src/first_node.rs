//! Do pending pods become running ones on machines bought for them, and do the machines go when nobody needs them?
//!
//! The same scenario for every world: it knows a client of the cluster and how to count what is in the cloud.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::emulator::{Emulated, Emulator};
use crate::ground::api;
use crate::{Running, apply, wait};

/// How many things of ours are in the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InCloud {
    pub servers: usize,
    pub ports: usize,
}

/// A cloud that can be looked into from behind.
#[async_trait]
pub trait Cloud: Sync {
    async fn count(&self) -> Result<InCloud>;
}

/// Where the scenario is played. The operator runs already.
pub struct Stage<'a> {
    pub client: Client,
    pub cloud: &'a dyn Cloud,
    /// How long anything may take.
    pub patience: Duration,
}

/// A class of the emulated cloud, and a pool whose empty nodes go at once.
pub const CLASS_AND_POOL: &str = "
apiVersion: karpenter.k8s.openstack/v1
kind: OpenStackNodeClass
metadata: {name: default}
spec:
  imageSelectorTerms: [{name: k8s-ubuntu-24.04}]
  ports: [{network: {name: k8s}}]
  securityGroupSelectorTerms: [{name: k8s-node}]
  bootstrap: {mode: Kubelet}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]}
";

const TOKENS: &str = "type=bootstrap.kubernetes.io/token";

/// Twenty mixed pods: Pending → Running on machines bought for them; scaled to zero, nothing is left.
pub async fn there_and_back(stage: &Stage<'_>) -> Result<()> {
    let before = stage.inventory().await?;
    apply(&stage.client, CLASS_AND_POOL).await?;
    for (name, cpu, memory) in [("small", "250m", "256Mi"), ("wide", "1", "512Mi")] {
        let text = deployment(name, 10, &format!("{{cpu: {cpu}, memory: {memory}}}"), "{}");
        apply(&stage.client, &text).await?;
    }
    stage.running(20).await?;
    let now = stage.cloud.count().await?.servers;
    let machines = now.saturating_sub(before.cloud.servers);
    ensure!(machines > 0, "pods run, and the cloud knows no server");
    println!("20 pods run on {machines} servers");
    for name in ["small", "wide"] {
        stage.scale(name, 0).await?;
    }
    stage.nothing_more_than(&before).await
}

/// Ends operator and cloud after a story. One that went wrong shows what the operator said.
pub async fn conclude(
    outcome: Result<()>,
    mut operator: Running,
    emulator: Emulator,
) -> Result<()> {
    if outcome.is_err() {
        println!("the operator said:\n{}", operator.log());
    }
    outcome?;
    let status = operator.terminate(Duration::from_secs(30)).await?;
    ensure!(status.success(), "the operator ended with {status}");
    emulator.stop().await
}

/// What the cluster and the cloud hold that Joiner makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    pub claims: usize,
    pub nodes: usize,
    pub tokens: usize,
    pub cloud: InCloud,
}

impl Stage<'_> {
    pub async fn inventory(&self) -> Result<Inventory> {
        let all = ListParams::default();
        let claims = api(&self.client, "karpenter.sh/v1", "NodeClaim");
        let nodes: Api<Node> = Api::all(self.client.clone());
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kube-system");
        let tokens = ListParams::default().fields(TOKENS);
        Ok(Inventory {
            claims: claims.list(&all).await?.items.len(),
            nodes: nodes.list(&all).await?.items.len(),
            tokens: secrets.list(&tokens).await?.items.len(),
            cloud: self.cloud.count().await?,
        })
    }

    /// Waits until so many pods of namespace `default` run, and no other is there.
    pub async fn running(&self, count: usize) -> Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        wait::succeeds("all pods to run", self.patience, async || {
            let listed = pods.list(&ListParams::default()).await?;
            let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
            let phases: Vec<_> = listed.iter().filter_map(phase).collect();
            let running = phases.iter().filter(|phase| *phase == "Running").count();
            ensure!(
                running == count && phases.len() == count,
                "{running} of {count} run: {phases:?}"
            );
            Ok(())
        })
        .await
    }

    pub async fn scale(&self, deployment: &str, replicas: u32) -> Result<()> {
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), "default");
        let change = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        api.patch_scale(deployment, &PatchParams::default(), &change)
            .await
            .with_context(|| format!("scaling {deployment}"))?;
        Ok(())
    }

    /// No claim, node, server, port or bootstrap token beyond those that were there.
    pub async fn nothing_more_than(&self, before: &Inventory) -> Result<()> {
        wait::succeeds("nothing to be left", self.patience, async || {
            let now = self.inventory().await?;
            ensure!(now == *before, "{now:?}, before: {before:?}");
            Ok(())
        })
        .await
    }
}

/// A Deployment of namespace `default`; `selector` is its pods' nodeSelector.
pub fn deployment(name: &str, replicas: u32, requests: &str, selector: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: default}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {selector}
      containers: [{{name: main, image: pause, resources: {{requests: {requests}}}}}]
"
    )
}

#[async_trait]
impl Cloud for Emulator {
    async fn count(&self) -> Result<InCloud> {
        let state = self.admin("state").await?;
        let count = |what: &str| {
            let all = state[what].as_object();
            all.map(serde_json::Map::len)
                .with_context(|| format!("the state has no {what}"))
        };
        Ok(InCloud {
            servers: count("servers")?,
            ports: count("ports")?,
        })
    }
}

#[async_trait]
impl Cloud for Emulated {
    async fn count(&self) -> Result<InCloud> {
        Ok(self.world(|world| InCloud {
            servers: world.servers.len(),
            ports: world.ports.len(),
        }))
    }
}
