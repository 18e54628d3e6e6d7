//! Would the proof of a launch notice if one of its safety rules were gone?
//!
//! Three short stories, each told once with the operator as it is and once with the mutant it is made for. The operator runs
//! in this process; dropping it is its death.

use std::sync::Arc;

use ::cloud::Provider;
use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use crds::openstack::v1::OpenStackNodeClass;
use e2e::wait;
use emulators::faults::{Act, Fault};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use openstack::Opening;
use operator::args::{Args, Command};
use operator::{CannotOpen, ClassSecrets, Open, World};
use planner::ClusterId;
use runtime::metrics::Metrics;
use runtime::readiness::Readiness;
use runtime::{Clock, Dice};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::lane::{CREATE, FLAGS, LIST, Lane, SOON};
use crate::mutant::{self, Blind, Mutant};

/// Opens classes on the lane's cloud, for a mutant.
struct Opens {
    env: std::collections::BTreeMap<String, String>,
    mutant: Mutant,
}

impl Open for Opens {
    fn open(
        &self,
        class: &OpenStackNodeClass,
        _: &ClassSecrets,
        cluster: &ClusterId,
    ) -> Result<Box<dyn Provider>, CannotOpen> {
        let cannot = |message: String| CannotOpen {
            condition: "CredentialsReady",
            reason: "Test",
            message,
        };
        let credentials =
            openstack::credentials::from_env(&self.env).map_err(|bad| cannot(bad.to_string()))?;
        let wire = ::cloud::transport::wire::Wire::new(&::cloud::transport::wire::Trust::default())
            .map_err(|bad| cannot(bad.to_string()))?;
        let opening = Opening::new(
            cluster.clone(),
            Arc::new(wire),
            Arc::new(jiff::Timestamp::now),
        );
        let inner =
            openstack::open(class, credentials, opening).map_err(|bad| cannot(bad.to_string()))?;
        Ok(Box::new(Blind {
            inner: Box::new(inner),
            mutant: self.mutant,
        }))
    }
}

/// An operator in this process; ends without a word when dropped.
struct Alive(JoinHandle<()>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Alive {
    async fn dies(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

async fn operator(lane: &Lane, mutant: Mutant) -> Result<Alive> {
    let words = ["joiner", "run"].iter().chain(FLAGS);
    let Command::Run(run) = Args::try_parse_from(words)?.command else {
        bail!("not `run`");
    };
    let file = Kubeconfig::read_from(lane.ground.cluster.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    let world = World {
        client: mutant::client(mutant, Client::try_from(config.clone())?),
        lease: Client::try_from(config)?,
        open: Arc::new(Opens {
            env: lane.cloud.env(),
            mutant,
        }),
        clock: Clock::real(),
        dice: Dice::real()?,
        settings: operator::wire::settings(&run)?,
        readiness: Readiness::default(),
        metrics: Metrics::default(),
    };
    Ok(Alive(tokio::spawn(async move {
        if let Err(error) = Box::pin(operator::run(world, CancellationToken::new())).await {
            println!("the operator ended: {error:#}");
        }
    })))
}

/// The create has its effect, and the operator dies before it hears of it.
async fn dies_in_create(lane: &Lane, mutant: Mutant) -> Result<()> {
    let hold = Fault::on("POST", CREATE, Act::Hold { late: false }).nth(1);
    lane.cloud.script([hold.after()]);
    lane.scale(3).await?;
    let operator = operator(lane, mutant).await?;
    wait::succeeds("the create to be held", SOON, async || {
        ensure!(lane.cloud.holds());
        Ok(())
    })
    .await?;
    operator.dies().await;
    lane.cloud.let_go().await
}

/// Waits until every claim has its instance. Two for one claim end the wait at once.
async fn launched(lane: &Lane) -> Result<()> {
    let launched = wait::succeeds("the claim to have its instance", SOON, async || {
        if lane.one_server_each().is_err() {
            return Ok(());
        }
        let claims = lane.claims().list(&ListParams::default()).await?.items;
        let has = |claim: &kube::api::DynamicObject| claim.data["status"]["providerID"].is_string();
        ensure!(!claims.is_empty() && claims.iter().all(has));
        Ok(())
    });
    launched.await?;
    lane.one_server_each()
}

/// Waits until no claim is left: at that moment nothing else may be.
async fn taken_back(lane: &Lane) -> Result<()> {
    wait::succeeds("the claim to go", SOON, async || {
        ensure!(
            lane.claims()
                .list(&ListParams::default())
                .await?
                .items
                .is_empty()
        );
        Ok(())
    })
    .await?;
    let left = lane.servers();
    ensure!(
        left.is_empty(),
        "the claim is gone and its server is not: {left:?}"
    );
    Ok(())
}

/// Restarted, it must find what it made.
async fn found_again(lane: &Lane, mutant: Mutant) -> Result<()> {
    dies_in_create(lane, mutant).await?;
    let _operator = operator(lane, mutant).await?;
    launched(lane).await
}

/// Restarted while lists fail, it must wait until they do not.
async fn lists_fail(lane: &Lane, mutant: Mutant) -> Result<()> {
    dies_in_create(lane, mutant).await?;
    let code = Act::Status {
        code: 500,
        retry_after: None,
        body: None,
    };
    lane.cloud.script([Fault::on("GET", LIST, code).first(7)]);
    let _operator = operator(lane, mutant).await?;
    launched(lane).await
}

/// Its claim is deleted before it is restarted: the ledger alone says that there may be something.
async fn deleted_meanwhile(lane: &Lane, mutant: Mutant) -> Result<()> {
    dies_in_create(lane, mutant).await?;
    lane.scale_to_nothing().await?;
    let _operator = operator(lane, mutant).await?;
    taken_back(lane).await
}

/// Removes what a story left, whoever told it.
async fn tidy_up(lane: &Lane) -> Result<()> {
    lane.scale_to_nothing().await?;
    let operator = operator(lane, Mutant::None).await?;
    taken_back(lane).await?;
    operator.dies().await;
    lane.untouched()
}

/// A lane of its own for each: what a mutant breaks stays broken.
async fn both(
    title: &str,
    mutant: Mutant,
    complaint: &str,
    story: impl AsyncFn(&Lane, Mutant) -> Result<()>,
) -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane(title) else {
        return Ok(());
    };
    runtime::tls::install_provider();
    let lane = Lane::with(&control_plane, crate::lane::CLASS, false).await?;
    story(&lane, Mutant::None)
        .await
        .context("the operator as it is")?;
    tidy_up(&lane)
        .await
        .context("after the operator as it is")?;
    match story(&lane, mutant).await {
        Ok(()) => bail!("{mutant:?} was not noticed"),
        Err(noticed) => {
            let said = format!("{noticed:#}");
            println!("{mutant:?} was noticed: {said}");
            ensure!(
                said.contains(complaint),
                "{mutant:?} failed for another reason: {said}"
            );
        }
    }
    lane.cloud.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_that_skips_find_is_noticed() -> Result<()> {
    let title = "crash: mutant without find";
    both(title, Mutant::FindSkipped, "two servers", found_again).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_that_takes_a_list_error_for_empty_is_noticed() -> Result<()> {
    let title = "crash: mutant that believes failed lists";
    both(title, Mutant::ListErrorIsEmpty, "two servers", lists_fail).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_written_behind_the_create_is_noticed() -> Result<()> {
    let title = "crash: mutant with a late ledger";
    let complaint = "its server is not";
    both(
        title,
        Mutant::LedgerAfterCreate,
        complaint,
        deleted_meanwhile,
    )
    .await
}
