//! Which instances are ours, and is it proven that there are no others?
//!
//! An empty list is not proof: with a cell down, a filtered list is empty and says 200. So absence is believed only from a
//! complete unfiltered list without a server of unknown state. Filters may be ignored, so tags are compared again here.

use cloud::{CloudError, Instance, Said, identity};
use planner::{ClusterId, Identity, InstanceId};

use crate::client::Client;
use crate::client::servers::Server;
use crate::instance::{Presence, instance, presence};

/// Instances of one identity, oldest first.
pub(crate) async fn find(client: &Client, who: &Identity) -> Result<Vec<Instance>, CloudError> {
    let tags = identity::tags(who).map_err(|bad| CloudError::rejected(&bad.to_string()))?;
    let ours = |servers: Vec<Server>| {
        servers
            .into_iter()
            .filter(|server| tags.iter().all(|tag| server.tags.contains(tag)))
    };
    let mut found: Vec<Server> = ours(client.servers(&tags).await?).collect();
    if found.is_empty() {
        found = ours(everything(client).await?).collect();
    }
    let mut instances = Vec::new();
    for server in found {
        instances.extend(settled(client, server, who).await?);
    }
    Ok(sorted(instances))
}

/// All instances of one cluster.
pub(crate) async fn list(
    client: &Client,
    cluster: &ClusterId,
) -> Result<Vec<Instance>, CloudError> {
    let mut instances = Vec::new();
    for server in everything(client).await? {
        let Some(owner) = identity::read(server.tags.iter().map(String::as_str)) else {
            continue;
        };
        if owner.cluster == *cluster {
            instances.extend(settled(client, server, &owner).await?);
        }
    }
    Ok(sorted(instances))
}

/// One instance, if it carries an identity.
pub(crate) async fn get(client: &Client, id: &InstanceId) -> Result<Instance, CloudError> {
    let server = client.server(id.as_str()).await?;
    match presence(&server) {
        Presence::Gone => Err(CloudError::Gone),
        Presence::Unreachable => Err(unreachable(&server.id)),
        Presence::There => {
            let owner = identity::read(server.tags.iter().map(String::as_str));
            let owner = owner.ok_or_else(|| {
                CloudError::rejected(&format!("server {id} carries no identity of ours"))
            })?;
            Ok(instance(&server, owner, |text| client.say(text)))
        }
    }
}

pub(crate) fn unreachable(id: &str) -> CloudError {
    let text = format!("Nova cannot reach the cell of server {id}, so it may or may not exist");
    CloudError::doubt(Said::new(&text))
}

/// Every server of the project, or an error if one of them could be anybody's.
async fn everything(client: &Client) -> Result<Vec<Server>, CloudError> {
    let servers = client.servers(&[]).await?;
    match servers
        .iter()
        .find(|server| presence(server) == Presence::Unreachable)
    {
        Some(server) => Err(unreachable(&server.id)),
        None => Ok(servers),
    }
}

/// A failed server does not always show its fault in a list: it is asked for by id before it is judged.
async fn settled(
    client: &Client,
    server: Server,
    who: &Identity,
) -> Result<Option<Instance>, CloudError> {
    let server = match (server.status.as_str(), &server.fault) {
        ("ERROR", None) => match client.server(&server.id).await {
            Ok(server) => server,
            Err(CloudError::Gone) => return Ok(None),
            Err(error) => return Err(error),
        },
        _ => server,
    };
    match presence(&server) {
        Presence::There => Ok(Some(instance(&server, who.clone(), |text| {
            client.say(text)
        }))),
        Presence::Gone => Ok(None),
        Presence::Unreachable => Err(unreachable(&server.id)),
    }
}

fn sorted(mut instances: Vec<Instance>) -> Vec<Instance> {
    instances.sort_by(|a, b| {
        a.created_at
            .cmp(&b.created_at)
            .then_with(|| a.id.cmp(&b.id))
    });
    instances
}
