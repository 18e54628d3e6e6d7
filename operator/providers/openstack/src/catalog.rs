//! Which flavors are considered, in which zones, at which price?
//!
//! Pure: flavors, quota and hints in, catalog out.

use std::sync::Arc;

use cloud::{CloudError, Quota, Resolved, Said};
use crds::openstack::v1::{OpenStackNodeClassSpec as Spec, QuotaPolicy};
use jiff::{SignedDuration, Timestamp};
use planner::{
    Availability, CapacityType, Catalog, ClassRef, InstanceType, Offering, Requirement,
    Requirements, ResourceName, Resources, labels,
};

use crate::flavor::Flavor;
use crate::hints::Hints;
use crate::resolve::boot_volume_gib;
use crate::{kubelet, price};

/// A quota that is used up is looked at again after this.
const QUOTA_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// Everything the catalog is made of.
pub(crate) struct Stock<'a> {
    pub class: &'a ClassRef,
    pub spec: &'a Spec,
    pub on: &'a Resolved,
    pub region: Option<&'a str>,
    /// None when the quota is not obeyed.
    pub quota: Option<Quota>,
    pub hints: &'a Hints,
    pub now: Timestamp,
}

impl Stock<'_> {
    pub(crate) fn catalog(&self, flavors: &[Flavor]) -> Result<Catalog, CloudError> {
        let (mut types, mut offerings) = (Vec::new(), Vec::new());
        for flavor in flavors {
            let chosen = self.on.types.iter().find(|kind| kind.id == flavor.id);
            let Some(chosen) = chosen else { continue };
            types.push(self.instance_type(flavor, &chosen.image)?);
            offerings.extend(
                self.on
                    .zones
                    .iter()
                    .map(|zone| self.offering(flavor, &zone.name)),
            );
        }
        let bad = |error: planner::BadCatalog| CloudError::Rejected {
            said: Said::new(&error.to_string()),
        };
        let catalog = Catalog::new(self.class.clone(), self.now, types, offerings).map_err(bad)?;
        let currency = self
            .spec
            .pricing
            .as_ref()
            .and_then(|pricing| pricing.currency.clone());
        Ok(match currency {
            Some(currency) => catalog.in_currency(currency),
            None => catalog,
        })
    }

    fn instance_type(&self, flavor: &Flavor, image: &str) -> Result<InstanceType, CloudError> {
        let capacity = self.capacity(flavor);
        let kubelet = self.spec.kubelet.as_ref();
        let overhead =
            kubelet::overhead(kubelet, &capacity).map_err(|bad| CloudError::Rejected {
                said: Said::new(&format!("spec.kubelet: {bad}")),
            })?;
        Ok(InstanceType {
            name: flavor.type_name.clone(),
            aliases: flavor.alias.iter().cloned().collect(),
            capacity,
            overhead,
            requirements: self.requirements(flavor, image),
        })
    }

    fn capacity(&self, flavor: &Flavor) -> Resources {
        let vcpus = flavor.vcpus.get();
        let disk_gib = boot_volume_gib(self.spec).unwrap_or(flavor.disk_gib);
        let pods = kubelet::pods(self.spec.kubelet.as_ref(), vcpus);
        let mut capacity = Resources::new()
            .with(ResourceName::Cpu, i64::from(vcpus) * 1000)
            .with(
                ResourceName::Memory,
                i64::from(flavor.memory_mib.get()) << 20,
            )
            .with(ResourceName::EphemeralStorage, i64::from(disk_gib) << 30)
            .with(ResourceName::Pods, i64::from(pods));
        if let Some(gpus) = &flavor.gpus {
            capacity.set(gpus.resource.into(), i64::from(gpus.count));
        }
        capacity
    }

    fn requirements(&self, flavor: &Flavor, image: &str) -> Requirements {
        let image = self
            .on
            .images
            .iter()
            .find(|known| known.id.as_ref() == image);
        let of_image = image.and_then(|image| image.architecture.clone());
        let arch = flavor
            .architecture
            .clone()
            .or(of_image)
            .unwrap_or_else(|| Arc::from("amd64"));
        let mut all: Requirements = [
            Requirement::one_of(labels::ARCH, [arch.as_ref()]),
            Requirement::one_of(labels::OS, ["linux"]),
            Requirement::one_of(labels::CAPACITY_TYPE, [CapacityType::OnDemand.as_str()]),
            Requirement::one_of(
                labels::ZONE,
                self.on.zones.iter().map(|zone| zone.name.as_ref()),
            ),
        ]
        .into_iter()
        .collect();
        if let Some(region) = self.region {
            all.add(Requirement::one_of(labels::REGION, [region]));
        }
        all
    }

    fn offering(&self, flavor: &Flavor, zone: &str) -> Offering {
        let mut offering = Offering::new(&flavor.type_name, zone, CapacityType::OnDemand);
        offering.price = price::price(self.spec.pricing.as_ref(), flavor);
        let again = self.now.checked_add(QUOTA_AGAIN).unwrap_or(self.now);
        let used_up = self
            .quota
            .is_some_and(|quota| exceeds(&quota, flavor))
            .then_some(again);
        let refused = self.hints.until(&flavor.type_name, zone, self.now);
        if let Some(until) = refused.max(used_up) {
            offering.availability = Availability::UnavailableUntil(until);
        }
        offering
    }
}

/// Does the class let the quota decide?
pub(crate) fn obeys_quota(spec: &Spec) -> bool {
    spec.quota_policy != Some(QuotaPolicy::Ignore)
}

/// Would one more instance be too much?
fn exceeds(quota: &Quota, flavor: &Flavor) -> bool {
    let short = |left: Option<u64>, asked: u32| left.is_some_and(|left| left < u64::from(asked));
    short(quota.instances, 1)
        || short(quota.cores, flavor.vcpus.get())
        || short(quota.memory_mib, flavor.memory_mib.get())
}
