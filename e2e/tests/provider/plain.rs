//! Does one instance live from its order to its end, when nothing goes wrong?

use std::time::Duration;

use cloud::bootstrap::UserData;
use cloud::{CloudError, Footprint, Instance, InstanceState, Provider};
use e2e::openstack::order;
use emulators::openstack::Settings;

use crate::stage::{CLUSTER, Stage, USER_DATA, end, meaning, ours};

/// The whole life of an instance on any front; returns what it was while it ran.
pub(crate) async fn live(provider: &dyn Provider, pause: Duration) -> Instance {
    let resolved = provider.resolve().await.unwrap();
    let catalog = provider.catalog(&resolved).await.unwrap();
    assert!(catalog.find_type("m1.medium").is_some());
    assert_eq!(
        resolved.zones.len() * resolved.types.len(),
        catalog.offerings().len()
    );

    assert_eq!(provider.find(&ours()).await.unwrap(), []);
    let order = order(&resolved, &ours(), "np1-x7k2p", UserData::new(USER_DATA));
    let launched = provider.launch(&order).await.unwrap();
    let found = provider.find(&ours()).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id, launched.id);

    let mut running = provider.get(&launched.id).await.unwrap();
    while running.state == InstanceState::Pending {
        tokio::time::sleep(pause).await;
        running = provider.get(&launched.id).await.unwrap();
    }
    assert_eq!(running.state, InstanceState::Running);
    let listed = provider.list().await.unwrap();
    assert_eq!(listed, [running.clone()]);

    let footprint = Footprint {
        side: launched.side.clone(),
        ..Footprint::of(&running)
    };
    end(provider, &footprint, pause).await;
    assert_eq!(provider.list().await.unwrap(), []);
    assert_eq!(meaning(&provider.get(&launched.id).await), "gone");
    running
}

#[tokio::test(start_paused = true)]
async fn an_instance_lives_from_its_order_to_its_end_and_leaves_nothing() {
    let stage = Stage::new(Settings::default()).await;
    let provider = stage.provider();
    let running = live(&provider, Duration::from_millis(200)).await;
    assert_eq!(running.identity, ours());
    assert_eq!(running.name, "np1-x7k2p");
    assert_eq!(running.instance_type.as_deref(), Some("m1.medium"));
    assert_eq!(running.zone.as_deref(), Some("az-b"));
    assert_eq!(running.addresses.len(), 2, "one per port");
    assert_eq!(provider.drifted(&stage.resolved, &running), None);
    assert_eq!(stage.ports(), 0);
    stage.cloud.world(|world| assert!(world.servers.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn a_lost_id_is_found_again_by_identity_and_its_ports_go_too() {
    let stage = Stage::new(Settings::default()).await;
    stage.launched(&ours()).await;
    let footprint = Footprint {
        identity: ours(),
        instance: None,
        side: Vec::new(),
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(stage.ports(), 2);
    end(&stage.provider(), &footprint, Duration::from_millis(200)).await;
    assert_eq!((stage.servers(&ours()).len(), stage.ports()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn two_clusters_of_one_name_never_see_each_others_instances() {
    let stage = Stage::new(Settings::default()).await;
    let other = e2e::openstack::identity(
        "99999999-bbbb-4bbb-8ccc-1d2e3f405060",
        ours().claim.as_str(),
    );
    let (mine, theirs) = (stage.launched(&ours()).await, stage.launched(&other).await);
    let provider = stage.provider();
    assert_eq!(provider.list().await.unwrap()[0].id, mine.id);
    assert_eq!(provider.list().await.unwrap().len(), 1);
    assert_eq!(provider.find(&ours()).await.unwrap().len(), 1);
    let refused = provider.terminate(&Footprint::of(&theirs)).await;
    assert_eq!(meaning(&refused), "rejected");
    // The ledger of ours names theirs: the tags decide, not the id.
    let confused = Footprint {
        identity: ours(),
        ..Footprint::of(&theirs)
    };
    assert_eq!(meaning(&provider.terminate(&confused).await), "rejected");
    end(&provider, &Footprint::of(&mine), Duration::from_millis(200)).await;
    assert_eq!(stage.servers(&other), [theirs.id.as_str()]);
    assert_ne!(CLUSTER, other.cluster.as_str());
    let shown = provider.get(&theirs.id).await;
    assert!(
        matches!(&shown, Err(CloudError::Rejected { .. })),
        "an instance of another cluster is shown as ours: {shown:?}"
    );
}
