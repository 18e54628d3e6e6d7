//! Which flavors may the project use?

use std::collections::BTreeMap;

use cloud::CloudError;
use serde::Deserialize;
use serde_json::Value;

use super::endpoints::Service;
use super::page::{self, Page};
use super::servers::or_default;
use super::{Ask, Client};

/// A flavor as Nova shows it; newer clouds have dropped members older ones had.
#[derive(Clone, Debug, Deserialize)]
pub struct Flavor {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub vcpus: i64,
    /// MiB.
    #[serde(default, deserialize_with = "or_default")]
    pub ram: i64,
    /// GiB; 0 means that the instance boots from a volume.
    #[serde(default, deserialize_with = "or_default")]
    pub disk: i64,
    #[serde(
        rename = "OS-FLV-EXT-DATA:ephemeral",
        default,
        deserialize_with = "or_default"
    )]
    pub ephemeral: i64,
    #[serde(
        rename = "OS-FLV-DISABLED:disabled",
        default,
        deserialize_with = "or_default"
    )]
    pub disabled: bool,
    /// Hidden by policy in some clouds.
    #[serde(default, deserialize_with = "or_default")]
    pub extra_specs: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Many {
    flavors: Vec<Flavor>,
    flavors_links: Option<Vec<Value>>,
}

impl Client {
    pub(crate) async fn flavors(&self) -> Result<Vec<Flavor>, CloudError> {
        page::all(
            "flavors",
            |flavor: &Flavor| &flavor.id,
            |marker| async move {
                let mut ask = Ask::get("nova.flavors.list", Service::Compute, "/flavors/detail");
                ask.query.extend(marker.map(|marker| ("marker", marker)));
                let many: Many = self.read(&ask).await?;
                Ok(Page {
                    more: page::has_next(many.flavors_links.as_ref()),
                    items: many.flavors,
                })
            },
        )
        .await
    }
}
