//! Which server groups does the project have?

use cloud::CloudError;
use serde::Deserialize;

use super::endpoints::Service;
use super::{Ask, Client};

#[derive(Clone, Debug, Deserialize)]
pub struct ServerGroup {
    pub id: String,
    #[serde(default)]
    pub name: String,
}

#[derive(Deserialize)]
struct Many {
    server_groups: Vec<ServerGroup>,
}

impl Client {
    pub(crate) async fn server_groups(&self) -> Result<Vec<ServerGroup>, CloudError> {
        let many: Many = self
            .read(&Ask::get(
                "nova.server_groups.list",
                Service::Compute,
                "/os-server-groups",
            ))
            .await?;
        Ok(many.server_groups)
    }
}
