//! Who has stopped us, and where?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::ResourceExt;

use crate::access::Access;
use crate::hub::Shared;

/// On a NodePool or NodeClass: no changing call of that kind until it is taken away. On the operator's own namespace: none at
/// all.
pub const PAUSED: &str = "joiner.dev/paused";

const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Anything but `false` pauses: whoever writes the annotation wants us to stop.
pub fn is_paused(object: &impl ResourceExt) -> bool {
    object
        .annotations()
        .get(PAUSED)
        .is_some_and(|value| value != "false")
}

/// The brake on everything. The flag holds for the life of the process; the annotation can be written and taken away.
#[derive(Clone, Debug, Default)]
pub struct Brake {
    flag: bool,
    annotated: Arc<AtomicBool>,
}

impl Brake {
    pub fn new(flag: bool) -> Self {
        Self {
            flag,
            annotated: Arc::default(),
        }
    }

    /// Why nothing may be changed anywhere; none if all is well.
    pub fn pulled(&self) -> Option<&'static str> {
        if self.flag {
            Some("--paused")
        } else if self.annotated.load(Ordering::Relaxed) {
            Some("annotation joiner.dev/paused on the operator's namespace")
        } else {
            None
        }
    }

    /// Reads the annotation; true if it has changed. What cannot be read stays as it was.
    pub async fn read(&self, access: &Access, namespace: &str) -> Result<bool, kube::Error> {
        let there = access.namespaces().get_opt(namespace).await?;
        let paused = there.is_some_and(|namespace| is_paused(&namespace));
        Ok(self.annotated.swap(paused, Ordering::Relaxed) != paused)
    }
}

/// Never ends. Everybody looks again when the brake is pulled or let go.
pub async fn run(hub: &Shared) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        match hub.brake.read(&hub.access, &hub.settings.namespace).await {
            Ok(false) => {}
            Ok(true) => {
                tracing::warn!(paused = hub.brake.pulled(), "the brake has changed");
                everybody(hub);
            }
            Err(error) => tracing::warn!(%error, "our namespace cannot be read"),
        }
    }
}

fn everybody(hub: &Shared) {
    for class in hub.mirror.classes.all() {
        hub.wake.class_named(&class.name_any());
    }
    for pool in hub.mirror.pools.all() {
        hub.wake.pools_of(&pool.name_any());
    }
    for claim in hub.mirror.claims.all() {
        hub.wake.claim_named(&claim.name_any());
    }
    hub.wake.plan();
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Namespace;
    use rstest::rstest;

    #[rstest]
    #[case(None, false)]
    #[case(Some("true"), true)]
    #[case(Some(""), true)]
    #[case(Some("false"), false)]
    fn whoever_writes_the_annotation_wants_us_to_stop(
        #[case] value: Option<&str>,
        #[case] paused: bool,
    ) {
        let mut object = Namespace::default();
        object.metadata.annotations =
            value.map(|value| [(PAUSED.to_owned(), value.to_owned())].into());
        assert_eq!(is_paused(&object), paused);
    }

    #[test]
    fn the_flag_pulls_the_brake_for_good() {
        assert_eq!(Brake::new(true).pulled(), Some("--paused"));
        assert_eq!(Brake::new(false).pulled(), None);
    }
}
