//! Who makes, holds and loses a port: a user, or Nova on behalf of a server?

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::neutron::revise;
use super::shelves::Kind;
use super::tokens::Caller;
use super::wire::{Ask, Object, Outcome, Said, is_uuid, repr, seconds, str_of};
use super::world::{Address, Server};
use super::{OpenStack, errors};

/// What a member of a project may write.
const WRITABLE: &[&str] = &[
    "network_id", "name", "security_groups", "fixed_ips", "mac_address", "allowed_address_pairs",
    "port_security_enabled", "description", "admin_state_up", "device_id", "device_owner", "extra_dhcp_opts", "tags",
    "tenant_id", "project_id", "binding:vnic_type", "binding:profile", "binding:host_id", "dns_name",
    "propagate_uplink_status",
];

/// All that a new port is made from.
struct Wish<'a> {
    network: &'a str,
    project: &'a str,
    fixed_ip: Option<&'a str>,
    mac: Option<&'a str>,
}

impl OpenStack {
    pub(super) fn port_call(&mut self, ask: &Ask, caller: &Caller, method: &str, rest: &[&str]) -> Outcome {
        match (method, rest) {
            ("POST", []) => self.create_port(ask, caller),
            ("PUT", [id]) => self.update_port(ask, caller, id),
            ("DELETE", [id]) => self.delete_port(ask, caller, id),
            _ => Err(errors::neutron(404, "HTTPNotFound", "The resource could not be found.")),
        }
    }

    fn create_port(&mut self, ask: &Ask, caller: &Caller) -> Outcome {
        let wanted = port_body(ask)?;
        let Some(network) = wanted.get("network_id") else {
            return Err(bad("Failed to parse request. Required attribute 'network_id' not specified"));
        };
        check(&wanted)?;
        let network = network.as_str().filter(|id| is_uuid(id)).ok_or_else(|| not_uuid("network_id", network))?;
        self.seen(Kind::Network, network, caller.project())?;
        let owned = self.world.ports.values().filter(|port| str_of(port, "project_id") == caller.project());
        let most = self.quota(caller.project()).ports;
        if u64::try_from(most).is_ok_and(|most| owned.count() as u64 >= most) {
            return Err(errors::neutron(409, "OverQuota", "Quota exceeded for resources: ['port']."));
        }
        let fixed = wanted.get("fixed_ips").and_then(Value::as_array).and_then(|list| list.first());
        let wish = Wish {
            network,
            project: caller.project(),
            fixed_ip: fixed.and_then(|fixed| fixed.get("ip_address")).and_then(Value::as_str),
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
        self.refuse_stale(ask, &port)?;
        let wanted = port_body(ask)?;
        check(&wanted)?;
        let mut port = port;
        write(&mut port, &wanted, false);
        self.check_groups(&port, caller.project())?;
        revise(&mut port, ask.now);
        self.journal.change(ask.now, ("port", id, str_of(&port, "name")), "updated".into());
        let shown = json!({"port": port});
        self.world.ports.insert(id.to_owned(), port);
        Ok(Said::json(200, shown))
    }

    fn delete_port(&mut self, ask: &Ask, caller: &Caller, id: &str) -> Outcome {
        let port = self.seen(Kind::Port, id, caller.project())?.clone();
        self.refuse_stale(ask, &port)?;
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

    fn refuse_stale(&self, ask: &Ask, port: &Object) -> Result<(), Box<Said>> {
        let Some(wanted) = ask.header("if-match").and_then(|text| text.strip_prefix("revision_number=")) else {
            return Ok(());
        };
        let revision = port.get("revision_number").and_then(Value::as_u64).unwrap_or_default().to_string();
        if wanted.trim() == revision {
            return Ok(());
        }
        let message = format!("Constrained to {wanted}, but current revision is {revision}");
        Err(errors::neutron(412, "RevisionNumberConstraintFailed", message))
    }

    fn check_groups(&self, port: &Object, project: &str) -> Result<(), Box<Said>> {
        let groups = port.get("security_groups").and_then(Value::as_array);
        for id in groups.into_iter().flatten().filter_map(Value::as_str) {
            self.seen(Kind::SecurityGroup, id, project)?;
        }
        Ok(())
    }

    fn new_port(&mut self, wish: &Wish, now: Timestamp) -> Result<Object, Box<Said>> {
        let mac = match wish.mac {
            None => self.dice.mac(),
            Some(mac) => {
                let mut ports = self.world.ports.values();
                if ports.any(|port| str_of(port, "mac_address") == mac && str_of(port, "network_id") == wish.network) {
                    let message = format!(
                        "Unable to complete operation for network {}. The mac address {mac} is in use.",
                        wish.network
                    );
                    return Err(errors::neutron(409, "MacAddressInUse", message));
                }
                mac.to_owned()
            }
        };
        let fixed_ips = self.allocate(wish)?;
        let own = self.world.security_groups.values().find(|group| {
            str_of(group, "project_id") == wish.project && str_of(group, "name") == "default"
        });
        let groups: Vec<&str> = own.map(|group| str_of(group, "id")).into_iter().collect();
        let port = json!({
            "id": self.dice.uuid(), "name": "", "network_id": wish.network, "tenant_id": wish.project,
            "project_id": wish.project, "mac_address": mac, "admin_state_up": true, "status": "DOWN",
            "device_id": "", "device_owner": "", "fixed_ips": fixed_ips, "allowed_address_pairs": [],
            "extra_dhcp_opts": [], "security_groups": groups, "description": "", "binding:vnic_type": "normal",
            "port_security_enabled": true, "tags": [], "created_at": seconds(now), "updated_at": seconds(now),
            "revision_number": 1,
        });
        match port {
            Value::Object(port) => Ok(port),
            _ => Ok(Object::new()),
        }
    }

    /// The wanted address, or the lowest free one of the network's first subnet.
    fn allocate(&self, wish: &Wish) -> Result<Vec<Value>, Box<Said>> {
        let subnet = self.world.subnets.values().find(|subnet| str_of(subnet, "network_id") == wish.network);
        let Some(subnet) = subnet else { return Ok(Vec::new()) };
        let ports = self.world.ports.values();
        let taken: BTreeSet<&str> = ports
            .flat_map(|port| port.get("fixed_ips").and_then(Value::as_array).into_iter().flatten())
            .filter_map(|fixed| fixed["ip_address"].as_str())
            .collect();
        let address = match wish.fixed_ip {
            Some(wanted) if taken.contains(wanted) => {
                let message = format!(
                    "IP address {wanted} already allocated in subnet {}",
                    str_of(subnet, "id")
                );
                return Err(errors::neutron(409, "IpAddressAlreadyAllocated", message));
            }
            Some(wanted) => wanted.to_owned(),
            None => pool(subnet).find(|free| !taken.contains(free.as_str())).ok_or_else(|| {
                let message = format!("No more IP addresses available on network {}.", wish.network);
                errors::neutron(409, "IpAddressGenerationFailure", message)
            })?,
        };
        Ok(vec![json!({"subnet_id": str_of(subnet, "id"), "ip_address": address})])
    }

    fn shelve(&mut self, port: Object, now: Timestamp) {
        let id = str_of(&port, "id").to_owned();
        self.journal.change(now, ("port", &id, str_of(&port, "name")), "created".into());
        self.world.ports.insert(id, port);
    }

    fn drop_port(&mut self, id: &str, now: Timestamp) {
        if let Some(port) = self.world.ports.remove(id) {
            self.journal.change(now, ("port", id, str_of(&port, "name")), "deleted".into());
        }
    }

    /// Gives a server its ports. `false`: one of them belongs to another, or there is no address left.
    pub(super) fn plug(&mut self, id: &str, now: Timestamp) -> bool {
        let Some(mut server) = self.world.servers.get(id).cloned() else { return false };
        let mut good = true;
        for nic in &mut server.nics {
            if nic.port.is_none() {
                let wish = Wish {
                    network: &nic.network,
                    project: &server.project,
                    fixed_ip: nic.fixed_ip.as_deref(),
                    mac: None,
                };
                let Ok(mut port) = self.new_port(&wish, now) else { good = false; break };
                port.insert("security_groups".to_owned(), json!(server.security_groups));
                nic.port = Some(str_of(&port, "id").to_owned());
                self.shelve(port, now);
            }
            let port = nic.port.as_ref().and_then(|port| self.world.ports.get_mut(port));
            let Some(port) = port else { good = false; break };
            if !str_of(port, "device_id").is_empty() {
                good = false;
                break;
            }
            port.insert("device_id".to_owned(), json!(server.id));
            port.insert("device_owner".to_owned(), json!(format!("compute:{}", server.zone)));
            revise(port, now);
        }
        self.world.servers.insert(id.to_owned(), server);
        good
    }

    /// The server runs: its ports are up, and Nova learns their addresses.
    pub(super) fn light_ports(&mut self, id: &str, now: Timestamp) {
        let Some(server) = self.world.servers.get(id) else { return };
        let ids: Vec<String> = server.nics.iter().filter_map(|nic| nic.port.clone()).collect();
        let mut addresses = Vec::new();
        for port_id in ids {
            let Some(port) = self.world.ports.get_mut(&port_id) else { continue };
            if str_of(port, "device_id") == id {
                port.insert("status".to_owned(), json!("ACTIVE"));
                revise(port, now);
            }
            let network = self.world.networks.get(str_of(port, "network_id"));
            let network = network.map_or("", |network| str_of(network, "name")).to_owned();
            let fixed = port.get("fixed_ips").and_then(Value::as_array);
            addresses.extend(fixed.into_iter().flatten().map(|fixed| Address {
                network: network.clone(),
                port: port_id.clone(),
                addr: fixed["ip_address"].as_str().unwrap_or_default().to_owned(),
                mac: str_of(port, "mac_address").to_owned(),
            }));
        }
        if let Some(server) = self.world.servers.get_mut(id) {
            server.addresses = addresses;
        }
    }

    /// Ports that Nova made go; others are let loose, even if another server holds them by now.
    pub(super) fn unplug(&mut self, id: &str, now: Timestamp) {
        let Some(server) = self.world.servers.get(id) else { return };
        let ports: Vec<(String, bool)> =
            server.nics.iter().filter_map(|nic| Some((nic.port.clone()?, nic.ours))).collect();
        for (port_id, ours) in ports {
            if ours {
                self.drop_port(&port_id, now);
                continue;
            }
            let Some(port) = self.world.ports.get_mut(&port_id) else { continue };
            for (member, value) in [("device_id", ""), ("device_owner", ""), ("status", "DOWN")] {
                port.insert(member.to_owned(), json!(value));
            }
            revise(port, now);
        }
        if let Some(server) = self.world.servers.get_mut(id) {
            server.addresses.clear();
            forget_made(server);
        }
    }
}

fn forget_made(server: &mut Server) {
    for nic in server.nics.iter_mut().filter(|nic| nic.ours) {
        nic.port = None;
    }
}

fn port_body(ask: &Ask) -> Result<Object, Box<Said>> {
    let body = ask.json();
    let wanted = body.as_ref().and_then(|body| body.get("port")).and_then(Value::as_object);
    let cannot = || match ask.method {
        &Method::POST | &Method::PUT if body.is_none() => bad("The server could not comply with the request since it is either malformed or otherwise incorrect."),
        _ => bad("Unable to find 'port' in request body"),
    };
    wanted.cloned().ok_or_else(cannot)
}

fn check(wanted: &Object) -> Result<(), Box<Said>> {
    let unknown: Vec<&str> =
        wanted.keys().map(String::as_str).filter(|key| !WRITABLE.contains(key)).collect();
    if !unknown.is_empty() {
        return Err(bad(&format!("Unrecognized attribute(s) '{}'", unknown.join(", "))));
    }
    if let Some(groups) = wanted.get("security_groups") {
        let list = groups.as_array().ok_or_else(|| {
            bad(&format!("Invalid input for security_groups. Reason: {} is not a list.", repr(groups)))
        })?;
        if let Some(odd) = list.iter().find(|id| !id.as_str().is_some_and(is_uuid)) {
            return Err(not_uuid("security_groups", odd));
        }
    }
    let lists = ["fixed_ips", "allowed_address_pairs", "tags"];
    let odd = lists.iter().find(|name| wanted.get(**name).is_some_and(|value| !value.is_array()));
    match odd {
        None => Ok(()),
        Some(name) => Err(bad(&format!("Invalid input for {name}. Reason: not a list."))),
    }
}

fn write(port: &mut Object, wanted: &Object, tags: bool) {
    let skip = ["network_id", "fixed_ips", "tenant_id", "project_id", "binding:host_id", "binding:profile"];
    for (member, value) in wanted {
        if skip.contains(&member.as_str()) || (member == "tags" && !tags) || !port.contains_key(member) {
            continue;
        }
        port.insert(member.clone(), value.clone());
    }
    let mac = str_of(port, "mac_address").to_owned();
    let pairs = port.get_mut("allowed_address_pairs").and_then(Value::as_array_mut);
    for pair in pairs.into_iter().flatten().filter_map(Value::as_object_mut) {
        pair.entry("mac_address").or_insert_with(|| json!(mac));
    }
}

/// Every address of the subnet's first pool.
fn pool(subnet: &Object) -> impl Iterator<Item = String> {
    let pool = subnet.get("allocation_pools").and_then(Value::as_array).and_then(|pools| pools.first());
    let end = |name: &str| -> u32 {
        let text = pool.and_then(|pool| pool.get(name)).and_then(Value::as_str).unwrap_or_default();
        text.parse::<Ipv4Addr>().map(u32::from).unwrap_or_default()
    };
    (end("start")..=end("end")).filter(|address| *address != 0).map(|address| Ipv4Addr::from(address).to_string())
}

fn bad(message: &str) -> Box<Said> {
    errors::neutron(400, "HTTPBadRequest", message)
}

fn not_uuid(member: &str, value: &Value) -> Box<Said> {
    bad(&format!("Invalid input for {member}. Reason: {} is not a valid UUID.", repr(value)))
}
