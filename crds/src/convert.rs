//! How does an object of one served version become the same object in another?
//!
//! Everything goes through the hub version, by a table of field maps per kind ([`table`]). What a version cannot express
//! travels in an annotation ([`stash`]), so nothing is lost in either direction, and edits made in either version win over
//! what was put aside ([`merge`]).

mod engine;
mod merge;
mod project;
mod review;
pub mod stash;
pub mod table;

pub mod dropped;

use serde_json::Value;

pub use review::review;
pub use table::{Direction, FieldMap, How, Pair};

/// Every (older version, hub version) pair we convert between.
pub static PAIRS: [&Pair; 3] = [
    &crate::cloudstack::convert::PAIR,
    &crate::openstack::convert::PAIR,
    &crate::ovhcloud::convert::PAIR,
];

/// Why one object could not be converted. The text names the object and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {trouble}")]
pub struct ConvertError {
    /// The object as a person would name it: `OpenStackNodeClass "default"`.
    pub object: String,
    pub trouble: Trouble,
}

/// What stood in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("{field} must be an object; write it as a map of fields")]
    NotAnObject { field: &'static str },
    #[error("{api_version:?} {kind:?} is not a kind this webhook converts; it converts {known}")]
    UnknownKind {
        api_version: String,
        kind: String,
        known: String,
    },
    #[error("version {wanted:?} does not exist for {kind}; use one of {known}")]
    UnknownVersion {
        wanted: String,
        kind: String,
        known: String,
    },
    #[error("nested deeper than {limit} levels; flatten it")]
    TooDeep { limit: usize },
    #[error(transparent)]
    Stash(#[from] stash::StashError),
}

/// Converts one object to `desired_api_version` (`group/version`). Metadata other than our own annotations is untouched.
pub fn convert(object: Value, desired_api_version: &str) -> Result<Value, ConvertError> {
    let named = name_of(&object);
    let fail = |trouble| ConvertError {
        object: named.clone(),
        trouble,
    };
    let from = Address::of(&object).map_err(&fail)?;
    let Some((group, wanted)) = desired_api_version.split_once('/') else {
        return Err(fail(from.no_such_version(desired_api_version)));
    };
    if group != from.group || !from.versions().contains(&wanted) {
        return Err(fail(from.no_such_version(desired_api_version)));
    }
    if from.version == wanted {
        return Ok(object);
    }
    let up = from.pairs().find(|pair| pair.spoke == from.version);
    let down = from.pairs().find(|pair| pair.spoke == wanted);
    let hub = match up {
        Some(pair) => pair.up(object).map_err(&fail)?,
        None => object,
    };
    match down {
        Some(pair) => pair.down(hub).map_err(&fail),
        None => Ok(hub),
    }
}

/// The pair whose older version this `apiVersion` and `kind` name, if any.
pub fn pair_of_spoke(api_version: &str, kind: &str) -> Option<&'static Pair> {
    PAIRS
        .into_iter()
        .find(|pair| pair.kind == kind && pair.spoke_api_version() == api_version)
}

/// How a person would name this object, whatever is missing from it.
pub(crate) fn name_of(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or("object without kind");
    match (text("/metadata/namespace"), text("/metadata/name")) {
        (Some(namespace), Some(name)) => format!("{kind} \"{namespace}/{name}\""),
        (None, Some(name)) => format!("{kind} {name:?}"),
        _ => format!("{kind} without name"),
    }
}

/// Where an object says it belongs.
struct Address {
    group: String,
    version: String,
    kind: String,
}

impl Address {
    fn of(object: &Value) -> Result<Self, Trouble> {
        let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let address = Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        };
        if address.pairs().next().is_none() {
            return Err(Trouble::UnknownKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                known: known_kinds(),
            });
        }
        if !address.versions().contains(&version) {
            return Err(address.no_such_version(api_version));
        }
        Ok(address)
    }

    fn pairs(&self) -> impl Iterator<Item = &'static Pair> + '_ {
        PAIRS
            .into_iter()
            .filter(|pair| pair.group == self.group && pair.kind == self.kind)
    }

    fn versions(&self) -> Vec<&'static str> {
        let mut versions: Vec<_> = self.pairs().flat_map(|pair| [pair.hub, pair.spoke]).collect();
        versions.dedup();
        versions
    }

    fn no_such_version(&self, wanted: &str) -> Trouble {
        let known: Vec<_> = self
            .versions()
            .iter()
            .map(|version| format!("{}/{version}", self.group))
            .collect();
        Trouble::UnknownVersion {
            wanted: wanted.to_owned(),
            kind: self.kind.clone(),
            known: known.join(", "),
        }
    }
}

fn known_kinds() -> String {
    let kinds: Vec<_> = PAIRS
        .iter()
        .map(|pair| format!("{} ({}, {})", pair.kind, pair.hub_api_version(), pair.spoke_api_version()))
        .collect();
    kinds.join(", ")
}
