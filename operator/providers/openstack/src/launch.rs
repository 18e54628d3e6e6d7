//! What is sent to Nova to create an instance?
//!
//! One POST with the identity inside. Nothing is looked up: the order carries what the class resolved to. Ports that need
//! settings of their own are made before; if the server is refused for certain, they are removed again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cloud::{CloudError, Instance, InstanceState, Order, Said, SideResource, TypeRef};
use crds::openstack::v1::{BlockDevice, OpenStackNodeClassSpec as Spec};
use planner::InstanceId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::client::Client;
use crate::{marks, network};

/// Nova takes so many characters of base64.
const LONGEST_USER_DATA: usize = 65_535;
pub(crate) const PORT: &str = "port";

pub(crate) async fn launch(
    client: &Client,
    spec: &Spec,
    order: &Order,
) -> Result<Instance, CloudError> {
    let draft = Draft::new(spec, order)?;
    let (networks, side) = ports(client, spec, order).await?;
    let secrets: Vec<SecretString> = order.user_data.secrets().cloned().collect();
    // A fault of the server or its console may quote it later.
    for secret in &secrets {
        client.keep_quiet_about(secret.clone());
    }
    let outcome = client.create_server(draft.body(&networks), secrets).await;
    match outcome {
        Ok(id) => Ok(instance(order, draft.kind, id, side)),
        Err(error) => {
            if !error.is_transient() {
                remove(client, &side).await;
            }
            Err(error)
        }
    }
}

/// Everything of the create call but its networks, checked.
struct Draft<'a> {
    spec: &'a Spec,
    order: &'a Order,
    kind: &'a TypeRef,
    zone: &'a str,
    tags: Vec<String>,
    metadata: std::collections::BTreeMap<String, String>,
    user_data: SecretString,
}

impl<'a> Draft<'a> {
    fn new(spec: &'a Spec, order: &'a Order) -> Result<Self, CloudError> {
        let (wanted, zone) = (&order.offering.instance_type, &order.offering.zone);
        let missing = |what: &str| {
            CloudError::rejected(&format!(
                "{what} is not among what the class resolved to; plan again with a fresh catalog"
            ))
        };
        let kind = order
            .on
            .type_named(wanted)
            .ok_or_else(|| missing(&format!("instance type {wanted}")))?;
        let zone = order
            .on
            .zone_id(zone)
            .ok_or_else(|| missing(&format!("zone {zone}")))?;
        if spec.ports.len() != order.on.ports.len() {
            return Err(missing("a port of spec.ports"));
        }
        let user_data = STANDARD.encode(order.user_data.secret().expose_secret());
        if user_data.len() > LONGEST_USER_DATA {
            let text = format!(
                "user data is {} characters in base64 and Nova takes {LONGEST_USER_DATA}; shorten userData or fetch the rest at boot",
                user_data.len()
            );
            return Err(CloudError::Rejected {
                said: Said::new(&text),
            });
        }
        Ok(Self {
            spec,
            order,
            kind,
            zone,
            tags: marks::tags(spec, order)?,
            metadata: marks::metadata(spec, order, &kind.image)?,
            user_data: user_data.into(),
        })
    }

    fn body(&self, networks: &[Value]) -> Value {
        let (spec, order) = (self.spec, self.order);
        let mut server = json!({
            "name": order.name.as_str(),
            "flavorRef": self.kind.id.as_ref(),
            "availability_zone": self.zone,
            "networks": networks,
            "user_data": self.user_data.expose_secret(),
            "tags": self.tags,
            "metadata": self.metadata,
        });
        if !order.on.security_groups.is_empty() {
            // Ids are taken where names are; names are not unique.
            let groups = order
                .on
                .security_groups
                .iter()
                .map(|group| json!({"name": group.id.as_ref()}));
            server["security_groups"] = groups.collect();
        }
        if let Some(key) = &spec.key_pair {
            server["key_name"] = key.as_str().into();
        }
        if let Some(drive) = spec.config_drive {
            server["config_drive"] = drive.into();
        }
        let devices = devices(
            spec.block_devices.as_deref().unwrap_or_default(),
            &self.kind.image,
        );
        if !spec.block_devices.iter().flatten().any(is_boot) {
            server["imageRef"] = self.kind.image.as_ref().into();
        }
        if !devices.is_empty() {
            server["block_device_mapping_v2"] = devices.into();
        }
        let mut body = json!({"server": server});
        let mut hints = json!(spec.scheduler_hints.clone().unwrap_or_default());
        if let Some(group) = &order.on.placement_group {
            hints["group"] = group.id.as_ref().into();
        }
        if hints.as_object().is_some_and(|hints| !hints.is_empty()) {
            body["os:scheduler_hints"] = hints;
        }
        body
    }
}

/// Volumes go away with their server unless somebody says otherwise: nothing else ties them to it.
fn devices(devices: &[BlockDevice], image: &str) -> Vec<Value> {
    let mut list = Vec::new();
    if !devices.is_empty() && !devices.iter().any(is_boot) {
        list.push(json!({"boot_index": 0, "source_type": "image", "destination_type": "local", "uuid": image,
                         "delete_on_termination": true}));
    }
    for device in devices {
        let ephemeral = device.ephemeral == Some(true);
        let mut one = json!({
            "destination_type": if ephemeral { "local" } else { "volume" },
            "volume_size": device.size_gi_b,
            "delete_on_termination": device.delete_on_termination.unwrap_or(true),
        });
        if is_boot(device) {
            one["boot_index"] = 0.into();
            one["source_type"] = "image".into();
            one["uuid"] = image.into();
        } else {
            one["boot_index"] = (-1).into();
            one["source_type"] = "blank".into();
        }
        if let Some(kind) = &device.volume_type {
            one["volume_type"] = kind.as_str().into();
        }
        if let Some(name) = &device.name {
            one["tag"] = name.as_str().into();
        }
        list.push(one);
    }
    list
}

fn is_boot(device: &BlockDevice) -> bool {
    device.boot == Some(true)
}

/// One entry per network; ports that need settings of their own are made now.
async fn ports(
    client: &Client,
    spec: &Spec,
    order: &Order,
) -> Result<(Vec<Value>, Vec<SideResource>), CloudError> {
    let (mut networks, mut made) = (Vec::new(), Vec::new());
    for (at, (port, plan)) in spec.ports.iter().zip(&order.on.ports).enumerate() {
        if !network::needs_own_port(port) {
            networks.push(json!({"uuid": plan.network.id.as_ref()}));
            continue;
        }
        let name = format!("{}-{at}", order.name);
        let body = network::port_body(port, plan, &order.on, &name, &order.identity)
            .map_err(|bad| CloudError::rejected(&bad.to_string()))?;
        let outcome = match client.create_port(body).await {
            Ok(own) => {
                made.push(SideResource {
                    kind: PORT.into(),
                    id: own.id.as_str().into(),
                });
                networks.push(json!({"port": own.id}));
                tagged(client, port.tags.as_deref(), &own.id).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            // No server has been asked for, so nothing can be using them.
            remove(client, &made).await;
            return Err(error);
        }
    }
    Ok((networks, made))
}

async fn tagged(client: &Client, tags: Option<&[String]>, port: &str) -> Result<(), CloudError> {
    match tags {
        Some(tags) if !tags.is_empty() => client.tag_port(port, tags).await,
        _ => Ok(()),
    }
}

/// As good as it goes: what stays behind is found again by its identity when the claim ends.
async fn remove(client: &Client, made: &[SideResource]) {
    for port in made {
        if let Err(error) = client.delete_port(&port.id).await {
            tracing::debug!(port = %port.id, %error, "left for termination");
        }
    }
}

fn instance(order: &Order, kind: &TypeRef, id: String, side: Vec<SideResource>) -> Instance {
    Instance {
        id: InstanceId::new(id),
        identity: order.identity.clone(),
        name: order.name.to_string(),
        state: InstanceState::Pending,
        created_at: None,
        instance_type: Some(kind.name.clone()),
        zone: Some(order.offering.zone.clone()),
        image: Some(kind.image.clone()),
        security_groups: None,
        addresses: Vec::new(),
        side,
    }
}
