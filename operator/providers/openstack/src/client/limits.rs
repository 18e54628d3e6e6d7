//! What may the project still create?

use cloud::CloudError;
use serde::Deserialize;

use super::endpoints::Service;
use super::{Ask, Client};

/// −1 is unlimited. Some clouds leave members out.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Absolute {
    pub max_total_instances: Option<i64>,
    pub total_instances_used: Option<i64>,
    pub max_total_cores: Option<i64>,
    pub total_cores_used: Option<i64>,
    #[serde(rename = "maxTotalRAMSize")]
    pub max_total_ram: Option<i64>,
    #[serde(rename = "totalRAMUsed")]
    pub total_ram_used: Option<i64>,
}

#[derive(Deserialize)]
struct Document {
    limits: Limits,
}

#[derive(Deserialize)]
struct Limits {
    absolute: Absolute,
}

impl Client {
    pub(crate) async fn limits(&self) -> Result<Absolute, CloudError> {
        let document: Document = self
            .read(&Ask::get("nova.limits.get", Service::Compute, "/limits"))
            .await?;
        Ok(document.limits.absolute)
    }
}
