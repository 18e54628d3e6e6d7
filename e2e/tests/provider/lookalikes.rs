//! Is what only looks like ours left alone?

use std::collections::BTreeMap;
use std::time::Duration;

use cloud::{Footprint, Provider, SideResource};
use emulators::openstack::Settings;
use emulators::openstack::world::{Server, World};
use planner::InstanceId;

use crate::stage::{CLAIM, CLUSTER, Stage, end, meaning, ours};

/// Everything but our identity, fifty times, in every way we could think of.
fn plant(world: &mut World, project: &str, neighbour: &str) -> Vec<String> {
    let flavor = world.flavors[1].clone();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let mut ids = Vec::new();
    for at in 0..50 {
        let id = format!("00000000-0000-4000-8000-0000000000{at:02}");
        let tags: &[String] = &match at % 5 {
            0 => vec![],
            1 => vec![format!("joiner-cluster={CLUSTER}")],
            2 => vec![format!("joiner-claim={CLAIM}")],
            3 => vec![
                format!("joiner-cluster={CLUSTER}x"),
                format!("joiner-claim={CLAIM}"),
            ],
            _ => vec![
                format!("joiner-cluster={CLUSTER}"),
                format!("joiner-claim={CLAIM}"),
            ],
        };
        let metadata = [("joiner-cluster", CLUSTER), ("joiner-claim", CLAIM)];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        // The last kind carries our very marks, in another project.
        let project = if at % 5 == 4 { neighbour } else { project };
        let server = Server {
            name: "np1-x7k2p".into(),
            project: project.to_owned(),
            zone: "az-b".into(),
            seq: at,
            tags: tags.iter().cloned().collect(),
            metadata: BTreeMap::from(metadata),
            ..Server::running(&id, flavor.clone(), now)
        };
        world.servers.insert(id.clone(), server);
        ids.push(id);
    }
    ids
}

#[tokio::test(start_paused = true)]
async fn fifty_lookalikes_are_never_listed_found_or_touched() {
    let settings = Settings {
        page_limit: 7,
        ..Settings::default()
    };
    let stage = Stage::new(settings).await;
    let project = stage.cloud.access.project_id.clone();
    let planted = stage.cloud.world(|world| {
        let neighbour = world.projects[1].id.clone();
        plant(world, &project, &neighbour)
    });
    let before = stage
        .cloud
        .world(|world| serde_json::to_value(&world.servers).unwrap());

    let provider = stage.provider();
    assert_eq!(provider.list().await.unwrap(), []);
    assert_eq!(provider.find(&ours()).await.unwrap(), []);
    for id in &planted {
        let id = InstanceId::new(id.as_str());
        let outcome = provider.get(&id).await;
        assert!(outcome.is_err(), "{id}: {outcome:?}");
        let footprint = Footprint {
            identity: ours(),
            instance: Some(id.clone()),
            side: Vec::new(),
        };
        let outcome = meaning(&provider.terminate(&footprint).await);
        assert!(matches!(outcome, "rejected" | "gone"), "{id}: {outcome}");
        assert_eq!(
            meaning(&provider.reboot(&id, "r1").await),
            if outcome == "gone" {
                "gone"
            } else {
                "rejected"
            }
        );
    }
    let after = stage
        .cloud
        .world(|world| serde_json::to_value(&world.servers).unwrap());
    assert_eq!(before, after);

    let own = stage.launched(&ours()).await;
    assert_eq!(provider.list().await.unwrap().len(), 1);
    end(&provider, &Footprint::of(&own), Duration::from_millis(200)).await;
    let after = stage
        .cloud
        .world(|world| serde_json::to_value(&world.servers).unwrap());
    assert_eq!(before, after);
}

#[tokio::test(start_paused = true)]
async fn a_port_that_is_not_described_as_ours_is_left_alone() {
    let stage = Stage::new(Settings::default()).await;
    let own = stage.launched(&ours()).await;
    let stranger = stage.cloud.world(|world| {
        let id = own.side[0].id.to_string();
        let mut port = world.ports[&id].clone();
        let stranger = "00000000-0000-4000-8000-000000000099";
        port.insert("id".into(), stranger.into());
        port.insert("description".into(), "somebody else's".into());
        port.insert("device_id".into(), "".into());
        world.ports.insert(stranger.into(), port);
        stranger
    });
    let mut footprint = Footprint::of(&own);
    footprint.side.push(SideResource {
        kind: "port".into(),
        id: stranger.into(),
    });
    end(&stage.provider(), &footprint, Duration::from_millis(200)).await;
    stage.cloud.world(|world| {
        let left: Vec<&String> = world.ports.keys().collect();
        assert_eq!(left, [stranger]);
    });
}
