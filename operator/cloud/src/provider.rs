//! What can be asked of a cloud?
//!
//! One value per class object, with its credentials. Answers are whole or an error; only a positive answer says that
//! something does not exist.

use async_trait::async_trait;
use planner::{Catalog, Identity, InstanceId};

use crate::class::{ClassTrouble, Quota, Resolved};
use crate::error::CloudError;
use crate::instance::{Drift, Footprint, Instance, Order};

#[async_trait]
pub trait Provider: Send + Sync {
    /// What the class's selections amount to. Conditions and status of the class come from it.
    async fn resolve(&self) -> Result<Resolved, ClassTrouble>;

    /// Everything that may be bought: whole, or an error.
    async fn catalog(&self, on: &Resolved) -> Result<Catalog, CloudError>;

    /// One create call with the identity inside. Never looks, never retries.
    async fn launch(&self, order: &Order) -> Result<Instance, CloudError>;

    /// Instances that carry this identity. Empty means proven absent; any doubt is `Unknown`.
    async fn find(&self, who: &Identity) -> Result<Vec<Instance>, CloudError>;

    /// One instance. `Gone` only on a positive answer.
    async fn get(&self, id: &InstanceId) -> Result<Instance, CloudError>;

    /// All instances of this cluster, complete, or an error.
    async fn list(&self) -> Result<Vec<Instance>, CloudError>;

    /// Ok means under way; `Gone` means that nothing is left, side resources included.
    async fn terminate(&self, what: &Footprint) -> Result<(), CloudError>;

    /// One instance too many of a claim that keeps another: this one alone goes. What else carries the identity stays, ports
    /// included, until the claim ends. Ok means under way; `Rejected` where the cloud cannot remove one alone.
    async fn terminate_only(&self, who: &Identity, id: &InstanceId) -> Result<(), CloudError>;

    /// Restarts the machine. The same `operation` twice restarts it once where the cloud can tell; `Rejected` where it cannot
    /// restart at all.
    async fn reboot(&self, id: &InstanceId, operation: &str) -> Result<(), CloudError>;

    /// What the account may still create.
    async fn quota(&self) -> Result<Quota, CloudError>;

    /// The end of what the machine printed while booting.
    async fn console(&self, id: &InstanceId) -> Result<String, CloudError>;

    /// Is the instance still what the class describes? Pure: both sides are values.
    fn drifted(&self, resolved: &Resolved, instance: &Instance) -> Option<Drift>;
}
