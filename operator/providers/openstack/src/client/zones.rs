//! Which availability zones does Nova have?

use cloud::CloudError;
use serde::Deserialize;

use super::endpoints::Service;
use super::{Ask, Client};

#[derive(Clone, Debug, Deserialize)]
pub struct Zone {
    #[serde(rename = "zoneName")]
    pub name: String,
    #[serde(rename = "zoneState", default)]
    pub state: ZoneState,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct ZoneState {
    /// That a service there is switched on; its hosts may all be dead.
    #[serde(default)]
    pub available: bool,
}

#[derive(Deserialize)]
struct Zones {
    #[serde(rename = "availabilityZoneInfo")]
    zones: Vec<Zone>,
}

impl Client {
    pub(crate) async fn zones(&self) -> Result<Vec<Zone>, CloudError> {
        let ask = Ask::get("nova.zones.list", Service::Compute, "/os-availability-zone");
        let zones: Zones = self.read(&ask).await?;
        Ok(zones.zones)
    }
}
