//! How does an emulated world run as a process of its own, and what does it hand to tools?

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::boot::embedded::{Embedded, show};
use crate::boot::kubelet::{self, Booter};
use crate::fronts::axum;
use crate::fronts::engine::{Clock, Engine};
use crate::fronts::https::{Bound, ServedApi};
use crate::kubernetes::cast::Cast;
use crate::kubernetes::kubelet::Door;
use crate::openstack::{Access, OpenStack, Settings, default_world};

const LEARN: &str = "\
Start a cloud, look at it, break it:

  joiner-emulators serve --openstack 127.0.0.1:5000 --out /tmp/cloud &
  . /tmp/cloud/openstack.env               # OS_AUTH_URL and friends, for any OpenStack client
  openstack --os-client-config-file /tmp/cloud/clouds.yaml server list
  curl -s 127.0.0.1:5000/admin/state       # everything there is
  curl -s 127.0.0.1:5000/admin/log         # what changed, with times
  curl -s 127.0.0.1:5000/admin/calls       # who asked what, and how it ended

  # the next create call takes effect, but its answer is lost
  curl -s -XPOST 127.0.0.1:5000/admin/faults -d \\
    '{\"method\":\"POST\",\"path\":\"/compute/v2.1/servers\",\"nth\":1,\"when\":\"after\",\"act\":\"reset\"}'

Acts: \"refuse\", \"reset\", \"silence\", {\"hold\":{}}, {\"truncate\":{\"keep\":20}}, {\"slow\":{\"ms\":500}},
{\"status\":{\"code\":429,\"retry_after\":\"3\"}}, and for calls on servers {\"fate\":\"no-valid-host\"},
\"error-after-build\", \"stuck-build\", \"never-joins\", \"delete-hangs\". A held call goes on after
`curl -XPOST …/admin/release`. `curl -XPUT …/admin/settings -d '{\"cell_down\":true}'` switches oddities
and speeds (GET shows them all). `curl -XDELETE …/admin/faults` forgets the script.

A Kubernetes without containers, on its own or beside the cloud:

  joiner-emulators serve --kubernetes 127.0.0.1:6443 --out /tmp/cluster &
  kubectl --kubeconfig /tmp/cluster/kubeconfig get namespaces
  curl -sk https://127.0.0.1:6443/admin/calls

Its fates: {\"fate\":\"watch-breaks\"}, \"stale-read\", \"conflict\", \"expired\".";

/// Emulated clouds and an emulated Kubernetes: deterministic, scriptable, without a cloud.
#[derive(Debug, Parser)]
#[command(name = "joiner-emulators", version, after_help = LEARN)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve emulated clouds until SIGINT or SIGTERM
    #[command(after_help = LEARN)]
    Serve(Serve),
}

#[derive(Debug, clap::Args)]
pub struct Serve {
    /// Where the emulated OpenStack listens; port 0 takes a free one (see openstack.env for which)
    #[arg(long, value_name = "ADDR")]
    pub openstack: Option<SocketAddr>,
    /// Where the embedded Kubernetes API listens (HTTPS); port 0 takes a free one (see kubeconfig for which)
    #[arg(long, value_name = "ADDR")]
    pub kubernetes: Option<SocketAddr>,
    /// Where kubeconfig, clouds.yaml, openstack.env and the files of booted machines go
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The kubelet that booted machines run; without it they only say what they would do
    #[arg(long, env = "JOINER_HOLLOW_KUBELET", value_name = "PATH")]
    pub hollow_kubelet: Option<PathBuf>,
    /// Of all ids, passwords and addresses
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// From the create call to ACTIVE
    #[arg(long, default_value_t = 2.0, value_name = "S")]
    pub boot_seconds: f64,
}

pub async fn serve(args: Args) -> Result<()> {
    let Command::Serve(args) = args.command;
    if args.openstack.is_none() && args.kubernetes.is_none() {
        bail!("nothing to serve: give --openstack ADDR, --kubernetes ADDR, or both");
    }
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("creating --out {}", args.out.display()))?;
    let mut cluster = match args.kubernetes {
        Some(addr) => Some(serve_kubernetes(addr, &args).await?),
        None => None,
    };
    // without a kubelet program, machines join the embedded cluster if there is one
    let members = cluster.as_ref().map(|cluster| &cluster.inside);
    let members = members.filter(|_| args.hollow_kubelet.is_none());
    let mut cloud = match args.openstack {
        Some(addr) => Some(serve_openstack(addr, &args, members).await?),
        None => None,
    };
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = ended(cloud.as_mut()) => {}
        () = ended_api(cluster.as_mut()) => {}
    }
    if let Some(cloud) = cloud {
        drop(cloud.served);
        drop(cloud.quit);
        let _ = cloud.booting.await;
    }
    Ok(())
}

/// An emulated OpenStack and who boots its machines.
struct Cloud {
    served: axum::Served,
    quit: oneshot::Sender<()>,
    booting: JoinHandle<()>,
}

/// An embedded Kubernetes, which also takes in the machines of clouds beside it.
struct Cluster {
    served: ServedApi,
    inside: Embedded,
}

async fn serve_openstack(
    addr: SocketAddr,
    args: &Serve,
    members: Option<&Embedded>,
) -> Result<Cloud> {
    let (world, access) = default_world(args.seed, Timestamp::now());
    let cloud = OpenStack::new(world, settings(args.boot_seconds), args.seed);
    let (quit, stop) = oneshot::channel::<()>();
    let stopped = async {
        let _ = stop.await;
    };
    let (engine, booting) = if let Some(cluster) = members {
        let (hand, lines) = cluster.hand();
        let engine = Engine::new(cloud, Clock::Wall, hand);
        let screens = show(Arc::clone(&engine), lines);
        let booting = tokio::spawn(async {
            tokio::select! {
                () = screens => {}
                () = stopped => {}
            }
        });
        (engine, booting)
    } else {
        let (hand, effects) = kubelet::hand();
        let engine = Engine::new(cloud, Clock::Wall, hand);
        let booter = Booter {
            kubelet: args.hollow_kubelet.clone(),
            dir: args.out.join("k"),
        };
        let booting = tokio::spawn(booter.run(Arc::clone(&engine), effects, stopped));
        (engine, booting)
    };
    let served = axum::serve(addr, Arc::clone(&engine))
        .await
        .with_context(|| format!("listening on --openstack {addr}"))?;
    write_access(&args.out, &served.url(), &access)?;
    println!(
        "openstack: {}  (source {})",
        served.url(),
        args.out.join("openstack.env").display()
    );
    Ok(Cloud {
        served,
        quit,
        booting,
    })
}

async fn serve_kubernetes(addr: SocketAddr, args: &Serve) -> Result<Cluster> {
    let bound = Bound::new(addr)
        .await
        .with_context(|| format!("listening on --kubernetes {addr}"))?;
    let cast = Cast {
        door: Door {
            ca: Some(bound.ca().to_owned()),
            endpoints: vec![bound.url()],
        },
        ..Cast::default()
    };
    let inside = Embedded::new(args.seed, Clock::Wall, &cast);
    let served = bound.serve(Arc::clone(&inside.engine))?;
    let path = args.out.join("kubeconfig");
    write_whole(&path, &served.kubeconfig())?;
    println!(
        "kubernetes: {}  (export KUBECONFIG={})",
        served.url(),
        path.display()
    );
    Ok(Cluster { served, inside })
}

async fn ended(cloud: Option<&mut Cloud>) {
    match cloud {
        Some(cloud) => cloud.served.ended().await,
        None => std::future::pending().await,
    }
}

async fn ended_api(cluster: Option<&mut Cluster>) {
    match cluster {
        Some(cluster) => cluster.served.ended().await,
        None => std::future::pending().await,
    }
}

/// The parts of a build keep their proportions when the whole gets faster.
fn settings(boot_seconds: f64) -> Settings {
    let usual = Settings::default();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // a duration of seconds; nonsense saturates
    let build_ms = (boot_seconds * 1000.0).max(0.0) as u64;
    Settings {
        build_ms,
        schedule_ms: usual.schedule_ms.min(build_ms / 4),
        ..usual
    }
}

/// `clouds.yaml` with two ways in, and the environment for the first of them.
pub fn write_access(out: &Path, url: &str, access: &Access) -> Result<()> {
    let Access {
        region,
        project,
        user,
        password,
        credential_id,
        credential_secret,
        ..
    } = access;
    let clouds = format!(
        "clouds:
  emulated:
    region_name: {region}
    auth:
      auth_url: {url}/identity/v3
      username: {user}
      password: {password}
      project_name: {project}
      user_domain_name: Default
      project_domain_name: Default
  emulated-credential:
    region_name: {region}
    auth_type: v3applicationcredential
    auth:
      auth_url: {url}/identity/v3
      application_credential_id: {credential_id}
      application_credential_secret: {credential_secret}
"
    );
    let clouds_path = std::path::absolute(out.join("clouds.yaml"))?;
    let env = [
        ("OS_CLIENT_CONFIG_FILE", clouds_path.display().to_string()),
        ("OS_CLOUD", "emulated".to_owned()),
        ("OS_AUTH_URL", format!("{url}/identity/v3")),
        ("OS_USERNAME", user.clone()),
        ("OS_PASSWORD", password.clone()),
        ("OS_PROJECT_NAME", project.clone()),
        ("OS_USER_DOMAIN_NAME", "Default".to_owned()),
        ("OS_PROJECT_DOMAIN_NAME", "Default".to_owned()),
        ("OS_REGION_NAME", region.clone()),
        ("EMULATED_ADMIN_URL", format!("{url}/admin")),
    ];
    let env = env.map(|(name, value)| format!("export {name}='{value}'\n"));
    let env = env.concat();
    write_whole(&clouds_path, &clouds)?;
    // last, because its presence says that all is ready
    write_whole(&out.join("openstack.env"), &env)
}

/// Readers see the old file or the new one, never half of it.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text).with_context(|| format!("writing {}", draft.display()))?;
    std::fs::rename(&draft, path).with_context(|| format!("writing {}", path.display()))
}
