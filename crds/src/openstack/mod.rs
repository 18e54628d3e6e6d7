//! What may an OpenStackNodeClass say?

pub mod check;
pub mod convert;
pub mod network;
pub mod select;
pub mod status;
pub mod v1;
pub mod v1openstack;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use check::check;

use crate::shared::pieces::not_nullable;

/// The definition of the hub version, and those of the older versions: one version each, to be merged into one definition.
pub fn crds() -> (CustomResourceDefinition, Vec<CustomResourceDefinition>) {
    (
        not_nullable(v1::OpenStackNodeClass::crd()),
        vec![not_nullable(v1openstack::OpenStackNodeClass::crd())],
    )
}
