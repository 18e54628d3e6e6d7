//! Which host takes a server, or why does none?

use super::super::OpenStack;
use super::super::quota::Usage;
use super::super::world::{Fate, Host, Server};

pub(super) enum Placed {
    On {
        host: String,
        zone: String,
    },
    /// Nowhere, with the code and the words of the fault.
    Nowhere {
        code: u16,
        message: String,
    },
}

const NOTHING_FITS: &str = "No valid host was found. ";
const ALL_FILTERED: &str = "No valid host was found. There are not enough hosts available.";

impl OpenStack {
    /// The quota is looked at again, now that the server counts itself.
    pub(super) fn place(&self, server: &Server) -> Placed {
        let nowhere = |code, message: &str| Placed::Nowhere {
            code,
            message: message.to_owned(),
        };
        let asked = Usage {
            instances: 1,
            cores: i64::from(server.flavor.vcpus),
            ram: i64::try_from(server.flavor.ram).unwrap_or(i64::MAX),
        };
        if let Some(message) = self.over_quota(&server.project, asked) {
            return nowhere(413, &message);
        }
        if server.fates.contains(&Fate::NoValidHost) {
            return nowhere(500, NOTHING_FITS);
        }
        let zone = server
            .zone_asked
            .as_deref()
            .or(self.world.default_zone.as_deref());
        let zone = zone.map(|zone| zone.split(':').next().unwrap_or_default());
        let hosts = self.world.hosts.iter();
        let hosts = hosts.filter(|host| zone.is_none_or(|zone| zone == host.zone));
        let roomy: Vec<(&Host, u64, u64)> = hosts
            .map(|host| {
                let (cpus, ram) = self.free(host);
                (host, cpus, ram)
            })
            .filter(|(_, cpus, ram)| {
                *cpus >= u64::from(server.flavor.vcpus) && *ram >= server.flavor.ram
            })
            .collect();
        if roomy.is_empty() {
            return nowhere(500, NOTHING_FITS);
        }
        let allowed = roomy
            .into_iter()
            .filter(|(host, ..)| self.group_allows(server, &host.name));
        let best = allowed.max_by(|(one, cpus1, ram1), (two, cpus2, ram2)| {
            (cpus1, ram1)
                .cmp(&(cpus2, ram2))
                .then_with(|| two.name.cmp(&one.name))
        });
        match best {
            None => nowhere(500, ALL_FILTERED),
            Some((host, ..)) => Placed::On {
                host: host.name.clone(),
                zone: host.zone.clone(),
            },
        }
    }

    fn free(&self, host: &Host) -> (u64, u64) {
        let servers = self.world.servers.values();
        let here = servers
            .filter(|server| server.host.as_deref() == Some(&host.name) && server.phase.is_alive());
        let (cpus, ram) = here.fold((0, 0), |(cpus, ram), server| {
            (
                cpus + u64::from(server.flavor.vcpus),
                ram + server.flavor.ram,
            )
        });
        (
            host.vcpus.saturating_sub(cpus),
            host.ram.saturating_sub(ram),
        )
    }

    fn group_allows(&self, server: &Server, host: &str) -> bool {
        let group = self
            .world
            .groups
            .iter()
            .find(|group| server.group.as_deref() == Some(&group.id));
        let Some(group) = group else { return true };
        let servers = self.world.servers.values();
        let mates: Vec<&Server> = servers
            .filter(|mate| {
                mate.group == server.group
                    && mate.id != server.id
                    && mate.phase.is_alive()
                    && mate.host.is_some()
            })
            .collect();
        let here = mates
            .iter()
            .filter(|mate| mate.host.as_deref() == Some(host))
            .count();
        match group.policy.as_str() {
            "anti-affinity" => here < usize::try_from(group.max_per_host.unwrap_or(1)).unwrap_or(1),
            "affinity" => mates.is_empty() || here > 0,
            _ => true,
        }
    }
}
