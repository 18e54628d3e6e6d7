//! What does Joiner do, shown in a minute on a machine without a cloud?
//!
//! Pods are applied that fit nowhere; machines are bought, join, and the pods run; the pods go, and so do the machines. What is
//! shown is read from the API server and from the cloud, never from the operator.

pub mod observe;
pub mod page;
pub mod show;
pub mod stage;
pub mod story;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, timeout};

use crate::ground::{api, files, repository};
use crate::{Emulator, apply};
use show::Teller;
use stage::Stage;
pub use stage::World;
use story::{Beat, Story, What};

/// Longer than this, something is wrong.
const PATIENCE: Duration = Duration::from_mins(4);
const QUIET: Duration = Duration::from_millis(300);

pub struct Play {
    pub world: World,
    /// Leave everything running at the end.
    pub keep: bool,
    /// Where the picture goes.
    pub page: PathBuf,
}

pub async fn play(play: Play) -> Result<()> {
    println!(
        "starting {}, an emulated OpenStack and the operator",
        match play.world {
            World::Embedded => "an embedded Kubernetes",
            World::Local => "a real Kubernetes control plane",
        }
    );
    let stage = tokio::select! {
        biased;
        stopped = stopped() => return stopped,
        stage = Stage::set(play.world) => stage?,
    };
    let outcome = tokio::select! {
        biased;
        stopped = stopped() => stopped,
        outcome = acts(&stage, &play) => outcome,
    };
    // Also after an error: whatever happened, nothing is left running.
    outcome.and(stage.strike().await)
}

async fn stopped() -> Result<()> {
    tokio::signal::ctrl_c().await?;
    anyhow::bail!("stopped; everything the demo started is ended")
}

async fn acts(stage: &Stage, play: &Play) -> Result<()> {
    let (tell, mut told) = unbounded_channel();
    let mut beats = Vec::new();
    let outcome = tokio::select! {
        biased;
        ended = observe::observe(stage.client.clone(), &stage.emulator, tell) => ended,
        outcome = both_ways(stage, &mut told, &mut beats) => outcome,
    };
    if let Err(error) = outcome {
        println!(
            "the operator's last words:\n{}",
            tail(&stage.operator_log(), 30)
        );
        return Err(error);
    }
    let story = Story::new(beats);
    println!("{}", show::summary(&story));
    std::fs::write(&play.page, page::page(&story))
        .with_context(|| format!("writing {}", play.page.display()))?;
    println!("  the same as a picture: {}", play.page.display());
    if play.keep {
        keep(stage).await?;
    }
    Ok(())
}

/// Pods, machines, no pods, no machines.
async fn both_ways(
    stage: &Stage,
    told: &mut UnboundedReceiver<Beat>,
    beats: &mut Vec<Beat>,
) -> Result<()> {
    let mut teller = Teller::default();
    println!("\nkubectl apply -f examples/openstack/");
    let pods = apply_examples(&stage.client).await?;
    let running = |story: &Story| {
        story
            .pods()
            .last()
            .is_some_and(|last| last.value.running == pods)
    };
    follow(told, beats, &mut teller, running)
        .await
        .with_context(|| format!("{pods} pods did not all come to run"))?;
    println!("\nkubectl scale deployment --all --replicas=0");
    scale_to_zero(&stage.client).await?;
    follow(told, beats, &mut teller, all_gone)
        .await
        .context("machines are left")?;
    nothing_left(&stage.client, &stage.emulator).await
}

/// Tells beats until the story has come so far.
async fn follow(
    told: &mut UnboundedReceiver<Beat>,
    beats: &mut Vec<Beat>,
    teller: &mut Teller,
    far_enough: impl Fn(&Story) -> bool,
) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !far_enough(&Story::new(beats.clone())) {
        ensure!(
            Instant::now() < deadline,
            "it took longer than {PATIENCE:?}"
        );
        match timeout(QUIET, told.recv()).await {
            Ok(Some(beat)) => {
                teller.tell(&beat);
                beats.push(beat);
            }
            Ok(None) => anyhow::bail!("nobody tells what happens any more"),
            Err(_) => teller.pause(),
        }
    }
    teller.flush();
    Ok(())
}

fn all_gone(story: &Story) -> bool {
    let opened = story.count(|what| matches!(what, What::ClaimOpened { .. }));
    let machines = story.machines();
    !machines.is_empty()
        && machines.iter().all(|machine| machine.gone.is_some())
        && story.count(|what| *what == What::ClaimGone) == opened
}

/// Applies every example and returns how many pods they ask for.
async fn apply_examples(client: &Client) -> Result<usize> {
    let folder = repository().join("examples/openstack");
    for file in files(&folder)? {
        if file.parent() == Some(folder.as_path()) {
            apply(client, &std::fs::read_to_string(&file)?)
                .await
                .with_context(|| file.display().to_string())?;
        }
    }
    let deployments = deployments(client).list(&ListParams::default()).await?;
    let replicas = deployments.iter().filter_map(|one| one.spec.replicas);
    let pods: i32 = replicas.sum();
    Ok(usize::try_from(pods)?)
}

async fn scale_to_zero(client: &Client) -> Result<()> {
    let deployments = deployments(client);
    for one in deployments.list(&ListParams::default()).await? {
        let zero = Patch::Merge(serde_json::json!({"spec": {"replicas": 0}}));
        deployments
            .patch(&one.name_any(), &PatchParams::default(), &zero)
            .await?;
    }
    Ok(())
}

fn deployments(client: &Client) -> Api<Deployment> {
    Api::namespaced(client.clone(), "default")
}

/// Asks both sides once more, instead of believing the story.
async fn nothing_left(client: &Client, emulator: &Emulator) -> Result<()> {
    let all = ListParams::default();
    let claims = api(client, "karpenter.sh/v1", "NodeClaim");
    let nodes: Api<Node> = Api::all(client.clone());
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
    crate::wait::succeeds("nothing to be left", Duration::from_secs(30), async || {
        let state = emulator.admin("state").await?;
        let left = |kind: &str| state[kind].as_object().map_or(0, serde_json::Map::len);
        let tokens = secrets.list(&all).await?;
        let ours = tokens.iter().filter(|secret| {
            let text = secret
                .data
                .as_ref()
                .and_then(|entries| entries.get("description"));
            text.is_some_and(|text| String::from_utf8_lossy(&text.0).contains("NodeClaim"))
        });
        let counts = [
            ("pods", pods.list(&all).await?.items.len()),
            ("claims", claims.list(&all).await?.items.len()),
            ("nodes", nodes.list(&all).await?.items.len()),
            ("servers", left("servers")),
            ("ports", left("ports")),
            ("join tokens", ours.count()),
        ];
        let left: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        ensure!(left.is_empty(), "left behind: {}", left.join(", "));
        Ok(())
    })
    .await?;
    println!("         asked again: no pod, claim, node, server, port or join token is left");
    Ok(())
}

/// Waits for Ctrl-C, so that people can play.
async fn keep(stage: &Stage) -> Result<()> {
    let admin = stage.emulator.admin_url()?;
    println!(
        "\nleft running until Ctrl-C. Play with it:\n\
         \x20 export KUBECONFIG={}\n\
         \x20 kubectl scale deployment small wide --replicas=10\n\
         \x20 kubectl get pods,nodeclaims,nodes --watch\n\
         \x20 curl -s {admin}/log       # what the cloud saw",
        stage.kubeconfig.display()
    );
    std::future::pending().await
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
