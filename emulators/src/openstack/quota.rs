//! How much may a project use, and how much does it?

use serde_json::{Value, json};

use super::nova::{Call, denied};
use super::wire::{Outcome, Refusal, Said};
use super::world::{Phase, Quota};
use super::{OpenStack, errors};

/// Instances, cores and MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub instances: i64,
    pub cores: i64,
    pub ram: i64,
}

const UNLIMITED: Quota = Quota {
    instances: -1,
    cores: -1,
    ram: -1,
    server_groups: -1,
    server_group_members: -1,
    ports: -1,
};

impl OpenStack {
    pub(super) fn quota(&self, project: &str) -> Quota {
        self.world
            .project(project)
            .map_or(UNLIMITED, |project| project.quota)
    }

    /// A server that has not reached a cell yet is not counted: that is how a burst gets past the quota.
    pub(super) fn usage(&self, project: &str) -> Usage {
        let mut usage = Usage::default();
        let servers = self.world.servers.values();
        let counted = servers.filter(|server| {
            server.project == project
                && server.phase.is_alive()
                && server.phase != Phase::Scheduling
        });
        for server in counted {
            usage.instances += 1;
            usage.cores += i64::from(server.flavor.vcpus);
            usage.ram += i64::try_from(server.flavor.ram).unwrap_or(i64::MAX);
        }
        usage
    }

    pub(super) fn limits(&self, call: &Call) -> Outcome {
        call.refuse_unknown(&["tenant_id"])?;
        let quota = self.quota(call.caller.project());
        let used = self.usage(call.caller.project());
        let groups = self.world.groups.iter();
        let groups = groups
            .filter(|group| group.project == call.caller.project())
            .count();
        let mut absolute = json!({
            "maxTotalInstances": quota.instances, "maxTotalCores": quota.cores, "maxTotalRAMSize": quota.ram,
            "maxServerMeta": 128, "maxTotalKeypairs": 100, "maxServerGroups": quota.server_groups,
            "maxServerGroupMembers": quota.server_group_members, "totalRAMUsed": used.ram,
            "totalCoresUsed": used.cores, "totalInstancesUsed": used.instances, "totalServerGroupsUsed": groups,
        });
        if call.version < 36 {
            for (name, value) in [
                ("maxTotalFloatingIps", -1),
                ("maxSecurityGroups", -1),
                ("maxSecurityGroupRules", -1),
                ("totalFloatingIpsUsed", 0),
                ("totalSecurityGroupsUsed", 0),
            ] {
                absolute[name] = json!(value);
            }
        }
        if call.version < 39 {
            absolute["maxImageMeta"] = json!(128);
        }
        if call.version < 57 {
            absolute["maxPersonality"] = json!(5);
            absolute["maxPersonalitySize"] = json!(10240);
        }
        Ok(Said::json(
            200,
            json!({"limits": {"rate": [], "absolute": absolute}}),
        ))
    }

    pub(super) fn quota_set(&self, call: &Call, project: &str, detail: bool) -> Outcome {
        if project != call.caller.project() {
            return Err(denied("os-quota-sets:show"));
        }
        let (quota, used) = (self.quota(project), self.usage(project));
        let groups = self
            .world
            .groups
            .iter()
            .filter(|group| group.project == project)
            .count();
        let mut rows = vec![
            ("cores", quota.cores, used.cores),
            ("instances", quota.instances, used.instances),
            ("key_pairs", 100, 0),
            ("metadata_items", 128, 0),
            ("ram", quota.ram, used.ram),
            ("server_group_members", quota.server_group_members, 0),
            (
                "server_groups",
                quota.server_groups,
                i64::try_from(groups).unwrap_or_default(),
            ),
        ];
        if call.version < 36 {
            let proxied = [
                "fixed_ips",
                "floating_ips",
                "security_group_rules",
                "security_groups",
            ];
            rows.extend(proxied.map(|name| (name, -1, 0)));
        }
        if call.version < 57 {
            rows.extend([
                ("injected_file_content_bytes", 10240, 0),
                ("injected_file_path_bytes", 255, 0),
                ("injected_files", 5, 0),
            ]);
        }
        let mut set = json!({"id": project});
        for (name, limit, in_use) in rows {
            set[name] = if detail {
                json!({"limit": limit, "in_use": in_use, "reserved": 0})
            } else {
                json!(limit)
            };
        }
        Ok(Said::json(200, json!({"quota_set": set})))
    }

    /// Nova's words if `asked` does not fit beside what is used.
    pub(super) fn over_quota(&self, project: &str, asked: Usage) -> Option<String> {
        let (quota, used) = (self.quota(project), self.usage(project));
        let rows = [
            ("cores", asked.cores, used.cores, quota.cores),
            (
                "instances",
                asked.instances,
                used.instances,
                quota.instances,
            ),
            ("ram", asked.ram, used.ram, quota.ram),
        ];
        let over: Vec<_> = rows
            .into_iter()
            .filter(|(_, asked, used, limit)| *limit >= 0 && used + asked > *limit)
            .collect();
        if over.is_empty() {
            return None;
        }
        let join = |pick: fn(&(&str, i64, i64, i64)) -> String| {
            over.iter().map(pick).collect::<Vec<_>>().join(", ")
        };
        let names = join(|row| row.0.to_owned());
        Some(format!(
            "Quota exceeded for {names}: Requested {}, but already used {} of {} {names}",
            join(|row| row.1.to_string()),
            join(|row| row.2.to_string()),
            join(|row| row.3.to_string()),
        ))
    }

    pub(super) fn refuse_over_quota(&self, project: &str, asked: Usage) -> Result<(), Refusal> {
        match self.over_quota(project, asked) {
            None => Ok(()),
            Some(message) => Err(errors::nova(403, message)),
        }
    }

    pub(super) fn network_quota(&self, project: &str, detail: bool) -> Value {
        let count = |shelf: &super::world::Shelf| {
            shelf
                .values()
                .filter(|object| super::wire::str_of(object, "project_id") == project)
                .count()
        };
        let rows = [
            ("network", 100, count(&self.world.networks)),
            ("subnet", 100, count(&self.world.subnets)),
            ("subnetpool", -1, 0),
            ("port", self.quota(project).ports, count(&self.world.ports)),
            ("router", 10, count(&self.world.routers)),
            ("floatingip", 50, 0),
            ("rbac_policy", 10, 0),
            ("security_group", 10, count(&self.world.security_groups)),
            ("security_group_rule", 100, 0),
        ];
        let mut quota = json!({});
        for (name, limit, used) in rows {
            quota[name] = if detail {
                json!({"limit": limit, "used": used, "reserved": 0})
            } else {
                json!(limit)
            };
        }
        json!({"quota": quota})
    }
}
