//! Which servers want to be together, or apart?

use serde_json::{Value, json};

use super::nova::Call;
use super::wire::{Outcome, Refusal, Said, str_of};
use super::world::ServerGroup;
use super::{OpenStack, errors};

const POLICIES: &[&str] = &[
    "affinity",
    "anti-affinity",
    "soft-affinity",
    "soft-anti-affinity",
];

impl OpenStack {
    pub(super) fn server_groups(&mut self, call: &Call, rest: &[&str]) -> Option<Outcome> {
        let outcome = match (call.ask.method.as_str(), rest) {
            ("GET", []) => Ok(self.list_groups(call)),
            ("POST", []) => self.make_group(call),
            ("GET", [id]) => {
                let found = self.own_group(call, id);
                found.map(|group| {
                    Said::json(200, json!({"server_group": self.show_group(call, group)}))
                })
            }
            ("DELETE", [id]) => {
                if let Err(refusal) = self.own_group(call, id) {
                    Err(refusal)
                } else {
                    self.world.groups.retain(|group| group.id != *id);
                    Ok(Said::blank(204, "application/json"))
                }
            }
            _ => return None,
        };
        Some(outcome)
    }

    fn own_group(&self, call: &Call, id: &str) -> Result<&ServerGroup, Refusal> {
        let mut groups = self.world.groups.iter();
        let found = groups.find(|group| group.id == id && group.project == call.caller.project());
        found.ok_or_else(|| errors::nova(404, format!("Instance group {id} could not be found.")))
    }

    fn list_groups(&self, call: &Call) -> Said {
        let groups = self.world.groups.iter();
        let shown: Vec<Value> = groups
            .filter(|group| group.project == call.caller.project())
            .map(|group| self.show_group(call, group))
            .collect();
        Said::json(200, json!({"server_groups": shown}))
    }

    fn show_group(&self, call: &Call, group: &ServerGroup) -> Value {
        let servers = self.world.servers.values();
        let members: Vec<&str> = servers
            .filter(|server| server.group.as_deref() == Some(&group.id) && server.phase.is_alive())
            .map(|server| server.id.as_str())
            .collect();
        let mut shown = json!({"id": group.id, "name": group.name, "members": members});
        if call.version >= 64 {
            let rules = group
                .max_per_host
                .map(|most| json!({"max_server_per_host": most}));
            shown["policy"] = json!(group.policy);
            shown["rules"] = rules.unwrap_or_else(|| json!({}));
        } else {
            shown["policies"] = json!([group.policy]);
            shown["metadata"] = json!({});
        }
        if call.version >= 13 {
            shown["project_id"] = json!(group.project);
            shown["user_id"] = json!(group.user);
        }
        shown
    }

    fn make_group(&mut self, call: &Call) -> Outcome {
        let body = call.body()?;
        let wanted = body.get("server_group").and_then(Value::as_object);
        let wanted =
            wanted.ok_or_else(|| errors::nova(400, "'server_group' is a required property"))?;
        let policy = if call.version >= 64 {
            wanted.get("policy").and_then(Value::as_str)
        } else {
            let policies = wanted.get("policies").and_then(Value::as_array);
            policies
                .and_then(|list| list.first())
                .and_then(Value::as_str)
        };
        let name = str_of(wanted, "name");
        let policy = policy.filter(|policy| POLICIES.contains(policy) && !name.is_empty());
        let policy = policy.ok_or_else(|| {
            let shown = super::wire::repr(&Value::Object(wanted.clone()));
            let missing = if name.is_empty() { "name" } else { "policy" };
            let message = format!(
                "Invalid input for field/attribute server_group. Value: {shown}. '{missing}' is a required property"
            );
            errors::nova(400, message)
        })?;
        let project = call.caller.project().to_owned();
        let owned = self
            .world
            .groups
            .iter()
            .filter(|group| group.project == project)
            .count();
        let limit = self.quota(&project).server_groups;
        if limit >= 0 && i64::try_from(owned).unwrap_or(i64::MAX) >= limit {
            return Err(errors::nova(403, "Quota exceeded, too many server groups."));
        }
        let rules = wanted
            .get("rules")
            .and_then(|rules| rules.get("max_server_per_host"));
        let group = ServerGroup {
            id: self.dice.uuid(),
            name: name.to_owned(),
            policy: policy.to_owned(),
            max_per_host: rules.and_then(Value::as_u64),
            project,
            user: call.caller.user.clone(),
        };
        let shown = self.show_group(call, &group);
        self.journal.change(
            call.ask.now,
            ("server-group", &group.id, &group.name),
            "created".into(),
        );
        self.world.groups.push(group);
        Ok(Said::json(200, json!({"server_group": shown})))
    }
}
