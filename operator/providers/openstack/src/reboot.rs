//! How is a machine restarted once, even if we are asked twice?
//!
//! Nova has no token for it. The operation's name is written on the server before the restart: whoever finds it there does
//! not restart again. A crash between the two loses the restart; it never makes two.

use cloud::CloudError;
use planner::{ClusterId, InstanceId};

use crate::client::Client;
use crate::instance::{Presence, presence};
use crate::{find, marks};

/// `soft:…` asks the machine, anything else pulls the plug.
pub(crate) async fn reboot(
    client: &Client,
    cluster: &ClusterId,
    id: &InstanceId,
    operation: &str,
) -> Result<(), CloudError> {
    if operation.is_empty() || operation.len() > 255 {
        return Err(CloudError::rejected(
            "a restart needs a name of 1 to 255 characters",
        ));
    }
    let server = client.server(id.as_str()).await?;
    match presence(&server) {
        Presence::There => {}
        Presence::Gone => return Err(CloudError::Gone),
        Presence::Unreachable => return Err(find::unreachable(id.as_str())),
    }
    let owner = cloud::identity::read(server.tags.iter().map(String::as_str));
    if owner.is_none_or(|owner| owner.cluster != *cluster) {
        return Err(CloudError::rejected(&format!(
            "server {id} carries no identity of ours and is not touched"
        )));
    }
    if server.metadata.get(marks::REBOOT).map(String::as_str) == Some(operation) {
        return Ok(());
    }
    let kind = if operation.starts_with("soft:") {
        "SOFT"
    } else {
        "HARD"
    };
    client
        .add_metadata(id.as_str(), marks::REBOOT, operation)
        .await?;
    client.reboot_server(id.as_str(), kind).await
}
