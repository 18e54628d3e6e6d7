//! What does a request ask for? Path, query and headers, parsed at the door.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;

use super::kinds::{Kind, Kinds};
use super::proto;
use super::status::Status;
use super::users::User;

/// One request about objects.
#[derive(Debug, Clone)]
pub struct Ask {
    pub verb: Verb,
    /// As asked for.
    pub kind: Arc<Kind>,
    /// As stored: the same, except for events, which have two groups and one shelf.
    pub stored: Arc<Kind>,
    pub version: String,
    /// Empty: cluster-wide, or all namespaces.
    pub namespace: String,
    /// Empty: the collection.
    pub name: String,
    pub subresource: String,
    pub query: Query,
    pub table: bool,
    pub metadata_only: bool,
    pub user: User,
    /// The first word of the caller's User-Agent: who a write belongs to if it does not say.
    pub agent: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

/// The pairs behind the question mark, decoded.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

/// What stands in a path: a resource, or one of the other doors.
pub struct Place {
    pub group: String,
    pub version: String,
    pub namespace: String,
    pub plural: String,
    pub name: String,
    pub subresource: String,
}

impl Verb {
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    pub fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl Query {
    pub fn of(request: &Request<Bytes>) -> Self {
        let query = request.uri().query().unwrap_or_default();
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name, true), decode(value, true))
        });
        Self(pairs.collect())
    }

    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(have, _)| have == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    pub fn is(&self, name: &str) -> bool {
        matches!(self.get(name), "1" | "t" | "T" | "true" | "True" | "TRUE")
    }

    /// Absent and empty are `None`; anything but a number is refused.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Status> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().map_err(|_| {
            Status::bad_request(format!("invalid value for `{name}`: {text:?} is no number"))
        });
        number.map(Some)
    }
}

impl Ask {
    /// `Err` for paths and methods that nobody serves.
    pub fn read(request: &Request<Bytes>, kinds: &Kinds, user: User) -> Result<Self, Status> {
        let place = Place::of(request.uri().path()).ok_or_else(Status::no_such_path)?;
        let kind = kinds
            .served(&place.group, &place.version, &place.plural)
            .ok_or_else(Status::no_such_path)?;
        let query = Query::of(request);
        let collection = place.name.is_empty();
        if !place.subresource.is_empty() && !kind.has(&place.subresource) {
            return Err(Status::no_such_path());
        }
        let stored = if kind.id == "events.events.k8s.io" {
            kinds.get("events").unwrap_or(kind)
        } else {
            kind
        };
        let accept = header(request, "accept");
        let agent = header(request, "user-agent");
        let agent = agent.split(['/', ' ']).next().unwrap_or_default();
        Ok(Self {
            verb: verb(request.method(), collection, &place.subresource, &query)?,
            kind: Arc::clone(kind),
            stored: Arc::clone(stored),
            version: place.version,
            namespace: place.namespace,
            name: place.name,
            subresource: place.subresource,
            table: accept.contains("as=Table"),
            metadata_only: accept.contains("as=PartialObjectMetadata"),
            query,
            user,
            agent: if agent.is_empty() { "unknown" } else { agent }.to_owned(),
        })
    }

    pub fn dry_run(&self) -> Result<bool, Status> {
        match self.query.get("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => Err(Status::bad_request(format!(
                "dryRun: Unsupported value: {other:?}: supported values: \"All\""
            ))),
        }
    }

    /// Who the fields of this write belong to.
    pub fn written_by(&self) -> &str {
        match self.query.get("fieldManager") {
            "" => &self.agent,
            named => named,
        }
    }

    /// `plural.group` or `plural.group/subresource` as errors name it.
    pub fn resource(&self) -> &str {
        &self.kind.id
    }
}

impl Place {
    /// `/api/v1/…` and `/apis/group/version/…` with at least a plural behind.
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| decode(part, false))
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // a namespace itself, and its own subresources
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => {
                ("", rest)
            }
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, "", ""),
            [plural, name] => (*plural, *name, ""),
            [plural, name, subresource] => (*plural, *name, *subresource),
            _ => return None,
        };
        let own = str::to_owned;
        Some(Self {
            group: own(group),
            version: own(version),
            namespace: own(namespace),
            plural: own(plural),
            name: own(name),
            subresource: own(subresource),
        })
    }
}

/// The body as an object. JSON and YAML; other encodings are refused as a real server refuses them.
pub fn body(request: &Request<Bytes>) -> Result<Value, Status> {
    let kind = header(request, "content-type");
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let value = match kind {
        "application/vnd.kubernetes.protobuf" => {
            proto::read(request.body()).ok_or_else(unknown_format)?
        }
        "application/cbor" => return Err(unknown_format()),
        "application/yaml" | "application/apply-patch+yaml" => yaml(request.body())?,
        _ => serde_json::from_slice(request.body()).map_err(|error| {
            Status::bad_request(format!("the body of the request is not JSON: {error}"))
        })?,
    };
    Ok(value)
}

fn unknown_format() -> Status {
    Status::new(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
    )
}

fn yaml(body: &Bytes) -> Result<Value, Status> {
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| Status::bad_request(format!("the body is not UTF-8: {error}")))?;
    serde_saphyr::from_str(text)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))
}

pub fn header<'a>(request: &'a Request<Bytes>, name: &str) -> &'a str {
    let value = request.headers().get(name);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

fn verb(method: &Method, collection: bool, sub: &str, query: &Query) -> Result<Verb, Status> {
    let verb = match (method.as_str(), collection) {
        ("GET" | "HEAD", true) if query.is("watch") => Verb::Watch,
        ("GET" | "HEAD", true) => Verb::List,
        ("GET" | "HEAD", false) => Verb::Get,
        ("POST", true) => Verb::Create,
        ("POST", false) if !sub.is_empty() => Verb::Create,
        ("PUT", false) => Verb::Update,
        ("PATCH", false) => Verb::Patch,
        ("DELETE", false) => Verb::Delete,
        ("DELETE", true) => Verb::DeleteCollection,
        _ => return Err(Status::method_not_allowed()),
    };
    Ok(verb)
}

/// Undoes percent escapes; broken ones stay as they are.
pub fn decode(text: &str, plus_is_blank: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|hex| {
            let hex = std::str::from_utf8(hex).ok()?;
            u8::from_str_radix(hex, 16).ok()
        });
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) if plus_is_blank => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> (String, String, String, String) {
        let place = Place::of(path).unwrap();
        (place.namespace, place.plural, place.name, place.subresource)
    }

    fn four(a: &str, b: &str, c: &str, d: &str) -> (String, String, String, String) {
        (a.into(), b.into(), c.into(), d.into())
    }

    #[test]
    fn paths_are_taken_apart() {
        let core = "/api/v1";
        assert_eq!(
            place(&format!("{core}/nodes/n/status")),
            four("", "nodes", "n", "status")
        );
        assert_eq!(
            place(&format!("{core}/namespaces")),
            four("", "namespaces", "", "")
        );
        assert_eq!(
            place(&format!("{core}/namespaces/a")),
            four("", "namespaces", "a", "")
        );
        assert_eq!(
            place(&format!("{core}/namespaces/a/finalize")),
            four("", "namespaces", "a", "finalize")
        );
        assert_eq!(
            place(&format!("{core}/namespaces/a/pods/p/log")),
            four("a", "pods", "p", "log")
        );
        let apps = Place::of("/apis/apps/v1/namespaces/a/deployments").unwrap();
        assert_eq!(
            (apps.group.as_str(), apps.namespace.as_str()),
            ("apps", "a")
        );
        assert!(Place::of("/apis/apps/v1").is_none());
    }
}
