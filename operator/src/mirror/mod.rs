//! What does the cluster look like, as far as the watches have told?
//!
//! One store per kind, each with one writer: its watch. A store that has not finished its first list says so.

mod store;
mod watch;

use crds::karpenter::{NodeClaim, NodePool};
use crds::openstack::v1::OpenStackNodeClass;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use runtime::readiness::{Gate, Readiness};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::wake::Wake;

pub use store::{Store, key};

#[derive(Clone)]
pub struct Mirror {
    pub pods: Store<Pod>,
    pub nodes: Store<Node>,
    pub claims: Store<NodeClaim>,
    pub pools: Store<NodePool>,
    pub classes: Store<OpenStackNodeClass>,
    pub daemons: Store<DaemonSet>,
    pub budgets: Store<PodDisruptionBudget>,
    pub volume_claims: Store<PersistentVolumeClaim>,
    pub attachments: Store<VolumeAttachment>,
    pub volumes: Store<PersistentVolume>,
    pub storage_classes: Store<StorageClass>,
    pub csi_nodes: Store<CSINode>,
    pub namespaces: Store<Namespace>,
}

impl Mirror {
    pub fn empty() -> Self {
        Self {
            pods: Store::named("Pod"),
            nodes: Store::named("Node"),
            claims: Store::named("NodeClaim"),
            pools: Store::named("NodePool"),
            classes: Store::named("OpenStackNodeClass"),
            daemons: Store::named("DaemonSet"),
            budgets: Store::named("PodDisruptionBudget"),
            volume_claims: Store::named("PersistentVolumeClaim"),
            attachments: Store::named("VolumeAttachment"),
            volumes: Store::named("PersistentVolume"),
            storage_classes: Store::named("StorageClass"),
            csi_nodes: Store::named("CSINode"),
            namespaces: Store::named("Namespace"),
        }
    }

    /// The first kind that has not been listed yet.
    pub fn incomplete(&self) -> Option<&'static str> {
        let kinds = [
            (self.pods.complete(), self.pods.kind()),
            (self.nodes.complete(), self.nodes.kind()),
            (self.claims.complete(), self.claims.kind()),
            (self.pools.complete(), self.pools.kind()),
            (self.classes.complete(), self.classes.kind()),
            (self.daemons.complete(), self.daemons.kind()),
            (self.budgets.complete(), self.budgets.kind()),
            (self.volume_claims.complete(), self.volume_claims.kind()),
            (self.attachments.complete(), self.attachments.kind()),
            (self.volumes.complete(), self.volumes.kind()),
            (self.storage_classes.complete(), self.storage_classes.kind()),
            (self.csi_nodes.complete(), self.csi_nodes.kind()),
            (self.namespaces.complete(), self.namespaces.kind()),
        ];
        kinds
            .into_iter()
            .find_map(|(complete, kind)| (!complete).then_some(kind))
    }

    /// Feeds all stores until told to stop.
    pub async fn run(
        self,
        access: Access,
        wake: Wake,
        readiness: Readiness,
        stop: CancellationToken,
    ) {
        let gate = |kind: &'static str| -> Gate {
            readiness.gate(kind, "the first list of this kind has not come in yet")
        };
        let all = async {
            tokio::join!(
                self.places(&access, &wake, &gate),
                self.rules(&access, &wake, &gate),
                self.storage(&access, &wake, &gate),
            )
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            _ = all => {}
        }
    }

    /// Pods, and where they are or will be.
    async fn places(&self, access: &Access, wake: &Wake, gate: &impl Fn(&'static str) -> Gate) {
        tokio::join!(
            watch::run(access.pods(), &self.pods, gate("pods"), |o, n, l| {
                wake.pod(o, n, l);
            }),
            watch::run(access.nodes(), &self.nodes, gate("nodes"), |o, n, _| {
                wake.node(o, n);
            }),
            watch::run(
                access.claims(),
                &self.claims,
                gate("nodeclaims"),
                |o, n, _| wake.claim(o, n)
            ),
        );
    }

    /// What may be bought, what comes with it, and what holds it.
    async fn rules(&self, access: &Access, wake: &Wake, gate: &impl Fn(&'static str) -> Gate) {
        tokio::join!(
            watch::run(access.pools(), &self.pools, gate("nodepools"), |o, n, _| {
                wake.pool(o, n);
            }),
            watch::run(
                access.classes(),
                &self.classes,
                gate("openstacknodeclasses"),
                |o, n, _| wake.class(o, n)
            ),
            watch::run(
                access.daemon_sets(),
                &self.daemons,
                gate("daemonsets"),
                |_, _, _| wake.plan()
            ),
            watch::run(
                access.budgets(),
                &self.budgets,
                gate("poddisruptionbudgets"),
                |_, _, _| {}
            ),
            watch::run(
                access.namespaces(),
                &self.namespaces,
                gate("namespaces"),
                |_, _, _| wake.plan()
            ),
        );
    }

    /// Volumes, from where they are reached, and how many a node takes.
    async fn storage(&self, access: &Access, wake: &Wake, gate: &impl Fn(&'static str) -> Gate) {
        tokio::join!(
            watch::run(
                access.volume_claims(),
                &self.volume_claims,
                gate("persistentvolumeclaims"),
                |_, _, _| wake.plan()
            ),
            watch::run(
                access.volumes(),
                &self.volumes,
                gate("persistentvolumes"),
                |_, _, _| wake.plan()
            ),
            watch::run(
                access.storage_classes(),
                &self.storage_classes,
                gate("storageclasses"),
                |_, _, _| wake.plan()
            ),
            watch::run(
                access.csi_nodes(),
                &self.csi_nodes,
                gate("csinodes"),
                |_, _, _| wake.plan()
            ),
            watch::run(
                access.attachments(),
                &self.attachments,
                gate("volumeattachments"),
                |o, n, _| wake.attachment(o, n)
            ),
        );
    }
}
