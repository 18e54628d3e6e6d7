//! How does OpenStack (Keystone, Nova, Neutron, Glance) speak, in terms of the cloud contract?

pub mod catalog;
pub mod client;
pub mod credentials;
pub mod drift;
pub mod error;
mod find;
mod flavor;
mod hints;
mod instance;
pub mod kubelet;
mod launch;
mod marks;
mod network;
mod open;
mod price;
mod provider;
pub mod provider_id;
mod reboot;
mod resolve;
mod select;
pub mod status;
mod terminate;

pub use credentials::{BadCredentials, Credentials};
pub use open::{BadClass, Opening, open, trust};
pub use provider::OpenStack;
