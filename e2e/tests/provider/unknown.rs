//! Is a list that is not whole ever taken for one?

use std::time::Duration;

use cloud::{Footprint, Provider};
use emulators::faults::{Act, Fault};
use emulators::machine::Machine;
use emulators::openstack::Settings;

use crate::stage::{Stage, meaning, ours};

/// Asks everything that could answer "there is none"; the words for what came.
async fn asked(stage: &Stage, footprint: &Footprint) -> Vec<&'static str> {
    let provider = stage.provider();
    let id = footprint.instance.clone().unwrap();
    vec![
        meaning(&provider.list().await),
        meaning(&provider.find(&ours()).await),
        meaning(&provider.get(&id).await),
        meaning(&provider.terminate(footprint).await),
    ]
}

#[tokio::test(start_paused = true)]
async fn with_a_cell_down_nothing_is_absent_and_nothing_is_gone() {
    let stage = Stage::new(Settings::default()).await;
    let own = stage.launched(&ours()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage
        .cloud
        .engine
        .with(|cloud| cloud.settings.cell_down = true);
    let outcomes = asked(&stage, &Footprint::of(&own)).await;
    assert_eq!(outcomes, ["unknown"; 4]);
    stage
        .cloud
        .engine
        .with(|cloud| cloud.settings.cell_down = false);
    assert_eq!(stage.servers(&ours()), [own.id.as_str()]);
    let outcomes = asked(&stage, &Footprint::of(&own)).await;
    assert_eq!(outcomes, ["ok"; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_second_page_fails_is_an_error() {
    let settings = Settings {
        page_limit: 1,
        ..Settings::default()
    };
    let stage = Stage::new(settings).await;
    for claim in ["a1", "a2", "a3"] {
        let who = e2e::openstack::identity(crate::stage::CLUSTER, claim);
        stage.launched(&who).await;
    }
    let provider = stage.provider();
    assert_eq!(provider.list().await.unwrap().len(), 3);
    for act in [
        Act::Status {
            code: 500,
            retry_after: None,
            body: None,
        },
        Act::Reset,
        Act::Truncate { keep: 9 },
    ] {
        let fault = Fault::on("GET", "/compute/v2.1/servers/detail", act).containing("marker=");
        stage
            .cloud
            .engine
            .with(|cloud| cloud.script_mut().add(fault));
        assert_eq!(meaning(&provider.list().await), "unknown");
        assert_eq!(
            meaning(&provider.find(&ours()).await),
            "unknown",
            "absent, but only the first page was read"
        );
        stage.forgive();
    }
    assert_eq!(provider.find(&ours()).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn filters_that_are_ignored_do_not_make_others_ours() {
    let settings = Settings {
        ignore_tag_filters: true,
        ..Settings::default()
    };
    let stage = Stage::new(settings).await;
    let other = e2e::openstack::identity(crate::stage::CLUSTER, "a2");
    stage.launched(&other).await;
    assert_eq!(stage.provider().find(&ours()).await.unwrap(), []);
    assert_eq!(stage.provider().find(&other).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_build_that_found_no_host_is_a_lack_of_capacity_and_can_be_ended() {
    let stage = Stage::new(Settings::default()).await;
    let fate = Fault::on(
        "POST",
        "/compute/v2.1/servers",
        Act::Fate("no-valid-host".into()),
    );
    stage
        .cloud
        .engine
        .with(|cloud| cloud.script_mut().add(fate));
    let own = stage.launched(&ours()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let provider = stage.provider();
    for seen in [
        provider.get(&own.id).await.unwrap(),
        provider.find(&ours()).await.unwrap().remove(0),
        provider.list().await.unwrap().remove(0),
    ] {
        let failure = seen.failure().map(Err::<(), _>).unwrap();
        assert_eq!(meaning(&failure), "no capacity");
    }
    crate::stage::end(&provider, &Footprint::of(&own), Duration::from_millis(200)).await;
    assert_eq!((stage.servers(&ours()).len(), stage.ports()), (0, 0));
}
