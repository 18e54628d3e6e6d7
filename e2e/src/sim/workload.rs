//! What do users do meanwhile, by chance: which pods come and go, under which budgets and limits?

use anyhow::Result;
use emulators::kubernetes::Kubernetes;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use runtime::Dice;
use serde_json::json;

use super::crash::names;
use super::phase::{CLAIMS, of_claim};
use super::storm::WATCH_BREAKS;
use super::world::Sim;
use crate::ground::api;
use crate::{apply, delete};

/// Name, cpu, memory.
const SHAPES: [(&str, &str, &str); 4] = [
    ("small", "250m", "256Mi"),
    ("wide", "1", "512Mi"),
    ("tall", "500m", "3Gi"),
    ("large", "3", "6Gi"),
];

/// A class and two pools, one of them with a limit.
pub async fn begin(sim: &Sim, dice: &mut Dice) -> Result<()> {
    let limit = [8, 16, 32][choose(dice, 3)];
    let budget = ["\"1\"", "\"2\"", "\"100%\""][choose(dice, 3)];
    let quiet = ["0s", "20s", "60s"][choose(dice, 3)];
    let disruption = format!(
        "{{consolidationPolicy: WhenEmpty, consolidateAfter: {quiet}, budgets: [{{nodes: {budget}}}]}}"
    );
    let pool = |name: &str, more: &str| {
        format!(
            "
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  {more}
  template:
    spec:
      requirements: []
      nodeClassRef: {{group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}}
  disruption: {disruption}
"
        )
    };
    let class = crate::first_node::CLASS_AND_POOL
        .split("---")
        .next()
        .unwrap_or_default();
    let limited = pool(
        "limited",
        &format!("weight: 10\n  limits: {{cpu: {limit}}}"),
    );
    apply(
        &sim.client,
        &format!("{class}{}{limited}", pool("open", "")),
    )
    .await?;
    for (name, cpu, memory) in SHAPES {
        let requests = format!("{{cpu: {cpu}, memory: {memory}}}");
        apply(
            &sim.client,
            &crate::first_node::deployment(name, 0, &requests, "{}"),
        )
        .await?;
    }
    Ok(())
}

/// One thing that somebody does.
pub async fn step(sim: &Sim, dice: &mut Dice) -> Result<()> {
    let (name, _, _) = SHAPES[choose(dice, SHAPES.len())];
    match dice.below(10) {
        0..=4 => {
            let replicas = dice.below(5);
            sim.tap
                .remark(format!("somebody scales {name} to {replicas}"));
            scale(sim, name, replicas).await
        }
        5 => {
            let wanted = 1 + dice.below(3);
            sim.tap
                .remark(format!("somebody wants {wanted} of {name} at least"));
            apply(&sim.client, &budget(name, wanted)).await.map(drop)
        }
        6 => {
            sim.tap
                .remark(format!("somebody takes the budget of {name} away"));
            delete(&sim.client, &budget(name, 1)).await
        }
        7 | 8 => {
            let all = names(sim);
            let Some(claim) = all.get(choose(dice, all.len())) else {
                return Ok(());
            };
            sim.tap.remark(format!("somebody deletes claim {claim}"));
            let claims = api(&sim.client, "karpenter.sh/v1", "NodeClaim");
            claims.delete(claim, &DeleteParams::default()).await?;
            Ok(())
        }
        _ => {
            break_watches(sim);
            Ok(())
        }
    }
}

/// No budget any more that could keep a drain waiting for ever.
pub async fn end(sim: &Sim) -> Result<()> {
    for (name, _, _) in SHAPES {
        delete(&sim.client, &budget(name, 1)).await?;
    }
    Ok(())
}

pub async fn scale(sim: &Sim, name: &str, replicas: u64) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(sim.client.clone(), "default");
    let change = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    deployments
        .patch(name, &PatchParams::default(), &change)
        .await?;
    Ok(())
}

pub fn break_watches(sim: &Sim) {
    sim.tap.remark("all watches break".to_owned());
    note_phases(sim, WATCH_BREAKS);
    sim.cluster.with(Kubernetes::break_watches);
}

/// Notes what happens to all claims at once, for each phase that one of them is in.
pub fn note_phases(sim: &Sim, what: &str) {
    let phases: Vec<_> = sim.cluster.peek(|cluster| {
        let claims = cluster.world.store.list(CLAIMS, None);
        claims.map(|claim| of_claim(&claim.value())).collect()
    });
    for phase in phases {
        sim.tap.hit(phase, what);
    }
}

fn budget(name: &str, wanted: u64) -> String {
    format!(
        "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: {name}, namespace: default}}
spec: {{minAvailable: {wanted}, selector: {{matchLabels: {{app: {name}}}}}}}
"
    )
}

fn choose(dice: &mut Dice, count: usize) -> usize {
    usize::try_from(dice.below(count as u64)).unwrap_or(0)
}
