//! Does the operator stop itself before it buys too much, stop when a human says so, and go on without a restart?

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::ground::{Ground, api};
use e2e::{Binary, Emulator, Running, apply, wait};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(2);
/// Claims a pool without nodes may have on their way.
const ALLOWED: usize = 5;

const CLASS_AND_POOL: &str = "
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
  limits: {cpu: \"400\"}
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]}
";

/// A cluster, a cloud and the operator between them.
pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) emulator: Emulator,
    pub(crate) operator: Running,
    ground: Ground,
}

impl Stage {
    /// Machines join only with a kubelet.
    pub(crate) async fn set(control_plane: &e2e::ControlPlane, joins: bool) -> Result<Self> {
        let ground = Ground::private(control_plane).await?;
        let client = ground.cluster.client().await?;
        let tools = xtask::tools::control_plane()?;
        let kubelet = joins.then_some(tools.hollow_kubelet.as_path());
        let emulator = Emulator::start(kubelet).await?;
        let operator = start(&ground, &emulator)?;
        apply(&client, CLASS_AND_POOL).await?;
        Ok(Self {
            client,
            emulator,
            operator,
            ground,
        })
    }

    pub(crate) fn restart(&mut self) -> Result<()> {
        self.operator = start(&self.ground, &self.emulator)?;
        Ok(())
    }

    /// No two of them fit on one node.
    pub(crate) async fn pods(&self, count: usize) -> Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        for number in 0..count {
            let pod: Pod = serde_json::from_value(json!({
                "metadata": { "name": format!("web-{number}") },
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{
                        "name": "main", "image": "pause",
                        "ports": [{ "containerPort": 8080, "hostPort": 8080 }],
                        "resources": { "requests": { "cpu": "500m" } },
                    }],
                },
            }))?;
            pods.create(&PostParams::default(), &pod).await?;
        }
        Ok(())
    }

    pub(crate) fn claims(&self) -> Api<DynamicObject> {
        api(&self.client, "karpenter.sh/v1", "NodeClaim")
    }

    pub(crate) async fn servers(&self) -> Result<Vec<(String, String)>> {
        let state = self.emulator.admin("state").await?;
        let all = state["servers"].as_object().context("servers")?;
        let name = |server: &Value| server["name"].as_str().unwrap_or_default().to_owned();
        Ok(all
            .iter()
            .map(|(id, server)| (id.clone(), name(server)))
            .collect())
    }

    pub(crate) async fn until_servers(&self, count: usize) -> Result<()> {
        wait::succeeds("the servers", SOON, async || {
            let there = self.servers().await?.len();
            ensure!(there == count, "{there} instead of {count}");
            Ok(())
        })
        .await
    }

    /// Waits for a condition of the pool, or for its absence.
    async fn pool_says(&self, kind: &str, said: Option<&str>) -> Result<()> {
        let pools = api(&self.client, "karpenter.sh/v1", "NodePool");
        wait::succeeds("the pool's condition", SOON, async || {
            let pool = json!(pools.get("general").await?);
            let conditions = pool["status"]["conditions"].as_array();
            let found = conditions
                .into_iter()
                .flatten()
                .find(|one| one["type"] == kind);
            let message = found.and_then(|one| one["message"].as_str());
            let as_said = match (message, said) {
                (Some(message), Some(said)) => message.contains(said),
                (message, said) => message.is_none() && said.is_none(),
            };
            ensure!(as_said, "{kind}: {message:?} instead of {said:?}");
            Ok(())
        })
        .await
    }

    async fn pause(&self, value: Option<&str>) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let change = json!({ "metadata": { "annotations": { "joiner.dev/paused": value } } });
        let params = PatchParams::default();
        namespaces
            .patch("joiner", &params, &Patch::Merge(change))
            .await?;
        Ok(())
    }

    async fn scrape(&mut self) -> Result<String> {
        let line = self
            .operator
            .line_with("\"listening\"", Duration::from_secs(10))
            .await?;
        let said: Value = serde_json::from_str(&line)?;
        let address = said["metrics"].as_str().context("metrics address")?;
        let url = format!("http://{address}/metrics");
        Ok(reqwest::get(url).await?.error_for_status()?.text().await?)
    }

    pub(crate) async fn end(mut self, outcome: Result<()>) -> Result<()> {
        if outcome.is_err() {
            println!("the operator said:\n{}", self.operator.log());
        }
        outcome?;
        let status = self.operator.terminate(Duration::from_secs(30)).await?;
        ensure!(status.success(), "the operator ended with {status}");
        self.emulator.stop().await
    }
}

fn start(ground: &Ground, emulator: &Emulator) -> Result<Running> {
    let mut operator = Binary::named("joiner")?
        .arg("run")
        .arg("--kubeconfig")
        .arg(ground.cluster.kubeconfig())
        .arg("--namespace=joiner")
        .arg("--metrics-port=0")
        .arg("--health-probe-port=0")
        .arg("--admin-address=127.0.0.1");
    for (name, value) in emulator.env() {
        operator = operator.env(name, value);
    }
    operator.start()
}

#[tokio::test]
async fn a_runaway_is_held_back_and_a_pause_needs_no_restart() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("brakes: guard and pause") else {
        return Ok(());
    };
    let mut stage = Stage::set(&control_plane, false).await?;
    let outcome = guard_and_pause(&mut stage).await;
    stage.end(outcome).await
}

async fn guard_and_pause(stage: &mut Stage) -> Result<()> {
    stage.pods(ALLOWED + 3).await?;
    stage.until_servers(ALLOWED).await?;
    stage
        .pool_says("RunawayGuard", Some("5 are allowed at once"))
        .await?;
    stage.pause(Some("true")).await?;
    stage
        .pool_says("Paused", Some("on the operator's namespace"))
        .await?;
    // Without pause these would free the way for the other pods, and their servers would go.
    let claims = stage.claims();
    claims
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    tokio::time::sleep(Duration::from_secs(12)).await;
    let there = stage.servers().await?.len();
    ensure!(there == ALLOWED, "paused, and {there} servers are there");
    let pods: Api<Pod> = Api::namespaced(stage.client.clone(), "default");
    pods.delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    stage.pause(None).await?;
    stage.pool_says("Paused", None).await?;
    stage.until_servers(0).await?;
    stage.pool_says("RunawayGuard", None).await?;
    wait::succeeds("the claims to be gone", SOON, async || {
        let left = claims.list(&ListParams::default()).await?.items.len();
        ensure!(left == 0, "{left} are left");
        Ok(())
    })
    .await?;
    shown(&stage.scrape().await?)
}

/// What has happened can be scraped under upstream's names.
fn shown(text: &str) -> Result<()> {
    let created = "karpenter_nodeclaims_created_total{reason=\"provisioned\",nodepool=\"general\",min_values_relaxed=\"false\"} 5\n";
    let limit = "karpenter_nodepools_limit{resource_type=\"cpu\",nodepool=\"general\"} 400.0\n";
    for line in [created, limit] {
        ensure!(text.contains(line), "no {line} in {text}");
    }
    for name in [
        "karpenter_build_info{",
        "karpenter_cloudprovider_duration_seconds_count{method=\"Create\",provider=\"openstack\"} 5\n",
        "karpenter_pods_scheduling_decision_duration_seconds_count 5\n",
        "karpenter_scheduler_scheduling_duration_seconds_count{",
        "karpenter_scheduler_queue_depth{",
        "karpenter_nodepools_usage{",
        "karpenter_cluster_state_synced 1\n",
        "karpenter_nodeclaims_terminated_total{nodepool=\"general\"",
    ] {
        ensure!(text.contains(name), "no {name} in {text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_node_that_joined_without_registering_goes_with_its_machine() -> Result<()> {
    let test = "brakes: a node without claim is not left behind";
    let Some(control_plane) = e2e::need_control_plane(test) else {
        return Ok(());
    };
    let mut stage = Stage::set(&control_plane, false).await?;
    let outcome = joined_in_vain(&mut stage).await;
    stage.end(outcome).await
}

async fn joined_in_vain(stage: &mut Stage) -> Result<()> {
    stage.pods(1).await?;
    stage.until_servers(1).await?;
    let (id, name) = stage.servers().await?.remove(0);
    // While nobody looks, the machine joins and the claim is deleted.
    stage.operator.terminate(Duration::from_secs(30)).await?;
    let nodes: Api<Node> = Api::all(stage.client.clone());
    let node: Node = serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": { "providerID": format!("openstack://RegionOne/{id}") },
    }))?;
    nodes.create(&PostParams::default(), &node).await?;
    let pods: Api<Pod> = Api::namespaced(stage.client.clone(), "default");
    let now = DeleteParams::default().grace_period(0);
    pods.delete("web-0", &now).await?;
    let claims = stage.claims();
    let claim = claims.list(&ListParams::default()).await?;
    let claim = claim.items.first().context("a claim")?.name_any();
    claims.delete(&claim, &DeleteParams::default()).await?;
    stage.restart()?;
    wait::gone(&claims, &claim, SOON).await?;
    ensure!(nodes.get_opt(&name).await?.is_none(), "node {name} is left");
    stage.until_servers(0).await
}
