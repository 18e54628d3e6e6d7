//! Which networks do the ports of a class mean, and how is a port of our own written?

use cloud::class::conditions;
use cloud::{Named, PortPlan, Resolved, Trouble, identity};
use crds::openstack::network::{Port, VnicType};
use crds::openstack::v1::OpenStackNodeClassSpec as Spec;
use crds::shared::selector::TaggedTerm;
use planner::Identity;
use serde_json::{Value, json};

use crate::client::Client;
use crate::client::networks::Tagged;
use crate::resolve::{trouble, unanswered};
use crate::select::{shown, tagged};

/// Every term must choose something: a group that is silently missing would leave a hole or a wall.
pub(crate) async fn security_groups(
    client: &Client,
    terms: Option<&[TaggedTerm]>,
) -> Result<Vec<Named>, Trouble> {
    let Some(terms) = terms.filter(|terms| !terms.is_empty()) else {
        return Ok(Vec::new());
    };
    let all = client.security_groups().await;
    let all =
        all.map_err(|error| unanswered(conditions::SECURITY_GROUPS, "security groups", &error))?;
    chosen_groups(terms, &all, "spec.securityGroupSelectorTerms")
}

fn chosen_groups(terms: &[TaggedTerm], all: &[Tagged], field: &str) -> Result<Vec<Named>, Trouble> {
    let mut groups = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        let found = tagged(term, all);
        if found.is_empty() {
            let message = format!(
                "{field}[{at}] ({}) matches no security group; correct it or create the group",
                shown(term)
            );
            return Err(trouble(conditions::SECURITY_GROUPS, "NotFound", message));
        }
        groups.extend(found.into_iter().map(named));
    }
    groups.sort();
    groups.dedup();
    Ok(groups)
}

/// The class's ports, each with its one network.
pub(crate) async fn ports(client: &Client, spec: &Spec) -> Result<Vec<PortPlan>, Trouble> {
    let unread = |error| unanswered(conditions::NETWORKS, "networks", &error);
    let networks = client.networks().await.map_err(unread)?;
    let mut subnets = Vec::new();
    if spec.ports.iter().any(|port| port.subnets.is_some()) {
        subnets = client.subnets().await.map_err(unread)?;
    }
    let own_groups = spec
        .ports
        .iter()
        .any(|port| port.security_group_selector_terms.is_some());
    let mut groups = Vec::new();
    if own_groups {
        let all = client.security_groups().await;
        groups = all
            .map_err(|error| unanswered(conditions::SECURITY_GROUPS, "security groups", &error))?;
    }
    let plan = |(at, port): (usize, &Port)| {
        let subnets = chosen_subnets(port, at, &subnets)?;
        let network = network_of(port, at, &networks, &subnets)?;
        let field = format!("spec.ports[{at}].securityGroupSelectorTerms");
        let terms = port.security_group_selector_terms.as_deref();
        let security_groups = terms
            .map(|terms| chosen_groups(terms, &groups, &field))
            .transpose()?;
        Ok(PortPlan {
            network,
            subnets: subnets.into_iter().map(named).collect(),
            security_groups,
        })
    };
    spec.ports.iter().enumerate().map(plan).collect()
}

fn chosen_subnets<'a>(
    port: &Port,
    at: usize,
    all: &'a [Tagged],
) -> Result<Vec<&'a Tagged>, Trouble> {
    let mut chosen = Vec::new();
    for (n, term) in port.subnets.iter().flatten().enumerate() {
        let found = tagged(term, all);
        if found.is_empty() {
            let message = format!(
                "spec.ports[{at}].subnets[{n}] ({}) matches no subnet; correct it",
                shown(term)
            );
            return Err(trouble(conditions::NETWORKS, "NotFound", message));
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

fn network_of(
    port: &Port,
    at: usize,
    all: &[Tagged],
    subnets: &[&Tagged],
) -> Result<Named, Trouble> {
    let of_subnets = |network: &&Tagged| {
        subnets
            .iter()
            .all(|subnet| subnet.network_id.as_deref() == Some(network.id.as_str()))
    };
    let (wanted, candidates) = match &port.network {
        Some(term) => (shown(term), tagged(term, all)),
        None => (
            "the network of its subnets".to_owned(),
            all.iter().collect(),
        ),
    };
    let has_choice = port.network.is_some() || !subnets.is_empty();
    let fitting: Vec<&Tagged> = candidates
        .into_iter()
        .filter(of_subnets)
        .filter(|_| has_choice)
        .collect();
    let problem = match fitting.as_slice() {
        [one] => return Ok(named(one)),
        [] => "matches no network; correct it, or check that the project may see the network"
            .to_owned(),
        several => format!("matches {} networks; use the id of one", several.len()),
    };
    let reason = if fitting.is_empty() {
        "NotFound"
    } else {
        "Ambiguous"
    };
    Err(trouble(
        conditions::NETWORKS,
        reason,
        format!("spec.ports[{at}].network ({wanted}) {problem}"),
    ))
}

/// Must the port be made beforehand? Nova's own ports know only a network and the server's groups.
pub(crate) fn needs_own_port(port: &Port) -> bool {
    port.subnets.is_some()
        || port.security_group_selector_terms.is_some()
        || port.vnic_type.is_some()
        || port.port_security.is_some()
        || port.allowed_address_pairs.is_some()
        || port.tags.is_some()
}

/// The body that creates a port of our own. Identity stands in its description, the only mark that is in the create call.
pub(crate) fn port_body(
    port: &Port,
    plan: &PortPlan,
    on: &Resolved,
    name: &str,
    who: &Identity,
) -> Result<Value, identity::BadIdentity> {
    let mut body = json!({"network_id": plan.network.id.as_ref(), "name": name, "description": identity::line(who)?});
    let secured = port.port_security != Some(false);
    let groups = plan.security_groups.as_ref().unwrap_or(&on.security_groups);
    if secured && !groups.is_empty() {
        body["security_groups"] = groups
            .iter()
            .map(|group| Value::from(group.id.as_ref()))
            .collect();
    }
    if !plan.subnets.is_empty() {
        body["fixed_ips"] = plan
            .subnets
            .iter()
            .map(|subnet| json!({"subnet_id": subnet.id.as_ref()}))
            .collect();
    }
    if let Some(on) = port.port_security {
        body["port_security_enabled"] = on.into();
    }
    if let Some(kind) = port.vnic_type {
        body["binding:vnic_type"] = vnic(kind).into();
    }
    if let Some(pairs) = &port.allowed_address_pairs {
        let pair = |pair: &crds::openstack::network::AddressPair| match &pair.mac_address {
            Some(mac) => json!({"ip_address": pair.ip_address, "mac_address": mac}),
            None => json!({"ip_address": pair.ip_address}),
        };
        body["allowed_address_pairs"] = pairs.iter().map(pair).collect();
    }
    Ok(json!({"port": body}))
}

fn vnic(kind: VnicType) -> &'static str {
    match kind {
        VnicType::Normal => "normal",
        VnicType::Direct => "direct",
        VnicType::DirectPhysical => "direct-physical",
        VnicType::Macvtap => "macvtap",
        VnicType::Baremetal => "baremetal",
        VnicType::VirtioForwarder => "virtio-forwarder",
        VnicType::RemoteManaged => "remote-managed",
    }
}

fn named(one: &Tagged) -> Named {
    Named::new(one.id.as_str(), one.name.as_str())
}
