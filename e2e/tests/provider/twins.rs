//! Does one of two instances of a claim go alone?

use cloud::{CloudError, Provider};
use emulators::openstack::Settings;

use crate::stage::{Stage, ours};

#[tokio::test(start_paused = true)]
async fn of_two_instances_with_one_identity_only_the_named_one_goes() {
    let stage = Stage::new(Settings::default()).await;
    let (kept, spare) = (stage.launched(&ours()).await, stage.launched(&ours()).await);
    assert_eq!(stage.servers(&ours()).len(), 2);
    let provider = stage.provider();
    // Asked until it is gone, and once more: that is when a careless one would go on to what else carries the identity.
    let mut gone = 0;
    for _ in 0..100 {
        match provider.terminate_only(&ours(), &spare.id).await {
            Err(CloudError::Gone) => gone += 1,
            Ok(()) => tokio::time::sleep(std::time::Duration::from_millis(200)).await,
            Err(error) => panic!("{error}"),
        }
        if gone == 2 {
            break;
        }
    }
    assert_eq!(gone, 2);
    assert_eq!(stage.servers(&ours()), [kept.id.as_str()]);
    let port = kept.side[0].id.to_string();
    assert!(stage.cloud.world(|world| world.ports.contains_key(&port)));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_carry_the_identity_does_not_go_alone_either() {
    let stage = Stage::new(Settings::default()).await;
    let who = e2e::openstack::identity(crate::stage::CLUSTER, "another-claim");
    let other = stage.launched(&who).await;
    let outcome = stage.provider().terminate_only(&ours(), &other.id).await;
    assert!(matches!(outcome, Err(CloudError::Rejected { .. })));
    assert_eq!(stage.servers(&who), [other.id.as_str()]);
}
