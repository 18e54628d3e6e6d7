//! Which part of Nova answers, and in which microversion?

use http::Method;
use serde_json::{Value, json};

use super::tokens::Caller;
use super::wire::{Ask, Outcome, Refusal, Said};
use super::{Object, OpenStack, errors, versions};

const BODY_LIMIT: usize = 114_688;

/// A call whose token and microversion were good. `version` is the minor number: 2.93 is 93.
pub(super) struct Call<'a> {
    pub ask: &'a Ask<'a>,
    pub version: u32,
    pub caller: Caller,
}

impl Call<'_> {
    /// The body, which is a JSON object or nothing we read further.
    pub(super) fn body(&self) -> Result<Object, Refusal> {
        let kind = self.ask.header("content-type").unwrap_or_default();
        if !kind.contains("json") {
            return Err(errors::nova(
                415,
                format!("Unsupported Content-Type: {kind}"),
            ));
        }
        match self.ask.json() {
            Some(Value::Object(body)) => Ok(body),
            _ => Err(errors::nova(400, "Malformed request body")),
        }
    }

    /// From 2.75 an unknown query parameter is an error; before it is dropped.
    pub(super) fn refuse_unknown(&self, known: &[&str]) -> Result<(), Refusal> {
        if self.version < 75 {
            return Ok(());
        }
        let mut unknown = self
            .ask
            .query
            .iter()
            .filter(|(key, _)| !known.contains(&key.as_str()));
        match unknown.next() {
            None => Ok(()),
            Some((key, _)) => Err(errors::nova(
                400,
                format!("Additional properties are not allowed ('{key}' was unexpected)"),
            )),
        }
    }

    pub(super) fn link(&self, rest: &str) -> Value {
        json!([
            {"rel": "self", "href": format!("{}/compute/v2.1/{rest}", self.ask.base)},
            {"rel": "bookmark", "href": format!("{}/compute/{rest}", self.ask.base)},
        ])
    }

    /// One page of a sorted list, and the link to the next if this one is full.
    pub(super) fn page<T>(
        &self,
        items: Vec<T>,
        id: impl Fn(&T) -> &str,
        most: usize,
    ) -> Result<(Vec<T>, Option<Value>), Refusal> {
        let limit = match self.ask.param("limit") {
            None | Some("") => most,
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().unwrap_or(most).min(most)
            }
            Some(text) => {
                let message = format!(
                    "Invalid input for query parameters limit. Value: {text}. '{text}' does not match '^[0-9]*$'"
                );
                return Err(errors::nova(400, message));
            }
        };
        let from = match self.ask.param("marker") {
            None => 0,
            Some(marker) => {
                let at = items.iter().position(|item| id(item) == marker);
                at.ok_or_else(|| errors::nova(400, format!("marker [{marker}] not found")))? + 1
            }
        };
        let page: Vec<T> = items.into_iter().skip(from).take(limit).collect();
        let next = page.last().filter(|_| page.len() == limit).map(|last| {
            let query = self.ask.query_with(id(last), "");
            let path = self.ask.path.join("/");
            json!([{"rel": "next", "href": format!("{}/compute/{path}?{query}", self.ask.base)}])
        });
        Ok((page, next))
    }
}

impl OpenStack {
    pub(super) fn nova(&mut self, ask: &Ask) -> Outcome {
        let newest = self.settings.max_microversion;
        if ask.body.len() > BODY_LIMIT {
            let text = "The body of your request was too large for this server.";
            return Err(Refusal::from(Said::html(413, text)));
        }
        match ask.parts().as_slice() {
            [] if ask.method == Method::GET => Ok(versions::nova_root(&ask.base, newest)),
            ["v2.1"] if ask.method == Method::GET => {
                Ok(tagged(versions::nova_v21(&ask.base, newest), "2.1"))
            }
            ["v2.1", rest @ ..] => {
                let caller = self.caller(ask)?;
                let rest = match rest {
                    [project, rest @ ..] if Some(*project) == caller.project.as_deref() => rest,
                    rest => rest,
                };
                let version = microversion(ask, newest)?;
                let call = Call {
                    ask,
                    version,
                    caller,
                };
                let text = format!("2.{version}");
                match self.nova_call(&call, rest) {
                    None => Err(errors::webob(404, "The resource could not be found.")),
                    Some(Ok(said)) => Ok(tagged(said, &text)),
                    Some(Err(said)) => Err(Refusal::from(tagged(*said.0, &text))),
                }
            }
            _ => Err(Refusal::from(Said::html(
                404,
                "The resource could not be found.",
            ))),
        }
    }

    /// `None`: no such path.
    fn nova_call(&mut self, call: &Call, rest: &[&str]) -> Option<Outcome> {
        let outcome = match (call.ask.method.as_str(), rest) {
            ("GET", ["flavors", rest @ ..]) => return self.flavors(call, rest),
            (_, ["servers", rest @ ..]) => return self.servers(call, rest),
            (_, ["os-server-groups", rest @ ..]) => return self.server_groups(call, rest),
            ("GET", ["os-availability-zone"]) => Ok(self.zones()),
            ("GET", ["os-availability-zone", "detail"]) => {
                Err(denied("os-availability-zone:detail"))
            }
            ("GET", ["os-hypervisors", ..]) => Err(denied("os-hypervisors:list")),
            ("GET", ["limits"]) => self.limits(call),
            ("GET", ["os-quota-sets", project]) => self.quota_set(call, project, false),
            ("GET", ["os-quota-sets", project, "detail"]) => self.quota_set(call, project, true),
            ("GET", ["os-keypairs"]) => Ok(self.keypairs(call)),
            ("GET", ["extensions"]) => Ok(extensions()),
            _ => return None,
        };
        Some(outcome)
    }

    fn zones(&self) -> Said {
        let zones: Vec<Value> = self
            .world
            .zones()
            .iter()
            .map(|zone| json!({"zoneName": zone, "zoneState": {"available": true}, "hosts": null}))
            .collect();
        Said::json(200, json!({"availabilityZoneInfo": zones}))
    }

    fn keypairs(&self, call: &Call) -> Said {
        let mine = self
            .world
            .keypairs
            .iter()
            .filter(|key| key.user == call.caller.user);
        let keys: Vec<Value> = mine
            .map(|key| {
                let mut shown = json!({"name": key.name, "public_key": key.public_key, "fingerprint": key.fingerprint});
                if call.version >= 2 {
                    shown["type"] = json!("ssh");
                }
                json!({"keypair": shown})
            })
            .collect();
        Said::json(200, json!({"keypairs": keys}))
    }
}

pub(super) fn denied(action: &str) -> Refusal {
    errors::nova(
        403,
        format!("Policy doesn't allow os_compute_api:{action} to be performed."),
    )
}

fn tagged(said: Said, version: &str) -> Said {
    said.with("openstack-api-version", format!("compute {version}"))
        .with("x-openstack-nova-api-version", version)
        .with(
            "vary",
            "OpenStack-API-Version, X-OpenStack-Nova-API-Version",
        )
}

/// Either header; none is 2.1.
fn microversion(ask: &Ask, newest: u32) -> Result<u32, Refusal> {
    let modern = ask.header("openstack-api-version");
    let modern = modern
        .and_then(|text| text.strip_prefix("compute "))
        .map(str::trim);
    let text = modern
        .or_else(|| ask.header("x-openstack-nova-api-version"))
        .unwrap_or("2.1");
    if text == "latest" {
        return Ok(newest);
    }
    let minor = text.split_once('.').and_then(|(major, minor)| {
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (digits(major) && digits(minor))
            .then(|| (major == "2").then(|| minor.parse::<u32>().ok()).flatten())
    });
    match minor {
        None => {
            let message = format!(
                "API Version String {text} is of invalid format. Must be of format MajorNum.MinorNum."
            );
            Err(errors::nova(400, message))
        }
        Some(Some(minor)) if (1..=newest).contains(&minor) => Ok(minor),
        Some(_) => {
            let message = format!(
                "Version {text} is not supported by the API. Minimum is 2.1 and maximum is 2.{newest}."
            );
            Err(Refusal::from(tagged(*errors::nova(406, message).0, text)))
        }
    }
}

/// A few of the hundred; the list is frozen history in the real one too.
fn extensions() -> Said {
    let known = [
        ("NMN", "Multinic", "Multiple network support."),
        ("OS-DCF", "DiskConfig", "Disk Management Extension."),
        ("os-server-groups", "ServerGroups", "Server group support."),
    ];
    let shown: Vec<Value> = known
        .iter()
        .map(|(alias, name, text)| {
            json!({
                "alias": alias, "name": name, "description": text, "links": [],
                "namespace": "http://docs.openstack.org/compute/ext/fake_xml", "updated": "2014-12-03T00:00:00Z",
            })
        })
        .collect();
    Said::json(200, json!({"extensions": shown}))
}
