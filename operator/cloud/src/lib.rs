//! What is a cloud to us: what can we ask of it, and what does its answer mean for the next step?

pub mod bootstrap;
pub mod class;
pub mod clock;
pub mod error;
pub mod http;
pub mod identity;
pub mod instance;
pub mod leased;
pub mod provider;
pub mod said;
pub mod transport;

pub use class::{ClassTrouble, Image, Named, PortPlan, Quota, Resolved, Trouble, TypeRef};
pub use clock::Clock;
pub use error::{CloudError, Scope, may_forget};
pub use http::{Http, HttpFailure, Sent};
pub use instance::{
    Chosen, Drift, DriftCause, Footprint, Instance, InstanceState, Order, SideResource,
};
pub use leased::{Leased, MayAct, Permit, Refusal};
pub use provider::Provider;
pub use said::Said;
