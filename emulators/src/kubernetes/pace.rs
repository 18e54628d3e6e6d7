//! How long does everything take that happens by itself in the cluster?

use jiff::SignedDuration;

/// The defaults are those of a real cluster where somebody waits for them to end (leases, eviction), and quick where
/// a machine works (pods start and stop in well under a second).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// From boot until the kubelet asks to join.
    pub join: SignedDuration,
    /// From joining until the node is Ready.
    pub ready: SignedDuration,
    /// From binding until the first container runs.
    pub start: SignedDuration,
    /// For each init container.
    pub init: SignedDuration,
    /// How long a container takes to end; never longer than the grace period.
    pub stop: SignedDuration,
    /// How long pods run whose restart policy says that they end.
    pub run: SignedDuration,
    /// Between two renewals of a node's lease.
    pub renew: SignedDuration,
    /// A node whose lease was not renewed for so long is Unknown.
    pub silence: SignedDuration,
    /// Pods of a node that does not exist are removed after this.
    pub orphaned: SignedDuration,
    /// Events older than this are forgotten; zero: none are written.
    pub events: SignedDuration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            join: SignedDuration::from_millis(300),
            ready: SignedDuration::from_millis(700),
            start: SignedDuration::from_millis(300),
            init: SignedDuration::from_millis(200),
            stop: SignedDuration::from_millis(300),
            run: SignedDuration::from_secs(1),
            renew: SignedDuration::from_secs(10),
            silence: SignedDuration::from_secs(40),
            orphaned: SignedDuration::from_secs(40),
            events: SignedDuration::from_hours(1),
        }
    }
}
