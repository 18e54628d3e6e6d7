//! Given everything known at this moment, what should happen next, and why?

pub mod catalog;
pub mod identity;
pub mod labels;
pub mod price;
pub mod quantity;
pub mod requirements;
pub mod resources;
pub mod taints;
pub mod why;

pub use catalog::{
    Availability, BadCatalog, CapacityType, Catalog, InstanceType, Offering, OfferingId, Offerings,
    Ranking, TypeId,
};
pub use identity::{ClaimName, ClaimUid, ClassRef, ClusterId, Identity, InstanceId};
pub use price::{BadPrice, Price};
pub use quantity::{BadQuantity, Quantity};
pub use requirements::{Operator, Requirement, Requirements};
pub use resources::{BadResource, ResourceName, Resources};
pub use taints::{Effect, Taint, Toleration};
pub use why::{Constraint, Why};
