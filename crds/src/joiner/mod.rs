//! Which kinds are our own (group `joiner.dev`)?

pub mod check;
pub mod nodegroup;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use check::check;
pub use nodegroup::NodeGroup;

use crate::shared::pieces::not_nullable;

/// The definition of NodeGroup, which has one version only.
pub fn crd() -> CustomResourceDefinition {
    not_nullable(NodeGroup::crd())
}
