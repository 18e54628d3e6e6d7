//! Is anything of this claim left in the cloud, and if so, is it going away?
//!
//! DELETE is repeated until Nova says 404: a server on a host that died goes away only when it is asked again. Nothing is
//! deleted that does not carry the claim's identity.

use cloud::{CloudError, Footprint, InstanceState, identity};
use planner::{Identity, InstanceId};

use crate::client::Client;
use crate::client::ports::Port;
use crate::find;
use crate::instance::{Presence, presence};
use crate::launch::PORT;

/// Ok means under way, `Gone` means nothing is left.
pub(crate) async fn terminate(client: &Client, what: &Footprint) -> Result<(), CloudError> {
    if let Some(id) = &what.instance
        && end_server(client, id.as_str(), &what.identity).await? == Left::UnderWay
    {
        return Ok(());
    }
    // The id may never have been learnt, or a lost answer may have left a second one.
    let mut left = Left::Nothing;
    for instance in find::find(client, &what.identity).await? {
        tracing::debug!(id = %instance.id, ending = matches!(instance.state, InstanceState::Ending), "found by identity");
        left = left.and(end_server(client, instance.id.as_str(), &what.identity).await?);
    }
    if left == Left::UnderWay {
        return Ok(());
    }
    match end_ports(client, what).await? {
        Left::UnderWay => Ok(()),
        Left::Nothing => Err(CloudError::Gone),
    }
}

/// This server and no other. Ports of ours that it leaves behind are described as the claim's and go with the claim.
pub(crate) async fn terminate_only(
    client: &Client,
    who: &Identity,
    id: &InstanceId,
) -> Result<(), CloudError> {
    match end_server(client, id.as_str(), who).await? {
        Left::UnderWay => Ok(()),
        Left::Nothing => Err(CloudError::Gone),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    UnderWay,
}

impl Left {
    fn and(self, other: Self) -> Self {
        if self == Self::UnderWay { self } else { other }
    }
}

async fn end_server(client: &Client, id: &str, who: &Identity) -> Result<Left, CloudError> {
    let server = match client.server(id).await {
        Ok(server) => server,
        Err(CloudError::Gone) => return Ok(Left::Nothing),
        Err(error) => return Err(error),
    };
    match presence(&server) {
        Presence::Gone => return Ok(Left::Nothing),
        Presence::Unreachable => return Err(find::unreachable(id)),
        Presence::There => {}
    }
    let tags = identity::tags(who).map_err(|bad| CloudError::rejected(&bad.to_string()))?;
    if !tags.iter().all(|tag| server.tags.contains(tag)) {
        return Err(CloudError::rejected(&format!(
            "server {id} does not carry the tags of {who} and is not touched; restore its tags or delete it by hand"
        )));
    }
    under_way(client.delete_server(id).await)
}

/// Ports that are the claim's: named in the ledger, described as its own, or left behind by its server.
async fn end_ports(client: &Client, what: &Footprint) -> Result<Left, CloudError> {
    let line =
        identity::line(&what.identity).map_err(|bad| CloudError::rejected(&bad.to_string()))?;
    let mut ports: Vec<Port> = client.ports_by("description", &line).await?;
    ports.retain(|port| port.description == line);
    if let Some(id) = &what.instance {
        let of_server = |port: &Port| {
            port.device_id == id.as_str() && port.device_owner.starts_with("compute:")
        };
        let left_behind = client.ports_by("device_id", id.as_str()).await?;
        ports.extend(left_behind.into_iter().filter(of_server));
    }
    for side in what.side.iter().filter(|side| side.kind.as_ref() == PORT) {
        match client.port(&side.id).await {
            Ok(port) if port.description == line => ports.push(port),
            Ok(port) => {
                tracing::warn!(port = %port.id, "named in the ledger but not described as ours; not touched");
            }
            Err(CloudError::Gone) => {}
            Err(error) => return Err(error),
        }
    }
    ports.sort_by(|a, b| a.id.cmp(&b.id));
    ports.dedup_by(|a, b| a.id == b.id);
    let mut left = Left::Nothing;
    for port in ports {
        left = left.and(under_way(client.delete_port(&port.id).await)?);
    }
    Ok(left)
}

fn under_way(outcome: Result<(), CloudError>) -> Result<Left, CloudError> {
    match outcome {
        Ok(()) => Ok(Left::UnderWay),
        Err(CloudError::Gone) => Ok(Left::Nothing),
        Err(error) => Err(error),
    }
}
