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
mod reboot;
mod resolve;
mod select;
mod terminate;

pub use credentials::{BadCredentials, Credentials};
pub use open::{BadClass, Opening, open};
pub use provider::OpenStack;
