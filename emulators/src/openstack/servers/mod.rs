//! What can be asked of servers, and who answers?

mod act;
mod check;
mod create;
mod devices;
mod filter;
mod labels;
mod life;
mod limits;
mod list;
mod place;
mod show;

use serde_json::{Value, json};

use super::nova::Call;
use super::wire::{Outcome, Refusal, Said, str_of};
use super::world::{Phase, Server};
use super::{OpenStack, errors};

/// A screen does not remember for ever.
const CONSOLE_BYTES: usize = 100 * 1024;

pub(super) fn trim_console(console: &mut String) {
    if console.len() > CONSOLE_BYTES {
        let mut from = console.len() - CONSOLE_BYTES;
        while !console.is_char_boundary(from) {
            from += 1;
        }
        console.drain(..from);
    }
}

impl OpenStack {
    pub(super) fn servers(&mut self, call: &Call, rest: &[&str]) -> Option<Outcome> {
        let outcome = match (call.ask.method.as_str(), rest) {
            ("GET", []) => self.list_servers(call, false),
            ("GET", ["detail"]) => self.list_servers(call, true),
            ("POST", []) => self.create_servers(call),
            ("GET", [id]) => self.one_server(call, id),
            ("PUT", [id]) => self.rename(call, id),
            ("DELETE", [id]) => self.delete_server(call, id),
            ("POST", [id, "action"]) => self.act(call, id),
            (_, [id, "tags", rest @ ..]) if call.version >= 26 => return self.tags(call, id, rest),
            (_, [id, "metadata", rest @ ..]) => return self.metadata(call, id, rest),
            ("GET", [id, part]) => return self.server_part(call, id, part),
            _ => return None,
        };
        Some(outcome)
    }

    /// A server of the caller's project that still answers.
    fn own_server(&self, call: &Call, id: &str) -> Result<&Server, Refusal> {
        let found = self.world.servers.get(id).filter(|server| {
            server.project == call.caller.project() && server.phase != Phase::Gone
        });
        found.ok_or_else(|| not_found(id))
    }

    fn one_server(&self, call: &Call, id: &str) -> Outcome {
        let server = self.own_server(call, id)?;
        if self.settings.cell_down {
            if call.version < 69 {
                let message = "Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and attach the Nova API log if possible.\n<class 'nova.exception.NovaException'>";
                return Err(errors::nova(500, message));
            }
            return Ok(Said::json(
                200,
                json!({"server": show::unknown(call, server, true)}),
            ));
        }
        let mut shown = self.show(call, server);
        if call.version >= 71 {
            let groups: Vec<&String> = server.group.iter().collect();
            shown["server_groups"] = json!(groups);
        }
        if let Some(trouble) = &server.trouble {
            shown["fault"] = show::trouble(trouble);
        }
        Ok(Said::json(200, json!({"server": shown})))
    }

    /// The small lists below a server.
    fn server_part(&self, call: &Call, id: &str, part: &str) -> Option<Outcome> {
        // actions are remembered longer than the server
        if part == "os-instance-actions" {
            let world = &self.world;
            let known = world.servers.get(id).or_else(|| world.past.get(id));
            let own = known.filter(|server| server.project == call.caller.project());
            return Some(own.map(show::actions).ok_or_else(|| not_found(id)));
        }
        if !matches!(
            part,
            "os-interface" | "os-volume_attachments" | "os-security-groups" | "ips"
        ) {
            return None;
        }
        let server = match self.own_server(call, id) {
            Ok(server) => server,
            Err(refusal) => return Some(Err(refusal)),
        };
        let body = match part {
            "os-interface" => json!({"interfaceAttachments": self.interfaces(server)}),
            "os-volume_attachments" => {
                let attached: Vec<Value> = server
                    .volumes
                    .iter()
                    .map(|volume| {
                        json!({"id": volume.id, "volumeId": volume.id, "serverId": id, "device": "/dev/sda"})
                    })
                    .collect();
                json!({"volumeAttachments": attached})
            }
            "os-security-groups" => json!({"security_groups": self.groups_of(server)}),
            _ => json!({"addresses": show::addresses(server, false)}),
        };
        Some(Ok(Said::json(200, body)))
    }

    fn interfaces(&self, server: &Server) -> Vec<Value> {
        let ports = server
            .nics
            .iter()
            .filter_map(|nic| self.world.ports.get(nic.port.as_ref()?));
        ports
            .map(|port| {
                json!({
                    "net_id": port.get("network_id"), "port_id": port.get("id"), "mac_addr": port.get("mac_address"),
                    "port_state": port.get("status"), "fixed_ips": port.get("fixed_ips"),
                })
            })
            .collect()
    }

    /// Nova's old view of security groups, rules without Neutron's newer members.
    fn groups_of(&self, server: &Server) -> Vec<Value> {
        let shown = self.live_groups(server).into_iter().map(|group| {
            let name = str_of(group, "name");
            let project = str_of(group, "tenant_id");
            let rules = group.get("security_group_rules").and_then(Value::as_array);
            let ingress = rules.into_iter().flatten().filter(|rule| rule["direction"] == "ingress");
            let rules: Vec<Value> = ingress
                .map(|rule| {
                    json!({
                        "id": rule["id"], "parent_group_id": rule["security_group_id"],
                        "ip_protocol": rule["protocol"], "from_port": rule["port_range_min"],
                        "to_port": rule["port_range_max"], "group": {"name": name, "tenant_id": project},
                        "ip_range": {},
                    })
                })
                .collect();
            json!({
                "id": group.get("id"), "description": group.get("description"), "name": name,
                "tenant_id": project, "rules": rules,
            })
        });
        shown.collect()
    }

    fn rename(&mut self, call: &Call, id: &str) -> Outcome {
        self.own_server(call, id)?;
        let body = call.body()?;
        let wanted = body.get("server").and_then(Value::as_object);
        let wanted = wanted.ok_or_else(|| errors::nova(400, "'server' is a required property"))?;
        if let Some(name) = wanted.get("name") {
            check::name(name)?;
        }
        if let Some(server) = self.world.servers.get_mut(id) {
            if let Some(name) = wanted.get("name").and_then(Value::as_str) {
                name.clone_into(&mut server.name);
            }
            if let Some(text) = wanted.get("description").and_then(Value::as_str) {
                server.description = Some(text.to_owned());
            }
            server.updated = call.ask.now;
        }
        let server = self.own_server(call, id)?;
        self.journal.change(
            call.ask.now,
            ("server", id, &server.name.clone()),
            "renamed".into(),
        );
        let server = self.own_server(call, id)?;
        Ok(Said::json(
            200,
            json!({"server": self.show_updated(call, server)}),
        ))
    }
}

fn not_found(id: &str) -> Refusal {
    errors::nova(404, format!("Instance {id} could not be found."))
}
