//! Which networks and disks does a create call ask for?

use serde_json::Value;

use super::super::wire::{Refusal, is_uuid, repr};
use super::check::{invalid, text, truthy};

pub(super) enum Networks {
    None,
    Auto,
    These(Vec<Wish>),
}

pub(super) struct Wish {
    pub network: Option<String>,
    pub port: Option<String>,
    pub fixed_ip: Option<String>,
}

/// A disk in `block_device_mapping_v2`.
pub(super) struct Mapping {
    pub boot: bool,
    pub source: String,
    pub destination: String,
    pub uuid: Option<String>,
    pub size: Option<u64>,
    pub delete_on_termination: bool,
}

pub(super) fn networks(value: Option<&Value>) -> Result<Networks, Refusal> {
    let items = match value {
        None => return Ok(Networks::Auto),
        Some(Value::String(text)) if text == "none" => return Ok(Networks::None),
        Some(Value::String(text)) if text == "auto" => return Ok(Networks::Auto),
        Some(Value::Array(items)) => items,
        Some(value) => {
            let why = format!(
                "{} is not valid under any of the given schemas",
                repr(value)
            );
            return Err(invalid("networks", value, &why));
        }
    };
    let mut wishes = Vec::new();
    for item in items {
        let Value::Object(item) = item else {
            return Err(invalid(
                "networks",
                &Value::Array(items.clone()),
                "not of type 'object'",
            ));
        };
        for id in ["uuid", "port"] {
            if let Some(Value::String(text)) = item.get(id)
                && !is_uuid(text)
            {
                return Err(invalid(id, &item[id], &format!("'{text}' is not a 'uuid'")));
            }
        }
        let wish = Wish {
            network: text(item, "uuid")?,
            port: text(item, "port")?,
            fixed_ip: text(item, "fixed_ip")?,
        };
        if wish.network.is_none() && wish.port.is_none() {
            let why = "network identifier missing: give uuid or port";
            return Err(invalid("networks", &Value::Array(items.clone()), why));
        }
        wishes.push(wish);
    }
    Ok(Networks::These(wishes))
}

pub(super) fn mappings(value: Option<&Value>) -> Result<Vec<Mapping>, Refusal> {
    let items = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(value) => {
            return Err(invalid(
                "block_device_mapping_v2",
                value,
                &format!("{} is not of type 'array'", repr(value)),
            ));
        }
    };
    let read = items.iter().map(|item| {
        let word = |name: &str| {
            item.get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let number = |name: &str| {
            let value = item.get(name)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        if !item.is_object() {
            return Err(invalid(
                "block_device_mapping_v2",
                item,
                &format!("{} is not of type 'object'", repr(item)),
            ));
        }
        Ok(Mapping {
            boot: number("boot_index") == Some(0),
            source: word("source_type"),
            destination: word("destination_type"),
            uuid: item.get("uuid").and_then(Value::as_str).map(str::to_owned),
            size: number("volume_size").filter(|size| *size > 0),
            delete_on_termination: item.get("delete_on_termination").is_some_and(truthy),
        })
    });
    read.collect()
}
