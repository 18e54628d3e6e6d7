//! How does the operator live, from winning the lease to giving it back?
//!
//! Everything is one future: dropping it is a crash, and nothing of it goes on behind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::{Client, ResourceExt};
use planner::ClusterId;
use runtime::lease::{self, Candidate, Ended, Held, KubeLease, Leadership};
use runtime::metrics::Metrics;
use runtime::readiness::Readiness;
use runtime::{Clock, Dice};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::bootstrap::{Reach, cluster_info};
use crate::brakes::{self, Brake};
use crate::controllers::{claim, class, collect, disrupt, drain, drive, migrate, pool, provision};
use crate::hub::{Hub, Settings, Shared};
use crate::metrics::calls::Counted;
use crate::metrics::{Counts, levels};
use crate::mirror::Mirror;
use crate::providers::{Leave, Open, Providers};
use crate::reread::Rereading;
use crate::secrets::SecretReader;
use crate::wake::{self, Wake, Woken};
use crate::write::Write;

/// The outside.
pub struct World {
    pub client: Client,
    /// For the lease alone: never queues behind the rest.
    pub lease: Client,
    pub open: Arc<dyn Open>,
    pub clock: Clock,
    pub dice: Dice,
    pub settings: Settings,
    pub readiness: Readiness,
    pub metrics: Metrics,
}

/// Runs until told to stop, or until the lease is lost: then the process must end.
pub async fn run(mut world: World, stop: CancellationToken) -> anyhow::Result<()> {
    let settings = &world.settings;
    let api = KubeLease::new(
        world.lease.clone(),
        &settings.lease_namespace,
        &settings.lease_name,
    );
    let me = Candidate::of_this_process(&mut world.dice).with_timings(settings.timings);
    let give_back = CancellationToken::new();
    let (leadership, contest) = lease::contest(
        api,
        me.clone(),
        world.clock.clone(),
        world.dice.fork(),
        give_back.clone(),
    );
    let work = async {
        let over = leadership.over();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = over.cancelled() => {}
            () = work(world, leadership.clone(), &me.identity) => {}
        }
        // Every worker has ended: from here on another process may act.
        give_back.cancel();
    };
    let (ended, ()) = tokio::join!(contest.run(), work);
    match ended {
        Ended::Stopped | Ended::Released(_) => Ok(()),
        Ended::Lost { why } => Err(anyhow::anyhow!("the lease was lost: {why}")),
    }
}

/// Never comes back by itself.
async fn work(world: World, leadership: Leadership, identity: &str) {
    let access = Access::new(world.client.clone());
    let mirror = Mirror::empty();
    let counts = Counts::new(&world.metrics);
    let (wake, woken) = wake::channels(world.clock.clone(), counts.pods.clone());
    let watching = mirror.clone().run(
        access.clone(),
        wake.clone(),
        world.readiness.clone(),
        CancellationToken::new(),
    );
    let eyes = Eyes {
        access,
        mirror,
        wake,
        counts,
    };
    let leading = lead(world, leadership, identity, eyes, woken);
    tokio::join!(watching, leading);
}

/// What is there before we lead.
struct Eyes {
    access: Access,
    mirror: Mirror,
    wake: Wake,
    counts: Counts,
}

async fn lead(
    mut world: World,
    mut leadership: Leadership,
    identity: &str,
    eyes: Eyes,
    woken: Woken,
) {
    let Eyes {
        access,
        mirror,
        wake,
        counts,
    } = eyes;
    let cluster = cluster_id(&access).await;
    let Some(held) = leadership.acquired().await else {
        return std::future::pending().await;
    };
    let reach = reach(&access, &world.settings.reach).await;
    let settings = world.settings.clone();
    let brake = brake(&access, &settings).await;
    let leave = Leave {
        leadership: leadership.clone(),
        clock: world.clock.clone(),
        brake: brake.clone(),
        classes: mirror.classes.clone(),
    };
    let mut namespaces = vec![settings.namespace.clone()];
    namespaces.extend(settings.secret_namespaces.iter().cloned());
    let counted = Counted {
        open: world.open.clone(),
        calls: counts.calls.clone(),
        clock: world.clock.clone(),
    };
    let open = Arc::new(Rereading {
        open: Arc::new(counted),
        wake: wake.clone(),
    });
    let hub = Arc::new(Hub {
        write: Write::new(access.clone(), leadership, identity, world.clock.clone()),
        providers: Providers::new(open, cluster.clone(), leave),
        secrets: SecretReader {
            access: access.clone(),
            namespaces,
        },
        access,
        mirror,
        settings,
        reach,
        cluster,
        epoch: epoch(held),
        clock: world.clock.clone(),
        wake,
        counts,
        brake,
        guarded: Mutex::new(BTreeMap::new()),
        dice: Mutex::new(world.dice.fork()),
        readings: Mutex::default(),
    });
    tracing::info!(cluster = %hub.cluster, epoch = hub.epoch, "leading");
    tokio::join!(
        migrate::run(&hub, &world.readiness),
        Box::pin(control(hub.clone(), woken))
    );
}

async fn control(hub: Shared, woken: Woken) {
    // No claim may be judged before all kinds are known.
    while let Some(kind) = hub.mirror.incomplete() {
        tracing::debug!(kind, "waiting for the first list");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let never = CancellationToken::new();
    tokio::join!(
        drive("class", woken.classes, never.clone(), |key| class::turn(
            &hub, key
        )),
        drive("pool", woken.pools, never.clone(), |key| pool::turn(
            &hub, key
        )),
        drive("claim", woken.claims, never.clone(), |key| claim::turn(
            &hub, key
        )),
        drive("drain", woken.drains, never.clone(), |key| drain::turn(
            &hub, key
        )),
        provision::run(&hub, woken.plans),
        disrupt::run(&hub),
        collect::run(&hub),
        brakes::run(&hub),
        levels::run(&hub),
    );
}

/// Nothing is done before it is known whether somebody has stopped us.
async fn brake(access: &Access, settings: &Settings) -> Brake {
    let brake = Brake::new(settings.paused);
    while let Err(error) = brake.read(access, &settings.namespace).await {
        tracing::warn!(%error, namespace = settings.namespace, "our namespace cannot be read; trying again");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    if let Some(by) = brake.pulled() {
        tracing::warn!(by, "paused: nothing is bought, disrupted or removed");
    }
    brake
}

fn epoch(held: Held) -> u64 {
    u64::try_from(held.epoch).unwrap_or(0)
}

async fn cluster_id(access: &Access) -> ClusterId {
    loop {
        match access.namespaces().get("kube-system").await {
            Ok(namespace) => {
                if let Some(uid) = namespace.uid() {
                    return uid.into();
                }
            }
            Err(error) => {
                tracing::warn!(%error, "namespace kube-system cannot be read; trying again");
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Flags first, then what the cluster says of itself.
async fn reach(access: &Access, flags: &Reach) -> Reach {
    if flags.endpoint.is_some() && flags.ca_pem.is_some() {
        return flags.clone();
    }
    let text = loop {
        match said_of_itself(access).await {
            Ok(text) => break text,
            Err(error) => {
                tracing::warn!(%error, "kube-public/cluster-info cannot be read; trying again");
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    let said = text.map(|text| cluster_info(&text)).unwrap_or_default();
    Reach {
        endpoint: flags.endpoint.clone().or(said.endpoint),
        ca_pem: flags.ca_pem.clone().or(said.ca_pem),
    }
}

/// None also if we may not ask: asking again would not change that.
async fn said_of_itself(access: &Access) -> Result<Option<String>, kube::Error> {
    let map = access
        .config_maps_in("kube-public")
        .get_opt("cluster-info")
        .await;
    match map {
        Ok(map) => {
            let entries = map.and_then(|map| map.data);
            Ok(entries.and_then(|mut entries| entries.remove("kubeconfig")))
        }
        Err(kube::Error::Api(status)) if status.code == 403 => {
            tracing::warn!(
                "kube-public/cluster-info may not be read: {}",
                status.message
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
