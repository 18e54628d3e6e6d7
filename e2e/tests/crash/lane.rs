//! Where does one story take place: a control plane, a cloud, and an operator that can be killed?

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use e2e::ground::{Ground, api};
use e2e::lookalikes::Lookalikes;
use e2e::{Binary, ControlPlane, Running, apply, wait};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Secret};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::calls::Trap;
use crate::cloud::Cloud;

/// Generous: it bounds a test that hangs and judges nothing.
pub(crate) const SOON: Duration = Duration::from_mins(2);
pub(crate) const CREATE: &str = "/compute/v2.1/servers";
pub(crate) const LIST: &str = "/compute/v2.1/servers/detail";

const POOL_AND_PODS: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: pause, resources: {requests: {cpu: 100m, memory: 64Mi}}}]
";

/// A port of our own besides the one Nova makes: the longest launch there is.
pub(crate) const CLASS: &str = "
apiVersion: karpenter.k8s.openstack/v1
kind: OpenStackNodeClass
metadata: {name: default}
spec:
  imageSelectorTerms: [{name: k8s-ubuntu-24.04}]
  ports: [{network: {name: k8s}}, {network: {name: storage}, tags: [nodes]}]
  securityGroupSelectorTerms: [{name: k8s-node}]
  bootstrap: {mode: Kubelet}
";

pub(crate) struct Lane {
    pub(crate) ground: Ground,
    pub(crate) client: Client,
    pub(crate) cloud: Cloud,
    pub(crate) lookalikes: Lookalikes,
    pub(crate) kills: usize,
}

impl Lane {
    pub(crate) async fn start(control_plane: &ControlPlane) -> Result<Self> {
        Self::with(control_plane, CLASS, true).await
    }

    pub(crate) async fn with(
        control_plane: &ControlPlane,
        class: &str,
        joins: bool,
    ) -> Result<Self> {
        let ground = Ground::private(control_plane).await?;
        let client = ground.cluster.client().await?;
        let cloud = Cloud::start(joins).await?;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let cluster = namespaces.get("kube-system").await?.uid().context("uid")?;
        let project = cloud.access.project_id.clone();
        let lookalikes = cloud.world(|world| Lookalikes::plant(world, &project, &cluster))?;
        apply(&client, class).await?;
        apply(&client, POOL_AND_PODS).await?;
        Ok(Self {
            ground,
            client,
            cloud,
            lookalikes,
            kills: 0,
        })
    }

    /// No look-alike has changed.
    pub(crate) fn untouched(&self) -> Result<()> {
        self.cloud.world(|world| self.lookalikes.untouched(world))
    }

    /// An operator with a short lease. It sweeps only if told to, so that no leak is swept under the carpet.
    pub(crate) fn operator(&self, more: &[&str]) -> Result<Running> {
        let mut operator = Binary::named("joiner")?
            .arg("run")
            .arg("--kubeconfig")
            .arg(self.ground.cluster.kubeconfig());
        for flag in FLAGS.iter().chain(more) {
            operator = operator.arg(*flag);
        }
        for (name, value) in self.cloud.env() {
            operator = operator.env(&name, value);
        }
        operator.start()
    }

    /// Starts an operator, lets it run into the trap and kills it there. False if it was `over` before it came to that.
    pub(crate) async fn kill_at(
        &mut self,
        trap: &Trap,
        over: impl AsyncFn(&Self) -> Result<()>,
    ) -> Result<bool> {
        self.cloud.script([trap.fault()]);
        let mut operator = self.operator(&[])?;
        let deadline = Instant::now() + SOON;
        while !self.cloud.holds() {
            if !trap.must_come() && over(self).await.is_ok() {
                break;
            }
            if Instant::now() > deadline {
                bail!("{trap} never came; the operator said:\n{}", operator.log());
            }
            sleep(Duration::from_millis(20)).await;
        }
        let reached = self.cloud.holds();
        operator.kill().await?;
        self.cloud.let_go().await?;
        self.kills += usize::from(reached);
        Ok(reached)
    }

    pub(crate) async fn scale(&self, replicas: u32) -> Result<()> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), "default");
        let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        deployments
            .patch("web", &PatchParams::default(), &change)
            .await?;
        Ok(())
    }

    pub(crate) fn claims(&self) -> Api<DynamicObject> {
        api(&self.client, "karpenter.sh/v1", "NodeClaim")
    }

    /// No pods wanted, and their claims deleted, as a person would who does not wait for emptiness.
    pub(crate) async fn scale_to_nothing(&self) -> Result<()> {
        self.scale(0).await?;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let all = ListParams::default();
        // A pod that is still wanted would get a new claim.
        wait::succeeds("pods to be on their way out", SOON, async || {
            let pods = pods.list(&all).await?;
            let wanted = pods
                .iter()
                .filter(|pod| pod.metadata.deletion_timestamp.is_none());
            ensure!(wanted.count() == 0);
            Ok(())
        })
        .await?;
        let claims = self.claims();
        claims
            .delete_collection(&DeleteParams::default(), &all)
            .await?;
        Ok(())
    }

    pub(crate) async fn all_run(&self) -> Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let pods = pods.list(&ListParams::default()).await?;
        let phases: Vec<_> = pods
            .iter()
            .map(|pod| pod.status.as_ref().and_then(|status| status.phase.clone()))
            .collect();
        let running = phases.iter().flatten().all(|phase| phase == "Running");
        ensure!(!phases.is_empty() && running, "{phases:?}");
        Ok(())
    }

    /// Ids of servers that were not planted.
    pub(crate) fn servers(&self) -> Vec<String> {
        let all: Vec<String> = self
            .cloud
            .world(|world| world.servers.keys().cloned().collect());
        all.into_iter()
            .filter(|id| !self.lookalikes.contains(id))
            .collect()
    }

    /// No claim, no node, no server, no port, no bootstrap token.
    pub(crate) async fn nothing_left(&self) -> Result<()> {
        let all = ListParams::default();
        let nodes: Api<Node> = Api::all(self.client.clone());
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "kube-system");
        let tokens = all.clone().fields("type=bootstrap.kubernetes.io/token");
        let claims = self.claims().list(&all).await?.items.len();
        let nodes = nodes.list(&all).await?.items.len();
        let servers = self.servers().len();
        let ports = self.cloud.world(|world| world.ports.len());
        // One token is the cluster's own.
        let tokens = secrets.list(&tokens).await?.items.len() - 1;
        let left = (claims, nodes, servers, ports, tokens);
        ensure!(
            left == (0, 0, 0, 0, 0),
            "{claims} claims, {nodes} nodes, {servers} servers, {ports} ports, {tokens} tokens are left"
        );
        Ok(())
    }

    /// Waits for what `state` asks; meanwhile no claim may ever have two servers.
    pub(crate) async fn until(
        &self,
        what: &str,
        operator: &Running,
        state: impl AsyncFn(&Self) -> Result<()>,
    ) -> Result<()> {
        let waited = wait::succeeds(what, SOON, async || {
            state(self).await?;
            Ok(())
        });
        waited
            .await
            .with_context(|| format!("the operator said:\n{}", operator.log()))?;
        self.one_server_each()
    }

    pub(crate) fn one_server_each(&self) -> Result<()> {
        let twice = self.cloud.made_twice();
        ensure!(
            twice.is_empty(),
            "two servers for one claim: {}",
            twice.join(", ")
        );
        Ok(())
    }

    /// Scales to nothing with an operator that runs, and lets it judge the look-alikes before it ends.
    pub(crate) async fn clear(&self, operator: &mut Running) -> Result<()> {
        self.scale_to_nothing().await?;
        self.until("nothing to be left", operator, Self::nothing_left)
            .await?;
        let from = self.cloud.now();
        wait::succeeds("two sweeps", SOON, async || {
            let lists = self.cloud.calls_since(from);
            let lists = lists.iter().filter(|call| call.path == LIST).count();
            ensure!(lists >= 3, "{lists} lists");
            Ok(())
        })
        .await?;
        operator.terminate(Duration::from_secs(30)).await?;
        self.untouched()
    }
}

/// Sweeps at once; only what was there before this test is old enough to be removed.
pub(crate) const SWEEPING: &[&str] = &["--sweep-interval=1s", "--sweep-longest-create=1h"];

pub(crate) const FLAGS: &[&str] = &[
    "--namespace=joiner",
    "--cluster-name=crash",
    "--metrics-port=0",
    "--health-probe-port=0",
    "--admin-address=127.0.0.1",
    "--lease-duration=3s",
    "--lease-renew-deadline=2s",
    "--lease-retry-period=400ms",
    "--sweep-interval=1h",
];
