//! What may an OVHNodeClass say?

pub mod check;
pub mod convert;
pub mod pool;
pub mod status;
pub mod v1;
pub mod v1alpha1;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use check::check;

use crate::shared::pieces::not_nullable;

/// The definition of the hub version, and those of the older versions: one version each, to be merged into one definition.
pub fn crds() -> (CustomResourceDefinition, Vec<CustomResourceDefinition>) {
    (
        not_nullable(v1::OvhNodeClass::crd()),
        vec![not_nullable(v1alpha1::OvhNodeClass::crd())],
    )
}
