//! What happens to a server by itself, as time passes?

use std::time::Duration;

use jiff::Timestamp;

use super::super::OpenStack;
use super::super::world::{Fate, Flavor, Phase, Trouble};
use super::place::Placed;
use crate::machine::{Boot, Effect, Size};

/// From a host to `ACTIVE`: claimed, networking, mapping, spawning.
const STEPS: u64 = 4;

/// Servers of the past.
const REMEMBERED: usize = 10_000;

impl OpenStack {
    /// Everything that is due happens, in order, each at its own time.
    pub(in super::super) fn elapse(&mut self, now: Timestamp) {
        while let Some((at, id)) = self.world.agenda.first().cloned() {
            if at > now {
                return;
            }
            self.world.agenda.pop_first();
            self.step(&id, at);
        }
    }

    /// The next step of this server comes `ms` later, and no other.
    pub(super) fn after(&mut self, id: &str, now: Timestamp, ms: u64) {
        self.world.agenda.retain(|(_, due)| due != id);
        let at = now.checked_add(Duration::from_millis(ms)).unwrap_or(now);
        self.world.agenda.insert((at, id.to_owned()));
    }

    fn step(&mut self, id: &str, at: Timestamp) {
        let Some(server) = self.world.servers.get(id) else {
            return;
        };
        let gap = self
            .settings
            .build_ms
            .saturating_sub(self.settings.schedule_ms)
            / STEPS;
        if server.deleting && server.phase.is_alive() {
            return self.finish_delete(id, at);
        }
        match server.phase {
            Phase::Scheduling => self.leave_scheduling(id, at, gap),
            Phase::Claimed => self.enter(id, at, Phase::Networking, gap),
            Phase::Networking => self.leave_networking(id, at, gap),
            Phase::Mapping => {
                let stuck = server.fates.contains(&Fate::StuckBuild);
                self.enter(id, at, Phase::Spawning, gap);
                if stuck {
                    self.world.agenda.retain(|(_, due)| due != id);
                }
            }
            Phase::Spawning => self.leave_spawning(id, at),
            Phase::Rebooting => {
                self.turn(id, at, Phase::Active);
                self.boot(id);
            }
            Phase::SoftDeleted => self.finish_delete(id, at),
            Phase::Deleted => self.turn(id, at, Phase::Gone),
            Phase::Active | Phase::Stopped | Phase::Error | Phase::Gone => {}
        }
    }

    fn enter(&mut self, id: &str, at: Timestamp, phase: Phase, gap: u64) {
        self.turn(id, at, phase);
        self.after(id, at, gap);
    }

    pub(super) fn turn(&mut self, id: &str, at: Timestamp, phase: Phase) {
        let Some(server) = self.world.servers.get_mut(id) else {
            return;
        };
        let before = std::mem::replace(&mut server.phase, phase);
        server.updated = at;
        if phase == Phase::Active && server.launched.is_none() {
            server.launched = Some(at);
        }
        let change = format!("{before:?} -> {phase:?}");
        self.journal
            .change(at, ("server", id, &server.name), change);
        if phase == Phase::Gone {
            self.bury(id);
        }
    }

    /// What is remembered of a server is small, and not for ever.
    fn bury(&mut self, id: &str) {
        if let Some(mut server) = self.world.servers.remove(id) {
            server.user_data = None;
            server.console = String::new();
            self.world.past.insert(id.to_owned(), server);
        }
        if self.world.past.len() > REMEMBERED {
            let oldest = self.world.past.values().min_by_key(|server| server.seq);
            if let Some(oldest) = oldest.map(|server| server.id.clone()) {
                self.world.past.remove(&oldest);
            }
        }
    }

    fn leave_scheduling(&mut self, id: &str, at: Timestamp, gap: u64) {
        let Some(server) = self.world.servers.get(id) else {
            return;
        };
        let default = self.world.default_zone.clone();
        match self.place(server) {
            Placed::On { host, zone } => {
                if let Some(server) = self.world.servers.get_mut(id) {
                    server.host = Some(host);
                    server.zone = zone;
                }
                self.enter(id, at, Phase::Claimed, gap);
            }
            Placed::Nowhere { code, message } => {
                if let Some(server) = self.world.servers.get_mut(id)
                    && server.zone.is_empty()
                {
                    server.zone = default.unwrap_or_default();
                }
                self.fail(
                    id,
                    at,
                    Trouble {
                        code,
                        created: at,
                        message,
                        hidden_in_lists: true,
                    },
                );
            }
        }
    }

    fn leave_networking(&mut self, id: &str, at: Timestamp, gap: u64) {
        if self.plug(id, at) {
            return self.enter(id, at, Phase::Mapping, gap);
        }
        self.abort(
            id,
            at,
            "Failed to allocate the network(s), not rescheduling.",
        );
    }

    fn leave_spawning(&mut self, id: &str, at: Timestamp) {
        let Some(server) = self.world.servers.get(id) else {
            return;
        };
        let mut hosts = self.world.hosts.iter();
        let host = hosts.find(|host| Some(&host.name) == server.host.as_ref());
        let broken = host.and_then(|host| host.broken.clone());
        let scripted = server.fates.contains(&Fate::ErrorAfterBuild);
        let why = broken
            .or_else(|| scripted.then(|| "Failed to build and run instance (scripted)".to_owned()));
        if let Some(why) = why {
            return self.abort(id, at, &why);
        }
        self.turn(id, at, Phase::Active);
        self.light_ports(id, at);
        self.boot(id);
    }

    /// The host gives up: host and zone are forgotten, ports of Nova's making go.
    fn abort(&mut self, id: &str, at: Timestamp, why: &str) {
        self.unplug(id, at);
        if let Some(server) = self.world.servers.get_mut(id) {
            server.host = None;
            server.zone = String::new();
            server
                .volumes
                .retain(|volume| !volume.delete_on_termination);
        }
        let message = format!("Build of instance {id} aborted: {why}");
        self.fail(
            id,
            at,
            Trouble {
                code: 500,
                created: at,
                message,
                hidden_in_lists: false,
            },
        );
    }

    fn fail(&mut self, id: &str, at: Timestamp, trouble: Trouble) {
        if let Some(server) = self.world.servers.get_mut(id) {
            server.trouble = Some(trouble);
        }
        self.turn(id, at, Phase::Error);
    }

    pub(super) fn boot(&mut self, id: &str) {
        let region = self.world.region.clone();
        let Some(server) = self.world.servers.get_mut(id) else {
            return;
        };
        server
            .console
            .push_str("[    0.000000] Booting the emulated machine\n");
        if server.fates.contains(&Fate::NeverJoins) {
            server.console.push_str(
                "[    9.000000] no network: waiting for a link on eth0 (scripted: never joins)\n",
            );
            return;
        }
        self.effects.push(Effect::Boot(Boot {
            machine: server.id.clone(),
            hostname: server.hostname.clone(),
            zone: server.zone.clone(),
            region,
            user_data: server.user_data.clone(),
            size: Size {
                cpus: server.flavor.vcpus,
                memory_mib: server.flavor.ram,
                disk_gib: server.flavor.disk,
                gpus: gpus(&server.flavor),
            },
        }));
    }

    pub(super) fn halt(&mut self, id: &str) {
        self.effects.push(Effect::Halt {
            machine: id.to_owned(),
        });
    }

    pub(super) fn finish_delete(&mut self, id: &str, at: Timestamp) {
        self.halt(id);
        self.unplug(id, at);
        if let Some(server) = self.world.servers.get_mut(id) {
            server.host = None;
            server
                .volumes
                .retain(|volume| !volume.delete_on_termination);
        }
        self.turn(id, at, Phase::Deleted);
        self.after(id, at, self.settings.deleted_ms);
    }
}

/// From `pci_passthrough:alias` (`a100:1,other:2`) and `resources:VGPU`.
fn gpus(flavor: &Flavor) -> u32 {
    let spec = |name: &str| {
        flavor
            .extra_specs
            .get(name)
            .map(String::as_str)
            .unwrap_or_default()
    };
    let aliases = spec("pci_passthrough:alias").split(',');
    let cards = aliases.filter_map(|alias| alias.split_once(':')?.1.trim().parse::<u32>().ok());
    cards
        .fold(0, u32::saturating_add)
        .saturating_add(spec("resources:VGPU").parse().unwrap_or(0))
}
