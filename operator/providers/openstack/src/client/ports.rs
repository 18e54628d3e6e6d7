//! Which ports are ours, and how are they made and removed?

use cloud::CloudError;
use cloud::transport::Repeat;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoints::Service;
use super::page;
use super::servers::or_default;
use super::{Ask, Client, segment};

#[derive(Clone, Debug, Deserialize)]
pub struct Port {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub device_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub device_owner: String,
}

#[derive(Deserialize)]
struct One {
    port: Port,
}

impl Client {
    /// One POST, whatever happens.
    pub(crate) async fn create_port(&self, body: Value) -> Result<Port, CloudError> {
        let one: One = self
            .read(&Ask::post(
                "neutron.ports.create",
                Service::Network,
                "/ports",
                body,
            ))
            .await?;
        Ok(one.port)
    }

    /// Tags of a POST are accepted and ignored by many clouds, so they are set afterwards.
    pub(crate) async fn tag_port(&self, id: &str, tags: &[String]) -> Result<(), CloudError> {
        let path = format!("/ports/{}/tags", segment(id)?);
        let ask = Ask::post(
            "neutron.ports.tag",
            Service::Network,
            path,
            json!({"tags": tags}),
        )
        .by_id();
        self.ask(&Ask {
            method: Method::PUT,
            repeat: Repeat::Safe,
            ..ask
        })
        .await
        .map(drop)
    }

    /// Ports with exactly this member; the filter is a wish, check again what comes back.
    pub(crate) async fn ports_by(
        &self,
        member: &'static str,
        value: &str,
    ) -> Result<Vec<Port>, CloudError> {
        page::all(
            "ports",
            |port: &Port| &port.id,
            |marker| async move {
                let mut ask = Ask::get("neutron.ports.list", Service::Network, "/ports");
                ask.query.push((member, value.to_owned()));
                ask.query.extend(marker.map(|marker| ("marker", marker)));
                self.page_of(&ask, "ports").await
            },
        )
        .await
    }

    pub(crate) async fn port(&self, id: &str) -> Result<Port, CloudError> {
        let path = format!("/ports/{}", segment(id)?);
        let one: One = self
            .read(&Ask::get("neutron.ports.get", Service::Network, path).by_id())
            .await?;
        Ok(one.port)
    }

    pub(crate) async fn delete_port(&self, id: &str) -> Result<(), CloudError> {
        let path = format!("/ports/{}", segment(id)?);
        self.ask(&Ask::delete("neutron.ports.delete", Service::Network, path))
            .await
            .map(drop)
    }
}
