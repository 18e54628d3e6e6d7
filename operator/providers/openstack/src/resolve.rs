//! What do the selections of this class amount to in its cloud?
//!
//! One answer per resource, so that one missing network does not hide a missing image. What the class asks for and we cannot
//! do yet is said here, where it stops new instances, and not in `open`, where it would stop termination too.

use cloud::class::conditions;
use cloud::{ClassTrouble, CloudError, Image, Named, Resolved, Trouble, TypeRef};
use crds::openstack::v1::OpenStackNodeClassSpec as Spec;

use crate::client::Client;
use crate::client::images::Image as WireImage;
use crate::flavor::{Flavor, is_label_value, kubernetes_arch};
use crate::network;
use crate::select;

pub(crate) async fn resolve(client: &Client, spec: &Spec) -> Result<Resolved, ClassTrouble> {
    let mut troubles = unsupported(spec);
    let mut found = Resolved::default();
    match account(client).await {
        Ok(project) => found.account = Some(project.into()),
        Err(trouble) => {
            troubles.push(trouble);
            return Err(ClassTrouble { troubles, found });
        }
    }
    let (images, groups, flavors, zones, placement) = tokio::join!(
        images(client, spec),
        network::security_groups(client, spec.security_group_selector_terms.as_deref()),
        flavors(client, spec),
        zones(client, spec),
        placement_group(client, spec),
    );
    let ports = network::ports(client, spec).await;
    found.images = kept(images, &mut troubles);
    found.security_groups = kept(groups, &mut troubles);
    found.ports = kept(ports, &mut troubles);
    found.zones = kept(zones, &mut troubles);
    found.placement_group = kept(placement, &mut troubles);
    let flavors = kept(flavors, &mut troubles);
    found.types = types(spec, &flavors, &found.images);
    if found.types.is_empty() && !flavors.is_empty() && !found.images.is_empty() {
        let message = "every chosen flavor is too small for the image, of another architecture, or without a disk; choose larger flavors in spec.flavorSelectorTerms, or add a boot volume in spec.blockDevices";
        troubles.push(trouble(conditions::TYPES, "NothingFits", message));
    }
    if troubles.is_empty() {
        Ok(found)
    } else {
        Err(ClassTrouble { troubles, found })
    }
}

/// The newest image that fits a flavor, if any does.
pub(crate) fn image_for<'a>(
    spec: &Spec,
    flavor: &Flavor,
    images: &'a [Image],
) -> Option<&'a Image> {
    let disk = boot_volume_gib(spec).unwrap_or(flavor.disk_gib);
    images.iter().find(|image| {
        let same_arch = match (&flavor.architecture, &image.architecture) {
            (Some(flavor), Some(image)) => flavor == image,
            _ => true,
        };
        let memory = u64::from(flavor.memory_mib.get());
        same_arch
            && disk > 0
            && u64::from(disk) >= image.min_disk_gib
            && memory >= image.min_memory_mib
    })
}

/// Size of the volume instances boot from, if they do.
pub(crate) fn boot_volume_gib(spec: &Spec) -> Option<u32> {
    let devices = spec.block_devices.iter().flatten();
    let boot = devices
        .filter(|device| device.boot == Some(true))
        .map(|device| device.size_gi_b)
        .next()?;
    u32::try_from(boot).ok()
}

pub(crate) fn trouble(
    condition: &'static str,
    reason: &'static str,
    message: impl Into<String>,
) -> Trouble {
    Trouble {
        condition,
        reason,
        message: message.into(),
        transient: false,
    }
}

/// A question the cloud did not answer well.
pub(crate) fn unanswered(condition: &'static str, what: &str, error: &CloudError) -> Trouble {
    let reason = match error {
        CloudError::Unauthorized { .. } => "Unauthorized",
        CloudError::Throttled { .. } => "Throttled",
        CloudError::Unknown(_) => "NoAnswer",
        CloudError::Gone | CloudError::NoCapacity { .. } | CloudError::Rejected { .. } => "Refused",
    };
    Trouble {
        condition,
        reason,
        message: format!("cannot read {what}: {error}"),
        transient: error.is_transient(),
    }
}

fn kept<T: Default>(outcome: Result<T, Trouble>, troubles: &mut Vec<Trouble>) -> T {
    outcome.unwrap_or_else(|trouble| {
        troubles.push(trouble);
        T::default()
    })
}

async fn account(client: &Client) -> Result<String, Trouble> {
    let session = client
        .session()
        .await
        .map_err(|error| unanswered(conditions::CREDENTIALS, "a token", &error))?;
    let too_old = client.compute_too_old().await;
    match too_old.map_err(|error| unanswered(conditions::CREDENTIALS, "Nova's version", &error))? {
        Some(why) => Err(trouble(conditions::CREDENTIALS, "ComputeTooOld", why)),
        None => Ok(session.project.clone()),
    }
}

async fn images(client: &Client, spec: &Spec) -> Result<Vec<Image>, Trouble> {
    let unread = |error| unanswered(conditions::IMAGES, "images", &error);
    let terms = &spec.image_selector_terms;
    let mut all = client.active_images(false).await.map_err(unread)?;
    let community = |visibility| visibility == Some(crds::openstack::select::Visibility::Community);
    if terms.iter().any(|term| community(term.visibility)) {
        all.extend(client.active_images(true).await.map_err(unread)?);
    }
    // An image may be usable by id without being listed.
    for id in terms.iter().filter_map(|term| term.id.as_deref()) {
        if all.iter().any(|image| image.id == id) {
            continue;
        }
        match client.image(id).await {
            Ok(image) => all.push(image),
            Err(CloudError::Gone) => {}
            Err(error) => return Err(unread(error)),
        }
    }
    let chosen = select::images(terms, &all)
        .map_err(|why| trouble(conditions::IMAGES, "BadSelector", why))?;
    if chosen.is_empty() {
        let message =
            "no active image matches spec.imageSelectorTerms; correct a term or upload the image";
        return Err(trouble(conditions::IMAGES, "NotFound", message));
    }
    Ok(chosen.into_iter().map(image).collect())
}

fn image(raw: &WireImage) -> Image {
    let named = raw
        .property("architecture")
        .or_else(|| raw.property("hw_architecture"));
    Image {
        id: raw.id.as_str().into(),
        name: raw.name.as_str().into(),
        architecture: named.filter(|text| !text.is_empty()).map(kubernetes_arch),
        min_disk_gib: raw.min_disk,
        min_memory_mib: raw.min_ram,
    }
}

async fn flavors(client: &Client, spec: &Spec) -> Result<Vec<Flavor>, Trouble> {
    let all = client
        .flavors()
        .await
        .map_err(|error| unanswered(conditions::TYPES, "flavors", &error))?;
    let chosen = select::flavors(spec.flavor_selector_terms.as_deref(), &all);
    let chosen = chosen.map_err(|why| trouble(conditions::TYPES, "BadSelector", why))?;
    let usable = usable(chosen);
    if usable.is_empty() {
        let message = "no flavor matches spec.flavorSelectorTerms; correct a term, or ask for access to the flavor";
        return Err(trouble(conditions::TYPES, "NotFound", message));
    }
    Ok(usable)
}

/// Flavors a node can be made of, each name once.
pub(crate) fn usable<'a>(
    all: impl IntoIterator<Item = &'a crate::client::flavors::Flavor>,
) -> Vec<Flavor> {
    let mut usable: Vec<Flavor> = Vec::new();
    for raw in all.into_iter().filter(|raw| !raw.disabled) {
        match Flavor::try_from(raw) {
            Ok(flavor) => usable.push(flavor),
            Err(bad) => tracing::debug!(%bad, "not offered"),
        }
    }
    usable.sort_by(|a, b| (&a.type_name, &a.id).cmp(&(&b.type_name, &b.id)));
    usable.dedup_by(|a, b| a.type_name == b.type_name);
    usable
}

fn types(spec: &Spec, flavors: &[Flavor], images: &[Image]) -> Vec<TypeRef> {
    let with_image = |flavor: &Flavor| {
        let image = image_for(spec, flavor, images)?;
        Some(TypeRef {
            id: flavor.id.clone(),
            name: flavor.type_name.clone(),
            image: image.id.clone(),
        })
    };
    flavors.iter().filter_map(with_image).collect()
}

async fn zones(client: &Client, spec: &Spec) -> Result<Vec<Named>, Trouble> {
    let all = client
        .zones()
        .await
        .map_err(|error| unanswered(conditions::ZONES, "availability zones", &error))?;
    let wanted = |name: &String| {
        spec.availability_zones
            .as_ref()
            .is_none_or(|zones| zones.contains(name))
    };
    let mut zones: Vec<Named> = all
        .iter()
        .filter(|zone| zone.state.available && zone.name != "internal" && wanted(&zone.name))
        .map(|zone| Named::new(zone.name.as_str(), zone_label(&zone.name)))
        .filter(|zone| is_label_value(&zone.name))
        .collect();
    zones.sort();
    zones.dedup_by(|a, b| a.name == b.name);
    if zones.is_empty() {
        let have: Vec<&str> = all.iter().map(|zone| zone.name.as_str()).collect();
        let message = format!(
            "none of spec.availabilityZones is available; the cloud has {}",
            have.join(", ")
        );
        return Err(trouble(conditions::ZONES, "NotFound", message));
    }
    Ok(zones)
}

/// A zone as the cloud's own controller writes it on nodes.
pub(crate) fn zone_label(zone: &str) -> String {
    let mut label = String::new();
    for c in zone.chars() {
        let good = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        match (good, label.ends_with('\u{0}')) {
            (true, _) => label.push(c),
            (false, false) => label.push('\u{0}'),
            (false, true) => {}
        }
    }
    let label: String = label.replace('\u{0}', "-").chars().take(63).collect();
    label
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_owned()
}

async fn placement_group(client: &Client, spec: &Spec) -> Result<Option<Named>, Trouble> {
    let Some(group) = spec
        .server_group
        .as_ref()
        .filter(|group| group.id.is_some() || group.name.is_some())
    else {
        return Ok(None);
    };
    let groups = client.server_groups().await;
    let groups =
        groups.map_err(|error| unanswered(conditions::VALIDATION, "server groups", &error))?;
    let fits = |id: &str, name: &str| {
        group.id.as_deref().is_none_or(|wanted| wanted == id)
            && group.name.as_deref().is_none_or(|wanted| wanted == name)
    };
    let mut chosen = groups.iter().filter(|one| fits(&one.id, &one.name));
    match (chosen.next(), chosen.next()) {
        (Some(one), None) => Ok(Some(Named::new(one.id.as_str(), one.name.as_str()))),
        (None, _) => Err(trouble(
            conditions::VALIDATION,
            "NotFound",
            "no server group matches spec.serverGroup; correct its id or name",
        )),
        (Some(_), Some(_)) => Err(trouble(
            conditions::VALIDATION,
            "Ambiguous",
            "several server groups match spec.serverGroup.name; use its id",
        )),
    }
}

/// What the class may say and this version does not do. Silence would be worse.
fn unsupported(spec: &Spec) -> Vec<Trouble> {
    let group = spec.server_group.as_ref();
    let makes_groups = group.is_some_and(|group| group.id.is_none() && group.name.is_none());
    let floating = spec
        .floating_ip
        .as_ref()
        .is_some_and(|ip| ip.enabled == Some(true));
    let trunk = spec.ports.iter().any(|port| port.trunk == Some(true));
    let volume_zone = spec
        .block_devices
        .iter()
        .flatten()
        .any(|device| device.availability_zone.is_some());
    let list = [
        (
            makes_groups,
            "spec.serverGroup: groups are not created yet; make one and name it by id or name",
        ),
        (
            floating,
            "spec.floatingIP: addresses are not allocated yet; set enabled to false",
        ),
        (
            trunk,
            "spec.ports[].trunk: trunks are not created yet; remove it",
        ),
        (
            volume_zone,
            "spec.blockDevices[].availabilityZone: Nova cannot be told; remove it",
        ),
    ];
    let said = list.into_iter().filter(|(asked, _)| *asked);
    said.map(|(_, message)| trouble(conditions::VALIDATION, "Unsupported", message))
        .collect()
}
