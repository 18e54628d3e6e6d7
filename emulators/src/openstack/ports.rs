//! What may a user do with ports?

use http::Method;
use serde_json::{Value, json};

use super::neutron::revise;
use super::plugs::Wish;
use super::shelves::Kind;
use super::tokens::Caller;
use super::wire::{Ask, Object, Outcome, Refusal, Said, is_uuid, repr, str_of};
use super::{OpenStack, errors};

/// What a member of a project may write.
const WRITABLE: &[&str] = &[
    "network_id",
    "name",
    "security_groups",
    "fixed_ips",
    "mac_address",
    "allowed_address_pairs",
    "port_security_enabled",
    "description",
    "admin_state_up",
    "device_id",
    "device_owner",
    "extra_dhcp_opts",
    "tags",
    "tenant_id",
    "project_id",
    "binding:vnic_type",
    "binding:profile",
    "binding:host_id",
    "dns_name",
    "propagate_uplink_status",
];

impl OpenStack {
    pub(super) fn port_call(
        &mut self,
        ask: &Ask,
        caller: &Caller,
        method: &str,
        rest: &[&str],
    ) -> Outcome {
        match (method, rest) {
            ("POST", []) => self.create_port(ask, caller),
            ("PUT", [id]) => self.update_port(ask, caller, id),
            ("DELETE", [id]) => self.delete_port(ask, caller, id),
            _ => Err(errors::neutron(
                404,
                "HTTPNotFound",
                "The resource could not be found.",
            )),
        }
    }

    fn create_port(&mut self, ask: &Ask, caller: &Caller) -> Outcome {
        let wanted = port_body(ask)?;
        let Some(network) = wanted.get("network_id") else {
            return Err(bad(
                "Failed to parse request. Required attribute 'network_id' not specified",
            ));
        };
        check(&wanted)?;
        let network = network
            .as_str()
            .filter(|id| is_uuid(id))
            .ok_or_else(|| not_uuid("network_id", network))?;
        self.seen(Kind::Network, network, caller.project())?;
        let owned = self
            .world
            .ports
            .values()
            .filter(|port| str_of(port, "project_id") == caller.project());
        let most = self.quota(caller.project()).ports;
        if u64::try_from(most).is_ok_and(|most| owned.count() as u64 >= most) {
            return Err(errors::neutron(
                409,
                "OverQuota",
                "Quota exceeded for resources: ['port'].",
            ));
        }
        let fixed = wanted
            .get("fixed_ips")
            .and_then(Value::as_array)
            .and_then(|list| list.first());
        let wish = Wish {
            network,
            project: caller.project(),
            fixed_ip: fixed
                .and_then(|fixed| fixed.get("ip_address"))
                .and_then(Value::as_str),
            mac: wanted.get("mac_address").and_then(Value::as_str),
        };
        let mut port = self.new_port(&wish, ask.now)?;
        let tags = self.settings.tag_creation;
        write(&mut port, &wanted, tags);
        self.check_groups(&port, caller.project())?;
        let shown = json!({"port": port});
        self.shelve(port, ask.now);
        Ok(Said::json(201, shown))
    }

    fn update_port(&mut self, ask: &Ask, caller: &Caller, id: &str) -> Outcome {
        let port = self.seen(Kind::Port, id, caller.project())?.clone();
        refuse_stale(ask, &port)?;
        let wanted = port_body(ask)?;
        check(&wanted)?;
        let mut port = port;
        write(&mut port, &wanted, false);
        self.check_groups(&port, caller.project())?;
        revise(&mut port, ask.now);
        self.journal.change(
            ask.now,
            ("port", id, str_of(&port, "name")),
            "updated".into(),
        );
        let shown = json!({"port": port});
        self.world.ports.insert(id.to_owned(), port);
        Ok(Said::json(200, shown))
    }

    fn delete_port(&mut self, ask: &Ask, caller: &Caller, id: &str) -> Outcome {
        let port = self.seen(Kind::Port, id, caller.project())?.clone();
        refuse_stale(ask, &port)?;
        if str_of(&port, "device_owner").starts_with("network:") {
            let message = format!(
                "Port {id} cannot be deleted directly via the port API: has device owner {}.",
                str_of(&port, "device_owner")
            );
            return Err(errors::neutron(409, "ServicePortInUse", message));
        }
        self.drop_port(id, ask.now);
        // the server that held it stays, without an address
        for server in self.world.servers.values_mut() {
            server.addresses.retain(|address| address.port != id);
            server.nics.retain(|nic| nic.port.as_deref() != Some(id));
        }
        Ok(Said::empty(204))
    }

    fn check_groups(&self, port: &Object, project: &str) -> Result<(), Refusal> {
        let groups = port.get("security_groups").and_then(Value::as_array);
        for id in groups.into_iter().flatten().filter_map(Value::as_str) {
            self.seen(Kind::SecurityGroup, id, project)?;
        }
        Ok(())
    }
}

/// `If-Match: revision_number=N` must name the revision there is.
fn refuse_stale(ask: &Ask, port: &Object) -> Result<(), Refusal> {
    let Some(wanted) = ask
        .header("if-match")
        .and_then(|text| text.strip_prefix("revision_number="))
    else {
        return Ok(());
    };
    let revision = port
        .get("revision_number")
        .and_then(Value::as_u64)
        .unwrap_or_default()
        .to_string();
    if wanted.trim() == revision {
        return Ok(());
    }
    let message = format!("Constrained to {wanted}, but current revision is {revision}");
    Err(errors::neutron(
        412,
        "RevisionNumberConstraintFailed",
        message,
    ))
}

fn port_body(ask: &Ask) -> Result<Object, Refusal> {
    let body = ask.json();
    let wanted = body
        .as_ref()
        .and_then(|body| body.get("port"))
        .and_then(Value::as_object);
    let cannot = || match ask.method {
        &Method::POST | &Method::PUT if body.is_none() => bad(
            "The server could not comply with the request since it is either malformed or otherwise incorrect.",
        ),
        _ => bad("Unable to find 'port' in request body"),
    };
    wanted.cloned().ok_or_else(cannot)
}

fn check(wanted: &Object) -> Result<(), Refusal> {
    let unknown: Vec<&str> = wanted
        .keys()
        .map(String::as_str)
        .filter(|key| !WRITABLE.contains(key))
        .collect();
    if !unknown.is_empty() {
        return Err(bad(&format!(
            "Unrecognized attribute(s) '{}'",
            unknown.join(", ")
        )));
    }
    if let Some(groups) = wanted.get("security_groups") {
        let list = groups.as_array().ok_or_else(|| {
            bad(&format!(
                "Invalid input for security_groups. Reason: {} is not a list.",
                repr(groups)
            ))
        })?;
        if let Some(odd) = list.iter().find(|id| !id.as_str().is_some_and(is_uuid)) {
            return Err(not_uuid("security_groups", odd));
        }
    }
    let lists = ["fixed_ips", "allowed_address_pairs", "tags"];
    let odd = lists
        .iter()
        .find(|name| wanted.get(**name).is_some_and(|value| !value.is_array()));
    match odd {
        None => Ok(()),
        Some(name) => Err(bad(&format!(
            "Invalid input for {name}. Reason: not a list."
        ))),
    }
}

fn write(port: &mut Object, wanted: &Object, tags: bool) {
    let skip = [
        "network_id",
        "fixed_ips",
        "tenant_id",
        "project_id",
        "binding:host_id",
        "binding:profile",
    ];
    for (member, value) in wanted {
        if skip.contains(&member.as_str())
            || (member == "tags" && !tags)
            || !port.contains_key(member)
        {
            continue;
        }
        port.insert(member.clone(), value.clone());
    }
    let mac = str_of(port, "mac_address").to_owned();
    let pairs = port
        .get_mut("allowed_address_pairs")
        .and_then(Value::as_array_mut);
    for pair in pairs.into_iter().flatten().filter_map(Value::as_object_mut) {
        pair.entry("mac_address").or_insert_with(|| json!(mac));
    }
}

fn bad(message: &str) -> Refusal {
    errors::neutron(400, "HTTPBadRequest", message)
}

fn not_uuid(member: &str, value: &Value) -> Refusal {
    bad(&format!(
        "Invalid input for {member}. Reason: {} is not a valid UUID.",
        repr(value)
    ))
}
