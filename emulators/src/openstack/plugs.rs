//! How does a port come into the world with an address, and how does Nova give it to a server?

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::neutron::revise;
use super::wire::{Object, Refusal, seconds, str_of};
use super::world::{Address, Server};
use super::{OpenStack, errors};

/// All that a new port is made from.
pub(super) struct Wish<'a> {
    pub network: &'a str,
    pub project: &'a str,
    pub fixed_ip: Option<&'a str>,
    pub mac: Option<&'a str>,
}

impl OpenStack {
    pub(super) fn new_port(&mut self, wish: &Wish, now: Timestamp) -> Result<Object, Refusal> {
        let mac = match wish.mac {
            None => self.dice.mac(),
            Some(mac) => {
                let mut ports = self.world.ports.values();
                if ports.any(|port| {
                    str_of(port, "mac_address") == mac && str_of(port, "network_id") == wish.network
                }) {
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
    fn allocate(&self, wish: &Wish) -> Result<Vec<Value>, Refusal> {
        let subnet = self
            .world
            .subnets
            .values()
            .find(|subnet| str_of(subnet, "network_id") == wish.network);
        let Some(subnet) = subnet else {
            return Ok(Vec::new());
        };
        let ports = self.world.ports.values();
        let taken: BTreeSet<&str> = ports
            .flat_map(|port| {
                port.get("fixed_ips")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
            })
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
            None => pool(subnet)
                .find(|free| !taken.contains(free.as_str()))
                .ok_or_else(|| {
                    let message = format!(
                        "No more IP addresses available on network {}.",
                        wish.network
                    );
                    errors::neutron(409, "IpAddressGenerationFailure", message)
                })?,
        };
        Ok(vec![
            json!({"subnet_id": str_of(subnet, "id"), "ip_address": address}),
        ])
    }

    pub(super) fn shelve(&mut self, port: Object, now: Timestamp) {
        let id = str_of(&port, "id").to_owned();
        self.journal
            .change(now, ("port", &id, str_of(&port, "name")), "created".into());
        self.world.ports.insert(id, port);
    }

    pub(super) fn drop_port(&mut self, id: &str, now: Timestamp) {
        if let Some(port) = self.world.ports.remove(id) {
            self.journal
                .change(now, ("port", id, str_of(&port, "name")), "deleted".into());
        }
    }

    /// Gives a server its ports. `false`: one of them belongs to another, or there is no address left.
    pub(super) fn plug(&mut self, id: &str, now: Timestamp) -> bool {
        let Some(mut server) = self.world.servers.get(id).cloned() else {
            return false;
        };
        let mut good = true;
        for nic in &mut server.nics {
            if nic.port.is_none() {
                let wish = Wish {
                    network: &nic.network,
                    project: &server.project,
                    fixed_ip: nic.fixed_ip.as_deref(),
                    mac: None,
                };
                let Ok(mut port) = self.new_port(&wish, now) else {
                    good = false;
                    break;
                };
                port.insert("security_groups".to_owned(), json!(server.security_groups));
                nic.port = Some(str_of(&port, "id").to_owned());
                self.shelve(port, now);
            }
            let port = nic
                .port
                .as_ref()
                .and_then(|port| self.world.ports.get_mut(port));
            let Some(port) = port else {
                good = false;
                break;
            };
            if !str_of(port, "device_id").is_empty() {
                good = false;
                break;
            }
            port.insert("device_id".to_owned(), json!(server.id));
            port.insert(
                "device_owner".to_owned(),
                json!(format!("compute:{}", server.zone)),
            );
            revise(port, now);
        }
        self.world.servers.insert(id.to_owned(), server);
        good
    }

    /// The server runs: its ports are up, and Nova learns their addresses.
    pub(super) fn light_ports(&mut self, id: &str, now: Timestamp) {
        let Some(server) = self.world.servers.get(id) else {
            return;
        };
        let ids: Vec<String> = server
            .nics
            .iter()
            .filter_map(|nic| nic.port.clone())
            .collect();
        let mut addresses = Vec::new();
        for port_id in ids {
            let Some(port) = self.world.ports.get_mut(&port_id) else {
                continue;
            };
            if str_of(port, "device_id") == id {
                port.insert("status".to_owned(), json!("ACTIVE"));
                revise(port, now);
            }
            let network = self.world.networks.get(str_of(port, "network_id"));
            let network = network
                .map_or("", |network| str_of(network, "name"))
                .to_owned();
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
        let Some(server) = self.world.servers.get(id) else {
            return;
        };
        let ports: Vec<(String, bool)> = server
            .nics
            .iter()
            .filter_map(|nic| Some((nic.port.clone()?, nic.ours)))
            .collect();
        for (port_id, ours) in ports {
            if ours {
                self.drop_port(&port_id, now);
                continue;
            }
            let Some(port) = self.world.ports.get_mut(&port_id) else {
                continue;
            };
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

/// Every address of the subnet's first pool.
fn pool(subnet: &Object) -> impl Iterator<Item = String> {
    let pool = subnet
        .get("allocation_pools")
        .and_then(Value::as_array)
        .and_then(|pools| pools.first());
    let end = |name: &str| -> u32 {
        let text = pool
            .and_then(|pool| pool.get(name))
            .and_then(Value::as_str)
            .unwrap_or_default();
        text.parse::<Ipv4Addr>().map(u32::from).unwrap_or_default()
    };
    (end("start")..=end("end"))
        .filter(|address| *address != 0)
        .map(|address| Ipv4Addr::from(address).to_string())
}
