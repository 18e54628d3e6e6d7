//! What do the API server and the cloud say is happening?
//!
//! Kubernetes objects by watch, at the moment the API server tells of them; servers from the change log of the emulated cloud,
//! with the cloud's own times.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use super::story::{Beat, What};
use crate::Emulator;
use crate::ground::api;

const LOOK: Duration = Duration::from_millis(200);

/// Tells every beat until it is dropped.
pub async fn observe(
    client: Client,
    emulator: &Emulator,
    tell: UnboundedSender<Beat>,
) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let nodes: Api<Node> = Api::all(client.clone());
    let claims = api(&client, "karpenter.sh/v1", "NodeClaim");
    tokio::select! {
        biased;
        ended = watch(pods, &tell, pod) => ended,
        ended = watch(claims, &tell, claim) => ended,
        ended = watch(nodes, &tell, node) => ended,
        ended = cloud(emulator, &tell) => ended,
    }
}

/// Sends what `read` makes of each object, once per answer and object.
async fn watch<K>(
    objects: Api<K>,
    tell: &UnboundedSender<Beat>,
    read: fn(&K, bool) -> Option<What>,
) -> Result<()>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let mut told: BTreeMap<String, What> = BTreeMap::new();
    let mut news = watcher::watcher(objects, watcher::Config::default()).boxed();
    while let Some(event) = news.next().await {
        let (object, gone) = match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => (object, false),
            Ok(Event::Delete(object)) => (object, true),
            // It tries again by itself.
            Ok(Event::Init | Event::InitDone) | Err(_) => continue,
        };
        let Some(what) = read(&object, gone) else {
            continue;
        };
        let name = object.name_any();
        if told.get(&name) != Some(&what) {
            told.insert(name.clone(), what.clone());
            let at = Timestamp::now();
            let _ = tell.send(Beat { at, name, what });
        }
    }
    anyhow::bail!("a watch ended")
}

fn pod(pod: &Pod, gone: bool) -> Option<What> {
    if gone {
        return Some(What::PodGone);
    }
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    match phase {
        Some("Running") => Some(What::PodRunning {
            node: node.unwrap_or_default(),
        }),
        Some("Pending") | None => Some(What::PodPending),
        Some(_) => None,
    }
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "the watch asks every kind the same way"
)]
fn claim(claim: &DynamicObject, gone: bool) -> Option<What> {
    if gone {
        return Some(What::ClaimGone);
    }
    if holds(&claim.data, "Ready") {
        return Some(What::ClaimReady);
    }
    let said = |key: &str| claim.annotations().get(key).cloned().unwrap_or_default();
    let offering = said("joiner.dev/offerings");
    Some(What::ClaimOpened {
        offering: offering.split(',').next().unwrap_or_default().to_owned(),
        why: said("joiner.dev/why"),
    })
}

fn node(node: &Node, gone: bool) -> Option<What> {
    if gone {
        return Some(What::NodeGone);
    }
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions
        .iter()
        .any(|one| one.type_ == "Ready" && one.status == "True");
    ready.then_some(What::NodeReady)
}

fn holds(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == condition && one["status"] == "True")
}

async fn cloud(emulator: &Emulator, tell: &UnboundedSender<Beat>) -> Result<()> {
    let mut seen = BTreeSet::new();
    loop {
        let state = emulator.admin("state").await?;
        for change in changes(emulator).await? {
            if !seen.insert(change.seq) {
                continue;
            }
            if let Some(what) = change.what(&state) {
                let _ = tell.send(Beat {
                    at: change.at,
                    name: change.name,
                    what,
                });
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

struct Change {
    seq: u64,
    at: Timestamp,
    id: String,
    name: String,
    said: String,
}

/// Changes of servers, oldest first.
async fn changes(emulator: &Emulator) -> Result<Vec<Change>> {
    let log = emulator.admin("log").await?;
    let all = log["changes"].as_array().context("the log has changes")?;
    let servers = all.iter().filter(|change| change["kind"] == "server");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    servers
        .map(|change| {
            Ok(Change {
                seq: change["seq"].as_u64().context("seq")?,
                at: text(&change["at"]).parse()?,
                id: text(&change["id"]),
                name: text(&change["name"]),
                said: text(&change["change"]),
            })
        })
        .collect()
}

impl Change {
    fn what(&self, state: &Value) -> Option<What> {
        match self.said.as_str() {
            "created" => {
                let flavor = &state["servers"][&self.id]["flavor"];
                let price = flavor["extra_specs"]["price:hourly"].as_str();
                Some(What::ServerCreated {
                    flavor: flavor["name"].as_str().unwrap_or("unknown").to_owned(),
                    hourly: price.and_then(|price| price.parse().ok()),
                })
            }
            said if said.ends_with("-> Active") => Some(What::ServerActive),
            // From then on only its id still answers, for a moment.
            said if said.ends_with("-> Deleted") => Some(What::ServerGone),
            _ => None,
        }
    }
}
