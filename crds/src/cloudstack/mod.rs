//! What may a CloudStackNodeClass say?

pub mod check;
pub mod convert;
pub mod disk;
pub mod placement;
pub mod select;
pub mod status;
pub mod v2;
pub mod v1;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use check::check;

use crate::shared::pieces::not_nullable;

/// The definition of the hub version, and those of the older versions: one version each, to be merged into one definition.
pub fn crds() -> (CustomResourceDefinition, Vec<CustomResourceDefinition>) {
    (
        not_nullable(v2::CloudStackNodeClass::crd()),
        vec![not_nullable(v1::CloudStackNodeClass::crd())],
    )
}
