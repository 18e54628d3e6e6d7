//! Which kinds speak Karpenter's API, equal to upstream v1.15.0?

// `KubeSchema` copies each struct, `pub` included, into a function body.
#![allow(unreachable_pub)]
// Print columns have the same type and priority again and again.
#![allow(clippy::duplicated_attributes)]

pub mod hash;
pub mod node_claim;
pub mod node_overlay;
pub mod node_pool;
pub mod template;

pub use node_claim::{NodeClaim, NodeClaimSpec, NodeClaimStatus};
pub use node_overlay::{NodeOverlay, NodeOverlaySpec, NodeOverlayStatus};
pub use node_pool::{NodePool, NodePoolSpec, NodePoolStatus};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use crate::generate::schema::polish;

/// API group of all three kinds.
pub const GROUP: &str = "karpenter.sh";

/// The three CRDs; each has one version, so nothing converts.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [NodeClaim::crd(), NodeOverlay::crd(), NodePool::crd()]
        .into_iter()
        .map(polish)
        .collect()
}
