//! Is the body of a create call well formed, and what does it ask for? Nothing is looked up here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::errors;
use super::super::wire::{Object, Refusal, is_uuid, repr};
use super::devices::{Mapping, Networks, mappings, networks};
use super::limits::{metadata, tags};

pub(super) struct Order {
    pub name: String,
    pub description: Option<String>,
    pub flavor: String,
    pub image: Option<String>,
    pub networks: Networks,
    pub security_groups: Vec<String>,
    pub key_name: Option<String>,
    pub user_data: Option<String>,
    pub config_drive: bool,
    pub zone: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub tags: Vec<String>,
    pub count: u64,
    pub volumes: Vec<Mapping>,
    pub group: Option<String>,
    pub hostname: Option<String>,
    pub reservation: bool,
}

/// Members of a server, and the microversions that have them (from, before).
const MEMBERS: &[(&str, u32, u32)] = &[
    ("name", 1, 999),
    ("flavorRef", 1, 999),
    ("imageRef", 1, 999),
    ("networks", 1, 999),
    ("security_groups", 1, 999),
    ("key_name", 1, 999),
    ("user_data", 1, 999),
    ("config_drive", 1, 999),
    ("availability_zone", 1, 999),
    ("metadata", 1, 999),
    ("min_count", 1, 999),
    ("max_count", 1, 999),
    ("block_device_mapping", 1, 999),
    ("block_device_mapping_v2", 1, 999),
    ("return_reservation_id", 1, 999),
    ("adminPass", 1, 999),
    ("accessIPv4", 1, 999),
    ("accessIPv6", 1, 999),
    ("OS-DCF:diskConfig", 1, 999),
    ("personality", 1, 57),
    ("description", 19, 999),
    ("tags", 52, 999),
    ("trusted_image_certificates", 63, 999),
    ("host", 74, 999),
    ("hypervisor_hostname", 74, 999),
    ("hostname", 90, 999),
];

pub(super) fn order(body: &Object, version: u32) -> Result<Order, Refusal> {
    let Some(server) = body.get("server") else {
        return Err(errors::nova(400, "'server' is a required property"));
    };
    let Value::Object(members) = server else {
        return Err(invalid(
            "server",
            server,
            &format!("{} is not of type 'object'", repr(server)),
        ));
    };
    if let Some(unknown) = body.keys().find(|key| {
        !matches!(
            key.as_str(),
            "server" | "os:scheduler_hints" | "OS-SCH-HNT:scheduler_hints"
        )
    }) {
        let message = format!("Additional properties are not allowed ('{unknown}' was unexpected)");
        return Err(errors::nova(400, message));
    }
    known_members(server, members, version)?;
    name(&members["name"])?;
    let count = count(members)?;
    Ok(Order {
        name: text(members, "name")?.unwrap_or_default(),
        description: text(members, "description")?,
        flavor: flavor(&members["flavorRef"])?,
        image: image(members.get("imageRef"))?,
        networks: networks(members.get("networks"))?,
        security_groups: security_groups(members.get("security_groups"))?,
        key_name: text(members, "key_name")?,
        user_data: user_data(members)?,
        config_drive: members.get("config_drive").is_some_and(truthy),
        zone: text(members, "availability_zone")?,
        metadata: members
            .get("metadata")
            .map_or_else(|| Ok(BTreeMap::new()), metadata)?,
        tags: members.get("tags").map_or_else(|| Ok(Vec::new()), tags)?,
        count,
        volumes: mappings(members.get("block_device_mapping_v2"))?,
        group: group(body)?,
        hostname: text(members, "hostname")?,
        reservation: members.get("return_reservation_id").is_some_and(truthy),
    })
}

/// What is wrong with one member, in Nova's words, quoting the value whole as Nova does.
pub(super) fn invalid(field: &str, value: &Value, why: &str) -> Refusal {
    let shown = match value {
        Value::String(text) => text.clone(),
        value => repr(value),
    };
    errors::nova(
        400,
        format!("Invalid input for field/attribute {field}. Value: {shown}. {why}"),
    )
}

pub(super) fn name(value: &Value) -> Result<(), Refusal> {
    let why = match value.as_str() {
        None => format!("{} is not of type 'string'", repr(value)),
        Some("") => "'' is too short".to_owned(),
        Some(name) if name.chars().count() > 255 => format!("'{name}' is too long"),
        Some(name) if name.trim() != name || name.chars().any(char::is_control) => {
            format!("'{name}' does not match any of the regexes: '^(?![\\\\s]).*(?<![\\\\s])$'")
        }
        Some(_) => return Ok(()),
    };
    Err(invalid("name", value, &why))
}

fn known_members(server: &Value, members: &Object, version: u32) -> Result<(), Refusal> {
    let allowed = |name: &str| {
        MEMBERS
            .iter()
            .any(|(known, from, before)| *known == name && (*from..*before).contains(&version))
    };
    if let Some(unknown) = members.keys().find(|key| !allowed(key)) {
        let why = format!("Additional properties are not allowed ('{unknown}' was unexpected)");
        return Err(invalid("server", server, &why));
    }
    let required: &[&str] = if version >= 37 {
        &["name", "flavorRef", "networks"]
    } else {
        &["name", "flavorRef"]
    };
    match required.iter().find(|name| !members.contains_key(**name)) {
        None => Ok(()),
        Some(missing) => Err(invalid(
            "server",
            server,
            &format!("'{missing}' is a required property"),
        )),
    }
}

pub(super) fn text(members: &Object, name: &str) -> Result<Option<String>, Refusal> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(value) => Err(invalid(
            name,
            value,
            &format!("{} is not of type 'string'", repr(value)),
        )),
    }
}

fn flavor(value: &Value) -> Result<String, Refusal> {
    let id = match value {
        Value::String(text) => text.rsplit('/').next().unwrap_or_default().to_owned(),
        Value::Number(number) => number.to_string(),
        value => {
            return Err(invalid(
                "flavorRef",
                value,
                &format!("{} is not of type 'string', 'integer'", repr(value)),
            ));
        }
    };
    Ok(id)
}

fn image(value: Option<&Value>) -> Result<Option<String>, Refusal> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) if is_uuid(text) => Ok(Some(text.clone())),
        Some(value) => {
            let why = format!(
                "{} is not valid under any of the given schemas",
                repr(value)
            );
            Err(invalid("imageRef", value, &why))
        }
    }
}

fn security_groups(value: Option<&Value>) -> Result<Vec<String>, Refusal> {
    let items = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(value) => {
            return Err(invalid(
                "security_groups",
                value,
                &format!("{} is not of type 'array'", repr(value)),
            ));
        }
    };
    let named = items.iter().map(|item| {
        let name = item.get("name").and_then(Value::as_str);
        name.map(str::to_owned)
            .ok_or_else(|| invalid("security_groups", item, "'name' is a required property"))
    });
    named.collect()
}

fn user_data(members: &Object) -> Result<Option<String>, Refusal> {
    let read = text(members, "user_data")?;
    match &read {
        Some(data) if data.len() > 65535 => Err(invalid(
            "user_data",
            &members["user_data"],
            &format!("'{data}' is too long"),
        )),
        _ => Ok(read),
    }
}

fn count(members: &Object) -> Result<u64, Refusal> {
    let number = |name: &str| match members.get(name) {
        None => Ok(1),
        Some(value) => {
            let number = value
                .as_u64()
                .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
            match number {
                Some(0) => Err(invalid(name, value, "0 is less than the minimum of 1")),
                Some(number) => Ok(number),
                None => Err(invalid(
                    name,
                    value,
                    &format!("{} is not of type 'integer', 'string'", repr(value)),
                )),
            }
        }
    };
    let (least, most) = (number("min_count")?, number("max_count")?);
    if members.contains_key("max_count") && least > most {
        return Err(errors::nova(400, "min_count must be <= max_count"));
    }
    Ok(least.max(most).min(100))
}

fn group(body: &Object) -> Result<Option<String>, Refusal> {
    let hints = body
        .get("os:scheduler_hints")
        .or_else(|| body.get("OS-SCH-HNT:scheduler_hints"));
    match hints.and_then(|hints| hints.get("group")) {
        None => Ok(None),
        Some(Value::String(id)) if is_uuid(id) => Ok(Some(id.clone())),
        Some(value) => Err(invalid(
            "group",
            value,
            &format!("{} is not a 'uuid'", repr(value)),
        )),
    }
}

pub(super) fn truthy(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::String(text) => matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "1" | "yes" | "on"
        ),
        _ => false,
    }
}
