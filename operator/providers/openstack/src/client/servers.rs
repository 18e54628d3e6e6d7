//! What does Nova know about servers, and what may we ask it to do with them?

use std::collections::BTreeMap;

use cloud::CloudError;
use cloud::transport::Repeat;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::endpoints::Service;
use super::page::{self, Page};
use super::{Ask, Client, segment, unreadable};

/// A server as Nova shows it. In a cell that is down only `id` and `status` (`UNKNOWN`) are there.
#[derive(Clone, Debug, Deserialize)]
pub struct Server {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    #[serde(rename = "OS-EXT-STS:task_state", default)]
    pub task_state: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "time")]
    pub created: Option<Timestamp>,
    #[serde(default, deserialize_with = "or_default")]
    pub flavor: Flavor,
    /// A text where it boots from a volume, an object otherwise.
    #[serde(default)]
    pub image: Value,
    #[serde(rename = "OS-EXT-AZ:availability_zone", default)]
    pub zone: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub addresses: BTreeMap<String, Vec<Address>>,
    #[serde(default)]
    pub security_groups: Option<Vec<Group>>,
    #[serde(default)]
    pub fault: Option<Fault>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Flavor {
    /// From microversion 2.47 on; the id is gone there.
    #[serde(default)]
    pub original_name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Address {
    pub addr: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Group {
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Fault {
    #[serde(default)]
    pub code: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

#[derive(Deserialize)]
struct One {
    server: Server,
}

#[derive(Deserialize)]
struct Many {
    servers: Vec<Server>,
    servers_links: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Made {
    server: MadeServer,
}

#[derive(Deserialize)]
struct MadeServer {
    id: String,
}

impl Server {
    /// Id of its image; none when it boots from a volume.
    pub fn image_id(&self) -> Option<&str> {
        self.image.get("id").and_then(Value::as_str)
    }
}

impl Client {
    /// One POST, whatever happens. Returns the id.
    pub(crate) async fn create_server(
        &self,
        body: Value,
        secrets: Vec<SecretString>,
    ) -> Result<String, CloudError> {
        let ask = Ask {
            secrets,
            ..Ask::post("nova.servers.create", Service::Compute, "/servers", body)
        };
        let answer = self.ask(&ask).await?;
        let made = serde_json::from_slice::<Made>(&answer.body)
            .map(|made| made.server.id)
            .ok();
        let location = || {
            let address = answer.headers.get("location")?.to_str().ok()?;
            Some(address.trim_end_matches('/').rsplit('/').next()?.to_owned())
        };
        made.or_else(location)
            .filter(|id| !id.is_empty())
            .ok_or_else(|| unreadable(&ask, &answer))
    }

    /// Gone only if Nova itself says so.
    pub(crate) async fn server(&self, id: &str) -> Result<Server, CloudError> {
        let path = format!("/servers/{}", segment(id)?);
        let one: One = self
            .read(&Ask::get("nova.servers.get", Service::Compute, path).by_id())
            .await?;
        Ok(one.server)
    }

    /// Every server, or every one with all these tags. The filter is a wish: check again what comes back.
    pub(crate) async fn servers(&self, tags: &[String]) -> Result<Vec<Server>, CloudError> {
        page::all(
            "servers",
            |server: &Server| &server.id,
            |marker| async move {
                let mut ask = Ask::get("nova.servers.list", Service::Compute, "/servers/detail");
                if !tags.is_empty() {
                    ask.query.push(("tags", tags.join(",")));
                }
                ask.query.extend(marker.map(|marker| ("marker", marker)));
                let many: Many = self.read(&ask).await?;
                Ok(Page {
                    more: page::has_next(many.servers_links.as_ref()),
                    items: many.servers,
                })
            },
        )
        .await
    }

    pub(crate) async fn delete_server(&self, id: &str) -> Result<(), CloudError> {
        let path = format!("/servers/{}", segment(id)?);
        self.ask(&Ask::delete("nova.servers.delete", Service::Compute, path))
            .await
            .map(drop)
    }

    pub(crate) async fn reboot_server(&self, id: &str, kind: &str) -> Result<(), CloudError> {
        let path = format!("/servers/{}/action", segment(id)?);
        let body = json!({"reboot": {"type": kind}});
        self.ask(&Ask::post("nova.servers.reboot", Service::Compute, path, body).by_id())
            .await
            .map(drop)
    }

    pub(crate) async fn add_metadata(
        &self,
        id: &str,
        key: &str,
        value: &str,
    ) -> Result<(), CloudError> {
        let path = format!("/servers/{}/metadata", segment(id)?);
        let body = json!({"metadata": {key: value}});
        // Writing the same twice is the same as writing it once.
        let ask = Ask::post("nova.servers.metadata", Service::Compute, path, body).by_id();
        self.ask(&Ask {
            repeat: Repeat::Safe,
            ..ask
        })
        .await
        .map(drop)
    }

    pub(crate) async fn console_output(&self, id: &str, lines: u32) -> Result<String, CloudError> {
        #[derive(Deserialize)]
        struct Output {
            output: Option<String>,
        }
        let path = format!("/servers/{}/action", segment(id)?);
        let body = json!({"os-getConsoleOutput": {"length": lines}});
        let ask = Ask::post("nova.servers.console", Service::Compute, path, body).by_id();
        let output: Output = self
            .read(&Ask {
                repeat: Repeat::Safe,
                ..ask
            })
            .await?;
        Ok(self.masked(&output.output.unwrap_or_default()))
    }
}

/// Null is as good as absent.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// With or without zone (UTC then); nonsense is no time.
pub(super) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    Ok(text.and_then(|text| text.parse().or_else(|_| format!("{text}Z").parse()).ok()))
}
