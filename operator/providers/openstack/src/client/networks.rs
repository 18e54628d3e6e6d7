//! Which networks and subnets are there?

use cloud::CloudError;
use serde::Deserialize;
use serde_json::Value;

use super::endpoints::Service;
use super::page::{self, Page};
use super::servers::or_default;
use super::{Ask, Client};

/// A network, subnet or security group, as far as choosing goes.
#[derive(Clone, Debug, Deserialize)]
pub struct Tagged {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    /// Of a subnet.
    #[serde(default)]
    pub network_id: Option<String>,
}

impl Client {
    pub(crate) async fn networks(&self) -> Result<Vec<Tagged>, CloudError> {
        self.tagged(
            "neutron.networks.list",
            "networks",
            "networks",
            &["id", "name", "tags"],
        )
        .await
    }

    pub(crate) async fn subnets(&self) -> Result<Vec<Tagged>, CloudError> {
        self.tagged(
            "neutron.subnets.list",
            "subnets",
            "subnets",
            &["id", "name", "tags", "network_id"],
        )
        .await
    }

    /// All of a collection, with only the members that choosing needs.
    pub(super) async fn tagged(
        &self,
        name: &'static str,
        path: &'static str,
        member: &'static str,
        fields: &'static [&'static str],
    ) -> Result<Vec<Tagged>, CloudError> {
        page::all(
            member,
            |one: &Tagged| &one.id,
            |marker| async move {
                let mut ask = Ask::get(name, Service::Network, format!("/{path}"));
                ask.query = fields
                    .iter()
                    .map(|field| ("fields", (*field).to_owned()))
                    .collect();
                ask.query.extend(marker.map(|marker| ("marker", marker)));
                self.page_of(&ask, member).await
            },
        )
        .await
    }

    /// A page of Neutron: the collection under its name, links under `<name>_links`.
    pub(super) async fn page_of<T: serde::de::DeserializeOwned>(
        &self,
        ask: &Ask,
        member: &str,
    ) -> Result<Page<T>, CloudError> {
        let answer = self.ask(ask).await?;
        let read = || {
            let mut body: Value = serde_json::from_slice(&answer.body).ok()?;
            let links = body
                .get(format!("{member}_links"))
                .and_then(Value::as_array)
                .cloned();
            let items = serde_json::from_value(body.get_mut(member)?.take()).ok()?;
            Some(Page {
                items,
                more: page::has_next(links.as_ref()),
            })
        };
        read().ok_or_else(|| super::unreadable(ask, &answer))
    }
}
