//! How do the outside worlds behave (clouds, a Kubernetes API), as deterministic state machines?

pub mod boot;
pub mod dice;
pub mod faults;
pub mod fronts;
pub mod journal;
pub mod kubernetes;
pub mod machine;
pub mod openstack;
pub mod serve;
