//! What does one simulated world consist of, and how does its operator live, die and come back?

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::cloud::{Http, Provider};
use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use crds::openstack::v1::OpenStackNodeClass;
use emulators::boot::embedded::{Embedded, show};
use emulators::fronts::engine::{Clock, Engine};
use emulators::fronts::kubernetes::ApiService;
use emulators::kubernetes::Kubernetes;
use emulators::kubernetes::cast::Cast;
use emulators::kubernetes::kubelet::Door;
use emulators::kubernetes::users::User;
use emulators::openstack::{OpenStack, Settings, default_world};
use jiff::Timestamp;
use kube::Client;
use openstack::{Credentials, Opening};
use operator::args::{Args, Command};
use operator::{CannotOpen, ClassSecrets, Open};
use planner::ClusterId;
use runtime::Dice;
use runtime::metrics::Metrics;
use runtime::readiness::Readiness;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::judge::Judge;
use super::tap::{Life, Tap};
use super::ways::{CloudWay, KubernetesWay, Way};
use crate::Emulated;
use crate::apply;
use crate::lookalikes::Lookalikes;

/// After its end, an operator is started again by whoever watches over it.
const RESTART: Duration = Duration::from_secs(1);

/// How a planted bug gets between the operator and its ways.
pub trait Bug: Send + Sync {
    fn http(&self, honest: Arc<dyn Http>) -> Arc<dyn Http> {
        honest
    }

    fn provider(&self, honest: Box<dyn Provider>) -> Box<dyn Provider> {
        honest
    }

    fn client(&self, honest: KubernetesWay) -> Client {
        Client::new(honest, "default")
    }
}

/// The operator as it is.
pub struct NoBug;

impl Bug for NoBug {}

/// Cluster and cloud on one virtual clock. Everything in it ends with it.
pub struct Sim {
    pub client: Client,
    pub cluster: Arc<Engine<Kubernetes>>,
    pub cloud: Emulated,
    pub tap: Arc<Tap>,
    pub judge: Arc<Judge>,
    seed: u64,
    start: Timestamp,
    tasks: Vec<JoinHandle<()>>,
}

impl Sim {
    /// A fresh world with our kinds in it, and nobody who acts on them.
    pub async fn new(seed: u64) -> Result<Self> {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse()?;
        let clock = Clock::tokio(start);
        let cast = Cast {
            door: Door {
                ca: Some(
                    "-----BEGIN CERTIFICATE-----\nc2lt\n-----END CERTIFICATE-----\n".to_owned(),
                ),
                endpoints: vec!["https://sim:6443".to_owned()],
            },
            ..Cast::default()
        };
        let inside = Embedded::new(seed, clock, &cast);
        let (hand, lines) = inside.hand();
        let (world, access) = default_world(seed, clock.now());
        let engine = Engine::new(
            OpenStack::new(world, Settings::default(), seed),
            clock,
            hand,
        );
        let cloud = Emulated {
            engine: Arc::clone(&engine),
            access,
        };
        let tasks = vec![
            tokio::spawn(Arc::clone(&inside.engine).keep_time()),
            tokio::spawn(Arc::clone(&engine).keep_time()),
            tokio::spawn(show(Arc::clone(&engine), lines)),
        ];
        let admin = ApiService::new(Arc::clone(&inside.engine), User::admin());
        let client = Client::new(admin, "default");
        install(&client).await?;
        let id = cluster_id(&inside.engine)?;
        let project = cloud.access.project_id.clone();
        let lookalikes = cloud.world(|world| Lookalikes::plant(world, &project, &id))?;
        let tap = Tap::new();
        let judge = Judge::new(
            Arc::clone(&inside.engine),
            engine,
            Arc::clone(&tap),
            lookalikes,
        );
        Ok(Self {
            client,
            cluster: inside.engine,
            cloud,
            tap,
            judge: Arc::new(judge),
            seed,
            start,
            tasks,
        })
    }

    /// From now on there is an operator; if it ends, there is another one a second later.
    pub fn operate(&mut self, bug: Arc<dyn Bug>) -> Result<()> {
        let make = Maker {
            api: self.client.clone(),
            cloud: self.cloud.clone(),
            tap: Arc::clone(&self.tap),
            judge: Arc::clone(&self.judge),
            credentials: self.cloud.credentials()?,
            settings: settings()?,
            clock: runtime::Clock::starting_at(self.start),
            dice: Dice::seeded(self.seed),
            bug,
        };
        self.tasks.push(tokio::spawn(make.watch_over()));
        Ok(())
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// All that operators are made of.
struct Maker {
    api: Client,
    cloud: Emulated,
    tap: Arc<Tap>,
    judge: Arc<Judge>,
    credentials: Credentials,
    settings: operator::Settings,
    clock: runtime::Clock,
    dice: Dice,
    bug: Arc<dyn Bug>,
}

impl Maker {
    async fn watch_over(mut self) {
        loop {
            let (life, run) = self.one_life();
            let said = live(life, run).await;
            self.tap.remark(said);
            tokio::time::sleep(RESTART).await;
        }
    }

    fn one_life(&mut self) -> (Arc<Life>, Run) {
        let life = Arc::new(Life::default());
        let way = Way {
            tap: Arc::clone(&self.tap),
            life: Arc::clone(&life),
            judge: Arc::clone(&self.judge),
        };
        let kubernetes = KubernetesWay {
            way: way.clone(),
            api: self.api.clone(),
        };
        let http = Arc::new(CloudWay {
            way,
            http: self.cloud.http(),
        });
        let world = operator::World {
            client: self.bug.client(kubernetes.clone()),
            lease: Client::new(kubernetes, "default"),
            open: Arc::new(Opens {
                http: self.bug.http(http),
                clock: self.cloud.clock(),
                credentials: self.credentials.clone(),
                bug: Arc::clone(&self.bug),
            }),
            clock: self.clock.clone(),
            dice: self.dice.fork(),
            settings: self.settings.clone(),
            readiness: Readiness::default(),
            metrics: Metrics::default(),
        };
        let run = operator::run(world, CancellationToken::new());
        (life, Box::pin(run))
    }
}

type Run = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Says how the operator ended, without a backtrace: no two calls have the same. Dropping `run` is its death.
async fn live(life: Arc<Life>, run: Run) -> String {
    tokio::select! {
        biased;
        () = life.ended() => "the operator died".to_owned(),
        ended = run => match ended {
            Ok(()) => "the operator ended".to_owned(),
            Err(error) => format!("the operator ended: {error:#}"),
        },
    }
}

/// Opens classes on the emulated cloud.
struct Opens {
    http: Arc<dyn Http>,
    clock: Arc<dyn ::cloud::Clock>,
    credentials: Credentials,
    bug: Arc<dyn Bug>,
}

impl Open for Opens {
    fn open(
        &self,
        class: &OpenStackNodeClass,
        _: &ClassSecrets,
        cluster: &ClusterId,
    ) -> Result<Box<dyn Provider>, CannotOpen> {
        let opening = Opening::new(
            cluster.clone(),
            Arc::clone(&self.http),
            Arc::clone(&self.clock),
        );
        let opened = openstack::open(class, self.credentials.clone(), opening);
        let opened = opened.map_err(|bad| CannotOpen {
            condition: "CredentialsReady",
            reason: "Simulation",
            message: bad.to_string(),
        })?;
        Ok(self.bug.provider(Box::new(opened)))
    }
}

/// Time-outs below ten minutes: whoever has nothing to do for so long, has nothing to do.
fn settings() -> Result<operator::Settings> {
    let words = [
        "joiner",
        "run",
        "--namespace=joiner",
        "--cluster-name=sim",
        "--sweep-longest-create=5m",
        "--registration-timeout=5m",
    ];
    let Command::Run(run) = Args::try_parse_from(words)?.command else {
        bail!("not `run`");
    };
    operator::wire::settings(&run)
}

pub fn cluster_id(cluster: &Engine<Kubernetes>) -> Result<String> {
    let namespace = cluster.peek(|cluster| {
        let namespace = cluster.world.store.get("namespaces", "", "kube-system");
        namespace.map(|namespace| namespace.value())
    });
    let namespace = namespace.context("a cluster without kube-system")?;
    let uid = namespace["metadata"]["uid"].as_str();
    Ok(uid.context("kube-system has no uid")?.to_owned())
}

/// Our kinds and our namespace.
async fn install(client: &Client) -> Result<()> {
    static TEXTS: OnceLock<Result<Vec<String>, String>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| definitions().map_err(|error| format!("{error:#}")));
    let texts = texts.as_ref().map_err(|error| anyhow!(error.clone()))?;
    apply(
        client,
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: joiner}",
    )
    .await?;
    for text in texts {
        apply(client, text).await?;
    }
    Ok(())
}

/// As JSON, which is read many times faster.
fn definitions() -> Result<Vec<String>> {
    let mut all = Vec::new();
    for file in crate::ground::files(&crate::ground::repository().join("crds/generated"))? {
        let manifest = crate::ground::read(&file)?;
        if manifest["kind"] == "CustomResourceDefinition" {
            all.push(manifest.to_string());
        }
    }
    Ok(all)
}
