//! What do all controllers share?

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crds::karpenter::{NodeClaim, NodePool};
use crds::openstack::v1::OpenStackNodeClass;
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use kube::Resource;
use planner::ClusterId;
use planner::batch::BatchSettings;
use planner::lifecycle::liveness::Patience;
use planner::snapshot::{MinValuesPolicy, PreferencePolicy, Spread};
use runtime::dice::NoEntropy;
use runtime::lease::Timings;
use runtime::{Clock, Dice};

use crate::access::Access;
use crate::bootstrap::Reach;
use crate::brakes::Brake;
use crate::metrics::Counts;
use crate::mirror::Mirror;
use crate::providers::Providers;
use crate::secrets::SecretReader;
use crate::snapshot::Readings;
use crate::wake::Wake;
use crate::write::Write;

/// What the flags amount to.
#[derive(Clone, Debug)]
pub struct Settings {
    pub cluster_name: String,
    pub namespace: String,
    pub secret_namespaces: Vec<String>,
    pub lease_namespace: String,
    pub lease_name: String,
    pub timings: Timings,
    pub batch: BatchSettings,
    pub min_values: MinValuesPolicy,
    pub preferences: PreferencePolicy,
    /// For pods that ask for none.
    pub spreads: Vec<Spread>,
    pub paused: bool,
    pub sweep_report_only: bool,
    pub sweep_interval: Duration,
    pub sweep_longest_create: Duration,
    pub patience: Patience,
    /// From the flags; what is missing comes from `kube-public/cluster-info`.
    pub reach: Reach,
}

pub struct Hub {
    pub access: Access,
    pub write: Write,
    pub mirror: Mirror,
    pub providers: Providers,
    pub secrets: SecretReader,
    pub settings: Settings,
    pub reach: Reach,
    pub cluster: ClusterId,
    /// Of our lease: fences our ledger writes.
    pub epoch: u64,
    pub clock: Clock,
    pub wake: Wake,
    pub counts: Counts,
    pub brake: Brake,
    /// Pools that the runaway guard holds back, as the last plan found, each with what is to be said.
    pub guarded: Mutex<BTreeMap<String, String>>,
    pub dice: Mutex<Dice>,
    pub readings: Mutex<Readings>,
}

impl Hub {
    pub fn secret_bytes(&self) -> Result<[u8; 16], NoEntropy> {
        self.dice
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .secret()
    }

    /// What holds a pool back at this moment, if the runaway guard does.
    pub fn guard_of(&self, pool: &str) -> Option<String> {
        let guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        guarded.get(pool).cloned()
    }

    /// Remembers what the last plan found; returns the pools for which that is news.
    pub fn guard(&self, fresh: BTreeMap<String, String>) -> Vec<String> {
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *guarded, fresh);
        let all: std::collections::BTreeSet<_> = before.keys().chain(guarded.keys()).collect();
        let changed = all
            .into_iter()
            .filter(|pool| before.get(*pool) != guarded.get(*pool));
        changed.cloned().collect()
    }

    pub async fn tell_claim(&self, claim: &NodeClaim, warning: bool, reason: &str, note: String) {
        self.write
            .tell(&reference(claim), warning, reason, note)
            .await;
    }

    pub async fn tell_node(&self, node: &Node, warning: bool, reason: &str, text: String) {
        self.write
            .tell(&reference(node), warning, reason, text)
            .await;
    }

    pub async fn tell_class(
        &self,
        class: &OpenStackNodeClass,
        warning: bool,
        reason: &str,
        note: String,
    ) {
        self.write
            .tell(&reference(class), warning, reason, note)
            .await;
    }

    pub async fn tell_pool(&self, pool: &NodePool, warning: bool, reason: &str, note: String) {
        self.write
            .tell(&reference(pool), warning, reason, note)
            .await;
    }
}

/// Shared by every future of the process.
pub type Shared = Arc<Hub>;

pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    object.object_ref(&())
}

/// The pool a claim belongs to, empty if none.
pub fn pool_of(claim: &NodeClaim) -> &str {
    let labels = claim.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(planner::labels::POOL))
        .map_or("", String::as_str)
}
