//! Which images are there?

use std::collections::BTreeMap;

use cloud::CloudError;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::endpoints::Service;
use super::page::{self, Page};
use super::servers::{or_default, time};
use super::{Ask, Client, segment};

/// An image; its properties stand among its members.
#[derive(Clone, Debug, Deserialize)]
pub struct Image {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
    #[serde(default, deserialize_with = "or_default")]
    pub visibility: String,
    #[serde(default, deserialize_with = "or_default")]
    pub owner: String,
    /// GiB.
    #[serde(default, deserialize_with = "or_default")]
    pub min_disk: u64,
    /// MiB.
    #[serde(default, deserialize_with = "or_default")]
    pub min_ram: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    #[serde(default, deserialize_with = "time")]
    pub created_at: Option<Timestamp>,
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Many {
    images: Vec<Image>,
    next: Option<String>,
}

impl Image {
    pub fn property(&self, key: &str) -> Option<&str> {
        self.others.get(key).and_then(Value::as_str)
    }
}

impl Client {
    /// Active images; `community` ones are shown only to whoever asks for them.
    pub(crate) async fn active_images(&self, community: bool) -> Result<Vec<Image>, CloudError> {
        page::all(
            "images",
            |image: &Image| &image.id,
            |marker| async move {
                let mut ask = Ask::get("glance.images.list", Service::Image, "/images");
                ask.query = vec![("status", "active".to_owned()), ("limit", "500".to_owned())];
                if community {
                    ask.query.push(("visibility", "community".to_owned()));
                }
                ask.query.extend(marker.map(|marker| ("marker", marker)));
                let many: Many = self.read(&ask).await?;
                Ok(Page {
                    more: many.next.is_some(),
                    items: many.images,
                })
            },
        )
        .await
    }

    pub(crate) async fn image(&self, id: &str) -> Result<Image, CloudError> {
        let path = format!("/images/{}", segment(id)?);
        self.read(&Ask::get("glance.images.get", Service::Image, path).by_id())
            .await
    }
}
