//! What can be done to a server: deleted, rebooted, stopped, locked, looked at?

use serde_json::{Value, json};

use super::super::OpenStack;
use super::super::errors;
use super::super::nova::Call;
use super::super::wire::{Outcome, Refusal, Said};
use super::super::world::{Action, Fate, Phase};
use super::show;

impl OpenStack {
    pub(super) fn delete_server(&mut self, call: &Call, id: &str) -> Outcome {
        let server = self.own_server(call, id)?;
        if server.phase == Phase::Deleted {
            return Err(super::not_found(id));
        }
        if server.locked {
            return Err(errors::nova(409, format!("Instance {id} is locked")));
        }
        let gone = Said::blank(204, "application/json");
        if server.deleting || server.phase == Phase::SoftDeleted {
            return Ok(gone);
        }
        let now = call.ask.now;
        let (phase, hostless) = (server.phase, server.host.is_none());
        self.remember(call, id, "delete");
        if phase == Phase::Scheduling || (phase == Phase::Error && hostless) {
            self.unplug(id, now);
            self.turn(id, now, Phase::Gone);
            self.world.agenda.retain(|(_, due)| due != id);
            return Ok(gone);
        }
        if self.settings.soft_delete_seconds > 0 && phase == Phase::Active {
            self.halt(id);
            self.turn(id, now, Phase::SoftDeleted);
            self.after(
                id,
                now,
                self.settings.soft_delete_seconds.saturating_mul(1000),
            );
            return Ok(gone);
        }
        let hangs = call
            .ask
            .fates
            .iter()
            .any(|name| Fate::named(name) == Some(Fate::DeleteHangs));
        self.begin_delete(id, now, hangs);
        Ok(gone)
    }

    fn begin_delete(&mut self, id: &str, now: jiff::Timestamp, hangs: bool) {
        let Some(server) = self.world.servers.get_mut(id) else {
            return;
        };
        server.deleting = true;
        server.updated = now;
        let hangs = hangs || server.fates.contains(&Fate::DeleteHangs);
        self.journal
            .change(now, ("server", id, &server.name), "deleting".into());
        if hangs {
            self.world.agenda.retain(|(_, due)| due != id);
        } else {
            self.after(id, now, self.settings.delete_ms);
        }
    }

    pub(super) fn act(&mut self, call: &Call, id: &str) -> Outcome {
        let body = call.body()?;
        self.own_server(call, id)?;
        let Some((action, wanted)) = body.iter().next() else {
            return Err(errors::nova(400, "Malformed request body"));
        };
        match action.as_str() {
            "os-getConsoleOutput" => self.console_output(call, id, wanted),
            "reboot" => {
                let kind = wanted
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_ascii_uppercase();
                if !matches!(kind.as_str(), "SOFT" | "HARD") {
                    return Err(errors::nova(
                        400,
                        "Argument 'type' for reboot is not HARD or SOFT",
                    ));
                }
                self.ready_for(call, id, "reboot", &[Phase::Active, Phase::Stopped])?;
                self.remember(call, id, "reboot");
                self.halt(id);
                self.turn(id, call.ask.now, Phase::Rebooting);
                self.after(id, call.ask.now, self.settings.reboot_ms);
                Ok(Said::blank(202, "application/json"))
            }
            "os-stop" => {
                self.ready_for(call, id, "stop", &[Phase::Active])?;
                self.remember(call, id, "stop");
                self.halt(id);
                self.turn(id, call.ask.now, Phase::Stopped);
                Ok(Said::blank(202, "application/json"))
            }
            "os-start" => {
                self.ready_for(call, id, "start", &[Phase::Stopped])?;
                self.remember(call, id, "start");
                self.turn(id, call.ask.now, Phase::Active);
                self.boot(id);
                Ok(Said::blank(202, "application/json"))
            }
            "lock" | "unlock" => {
                if let Some(server) = self.world.servers.get_mut(id) {
                    server.locked = action == "lock";
                }
                self.remember(call, id, action);
                Ok(Said::blank(202, "application/json"))
            }
            "forceDelete" => {
                self.remember(call, id, "forceDelete");
                self.finish_delete(id, call.ask.now);
                Ok(Said::blank(202, "application/json"))
            }
            action => Err(errors::nova(
                400,
                format!("There is no such action: {action}"),
            )),
        }
    }

    fn console_output(&self, call: &Call, id: &str, wanted: &Value) -> Outcome {
        let server = self.own_server(call, id)?;
        if server.host.is_none() {
            return Err(errors::nova(409, format!("Instance {id} is not ready")));
        }
        let length = wanted.get("length").filter(|length| !length.is_null());
        let length = match length {
            None => usize::MAX,
            Some(value) => {
                let number = value.as_i64().or_else(|| value.as_str()?.parse().ok());
                let number = number.ok_or_else(|| {
                    super::check::invalid(
                        "length",
                        value,
                        &format!("{value} is not of type 'integer', 'string'"),
                    )
                })?;
                usize::try_from(number).unwrap_or(usize::MAX)
            }
        };
        let lines: Vec<&str> = server.console.lines().collect();
        let from = lines.len().saturating_sub(length);
        Ok(Said::json(200, json!({"output": lines[from..].join("\n")})))
    }

    /// Nova names the task if there is one, else the state.
    fn ready_for(
        &self,
        call: &Call,
        id: &str,
        verb: &str,
        phases: &[Phase],
    ) -> Result<(), Refusal> {
        let server = self.own_server(call, id)?;
        if server.locked {
            return Err(errors::nova(409, format!("Instance {id} is locked")));
        }
        if !server.deleting && phases.contains(&server.phase) {
            return Ok(());
        }
        let state = match show::task(server) {
            Some(task) => format!("task_state {task}"),
            None => format!("vm_state {}", show::states(server).0),
        };
        Err(errors::nova(
            409,
            format!("Cannot '{verb}' instance {id} while it is in {state}"),
        ))
    }

    fn remember(&mut self, call: &Call, id: &str, action: &str) {
        if let Some(server) = self.world.servers.get_mut(id) {
            server.actions.push(Action {
                action: action.to_owned(),
                request_id: call.ask.request_id.clone(),
                at: call.ask.now,
            });
        }
    }
}
