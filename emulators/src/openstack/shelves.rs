//! How does Neutron list things: filters, fields, order, pages, tags?

use serde_json::{Value, json};

use super::errors;
use super::wire::{Ask, Object, Refusal, str_of};
use super::world::Shelf;

/// One kind of Neutron's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Network,
    Subnet,
    Port,
    SecurityGroup,
    Router,
}

impl Kind {
    /// By the word in the path.
    pub(super) fn of_path(word: &str) -> Option<Self> {
        match word {
            "networks" => Some(Self::Network),
            "subnets" => Some(Self::Subnet),
            "ports" => Some(Self::Port),
            "security-groups" => Some(Self::SecurityGroup),
            "routers" => Some(Self::Router),
            _ => None,
        }
    }

    /// The members of an answer: one, several, and Neutron's name for what is missing.
    pub(super) fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Network => ("network", "networks", "Network"),
            Self::Subnet => ("subnet", "subnets", "Subnet"),
            Self::Port => ("port", "ports", "Port"),
            Self::SecurityGroup => ("security_group", "security_groups", "SecurityGroup"),
            Self::Router => ("router", "routers", "Router"),
        }
    }

    pub(super) fn not_found(self, id: &str) -> Refusal {
        let (_, _, name) = self.words();
        let (kind, message) = match self {
            Self::SecurityGroup => (
                "SecurityGroupNotFound",
                format!("Security group {id} does not exist"),
            ),
            _ => (name, format!("{name} {id} could not be found.")),
        };
        let kind = if self == Self::SecurityGroup {
            kind.to_owned()
        } else {
            format!("{kind}NotFound")
        };
        errors::neutron(404, &kind, message)
    }

    /// Members one may filter by beyond those of the object at hand.
    fn filters(self) -> &'static [&'static str] {
        match self {
            Self::Network => &[
                "provider:network_type",
                "provider:physical_network",
                "is_default",
            ],
            Self::Port => &["fixed_ips", "binding:host_id", "ip_allocation"],
            Self::Subnet | Self::SecurityGroup | Self::Router => &[],
        }
    }
}

const CONTROL: &[&str] = &[
    "fields",
    "limit",
    "marker",
    "page_reverse",
    "sort_key",
    "sort_dir",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
];

/// What of a shelf the caller may see.
pub(super) fn visible(object: &Object, project: &str) -> bool {
    let flag = |name: &str| object.get(name) == Some(&Value::Bool(true));
    str_of(object, "project_id") == project || flag("shared") || flag("router:external")
}

pub(super) fn list(kind: Kind, shelf: &Shelf, ask: &Ask, project: &str) -> Result<Value, Refusal> {
    refuse_unknown(kind, shelf, ask)?;
    let mut found: Vec<&Object> = shelf
        .values()
        .filter(|object| visible(object, project) && matches(object, ask) && tagged(object, ask))
        .collect();
    for (key, direction) in sorting(ask).iter().rev() {
        found.sort_by(|one, two| {
            let order = text(one.get(key)).cmp(&text(two.get(key)));
            if direction == "desc" {
                order.reverse()
            } else {
                order
            }
        });
    }
    let (_, plural, _) = kind.words();
    let mut body = json!({});
    let page = page(kind, found, ask)?;
    if let Some((_, links)) = &page.1 {
        body[format!("{plural}_links")] = links.clone();
    }
    let fields = ask.params("fields");
    let shown: Vec<Value> = page
        .0
        .into_iter()
        .map(|object| pick(object, &fields))
        .collect();
    body[plural] = json!(shown);
    Ok(body)
}

/// Only the fields asked for, or all.
pub(super) fn pick(object: &Object, fields: &[&str]) -> Value {
    if fields.is_empty() {
        return Value::Object(object.clone());
    }
    let kept = object
        .iter()
        .filter(|(key, _)| fields.contains(&key.as_str()));
    Value::Object(
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

type Page<'a> = (Vec<&'a Object>, Option<(usize, Value)>);

fn page<'a>(kind: Kind, found: Vec<&'a Object>, ask: &Ask) -> Result<Page<'a>, Refusal> {
    let Some(limit) = ask.param("limit") else {
        return Ok((found, None));
    };
    let limit: usize = limit.parse().map_err(|_| {
        errors::neutron(
            400,
            "HTTPBadRequest",
            format!("Bad limit: '{limit}' is not an integer"),
        )
    })?;
    if limit == 0 {
        return Ok((found, None));
    }
    let from = match ask.param("marker") {
        None => 0,
        Some(marker) => {
            let at = found
                .iter()
                .position(|object| str_of(object, "id") == marker);
            at.ok_or_else(|| kind.not_found(marker))? + 1
        }
    };
    let page: Vec<&Object> = found.into_iter().skip(from).take(limit).collect();
    let base = format!("{}/networking/{}", ask.base, ask.path.join("/"));
    let mut links = Vec::new();
    if let Some(last) = page.last().filter(|_| page.len() == limit) {
        let query = ask.query_with(str_of(last, "id"), "");
        links.push(json!({"rel": "next", "href": format!("{base}?{query}")}));
    }
    // the real one offers a previous page even on the first
    let first = page.first().map_or("", |object| str_of(object, "id"));
    let query = ask.query_with(first, "&page_reverse=True");
    links.push(json!({"rel": "previous", "href": format!("{base}?{query}")}));
    Ok((page, Some((limit, json!(links)))))
}

fn refuse_unknown(kind: Kind, shelf: &Shelf, ask: &Ask) -> Result<(), Refusal> {
    let Some(example) = shelf.values().next() else {
        return Ok(());
    };
    let known = |key: &str| {
        CONTROL.contains(&key) || example.contains_key(key) || kind.filters().contains(&key)
    };
    let unknown: Vec<String> = ask
        .query
        .iter()
        .filter(|(key, _)| !known(key))
        .map(|(key, _)| format!("'{key}'"))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let message = format!(
        "[{}] is invalid attribute for filtering",
        unknown.join(", ")
    );
    Err(errors::neutron(400, "HTTPBadRequest", message))
}

/// The same member several times means any of the values.
fn matches(object: &Object, ask: &Ask) -> bool {
    let wanted = ask
        .query
        .iter()
        .filter(|(key, _)| !CONTROL.contains(&key.as_str()));
    let mut keys: Vec<&str> = wanted.map(|(key, _)| key.as_str()).collect();
    keys.dedup();
    keys.iter().all(|key| {
        if *key == "fixed_ips" {
            return ask
                .params(key)
                .iter()
                .any(|wanted| address_matches(object, wanted));
        }
        let value = text(object.get(*key));
        ask.params(key)
            .iter()
            .any(|wanted| wanted.eq_ignore_ascii_case(&value))
    })
}

/// `ip_address=10.0.0.5` or `subnet_id=…`.
fn address_matches(object: &Object, wanted: &str) -> bool {
    let Some((member, value)) = wanted.split_once('=') else {
        return false;
    };
    let addresses = object.get("fixed_ips").and_then(Value::as_array);
    addresses
        .into_iter()
        .flatten()
        .any(|address| address[member] == value)
}

fn tagged(object: &Object, ask: &Ask) -> bool {
    let tags: Vec<&str> = tags_of(object);
    let split = |name: &str| -> Option<Vec<&str>> { Some(ask.param(name)?.split(',').collect()) };
    let all = |wanted: &Vec<&str>| wanted.iter().all(|tag| tags.contains(tag));
    let any = |wanted: &Vec<&str>| wanted.iter().any(|tag| tags.contains(tag));
    split("tags").is_none_or(|wanted| all(&wanted))
        && split("tags-any").is_none_or(|wanted| any(&wanted))
        && split("not-tags").is_none_or(|wanted| !all(&wanted))
        && split("not-tags-any").is_none_or(|wanted| !any(&wanted))
}

pub(super) fn tags_of(object: &Object) -> Vec<&str> {
    let tags = object.get("tags").and_then(Value::as_array);
    tags.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn sorting(ask: &Ask) -> Vec<(String, String)> {
    let directions = ask.params("sort_dir");
    let keys = ask.params("sort_key").into_iter().enumerate();
    keys.map(|(at, key)| {
        (
            key.to_owned(),
            (*directions.get(at).unwrap_or(&"asc")).to_owned(),
        )
    })
    .collect()
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}
