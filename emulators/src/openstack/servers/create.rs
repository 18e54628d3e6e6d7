//! What must be true before a server is made? All that can be refused at once is refused here.

use serde_json::{Value, json};

use super::super::nova::Call;
use super::super::quota::Usage;
use super::super::wire::{Object, Outcome, Refusal, Said, str_of};
use super::super::world::{Action, Attached, Fate, Flavor, Nic, Phase, Server};
use super::super::{OpenStack, errors};
use super::check::{self, Order};
use super::devices::{Mapping, Networks};

/// What the names in an order turned out to be.
struct Resolved {
    flavor: Flavor,
    nics: Vec<Nic>,
    security_groups: Vec<String>,
    volumes: Vec<Attached>,
}

impl OpenStack {
    pub(super) fn create_servers(&mut self, call: &Call) -> Outcome {
        let body = call.body()?;
        let order = check::order(&body, call.version)?;
        if call.caller.project.is_none() {
            return Err(super::super::nova::denied("servers:create"));
        }
        let resolved = self.resolve(call, &order)?;
        let count = i64::try_from(order.count).unwrap_or(i64::MAX);
        let asked = Usage {
            instances: count,
            cores: i64::from(resolved.flavor.vcpus).saturating_mul(count),
            ram: i64::try_from(resolved.flavor.ram)
                .unwrap_or(i64::MAX)
                .saturating_mul(count),
        };
        self.refuse_over_quota(call.caller.project(), asked)?;
        self.refuse_too_many_ports(call, &resolved, order.count)?;
        let mut first = String::new();
        for at in 1..=order.count {
            let id = self.make_server(call, &order, &resolved, at);
            if first.is_empty() {
                first = id;
            }
        }
        if order.reservation {
            let reservation = format!("r-{}", self.dice.word(8).to_lowercase());
            return Ok(Said::json(202, json!({"reservation_id": reservation})));
        }
        let groups = if order.security_groups.is_empty() {
            vec!["default".to_owned()]
        } else {
            order.security_groups
        };
        let groups: Vec<Value> = groups.iter().map(|name| json!({"name": name})).collect();
        let body = json!({"server": {
            "id": first, "links": call.link(&format!("servers/{first}")), "OS-DCF:diskConfig": "MANUAL",
            "security_groups": groups, "adminPass": self.dice.word(12),
        }});
        let location = format!("{}/compute/v2.1/servers/{first}", call.ask.base);
        Ok(Said::json(202, body).with("location", location))
    }

    fn resolve(&mut self, call: &Call, order: &Order) -> Result<Resolved, Refusal> {
        let found = self
            .world
            .flavors
            .iter()
            .find(|flavor| flavor.id == order.flavor);
        let flavor = found.cloned();
        let flavor = flavor.ok_or_else(|| {
            errors::nova(400, format!("Flavor {} could not be found.", order.flavor))
        })?;
        self.check_image(order, &flavor)?;
        if let Some(zone) = &order.zone
            && !self
                .world
                .zones()
                .contains(zone.split(':').next().unwrap_or_default())
        {
            return Err(errors::nova(
                400,
                "The requested availability zone is not available",
            ));
        }
        if let Some(key) = &order.key_name {
            let mut keys = self.world.keypairs.iter();
            if !keys.any(|known| known.name == *key && known.user == call.caller.user) {
                return Err(errors::nova(400, "Invalid key_name provided."));
            }
        }
        let security_groups = self.resolve_groups(call, order)?;
        let nics = self.resolve_networks(call, order)?;
        self.check_server_group(call, order)?;
        let volumes = order
            .volumes
            .iter()
            .filter(|disk| disk.destination == "volume");
        let volumes: Vec<bool> = volumes.map(|disk| disk.delete_on_termination).collect();
        let volumes = volumes
            .into_iter()
            .map(|delete_on_termination| Attached {
                id: self.dice.uuid(),
                delete_on_termination,
            })
            .collect();
        Ok(Resolved {
            flavor,
            nics,
            security_groups,
            volumes,
        })
    }

    fn check_image(&self, order: &Order, flavor: &Flavor) -> Result<(), Refusal> {
        let root = order.volumes.iter().find(|disk| disk.boot);
        let wanted = match (&order.image, root) {
            (Some(image), _) => Some(image.clone()),
            (None, Some(Mapping { source, uuid, .. })) if source == "image" => uuid.clone(),
            (None, Some(_)) => None,
            (None, None) => return Err(errors::nova(400, "Invalid imageRef provided.")),
        };
        let from_volume = root.is_some_and(|disk| disk.destination == "volume");
        if let Some(disk) =
            root.filter(|disk| disk.destination == "volume" && disk.source != "volume")
            && disk.size.is_none()
        {
            let message = "Block Device Mapping is Invalid: Images with destination_type 'volume' need to have a non-zero size specified";
            return Err(errors::nova(400, message));
        }
        let Some(wanted) = wanted else { return Ok(()) };
        let image = self
            .world
            .images
            .iter()
            .find(|image| str_of(image, "id") == wanted);
        let image = image.ok_or_else(|| errors::nova(400, "Can not find requested image"))?;
        if str_of(image, "status") != "active" {
            return Err(errors::nova(400, format!("Image {wanted} is not active.")));
        }
        let least = |name: &str| image.get(name).and_then(Value::as_u64).unwrap_or_default();
        if flavor.ram < least("min_ram") {
            return Err(errors::nova(
                400,
                "Flavor's memory is too small for requested image.",
            ));
        }
        if flavor.disk == 0 && !from_volume {
            return Err(errors::nova(
                403,
                "Only volume-backed servers are allowed for flavors with zero disk.",
            ));
        }
        if !from_volume && flavor.disk < least("min_disk") {
            return Err(errors::nova(
                400,
                "Flavor's disk is too small for requested image.",
            ));
        }
        if from_volume
            && root
                .and_then(|disk| disk.size)
                .is_some_and(|size| size < least("min_disk"))
        {
            return Err(errors::nova(
                400,
                "Volume is smaller than the minimum size specified in image metadata.",
            ));
        }
        Ok(())
    }

    fn resolve_groups(&self, call: &Call, order: &Order) -> Result<Vec<String>, Refusal> {
        let own = |group: &&Object| str_of(group, "project_id") == call.caller.project();
        let default = ["default".to_owned()];
        let names = if order.security_groups.is_empty() {
            &default[..]
        } else {
            &order.security_groups
        };
        let found = names.iter().map(|wanted| {
            let mut groups = self.world.security_groups.values().filter(own);
            let group = groups
                .find(|group| str_of(group, "id") == wanted || str_of(group, "name") == wanted);
            match group {
                Some(group) => Ok(str_of(group, "id").to_owned()),
                None if order.security_groups.is_empty() => Ok(String::new()),
                None => {
                    let message =
                        format!("Unable to find security_group with name or id '{wanted}'");
                    Err(errors::nova(400, message))
                }
            }
        });
        let found: Result<Vec<String>, _> = found.collect();
        Ok(found?.into_iter().filter(|id| !id.is_empty()).collect())
    }

    fn resolve_networks(&self, call: &Call, order: &Order) -> Result<Vec<Nic>, Refusal> {
        let project = call.caller.project();
        let wishes = match &order.networks {
            Networks::None => return Ok(Vec::new()),
            Networks::Auto => {
                let own = self
                    .world
                    .networks
                    .values()
                    .find(|network| str_of(network, "project_id") == project);
                let nic = own.map(|network| nic(str_of(network, "id"), None, None));
                return Ok(nic.into_iter().collect());
            }
            Networks::These(wishes) => wishes,
        };
        let mut nics = Vec::new();
        for wish in wishes {
            if let Some(id) = &wish.port {
                let port = self
                    .world
                    .ports
                    .get(id)
                    .filter(|port| str_of(port, "project_id") == project);
                let port = port.ok_or_else(|| {
                    errors::nova(400, format!("Port id {id} could not be found."))
                })?;
                if !str_of(port, "device_id").is_empty() {
                    return Err(errors::nova(409, format!("Port {id} is still in use.")));
                }
                nics.push(nic(str_of(port, "network_id"), Some(id), None));
            } else {
                let id = wish.network.as_deref().unwrap_or_default();
                let network = self.world.networks.get(id).filter(|network| {
                    str_of(network, "project_id") == project
                        || network.get("shared") == Some(&Value::Bool(true))
                });
                network.ok_or_else(|| {
                    errors::nova(400, format!("Network {id} could not be found."))
                })?;
                nics.push(nic(id, None, wish.fixed_ip.as_deref()));
            }
        }
        Ok(nics)
    }

    fn check_server_group(&self, call: &Call, order: &Order) -> Result<(), Refusal> {
        let Some(id) = &order.group else {
            return Ok(());
        };
        let mut groups = self.world.groups.iter();
        let known = groups.any(|group| group.id == *id && group.project == call.caller.project());
        if !known {
            return Err(errors::nova(
                400,
                format!("Instance group {id} could not be found."),
            ));
        }
        let servers = self.world.servers.values();
        let members =
            servers.filter(|server| server.group.as_deref() == Some(id) && server.phase.is_alive());
        let members = i64::try_from(members.count()).unwrap_or(i64::MAX);
        let most = self.quota(call.caller.project()).server_group_members;
        if most >= 0 && members >= most {
            return Err(errors::nova(
                403,
                "Quota exceeded, too many servers in group",
            ));
        }
        Ok(())
    }

    fn refuse_too_many_ports(
        &self,
        call: &Call,
        resolved: &Resolved,
        count: u64,
    ) -> Result<(), Refusal> {
        let project = call.caller.project();
        let most = self.quota(project).ports;
        let used = self
            .world
            .ports
            .values()
            .filter(|port| str_of(port, "project_id") == project)
            .count();
        let new = resolved.nics.iter().filter(|nic| nic.ours).count();
        let wanted = u64::try_from(used)
            .unwrap_or(u64::MAX)
            .saturating_add(u64::try_from(new).unwrap_or(u64::MAX).saturating_mul(count));
        match u64::try_from(most) {
            Ok(most) if new > 0 && wanted > most => {
                Err(errors::nova(403, "Maximum number of ports exceeded"))
            }
            _ => Ok(()),
        }
    }

    fn make_server(&mut self, call: &Call, order: &Order, resolved: &Resolved, at: u64) -> String {
        let name = if order.count > 1 {
            format!("{}-{at}", order.name)
        } else {
            order.name.clone()
        };
        self.servers_made += 1;
        let now = call.ask.now;
        let id = self.dice.uuid();
        let from_volume = order
            .volumes
            .iter()
            .any(|disk| disk.boot && disk.destination == "volume");
        let fates = call.ask.fates.iter();
        let server = Server {
            seq: self.servers_made,
            hostname: order.hostname.clone().unwrap_or_else(|| hostname(&name)),
            name,
            description: order.description.clone(),
            project: call.caller.project().to_owned(),
            user: call.caller.user.clone(),
            image: order.image.clone().filter(|_| !from_volume),
            zone_asked: order.zone.clone(),
            zone: order.zone.clone().unwrap_or_default(),
            key_name: order.key_name.clone(),
            user_data: order.user_data.clone(),
            config_drive: order.config_drive,
            metadata: order.metadata.clone(),
            tags: order.tags.iter().cloned().collect(),
            nics: resolved.nics.clone(),
            security_groups: resolved.security_groups.clone(),
            volumes: resolved.volumes.clone(),
            group: order.group.clone(),
            launched: None,
            phase: Phase::Scheduling,
            fates: fates.filter_map(|name| Fate::named(name)).collect(),
            actions: vec![Action {
                action: "create".into(),
                request_id: call.ask.request_id.clone(),
                at: now,
            }],
            ..Server::running(&id, resolved.flavor.clone(), now)
        };
        self.journal
            .change(now, ("server", &id, &server.name), "created".into());
        self.world.servers.insert(id.clone(), server);
        self.after(&id, now, self.settings.schedule_ms);
        id
    }
}

fn nic(network: &str, port: Option<&String>, fixed_ip: Option<&str>) -> Nic {
    Nic {
        network: network.to_owned(),
        port: port.cloned(),
        fixed_ip: fixed_ip.map(str::to_owned),
        ours: port.is_none(),
    }
}

/// The guest's own name, made from the server's as Nova makes it.
fn hostname(name: &str) -> String {
    let letters = name.chars().filter_map(|letter| match letter {
        ' ' | '_' | '.' => Some('-'),
        letter if letter.is_ascii_alphanumeric() || letter == '-' => {
            Some(letter.to_ascii_lowercase())
        }
        _ => None,
    });
    letters
        .take(63)
        .collect::<String>()
        .trim_matches('-')
        .to_owned()
}
