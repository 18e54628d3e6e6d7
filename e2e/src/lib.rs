//! Which behaviours are proven end to end, and in which worlds?
//!
//! The harness of the local world, a real control plane on this host:
//!
//! ```no_run
//! # async fn a_test() -> anyhow::Result<()> {
//! let Some(control_plane) = e2e::need_control_plane("local: pods run on a hollow node") else { return Ok(()) };
//! let cluster = control_plane.shared().await?;              // or .private(Options { .. })
//! let client = cluster.client().await?;
//! e2e::apply(&client, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}").await?;
//! # Ok(()) }
//! ```

pub mod adapter;
pub mod apply;
pub mod audit;
pub mod binary;
pub mod binding;
pub mod cluster;
pub mod conformance;
pub mod demo;
pub mod emulator;
pub mod figures;
pub mod first_node;
pub mod ground;
pub mod install;
pub mod lookalikes;
pub mod manifests;
pub mod openstack;
pub mod operator;
pub mod path;
pub mod scratch;
pub mod script;
pub mod service;
pub mod sim;
pub mod skip;
pub mod stage;
pub mod wait;

pub use apply::{apply, apply_as, delete};
pub use binary::{Binary, Running};
pub use cluster::{Cluster, ControlPlane, Ran};
pub use emulator::{Emulated, Emulator};
pub use scratch::Scratch;
pub use service::{Exposed, expose};
pub use skip::need_control_plane;
pub use stage::Stage;
pub use xtask::cluster::{AUDIT_METADATA, Join, Node, Options};
