//! Does everything still end well, wherever the operator dies?
//!
//! One story is told without a death; then again for each outbound call of it, with an operator that dies right before or
//! right after the effect of that call, and another one that takes over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use emulators::faults::When;
use emulators::openstack::world::Server;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::judge::leaked;
use super::on_virtual_time;
use super::phase::{CLAIMS, Phase, holds};
use super::tap::{Call, died};
use super::trace::Trace;
use super::world::{NoBug, Sim};
use crate::apply;
use crate::first_node::{CLASS_AND_POOL, deployment};
use crate::ground::api;

/// Longer than every back-off and every lease.
const PATIENCE: Duration = Duration::from_mins(40);
const LOOK: Duration = Duration::from_millis(500);
/// Longer than a silent call and a sweep.
const QUIET: Duration = Duration::from_mins(3);
const ORPHAN: &str = "22222222-0000-4000-8000-000000000001";

/// A place to die at: the number of a call, and the side of its effect.
pub type Place = (usize, When);

/// How a story went.
pub struct Told {
    pub trace: Trace,
    pub calls: Vec<Call>,
}

/// What a round of deaths amounts to.
#[derive(Default)]
pub struct Deaths {
    /// Calls of the story without a death.
    pub calls: usize,
    pub told: usize,
    pub by_phase: BTreeMap<(Phase, &'static str), usize>,
    pub failed: Vec<String>,
}

/// All places of the plain story, or a few of each phase. Of the lease's renewals, which are all alike, every tenth.
pub fn places(of_each_phase: Option<usize>) -> Result<(Vec<Call>, Vec<Place>)> {
    let plain = on_virtual_time(story(None))?.context("the story without a death")?;
    let chosen = match of_each_phase {
        None => all(&plain.calls),
        Some(count) => spread(&plain.calls, count),
    };
    Ok((plain.calls, chosen))
}

fn all(calls: &[Call]) -> Vec<Place> {
    let (lease, other): (Vec<usize>, Vec<usize>) =
        (0..calls.len()).partition(|number| calls[*number].phase == Phase::Lease);
    let numbers = other.into_iter().chain(lease.into_iter().step_by(10));
    numbers
        .flat_map(|number| [(number, When::Before), (number, When::After)])
        .collect()
}

/// Evenly over each phase; both sides have their turn.
fn spread(calls: &[Call], count: usize) -> Vec<Place> {
    let mut phases: BTreeMap<Phase, Vec<usize>> = BTreeMap::new();
    for (number, call) in calls.iter().enumerate() {
        phases.entry(call.phase).or_default().push(number);
    }
    let chosen = phases.into_values().flat_map(|numbers| {
        (0..count).map(move |at| {
            let when = if at % 2 == 0 {
                When::Before
            } else {
                When::After
            };
            (numbers[at * numbers.len() / count], when)
        })
    });
    chosen.collect()
}

/// Tells the story with each of these deaths.
pub fn die_at_each(calls: &[Call], places: &[Place]) -> Deaths {
    let mut deaths = Deaths {
        calls: calls.len(),
        ..Deaths::default()
    };
    for (number, when) in places {
        let call = &calls[*number];
        deaths.told += 1;
        *deaths
            .by_phase
            .entry((call.phase, died(*when)))
            .or_default() += 1;
        let outcome = on_virtual_time(story(Some((*number, *when))));
        let outcome = outcome.map_err(Into::into).and_then(|told| told);
        if let Err(error) = outcome {
            let place = format!("{} call {number} ({})", died(*when), call.text);
            deaths.failed.push(format!("{place}: {error:#}"));
        }
    }
    deaths
}

/// Pods run; their machine is drained and they run on another; they go, and so does everything else.
pub async fn story(death: Option<Place>) -> Result<Told> {
    let mut sim = Sim::new(7).await?;
    plant_orphan(&sim)?;
    if let Some((number, when)) = death {
        sim.tap.die_at(number, when);
    }
    sim.operate(Arc::new(NoBug))?;
    let told = tell(&sim).await;
    let trace = sim.tap.trace();
    told.with_context(|| format!("the last calls were:\n{}", trace.tail(40)))?;
    Ok(Told {
        trace,
        calls: sim.tap.calls(),
    })
}

async fn tell(sim: &Sim) -> Result<()> {
    apply(&sim.client, CLASS_AND_POOL).await?;
    apply(
        &sim.client,
        &deployment("web", 2, "{cpu: 250m, memory: 256Mi}", "{}"),
    )
    .await?;
    until(sim, "two pods to run", |sim| running(sim) == 2).await?;
    let claims = api(&sim.client, "karpenter.sh/v1", "NodeClaim");
    for name in names(sim) {
        claims.delete(&name, &DeleteParams::default()).await?;
        until(sim, "the drained claim to go", |sim| {
            !names(sim).contains(&name)
        })
        .await?;
    }
    until(sim, "two pods to run again", |sim| running(sim) == 2).await?;
    let deployments: Api<Deployment> = Api::namespaced(sim.client.clone(), "default");
    let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
    deployments
        .patch("web", &PatchParams::default(), &none)
        .await?;
    until(sim, "nothing to be left", |sim| left(sim).is_empty()).await?;
    stays_so(sim).await?;
    sim.cloud
        .world(|world| sim.judge.lookalikes.untouched(world))
}

/// Nobody who was only late brings anything back.
async fn stays_so(sim: &Sim) -> Result<()> {
    let end = sim.tap.elapsed() + QUIET;
    while sim.tap.elapsed() < end {
        tokio::time::sleep(LOOK * 10).await;
        sim.judge.look();
        let wrong = sim.tap.wrong();
        ensure!(wrong.is_empty(), "{}", wrong.join("; "));
        let left = left(sim);
        ensure!(left.is_empty(), "came back: {}", left.join(", "));
    }
    Ok(())
}

async fn until(sim: &Sim, what: &str, fulfilled: impl Fn(&Sim) -> bool) -> Result<()> {
    let deadline = sim.tap.elapsed() + PATIENCE;
    while !fulfilled(sim) {
        sim.judge.look();
        let wrong = sim.tap.wrong();
        ensure!(wrong.is_empty(), "{}", wrong.join("; "));
        if sim.tap.elapsed() > deadline {
            bail!(
                "waited {PATIENCE:?} for {what}; left: {}",
                left(sim).join(", ")
            );
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Pods of namespace `default` that are ready and stay.
pub fn running(sim: &Sim) -> usize {
    sim.cluster.peek(|cluster| {
        let pods = cluster.world.store.list("pods", Some("default"));
        let ready = pods.filter(|pod| {
            let pod = pod.value();
            pod["metadata"]["deletionTimestamp"].is_null() && holds(&pod, "Ready")
        });
        ready.count()
    })
}

/// Names of claims.
pub fn names(sim: &Sim) -> Vec<String> {
    sim.cluster.peek(|cluster| {
        let claims = cluster.world.store.list(CLAIMS, None);
        claims.map(|claim| claim.name().to_owned()).collect()
    })
}

/// Claims, nodes, servers, ports and tokens that are still there.
fn left(sim: &Sim) -> Vec<String> {
    let mut left = leaked(&sim.cluster, &sim.cloud.engine, &sim.judge.lookalikes);
    sim.cluster.peek(|cluster| {
        let store = &cluster.world.store;
        left.extend(
            store
                .list(CLAIMS, None)
                .map(|one| format!("claim {}", one.name())),
        );
        left.extend(
            store
                .list("nodes", None)
                .map(|one| format!("node {}", one.name())),
        );
        let secrets = store.list("secrets", Some("kube-system"));
        let tokens = secrets.filter(|one| one.name().starts_with("bootstrap-token-"));
        left.extend(tokens.map(|one| format!("secret {}", one.name())));
    });
    left
}

/// A server of this very cluster, left behind long ago by a claim that is gone.
fn plant_orphan(sim: &Sim) -> Result<()> {
    let id = super::world::cluster_id(&sim.cluster)?;
    let project = sim.cloud.access.project_id.clone();
    sim.cloud.world(|world| {
        let flavor = world.flavors[0].clone();
        let server = Server {
            name: "general-orphan".into(),
            hostname: "general-orphan".into(),
            project,
            zone: "az-a".into(),
            seq: 2000,
            tags: [
                format!("joiner-cluster={id}"),
                "joiner-claim=33333333-2222-4333-8444-555555555555".to_owned(),
            ]
            .into(),
            ..Server::running(ORPHAN, flavor, jiff::Timestamp::UNIX_EPOCH)
        };
        world.servers.insert(ORPHAN.to_owned(), server);
    });
    Ok(())
}
