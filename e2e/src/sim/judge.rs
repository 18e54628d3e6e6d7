//! What must never happen, whatever goes wrong? (I1–I3, I5, I7, I11 of the specification.)
//!
//! Judged from what cluster and cloud hold, never from what the operator says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use emulators::fronts::engine::Engine;
use emulators::kubernetes::Kubernetes;
use emulators::machine::Machine;
use emulators::openstack::OpenStack;
use emulators::openstack::world::{Phase as Power, Server, World};
use http::{Method, Request};
use serde_json::Value;

use super::phase::{self, CLAIMS, Phase};
use super::tap::{Call, Side, Tap};
use crate::lookalikes::Lookalikes;

/// Budget → (pods that are healthy, pods that it wants).
pub type Health = BTreeMap<String, (u64, u64)>;

pub struct Judge {
    pub cluster: Arc<Engine<Kubernetes>>,
    pub cloud: Arc<Engine<OpenStack>>,
    pub tap: Arc<Tap>,
    pub lookalikes: Lookalikes,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Up to where the cloud's change log was read.
    read: u64,
    /// Names of servers that live, each with its id.
    live: BTreeMap<String, BTreeSet<String>>,
    /// Uids of claims that were seen, each with its name.
    claims: BTreeMap<String, String>,
    accused: BTreeSet<String>,
}

impl Judge {
    pub fn new(
        cluster: Arc<Engine<Kubernetes>>,
        cloud: Arc<Engine<OpenStack>>,
        tap: Arc<Tap>,
        lookalikes: Lookalikes,
    ) -> Self {
        Self {
            cluster,
            cloud,
            tap,
            lookalikes,
            state: Mutex::default(),
        }
    }

    pub fn phase_of_write(&self, method: &Method, path: &str) -> Phase {
        self.cluster
            .peek(|cluster| phase::of_write(method, path, &cluster.world.store))
    }

    pub fn phase_of_cloud_call(&self, request: &Request<Bytes>) -> Phase {
        let path = request.uri().path_and_query();
        let path = path.map_or("/", |path| path.as_str());
        let text = format!("{path} {}", String::from_utf8_lossy(request.body()));
        self.cluster.peek(|cluster| {
            let store = &cluster.world.store;
            self.cloud
                .peek(|cloud| phase::of_cloud_call(path, &text, store, &cloud.world))
        })
    }

    /// I3: nothing that is not ours is changed, not even if the cloud would refuse.
    pub fn before_cloud(&self, request: &Request<Bytes>) {
        if *request.method() == Method::GET {
            return;
        }
        let path = request.uri().path();
        if path.split('/').any(|id| self.lookalikes.contains(id)) {
            self.accuse(format!(
                "I3: {} {path} is about a look-alike",
                request.method()
            ));
        }
    }

    /// What may be lost by this call: how many pods of each budget are healthy.
    pub fn before(&self, call: &Call) -> Health {
        if call.side == Side::Kubernetes && call.text.contains("/pods/") {
            self.health()
        } else {
            Health::default()
        }
    }

    /// After each call that may have changed something.
    pub fn after(&self, call: &Call, before: &Health) {
        if call.reads {
            return;
        }
        match call.side {
            Side::Cloud => self.one_server_each(),
            Side::Kubernetes => {
                self.no_claim_gone_before_its_server();
                if !before.is_empty() {
                    self.budgets_are_kept(&call.text, before);
                }
                let deleted = call
                    .text
                    .strip_prefix("DELETE /apis/karpenter.sh/v1/nodeclaims/");
                if let Some(name) = deleted {
                    self.disruptions_are_few(name.split('?').next().unwrap_or(name));
                }
            }
        }
    }

    /// Everything, between two steps.
    pub fn look(&self) {
        self.one_server_each();
        self.no_claim_gone_before_its_server();
        self.limits_are_kept();
    }

    /// I1, over the whole change log.
    fn one_server_each(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut twice = Vec::new();
        self.cloud.peek(|cloud| {
            let fresh = cloud.journal().changes();
            let fresh: Vec<_> = fresh
                .filter(|one| one.kind == "server" && one.seq > state.read)
                .collect();
            for change in fresh {
                state.read = change.seq;
                let live = state.live.entry(change.name.clone()).or_default();
                if change.change == "created" {
                    live.insert(change.id.clone());
                    if live.len() > 1 {
                        twice.push(change.name.clone());
                    }
                } else if change.change.ends_with("Deleted") || change.change.ends_with("Gone") {
                    live.remove(&change.id);
                }
            }
        });
        drop(state);
        for name in twice {
            self.accuse(format!("I1: two servers for claim {name}"));
        }
    }

    /// I11 and I2: a claim goes only after everything that was made for it.
    fn no_claim_gone_before_its_server(&self) {
        let now: BTreeMap<String, String> = self.cluster.peek(|cluster| {
            let claims = cluster.world.store.list(CLAIMS, None);
            let claims = claims.filter_map(|claim| {
                let uid = claim.value()["metadata"]["uid"].as_str()?.to_owned();
                Some((uid, claim.name().to_owned()))
            });
            claims.collect()
        });
        let before = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut state.claims, now.clone())
        };
        let gone = before.into_iter().filter(|(uid, _)| !now.contains_key(uid));
        for (uid, name) in gone {
            if let Some(left) = self.cloud.peek(|cloud| left_of(&cloud.world, &uid)) {
                self.accuse(format!("I11: claim {name} is gone and its {left} is not"));
            }
        }
    }

    /// I5: nothing is taken away that a budget needs.
    fn budgets_are_kept(&self, what: &str, before: &Health) {
        for (name, (healthy, wanted)) in self.health() {
            let had = before.get(&name).map_or(0, |(healthy, _)| *healthy);
            if healthy < had && healthy < wanted {
                self.accuse(format!(
                    "I5: {what} left budget {name} with {healthy} of {wanted} pods"
                ));
            }
        }
    }

    fn health(&self) -> Health {
        self.cluster.peek(|cluster| {
            let store = &cluster.world.store;
            let budgets = store.list("poddisruptionbudgets.policy", None);
            let health = budgets.map(|budget| {
                let written = budget.value();
                let wanted = written["spec"]["minAvailable"].as_u64().unwrap_or(0);
                let labels = written["spec"]["selector"]["matchLabels"].clone();
                let pods = store.list("pods", Some(budget.namespace()));
                let healthy = pods.filter(|pod| {
                    let pod = pod.value();
                    selected(&pod, &labels)
                        && pod["metadata"]["deletionTimestamp"].is_null()
                        && phase::holds(&pod, "Ready")
                });
                (budget.name().to_owned(), (healthy.count() as u64, wanted))
            });
            health.collect()
        })
    }

    /// I7: a claim that the operator gave up by choice is within its pool's budget, with all others on their way out.
    fn disruptions_are_few(&self, name: &str) {
        let counted = self.cluster.peek(|cluster| {
            let store = &cluster.world.store;
            let claim = store.get(CLAIMS, "", name)?;
            let leaving = |claim: &Value| {
                claim["metadata"]["deletionTimestamp"].is_string()
                    && phase::holds(claim, "Initialized")
            };
            if !leaving(&claim.value()) {
                return None;
            }
            let pool = claim.label("karpenter.sh/nodepool")?.to_owned();
            let budgets = store.get("nodepools.karpenter.sh", "", &pool)?.value();
            let most = budgets["spec"]["disruption"]["budgets"][0]["nodes"]
                .as_str()?
                .parse::<usize>()
                .ok()?;
            let all = store.list(CLAIMS, None);
            let all = all.filter(|one| one.label("karpenter.sh/nodepool") == Some(&pool));
            let count = all.filter(|one| leaving(&one.value())).count();
            Some((pool, count, most))
        });
        let there = self.cloud.peek(|cloud| {
            let mut servers = cloud.world.servers.values();
            servers.any(|server| server.name == name && is_there(server))
        });
        if let Some((pool, count, most)) = counted
            && there
            && count > most
        {
            self.accuse(format!(
                "I7: {count} nodes of pool {pool} are disrupted, its budget is {most}"
            ));
        }
    }

    /// I7: limits of pools, with everything in flight.
    fn limits_are_kept(&self) {
        let pools: Vec<(String, u64)> = self.cluster.peek(|cluster| {
            let pools = cluster.world.store.list("nodepools.karpenter.sh", None);
            let limited = pools.filter_map(|pool| {
                let limit = pool.value()["spec"]["limits"]["cpu"].clone();
                let limit = limit.as_u64().or_else(|| limit.as_str()?.parse().ok())?;
                Some((pool.name().to_owned(), limit))
            });
            limited.collect()
        });
        for (pool, limit) in pools {
            let names: BTreeSet<String> = self.cluster.peek(|cluster| {
                let claims = cluster.world.store.list(CLAIMS, None);
                let ours = claims.filter(|claim| {
                    claim.label("karpenter.sh/nodepool") == Some(&pool)
                        && claim.value()["metadata"]["deletionTimestamp"].is_null()
                });
                ours.map(|claim| claim.name().to_owned()).collect()
            });
            let cpus: u64 = self.cloud.peek(|cloud| {
                let ours = cloud.world.servers.values();
                let ours = ours.filter(|server| names.contains(&server.name) && is_there(server));
                ours.map(|server| u64::from(server.flavor.vcpus)).sum()
            });
            if cpus > limit {
                self.accuse(format!(
                    "I7: pool {pool} has {cpus} cpus, its limit is {limit}"
                ));
            }
        }
    }

    /// Each thing once.
    fn accuse(&self, what: String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.accused.insert(what.clone()) {
            drop(state);
            self.tap.accuse(what);
        }
    }
}

/// I2, when everything has come to rest: what in the cloud is ours and has no claim.
pub fn leaked(
    cluster: &Engine<Kubernetes>,
    cloud: &Engine<OpenStack>,
    spared: &Lookalikes,
) -> Vec<String> {
    let uids: BTreeSet<String> = cluster.peek(|cluster| {
        let claims = cluster.world.store.list(CLAIMS, None);
        let uids =
            claims.filter_map(|claim| claim.value()["metadata"]["uid"].as_str().map(str::to_owned));
        uids.collect()
    });
    let known = |tag: &str| {
        let uid = tag.strip_prefix("joiner-claim=");
        uid.is_some_and(|uid| uids.contains(uid))
    };
    cloud.peek(|cloud| {
        let servers = cloud.world.servers.values().filter(|server| {
            !spared.contains(&server.id)
                && is_there(server)
                && !server.tags.iter().any(|tag| known(tag))
        });
        let servers = servers.map(|server| format!("server {} ({})", server.name, server.id));
        let held: BTreeSet<&String> = cloud
            .world
            .servers
            .values()
            .flat_map(|server| server.nics.iter().filter_map(|nic| nic.port.as_ref()))
            .collect();
        let ports = cloud.world.ports.iter().filter(|(id, port)| {
            let tags = port.get("tags").and_then(Value::as_array);
            let mut tags = tags.into_iter().flatten().filter_map(Value::as_str);
            !held.contains(id) && !tags.any(known)
        });
        let ports = ports.map(|(id, _)| format!("port {id}"));
        servers.chain(ports).collect()
    })
}

fn is_there(server: &Server) -> bool {
    !matches!(server.phase, Power::Deleted | Power::Gone)
}

/// Something in the cloud that is marked with this claim.
fn left_of(cloud: &World, uid: &str) -> Option<String> {
    let mark = format!("joiner-claim={uid}");
    let mut servers = cloud.servers.values();
    let server = servers.find(|server| server.tags.contains(&mark) && is_there(server));
    if let Some(server) = server {
        return Some(format!("server {}", server.id));
    }
    let mut ports = cloud.ports.iter();
    let port = ports.find(|(_, port)| {
        let tags = port.get("tags").and_then(Value::as_array);
        tags.into_iter().flatten().any(|tag| *tag == *mark)
    });
    port.map(|(id, _)| format!("port {id}"))
}

fn selected(pod: &Value, labels: &Value) -> bool {
    let labels = labels.as_object();
    let mut labels = labels.into_iter().flatten();
    labels.all(|(key, value)| pod["metadata"]["labels"][key] == *value)
}
