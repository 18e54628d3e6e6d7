//! Which networks are there, and who holds their ports?

use http::Method;
use serde_json::{Value, json};

use super::shelves::{self, Kind};
use super::tokens::Caller;
use super::wire::{Ask, Object, Outcome, Refusal, Said, seconds};
use super::world::Shelf;
use super::{OpenStack, errors, versions};

impl OpenStack {
    pub(super) fn neutron(&mut self, ask: &Ask) -> Outcome {
        match ask.parts().as_slice() {
            [] if ask.method == Method::GET => Ok(versions::neutron_root(&ask.base)),
            ["v2.0", rest @ ..] => {
                let caller = self.caller(ask)?;
                self.neutron_call(ask, &caller, rest)
            }
            _ => Err(missing()),
        }
    }

    fn neutron_call(&mut self, ask: &Ask, caller: &Caller, rest: &[&str]) -> Outcome {
        let project = caller.project();
        match (ask.method.as_str(), rest) {
            ("GET", []) => Ok(resources(&ask.base)),
            ("GET", ["extensions"]) => Ok(self.network_extensions()),
            ("GET", ["extensions", alias]) => {
                let known = self
                    .network_aliases()
                    .into_iter()
                    .find(|(known, _)| known == alias);
                let (alias, name) = known.ok_or_else(missing)?;
                Ok(Said::json(
                    200,
                    json!({"extension": extension(alias, name)}),
                ))
            }
            ("GET", ["floatingips"]) => Ok(Said::json(200, json!({"floatingips": []}))),
            ("GET", ["quotas", id]) if *id == project => {
                Ok(Said::json(200, self.network_quota(project, false)))
            }
            ("GET", ["quotas", id, "details" | "details.json"]) if *id == project => {
                Ok(Said::json(200, self.network_quota(project, true)))
            }
            (method, [collection, rest @ ..]) => {
                let collection = collection.strip_suffix(".json").unwrap_or(collection);
                let kind = Kind::of_path(collection).ok_or_else(missing)?;
                match (method, rest) {
                    ("GET", []) => Ok(Said::json(
                        200,
                        shelves::list(kind, self.shelf(kind), ask, project)?,
                    )),
                    ("GET", [id]) => {
                        let object = self.seen(kind, id, project)?;
                        let (singular, ..) = kind.words();
                        Ok(Said::json(
                            200,
                            json!({singular: shelves::pick(object, &ask.params("fields"))}),
                        ))
                    }
                    (_, [id, "tags", rest @ ..]) => {
                        self.network_tags(ask, (kind, id), project, rest)
                    }
                    (method, rest) if kind == Kind::Port => {
                        self.port_call(ask, caller, method, rest)
                    }
                    ("POST" | "PUT" | "DELETE", _) => {
                        let message = "rule:admin_only is disallowed by policy: the emulator's networks are fixed";
                        Err(errors::neutron(403, "PolicyNotAuthorized", message))
                    }
                    _ => Err(missing()),
                }
            }
            _ => Err(missing()),
        }
    }

    pub(super) fn shelf(&self, kind: Kind) -> &Shelf {
        match kind {
            Kind::Network => &self.world.networks,
            Kind::Subnet => &self.world.subnets,
            Kind::Port => &self.world.ports,
            Kind::SecurityGroup => &self.world.security_groups,
            Kind::Router => &self.world.routers,
        }
    }

    fn shelf_mut(&mut self, kind: Kind) -> &mut Shelf {
        match kind {
            Kind::Network => &mut self.world.networks,
            Kind::Subnet => &mut self.world.subnets,
            Kind::Port => &mut self.world.ports,
            Kind::SecurityGroup => &mut self.world.security_groups,
            Kind::Router => &mut self.world.routers,
        }
    }

    /// An object the caller may see; another project's is not there.
    pub(super) fn seen(&self, kind: Kind, id: &str, project: &str) -> Result<&Object, Refusal> {
        let object = self.shelf(kind).get(id);
        object
            .filter(|object| shelves::visible(object, project))
            .ok_or_else(|| kind.not_found(id))
    }

    fn network_tags(
        &mut self,
        ask: &Ask,
        what: (Kind, &str),
        project: &str,
        rest: &[&str],
    ) -> Outcome {
        let (kind, id) = what;
        let object = self.seen(kind, id, project)?;
        let tags = shelves::tags_of(object).into_iter().map(str::to_owned);
        let mut tags: Vec<String> = tags.collect();
        let said = retag(&mut tags, ask, rest)?;
        if ask.method != Method::GET
            && let Some(object) = self.shelf_mut(kind).get_mut(id)
        {
            object.insert("tags".to_owned(), json!(tags));
            revise(object, ask.now);
        }
        Ok(said)
    }

    fn network_aliases(&self) -> Vec<(&'static str, &'static str)> {
        let mut known = vec![
            ("security-group", "security-group"),
            (
                "standard-attr-tag",
                "Tag support for resources with standard attribute",
            ),
            ("port-security", "Port Security"),
            ("filter-validation", "Filter parameters validation"),
            (
                "revision-if-match",
                "If-Match constraints based on revision_number",
            ),
            ("quota_details", "Quota details management support"),
            ("pagination", "Pagination support"),
            ("sorting", "Sorting support"),
        ];
        if self.settings.tag_creation {
            known.push(("tag-creation", "Tag creation"));
        }
        known
    }

    fn network_extensions(&self) -> Said {
        let known = self.network_aliases().into_iter();
        let shown: Vec<Value> = known.map(|(alias, name)| extension(alias, name)).collect();
        Said::json(200, json!({"extensions": shown}))
    }
}

fn retag(tags: &mut Vec<String>, ask: &Ask, rest: &[&str]) -> Outcome {
    let known = |tags: &[String], tag: &str| tags.iter().any(|known| known == tag);
    let no_tag =
        |tag: &str| errors::neutron(404, "TagNotFound", format!("Tag {tag} could not be found."));
    match (ask.method.as_str(), rest) {
        ("GET", []) => Ok(Said::json(200, json!({"tags": tags}))),
        ("GET", [tag]) if known(tags, tag) => Ok(Said::empty(204)),
        ("PUT", []) => {
            let body = ask.json().unwrap_or_default();
            let wanted = body.get("tags").and_then(Value::as_array);
            let expected = "Invalid tags body. Expected {\"tags\": [\"tag1\", …]}";
            let wanted = wanted.ok_or_else(|| errors::neutron(400, "HTTPBadRequest", expected))?;
            let wanted = wanted.iter().filter_map(Value::as_str);
            *tags = wanted.map(str::to_owned).collect();
            Ok(Said::json(200, json!({"tags": tags})))
        }
        ("PUT", [tag]) => {
            if !known(tags, tag) {
                tags.push((*tag).to_owned());
            }
            Ok(Said::json(201, Value::Null))
        }
        ("DELETE", []) => {
            tags.clear();
            Ok(Said::empty(204))
        }
        ("DELETE", [tag]) if known(tags, tag) => {
            tags.retain(|known| known != tag);
            Ok(Said::empty(204))
        }
        ("GET" | "DELETE", [tag]) => Err(no_tag(tag)),
        _ => Err(missing()),
    }
}

/// Every write counts.
pub(super) fn revise(object: &mut Object, now: jiff::Timestamp) {
    let revision = object
        .get("revision_number")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    object.insert("revision_number".to_owned(), json!(revision + 1));
    object.insert("updated_at".to_owned(), json!(seconds(now)));
}

fn extension(alias: &str, name: &str) -> Value {
    json!({"alias": alias, "name": name, "description": name, "links": [], "updated": "2020-01-01T00:00:00-00:00"})
}

fn resources(base: &str) -> Said {
    let kinds = [
        ("network", "networks"),
        ("subnet", "subnets"),
        ("subnetpool", "subnetpools"),
        ("port", "ports"),
    ];
    let shown: Vec<Value> = kinds
        .iter()
        .map(|(name, collection)| {
            let links =
                json!([{"rel": "self", "href": format!("{base}/networking/v2.0/{collection}")}]);
            json!({"name": name, "collection": collection, "links": links})
        })
        .collect();
    Said::json(200, json!({"resources": shown}))
}

fn missing() -> Refusal {
    errors::neutron(404, "HTTPNotFound", "The resource could not be found.")
}
