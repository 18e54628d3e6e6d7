//! How is the real world put together from flags and environment?

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use cloud::Provider;
use cloud::class::conditions;
use cloud::transport::wire::{Trust, Wire};
use crds::openstack::v1::OpenStackNodeClass;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use openstack::credentials::{from_clouds_yaml, from_env, from_secret, paths};
use openstack::{Credentials, Opening};
use planner::ClusterId;
use planner::lifecycle::liveness::Patience;
use runtime::admin::Admin;
use runtime::metrics::Metrics;
use runtime::readiness::Readiness;
use runtime::serve::{ConnectionMetrics, Limited, Limits, Listener, Until};
use runtime::telemetry::LogFilter;
use runtime::{Clock, Dice, lease, shutdown};
use tokio_util::sync::CancellationToken;

use crate::args::{Run, signed};
use crate::bootstrap::Reach;
use crate::hub::Settings;
use crate::providers::{CannotOpen, ClassSecrets, Open};
use crate::run::{World, run as operate};

pub async fn run(args: Run) -> anyhow::Result<()> {
    let (logs, _traces) = args.telemetry().start()?;
    let stop = shutdown::on_signal()?;
    let mut config = kubeconfig(&args).await?;
    config.default_retry = false;
    let world = World {
        client: Client::try_from(config.clone())?,
        lease: lease::client(config)?,
        open: Arc::new(Real {
            clock: Clock::real(),
            env: std::env::vars().collect(),
        }),
        clock: Clock::real(),
        dice: Dice::real()?,
        settings: settings(&args)?,
        readiness: Readiness::default(),
        metrics: Metrics::default(),
    };
    let admin = serve(&args, &world, logs, stop.clone())?;
    let (outcome, served) = tokio::join!(
        async {
            let outcome = Box::pin(operate(world, stop.clone())).await;
            stop.cancel();
            outcome
        },
        admin
    );
    outcome.and(served)
}

async fn kubeconfig(args: &Run) -> anyhow::Result<Config> {
    let Some(path) = &args.kubeconfig else {
        return Config::infer()
            .await
            .context("no kubeconfig and no pod account; set --kubeconfig");
    };
    let file =
        Kubeconfig::read_from(path).with_context(|| format!("--kubeconfig {}", path.display()))?;
    Ok(Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?)
}

/// What the flags amount to.
pub fn settings(args: &Run) -> anyhow::Result<Settings> {
    let ca_pem = match &args.cluster_ca_file {
        Some(file) => {
            let said = || format!("--cluster-ca-file {}", file.display());
            Some(std::fs::read_to_string(file).with_context(said)?)
        }
        None => None,
    };
    let lease_namespace = match args.leader_election_namespace.as_str() {
        "" => args.namespace.clone(),
        named => named.to_owned(),
    };
    Ok(Settings {
        cluster_name: args.cluster_name.clone(),
        namespace: args.namespace.clone(),
        secret_namespaces: args.secret_namespaces.clone(),
        lease_namespace,
        lease_name: args.leader_election_name.clone(),
        timings: args.timings()?,
        batch: args.batch(),
        min_values: args.min_values_policy.into(),
        preferences: args.preference_policy.into(),
        spreads: crate::plan::defaults::read(args.scheduler_config.as_deref())
            .map_err(|trouble| anyhow!("--scheduler-config: {trouble}"))?,
        paused: args.paused,
        sweep_report_only: args.sweep_report_only,
        sweep_interval: args.sweep_interval,
        sweep_longest_create: args.sweep_longest_create,
        patience: Patience {
            launch_within: signed(args.launch_timeout),
            register_within: signed(args.registration_timeout),
        },
        reach: Reach {
            endpoint: Some(args.cluster_endpoint.clone()).filter(|text| !text.is_empty()),
            ca_pem,
        },
    })
}

/// Probes and metrics; both ports serve the same routes, because tools look in either place.
fn serve(
    args: &Run,
    world: &World,
    logs: LogFilter,
    stop: CancellationToken,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + use<>> {
    let admin = Admin {
        readiness: world.readiness.clone(),
        metrics: world.metrics.clone(),
        logs: Some(logs),
    };
    let bind = |what, port| Listener::bind(what, SocketAddr::new(args.admin_address, port));
    let probes = bind("probes", args.health_probe_port)?;
    let metrics = bind("metrics", args.metrics_port)?;
    tracing::info!(probes = %probes.address(), metrics = %metrics.address(), "listening");
    let limits = Limited::new(
        Limits::default(),
        ConnectionMetrics::register(&world.metrics),
    );
    let until = move || Until {
        stop: stop.clone(),
        grace: Duration::from_secs(2),
    };
    Ok(async move {
        let router = admin.router();
        let (first, second) = tokio::join!(
            probes.serve(router.clone(), &limits, until()),
            metrics.serve(router, &limits, until())
        );
        first.and(second).map_err(Into::into)
    })
}

/// Opens classes over real sockets.
struct Real {
    clock: Clock,
    env: BTreeMap<String, String>,
}

impl Open for Real {
    fn open(
        &self,
        class: &OpenStackNodeClass,
        secrets: &ClassSecrets,
        cluster: &ClusterId,
    ) -> Result<Box<dyn Provider>, CannotOpen> {
        let credentials = self.credentials(class, secrets)?;
        let trust = trust(class, &credentials, secrets)?;
        let wire = Wire::new(&trust).map_err(|bad| cannot("BadTrust", bad.to_string()))?;
        let clock = self.clock.clone();
        let opening = Opening::new(
            cluster.clone(),
            Arc::new(wire),
            Arc::new(move || clock.now()),
        );
        let provider = openstack::open(class, credentials, opening)
            .map_err(|bad| cannot("BadClass", bad.to_string()))?;
        Ok(Box::new(provider))
    }
}

impl Real {
    fn credentials(
        &self,
        class: &OpenStackNodeClass,
        secrets: &ClassSecrets,
    ) -> Result<Credentials, CannotOpen> {
        let cloud = class.spec.cloud.as_ref();
        let entry = cloud.and_then(|cloud| cloud.cloud_name.as_deref());
        let read = match &secrets.credentials {
            Some(entries) => {
                let named = cloud.and_then(|cloud| cloud.credentials_secret_ref.as_ref());
                from_secret(entries, named.and_then(|named| named.key.as_deref()), entry)
            }
            None => self.surroundings(entry),
        };
        read.map_err(|bad| cannot("BadCredentials", bad.to_string()))
    }

    /// A `clouds.yaml` where tools look for one, if an entry is named; else `OS_*`.
    fn surroundings(&self, entry: Option<&str>) -> Result<Credentials, openstack::BadCredentials> {
        let entry = entry.or(self.env.get("OS_CLOUD").map(String::as_str));
        if entry.is_some() || !self.env.contains_key("OS_AUTH_URL") {
            let found = paths(&self.env)
                .into_iter()
                .find_map(|path| std::fs::read(path).ok());
            if let Some(text) = found {
                return from_clouds_yaml(&text, None, entry);
            }
        }
        from_env(&self.env)
    }
}

fn trust(
    class: &OpenStackNodeClass,
    credentials: &Credentials,
    secrets: &ClassSecrets,
) -> Result<Trust, CannotOpen> {
    let insecure = class.spec.cloud.as_ref().and_then(|cloud| cloud.insecure);
    let file = match (&secrets.ca, &credentials.ca_file) {
        (Some(ca), _) => Some(ca.clone()),
        (None, Some(file)) => Some(std::fs::read(file).map_err(|error| {
            cannot("BadTrust", format!("CA file {file} cannot be read ({error}); mount it or use spec.cloud.caSecretRef"))
        })?),
        (None, None) => None,
    };
    Ok(Trust {
        private_ca: file,
        insecure: insecure.unwrap_or(credentials.insecure),
    })
}

fn cannot(reason: &'static str, message: String) -> CannotOpen {
    CannotOpen {
        condition: conditions::CREDENTIALS,
        reason,
        message,
    }
}
