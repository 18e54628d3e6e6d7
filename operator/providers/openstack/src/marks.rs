//! What is written on an instance, besides what makes it run?
//!
//! Identity as tags, which decide, and again in the metadata, for people and for the machine itself. Nova allows no slash in
//! a metadata key: it is written as an underscore.

use std::collections::BTreeMap;

use cloud::{CloudError, Order, Said, identity};
use crds::openstack::v1::OpenStackNodeClassSpec as Spec;

/// The catalog's name of the type: a server names its flavor only by a name that need not be a label.
pub(crate) const TYPE: &str = "joiner-type";
pub(crate) const ZONE: &str = "joiner-zone";
/// A server that boots from a volume does not show its image.
pub(crate) const IMAGE: &str = "joiner-image";
/// The last restart that was asked for.
pub(crate) const REBOOT: &str = "joiner-reboot";

/// Ours and the class's, which may not pretend to be ours.
pub(crate) fn tags(spec: &Spec, order: &Order) -> Result<Vec<String>, CloudError> {
    let ours =
        identity::tags(&order.identity).map_err(|bad| CloudError::rejected(&bad.to_string()))?;
    let pretends =
        |tag: &&String| tag.starts_with(identity::CLUSTER) || tag.starts_with(identity::CLAIM);
    let theirs = spec.server_tags.iter().flatten();
    if let Some(tag) = theirs.clone().find(pretends) {
        return Err(rejected(&format!(
            "spec.serverTags: {tag:?} looks like a mark of ours; remove it"
        )));
    }
    Ok(ours.into_iter().chain(theirs.cloned()).collect())
}

/// The class's labels, over them its metadata, over them the order's marks, over them ours.
pub(crate) fn metadata(
    spec: &Spec,
    order: &Order,
    image: &str,
) -> Result<BTreeMap<String, String>, CloudError> {
    let mut all = BTreeMap::new();
    let ours =
        identity::pairs(&order.identity).map_err(|bad| CloudError::rejected(&bad.to_string()))?;
    let chosen = [
        (TYPE, order.offering.instance_type.as_ref()),
        (ZONE, order.offering.zone.as_ref()),
        (IMAGE, image),
    ];
    for (field, list) in [("labels", &spec.labels), ("metadata", &spec.metadata)] {
        for (key, value) in list.iter().flatten() {
            let key = encoded(key).filter(|_| value.len() <= 255).ok_or_else(|| {
                rejected(&format!(
                    "spec.{field}[{key:?}] cannot be metadata of Nova; use letters, digits, '-', '_', ':', '.', '/' and at most 255 bytes"
                ))
            })?;
            all.insert(key, value.clone());
        }
    }
    for (key, value) in &order.marks {
        if let Some(key) = encoded(key).filter(|_| value.len() <= 255) {
            all.insert(key, value.clone());
        }
    }
    all.extend(
        ours.into_iter()
            .chain(chosen)
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    Ok(all)
}

/// A Kubernetes key as Nova takes it.
pub(crate) fn encoded(key: &str) -> Option<String> {
    let key = key.replace('/', "_");
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | ' ');
    let fits = !key.is_empty() && key.len() <= 255 && key.chars().all(allowed);
    fits.then_some(key)
}

fn rejected(text: &str) -> CloudError {
    CloudError::Rejected {
        said: Said::new(text),
    }
}
