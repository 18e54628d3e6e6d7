//! What does a server look like in each microversion?

use serde_json::{Map, Value, json};

use super::super::OpenStack;
use super::super::nova::Call;
use super::super::tokens::fixed_id;
use super::super::wire::{Object, Said, seconds, str_of, zoneless};
use super::super::world::{Phase, Server, Trouble};

impl OpenStack {
    /// Without the members that only a single server has.
    pub(super) fn show(&self, call: &Call, server: &Server) -> Value {
        let mut shown = self.show_plain(call, server);
        let (state, power) = states(server);
        shown["addresses"] = addresses(server, true);
        let more = json!({
            "OS-EXT-AZ:availability_zone": server.zone,
            "config_drive": if server.config_drive { "True" } else { "" },
            "key_name": server.key_name,
            "OS-SRV-USG:launched_at": server.launched.map(zoneless),
            "OS-SRV-USG:terminated_at": null,
            "OS-EXT-STS:task_state": task(server),
            "OS-EXT-STS:vm_state": state,
            "OS-EXT-STS:power_state": power,
            "os-extended-volumes:volumes_attached": volumes(server, call.version),
        });
        if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
            shown.extend(more);
        }
        let groups = self.live_groups(server);
        if !groups.is_empty() {
            let names: Vec<Value> = groups
                .iter()
                .map(|group| json!({"name": str_of(group, "name")}))
                .collect();
            shown["security_groups"] = json!(names);
        }
        later(&mut shown, server, call.version);
        shown
    }

    /// What an update answers: addresses without the extensions, and none of their members.
    pub(super) fn show_updated(&self, call: &Call, server: &Server) -> Value {
        let mut shown = self.show_plain(call, server);
        shown["addresses"] = addresses(server, false);
        if let Value::Object(members) = &mut shown {
            members.remove("progress");
        }
        if call.version >= 75 {
            return self.show(call, server);
        }
        later(&mut shown, server, call.version.min(72));
        shown
    }

    fn show_plain(&self, call: &Call, server: &Server) -> Value {
        let bookmark = |what: &str, id: &str| json!([{"rel": "bookmark", "href": format!("{}/compute/{what}/{id}", call.ask.base)}]);
        let image = match &server.image {
            None => json!(""),
            Some(id) => json!({"id": id, "links": bookmark("images", id)}),
        };
        let flavor = if call.version >= 47 {
            let flavor = &server.flavor;
            let mut shown = json!({
                "vcpus": flavor.vcpus, "ram": flavor.ram, "disk": flavor.disk, "ephemeral": flavor.ephemeral,
                "swap": flavor.swap, "original_name": flavor.name,
            });
            if !self.settings.hide_extra_specs {
                shown["extra_specs"] = json!(flavor.extra_specs);
            }
            shown
        } else {
            json!({"id": server.flavor.id, "links": bookmark("flavors", &server.flavor.id)})
        };
        let status = status(server);
        let mut shown = json!({
            "id": server.id, "name": server.name, "status": status, "tenant_id": server.project,
            "user_id": server.user, "metadata": server.metadata, "hostId": host_id(server), "image": image,
            "flavor": flavor, "created": seconds(server.created), "updated": seconds(server.updated),
            "accessIPv4": "", "accessIPv6": "", "links": call.link(&format!("servers/{}", server.id)),
            "OS-DCF:diskConfig": "MANUAL",
        });
        if matches!(status, "ACTIVE" | "BUILD") {
            shown["progress"] = json!(0);
        }
        shown
    }

    /// Groups of the ports the server holds now, by name.
    pub(super) fn live_groups(&self, server: &Server) -> Vec<&Object> {
        let ports = server
            .nics
            .iter()
            .filter_map(|nic| self.world.ports.get(nic.port.as_ref()?));
        let held = ports.filter(|port| str_of(port, "device_id") == server.id);
        let mut groups: Vec<&Object> = held
            .flat_map(|port| {
                port.get("security_groups")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
            })
            .filter_map(|id| self.world.security_groups.get(id.as_str()?))
            .collect();
        groups.sort_by_key(|group| str_of(group, "name"));
        groups.dedup_by_key(|group| str_of(group, "id"));
        groups
    }
}

/// Members that came with later microversions.
fn later(shown: &mut Value, server: &Server, version: u32) {
    let members = [
        (9, "locked", json!(server.locked)),
        (19, "description", json!(server.description)),
        (26, "tags", json!(server.tags)),
        (63, "trusted_image_certificates", Value::Null),
        (73, "locked_reason", Value::Null),
        (90, "OS-EXT-SRV-ATTR:hostname", json!(server.hostname)),
        (96, "pinned_availability_zone", json!(server.zone_asked)),
    ];
    for (since, name, value) in members {
        if version >= since {
            shown[name] = value;
        }
    }
}

/// A server whose cell does not answer.
pub(super) fn unknown(call: &Call, server: &Server, alone: bool) -> Value {
    let mut shown = json!({
        "id": server.id, "status": "UNKNOWN", "tenant_id": server.project, "created": seconds(server.created),
        "links": call.link(&format!("servers/{}", server.id)),
    });
    if alone {
        shown["user_id"] = json!(server.user);
        shown["OS-EXT-AZ:availability_zone"] = json!("UNKNOWN");
        shown["OS-EXT-STS:power_state"] = json!(0);
    }
    shown
}

pub(super) fn trouble(trouble: &Trouble) -> Value {
    json!({"code": trouble.code, "created": seconds(trouble.created), "message": trouble.message})
}

pub(super) fn status(server: &Server) -> &'static str {
    match server.phase {
        phase if phase.is_build() => "BUILD",
        Phase::Rebooting => "REBOOT",
        Phase::Stopped => "SHUTOFF",
        Phase::Error => "ERROR",
        Phase::SoftDeleted => "SOFT_DELETED",
        Phase::Deleted | Phase::Gone => "DELETED",
        _ => "ACTIVE",
    }
}

pub(super) fn task(server: &Server) -> Option<&'static str> {
    match server.phase {
        Phase::Deleted | Phase::Gone | Phase::SoftDeleted => None,
        _ if server.deleting => Some("deleting"),
        Phase::Scheduling => Some("scheduling"),
        Phase::Networking => Some("networking"),
        Phase::Mapping => Some("block_device_mapping"),
        Phase::Spawning => Some("spawning"),
        Phase::Rebooting => Some("rebooting"),
        Phase::Claimed | Phase::Active | Phase::Stopped | Phase::Error => None,
    }
}

/// `vm_state` and `power_state`.
pub(super) fn states(server: &Server) -> (&'static str, u8) {
    match server.phase {
        phase if phase.is_build() => ("building", 0),
        Phase::Stopped => ("stopped", 4),
        Phase::Error => ("error", 0),
        Phase::SoftDeleted => ("soft-delete", 4),
        Phase::Deleted | Phase::Gone => ("deleted", 0),
        _ => ("active", 1),
    }
}

pub(super) fn addresses(server: &Server, extended: bool) -> Value {
    let mut networks = Map::new();
    for address in &server.addresses {
        let mut shown = json!({"version": if address.addr.contains(':') { 6 } else { 4 }, "addr": address.addr});
        if extended {
            shown["OS-EXT-IPS:type"] = json!("fixed");
            shown["OS-EXT-IPS-MAC:mac_addr"] = json!(address.mac);
        }
        let list = networks
            .entry(address.network.clone())
            .or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(shown);
        }
    }
    Value::Object(networks)
}

pub(super) fn actions(server: &Server) -> Said {
    let shown: Vec<Value> = server
        .actions
        .iter()
        .rev()
        .map(|action| {
            json!({
                "action": action.action, "instance_uuid": server.id, "request_id": action.request_id,
                "user_id": server.user, "project_id": server.project, "start_time": zoneless(action.at),
                "message": null,
            })
        })
        .collect();
    Said::json(200, json!({"instanceActions": shown}))
}

fn volumes(server: &Server, version: u32) -> Value {
    let shown = server.volumes.iter().map(|volume| {
        let mut shown = json!({"id": volume.id});
        if version >= 3 {
            shown["delete_on_termination"] = json!(volume.delete_on_termination);
        }
        shown
    });
    shown.collect()
}

/// A hash of host and project: equal means the same hypervisor.
fn host_id(server: &Server) -> String {
    let Some(host) = &server.host else {
        return String::new();
    };
    let text = format!("{}{host}", server.project);
    let mut id = fixed_id(&text) + &fixed_id(&format!("{text}+"));
    id.truncate(56);
    id
}
