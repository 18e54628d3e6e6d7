//! What does the status of a class show of what was found?

use cloud::{Image, Named, Quota, Resolved};
use crds::openstack::status::{FlavorStatus, ImageStatus, OpenStackNodeClassStatus, QuotaStatus};
use crds::shared::class_status::NamedResource;

/// Everything but the conditions, which have a writer of their own.
pub fn status(found: &Resolved, quota: Option<&Quota>) -> OpenStackNodeClassStatus {
    let count = i32::try_from(found.types.len()).unwrap_or(i32::MAX);
    let networks: Vec<NamedResource> = found
        .ports
        .iter()
        .map(|port| named(&port.network))
        .collect();
    OpenStackNodeClassStatus {
        conditions: None,
        images: Some(found.images.iter().map(image).collect()),
        networks: Some(networks),
        security_groups: Some(found.security_groups.iter().map(named).collect()),
        flavors: Some(FlavorStatus { count }),
        availability_zones: Some(found.zones.iter().map(|zone| zone.id.to_string()).collect()),
        quota: quota.map(left),
    }
}

fn image(image: &Image) -> ImageStatus {
    ImageStatus {
        id: image.id.to_string(),
        name: Some(image.name.to_string()),
        architecture: image.architecture.as_ref().map(ToString::to_string),
    }
}

fn named(one: &Named) -> NamedResource {
    NamedResource {
        id: one.id.to_string(),
        name: Some(one.name.to_string()),
    }
}

/// What is left of the project's quota.
pub fn left(quota: &Quota) -> QuotaStatus {
    let shown = |left: Option<u64>| left.map(|left| i64::try_from(left).unwrap_or(i64::MAX));
    QuotaStatus {
        instances: shown(quota.instances),
        cores: shown(quota.cores),
        memory_mi_b: shown(quota.memory_mib),
    }
}
