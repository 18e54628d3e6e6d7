//! Is an instance still what its class describes? Pure.
//!
//! Only what the cloud says for certain counts: an instance that is not running, or whose groups are not shown, has not
//! drifted in that respect. Networks are not compared: a server shows them by name, and names are not unique.

use std::sync::Arc;

use cloud::{Drift, DriftCause, Instance, InstanceState, Resolved};

pub fn drifted(resolved: &Resolved, instance: &Instance) -> Option<Drift> {
    if instance.state != InstanceState::Running {
        return None;
    }
    instance_type(resolved, instance)
        .or_else(|| image(resolved, instance))
        .or_else(|| zone(resolved, instance))
        .or_else(|| security_groups(resolved, instance))
}

fn instance_type(resolved: &Resolved, instance: &Instance) -> Option<Drift> {
    let kind = instance.instance_type.as_deref()?;
    let missing = !resolved.types.is_empty() && resolved.type_named(kind).is_none();
    missing.then(|| {
        drift(
            DriftCause::InstanceType,
            format!("the class does not offer {kind} any more"),
        )
    })
}

fn image(resolved: &Resolved, instance: &Instance) -> Option<Drift> {
    let wanted = &resolved
        .type_named(instance.instance_type.as_deref()?)?
        .image;
    let has = instance.image.as_ref()?;
    (has != wanted).then(|| {
        drift(
            DriftCause::Image,
            format!("it runs image {has}, the class chooses {wanted}"),
        )
    })
}

fn zone(resolved: &Resolved, instance: &Instance) -> Option<Drift> {
    let zone = instance.zone.as_deref()?;
    let missing = !resolved.zones.is_empty() && resolved.zone_id(zone).is_none();
    missing.then(|| {
        drift(
            DriftCause::Zone,
            format!("the class does not use zone {zone} any more"),
        )
    })
}

fn security_groups(resolved: &Resolved, instance: &Instance) -> Option<Drift> {
    let has = instance.security_groups.as_ref()?;
    // Ports with groups of their own, or with none asked for, show what the class does not say.
    let alike = resolved
        .ports
        .iter()
        .all(|port| port.security_groups.is_none());
    if !alike || resolved.security_groups.is_empty() || has.is_empty() {
        return None;
    }
    let mut wanted: Vec<Arc<str>> = resolved
        .security_groups
        .iter()
        .map(|group| group.name.clone())
        .collect();
    wanted.sort();
    wanted.dedup();
    let list = |names: &[Arc<str>]| names.join(", ");
    let said = || {
        format!(
            "its security groups are {}, the class chooses {}",
            list(has),
            list(&wanted)
        )
    };
    (*has != wanted).then(|| drift(DriftCause::SecurityGroups, said()))
}

fn drift(cause: DriftCause, said: String) -> Drift {
    Drift { cause, said }
}
