//! What is a server of Nova, in our terms?

use std::sync::Arc;

use cloud::{Instance, InstanceState, Said};
use planner::{Identity, InstanceId};

use crate::client::servers::Server;
use crate::error::fault_scope;
use crate::flavor::is_label_value;
use crate::marks;
use crate::resolve::zone_label;

/// Whether Nova still has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    There,
    /// Its cell does not answer: nothing is known about it, not even whose it is.
    Unreachable,
    /// Deleted, or soft-deleted, which Nova still shows by id.
    Gone,
}

pub(crate) fn presence(server: &Server) -> Presence {
    match server.status.as_str() {
        "DELETED" | "SOFT_DELETED" => Presence::Gone,
        "UNKNOWN" | "" => Presence::Unreachable,
        _ => Presence::There,
    }
}

pub(crate) fn instance(
    server: &Server,
    identity: Identity,
    say: impl Fn(&str) -> Said,
) -> Instance {
    let mark = |key: &str| server.metadata.get(key).filter(|value| !value.is_empty());
    let flavor = server
        .flavor
        .original_name
        .as_ref()
        .filter(|name| is_label_value(name));
    let zone = server
        .zone
        .as_deref()
        .filter(|zone| !zone.is_empty())
        .map(zone_label);
    let addresses = server
        .addresses
        .values()
        .flatten()
        .map(|address| address.addr.clone());
    let groups = server.security_groups.as_ref().map(|groups| {
        let mut names: Vec<Arc<str>> = groups
            .iter()
            .map(|group| group.name.as_str().into())
            .collect();
        names.sort();
        names.dedup();
        names
    });
    Instance {
        id: InstanceId::new(server.id.as_str()),
        identity,
        name: server.name.clone(),
        state: state(server, say),
        created_at: server.created,
        instance_type: mark(marks::TYPE)
            .or(flavor)
            .map(|name| name.as_str().into()),
        zone: zone.or_else(|| mark(marks::ZONE).cloned()).map(Into::into),
        image: server
            .image_id()
            .or(mark(marks::IMAGE).map(String::as_str))
            .map(Into::into),
        security_groups: groups,
        addresses: addresses.collect(),
        side: Vec::new(),
    }
}

fn state(server: &Server, say: impl Fn(&str) -> Said) -> InstanceState {
    if matches!(
        server.task_state.as_deref(),
        Some("deleting" | "soft-deleting")
    ) {
        return InstanceState::Ending;
    }
    match server.status.as_str() {
        "BUILD" => InstanceState::Pending,
        "ACTIVE" | "REBOOT" | "HARD_REBOOT" | "PASSWORD" | "MIGRATING" | "RESIZE"
        | "VERIFY_RESIZE" | "REVERT_RESIZE" | "REBUILD" => InstanceState::Running,
        "ERROR" => {
            let fault = server.fault.clone().unwrap_or_default();
            let text = if fault.message.is_empty() {
                "the server is in ERROR and Nova does not say why"
            } else {
                &fault.message
            };
            InstanceState::Failed {
                scope: fault_scope(fault.code, &fault.message),
                said: say(text),
            }
        }
        other => InstanceState::Stopped {
            said: say(&format!("status {other}")),
        },
    }
}
