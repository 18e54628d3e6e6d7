//! Does the same life pass over real sockets?

use std::sync::Arc;
use std::time::Duration;

use cloud::Http;
use cloud::transport::wire::{Trust, Wire};
use e2e::Emulated;
use e2e::openstack::provider_at;
use emulators::fronts::{axum, wiremock as mocked};
use emulators::openstack::Settings;

use crate::plain::live;
use crate::stage::CLUSTER;

const PAUSE: Duration = Duration::from_millis(20);

fn quick() -> Settings {
    Settings {
        schedule_ms: 5,
        build_ms: 60,
        delete_ms: 20,
        deleted_ms: 20,
        ..Settings::default()
    }
}

async fn lives_at(cloud: &Emulated, url: &str) {
    let http: Arc<dyn Http> = Arc::new(Wire::new(&Trust::default()).unwrap());
    let provider = provider_at(cloud.credentials_at(url).unwrap(), http, CLUSTER).unwrap();
    live(&provider, PAUSE).await;
    cloud.world(|world| assert!(world.ports.is_empty(), "{:?}", world.ports));
}

#[tokio::test]
async fn an_instance_lives_and_ends_over_wiremock() {
    let cloud = Emulated::in_real_time(quick());
    let server = wiremock::MockServer::start().await;
    mocked::mount(&server, Arc::clone(&cloud.engine)).await;
    lives_at(&cloud, &server.uri()).await;
}

#[tokio::test]
async fn an_instance_lives_and_ends_over_the_emulators_own_sockets() {
    let cloud = Emulated::in_real_time(quick());
    let loopback = "127.0.0.1:0".parse().unwrap();
    let served = axum::serve(loopback, Arc::clone(&cloud.engine))
        .await
        .unwrap();
    lives_at(&cloud, &served.url()).await;
}
