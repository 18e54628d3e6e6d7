//! What may users write, in which versions, and how do the versions turn into each other?
//!
//! Pure: no tokio, no HTTP, no client. Types of every served version, the CEL rules beside the fields they guard,
//! conversion through the hub version, and the validation that CEL cannot say.

pub mod admission;
pub mod cloudstack;
pub mod convert;
pub mod generate;
pub mod joiner;
pub mod karpenter;
pub mod openstack;
pub mod ovhcloud;
pub mod shared;
pub mod validate;
