//! How is text kept that thousands of claims say in the same words?
//!
//! Every claim lists hundreds of types; one copy of each list, and of each name, is enough.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name that is written once in memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(pub(super) Arc<str>);

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Ok(Self(text.into()))
    }
}

/// For `#[serde(with = "shared")]` on a list that several claims share.
pub(super) fn serialize<T: Serialize, S: Serializer>(
    list: &Arc<Vec<T>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    list.as_ref().serialize(to)
}

pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Arc<Vec<T>>, D::Error> {
    Vec::deserialize(from).map(Arc::new)
}
