//! Who has stopped us, and where?

use kube::ResourceExt;

/// On a NodePool or NodeClass: no changing call of that kind until it is taken away.
pub const PAUSED: &str = "joiner.dev/paused";

/// Anything but `false` pauses: whoever writes the annotation wants us to stop.
pub fn is_paused(object: &impl ResourceExt) -> bool {
    object
        .annotations()
        .get(PAUSED)
        .is_some_and(|value| value != "false")
}
