//! What looks like ours in every way we could think of, and is not?

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use emulators::openstack::world::{Server, World};
use serde_json::Value;

/// Servers that are not ours, and how they were when they were planted.
#[derive(Default)]
pub struct Lookalikes {
    before: BTreeMap<String, Value>,
}

impl Lookalikes {
    /// Five of each way. Old enough for every sweep. `cluster` is the very id of this cluster.
    pub fn plant(world: &mut World, project: &str, cluster: &str) -> Result<Self> {
        let neighbour = world.projects[1].id.clone();
        let flavor = world.flavors[0].clone();
        let mut before = BTreeMap::new();
        for at in 0_u64..50 {
            let id = format!("00000000-0000-4000-8000-0000000000{at:02}");
            let claim = format!("11111111-2222-4333-8444-5555555555{at:02}");
            // Our very marks, but in somebody else's project.
            let elsewhere = at % 10 == 9;
            let server = Server {
                name: format!("general-{at:05}"),
                hostname: format!("general-{at:05}"),
                project: if elsewhere { &neighbour } else { project }.to_owned(),
                zone: "az-a".into(),
                seq: 1000 + at,
                tags: tags(at, cluster, &claim).into_iter().collect(),
                metadata: BTreeMap::from([
                    ("joiner-cluster".to_owned(), cluster.to_owned()),
                    ("joiner-claim".to_owned(), claim.clone()),
                    ("karpenter.sh/nodepool".to_owned(), "general".to_owned()),
                ]),
                ..Server::running(&id, flavor.clone(), jiff::Timestamp::UNIX_EPOCH)
            };
            before.insert(id.clone(), serde_json::to_value(&server)?);
            world.servers.insert(id, server);
        }
        Ok(Self { before })
    }

    pub fn contains(&self, id: &str) -> bool {
        self.before.contains_key(id)
    }

    pub fn untouched(&self, world: &World) -> Result<()> {
        self.untouched_where(world, |_| true)
    }

    /// Those in one project only. Whoever gives us credentials of the other one makes servers there with our very marks and
    /// without a claim what they then are: orphans of ours.
    pub fn untouched_in(&self, world: &World, project: &str) -> Result<()> {
        self.untouched_where(world, |before| before["project"] == project)
    }

    fn untouched_where(&self, world: &World, which: impl Fn(&Value) -> bool) -> Result<()> {
        for (id, before) in self.before.iter().filter(|(_, before)| which(before)) {
            let now = world
                .servers
                .get(id)
                .map(serde_json::to_value)
                .transpose()?;
            ensure!(
                now.as_ref() == Some(before),
                "look-alike {id} was {before} and is {now:?}"
            );
        }
        Ok(())
    }
}

fn tags(at: u64, cluster: &str, claim: &str) -> Vec<String> {
    let (ours, theirs) = (
        format!("joiner-cluster={cluster}"),
        format!("joiner-claim={claim}"),
    );
    match at % 10 {
        // Only in metadata, which anybody may copy.
        0 => vec![],
        1 => vec![ours],
        2 => vec![theirs],
        3 => vec![format!("{ours}0"), theirs],
        4 => vec![ours.to_uppercase(), theirs],
        5 => vec![format!("x{ours}"), theirs],
        6 => vec![ours, theirs.replace('=', ":")],
        7 => vec![ours, "joiner-claim=".to_owned()],
        // Two claims: nobody's.
        8 => vec![ours, theirs.clone(), format!("{theirs}0")],
        _ => vec![ours, theirs],
    }
}
