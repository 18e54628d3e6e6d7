//! How do the machines of emulated clouds join the embedded Kubernetes, in one process and on one clock?
//!
//! The same for wall time (`joiner-emulators serve`) and for virtual time: the kubelets are actors of the cluster,
//! and a cloud's effects are orders to them.

use std::sync::{Arc, Weak};

use jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::fronts::engine::{Clock, Engine, Hand};
use crate::kubernetes::Kubernetes;
use crate::kubernetes::cast::Cast;
use crate::kubernetes::kubelet::machines::{Line, Machines};

pub use crate::kubernetes::kubelet::machines::show;

/// A cluster that takes in machines. Cheap to clone.
#[derive(Clone)]
pub struct Embedded {
    pub engine: Arc<Engine<Kubernetes>>,
    machines: Machines,
}

impl Embedded {
    /// A fresh cluster. If its door is known, `kube-public/cluster-info` tells everybody about it.
    pub fn new(seed: u64, clock: Clock, cast: &Cast) -> Self {
        let now = clock.now();
        let mut cluster = Kubernetes::with_cast(seed, now, cast);
        tell(&mut cluster, cast, now);
        let engine = Engine::new(cluster, clock, Box::new(|_| {}));
        let weak: Weak<Engine<Kubernetes>> = Arc::downgrade(&engine);
        cast.machines.on_order(move || {
            if let Some(engine) = weak.upgrade() {
                let now = engine.now();
                engine.with(|cluster| cluster.world.stir(now));
            }
        });
        Self {
            engine,
            machines: cast.machines.clone(),
        }
    }

    /// For the engine of one cloud. Spawn [`show`] with the lines, and what machines say is on their consoles.
    pub fn hand(&self) -> (Hand, UnboundedReceiver<Line>) {
        self.machines.hand()
    }
}

/// As `kubeadm init` does: where the API is and which authority to trust.
fn tell(cluster: &mut Kubernetes, cast: &Cast, now: Timestamp) {
    use base64::Engine as _;
    let (Some(ca), Some(server)) = (&cast.door.ca, cast.door.endpoints.first()) else {
        return;
    };
    let ca = base64::engine::general_purpose::STANDARD.encode(ca);
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n    server: {server}\n    certificate-authority-data: {ca}\ncontexts: []\nusers: []\n"
    );
    let map = json!({
        "metadata": {"namespace": "kube-public", "name": "cluster-info"},
        "data": {"kubeconfig": kubeconfig},
    });
    let _ = cluster.world.store.create("configmaps", map, now);
    cluster.world.notice(now);
}
