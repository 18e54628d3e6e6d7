//! What stands on the stage of every test here: a cloud, a cluster's provider, and what the cloud really holds?

use std::time::Duration;

use cloud::bootstrap::UserData;
use cloud::{CloudError, Footprint, Instance, Order, Provider, Resolved};
use e2e::Emulated;
use e2e::openstack::{identity, order, provider_on, with_own_port};
use emulators::machine::Machine;
use emulators::openstack::Settings;
use openstack::OpenStack;
use planner::Identity;
use serde_json::Value;

pub(crate) const CLUSTER: &str = "7c1f0f5e-aaaa-4bbb-8ccc-1d2e3f405060";
pub(crate) const CLAIM: &str = "11111111-2222-4333-8444-555555555555";
pub(crate) const USER_DATA: &str =
    "#cloud-config\n# canary-user-data with token abcdef.0123456789abcdef\n";

pub(crate) struct Stage {
    pub(crate) cloud: Emulated,
    pub(crate) resolved: Resolved,
    spec: Value,
}

impl Stage {
    pub(crate) async fn new(settings: Settings) -> Self {
        let cloud = Emulated::in_virtual_time(settings);
        let spec = with_own_port();
        let provider = provider_on(&cloud, CLUSTER, &spec).unwrap();
        let resolved = provider.resolve().await.unwrap();
        Self {
            cloud,
            resolved,
            spec,
        }
    }

    /// A provider that has not spoken to its cloud yet, so that its first call is for a token.
    pub(crate) fn provider(&self) -> OpenStack {
        self.provider_of(CLUSTER)
    }

    pub(crate) fn provider_of(&self, cluster: &str) -> OpenStack {
        provider_on(&self.cloud, cluster, &self.spec).unwrap()
    }

    pub(crate) fn order(&self, who: &Identity) -> Order {
        let user_data = UserData::new(USER_DATA);
        order(&self.resolved, who, "np1-x7k2p", user_data)
    }

    pub(crate) async fn launched(&self, who: &Identity) -> Instance {
        let provider = self.provider_of(who.cluster.as_str());
        provider.launch(&self.order(who)).await.unwrap()
    }

    /// Ids of servers with this identity that exist, however far they have come.
    pub(crate) fn servers(&self, who: &Identity) -> Vec<String> {
        let tags = cloud::identity::tags(who).unwrap();
        self.cloud.world(|world| {
            let alive = world.servers.values().filter(|one| one.phase.is_alive());
            let ours = alive.filter(|one| tags.iter().all(|tag| one.tags.contains(tag)));
            ours.map(|one| one.id.clone()).collect()
        })
    }

    /// All ports there are: the stage begins with none.
    pub(crate) fn ports(&self) -> usize {
        self.cloud.world(|world| world.ports.len())
    }

    /// Method and path of each call so far.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        self.cloud.engine.with(|cloud| {
            let calls = cloud.journal().calls();
            let path = |text: &str| text.split('?').next().unwrap_or_default().to_owned();
            calls
                .map(|call| (call.method.clone(), path(&call.path)))
                .collect()
        })
    }

    pub(crate) fn forgive(&self) {
        self.cloud.engine.with(|cloud| cloud.script_mut().clear());
    }
}

pub(crate) fn ours() -> Identity {
    identity(CLUSTER, CLAIM)
}

/// One word for what came of a call.
pub(crate) fn meaning<T>(outcome: &Result<T, CloudError>) -> &'static str {
    match outcome {
        Ok(_) => "ok",
        Err(CloudError::Gone) => "gone",
        Err(CloudError::NoCapacity { .. }) => "no capacity",
        Err(CloudError::Throttled { .. }) => "throttled",
        Err(CloudError::Unauthorized { .. }) => "unauthorized",
        Err(CloudError::Rejected { .. }) => "rejected",
        Err(CloudError::Unknown(_)) => "unknown",
    }
}

/// Repeats terminate until it says that nothing is left; how often it was asked.
pub(crate) async fn end(provider: &dyn Provider, what: &Footprint, pause: Duration) -> usize {
    for asked in 1..100 {
        match provider.terminate(what).await {
            Err(CloudError::Gone) => return asked,
            Ok(()) => tokio::time::sleep(pause).await,
            Err(error) => panic!("terminate: {error}"),
        }
    }
    panic!("terminate never says that nothing is left");
}
