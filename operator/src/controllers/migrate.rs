//! Is every class stored in the version we read, and if not, who brings it there?
//!
//! A CRD remembers each version in which objects may be stored. Where it remembers more than the hub, every class is
//! written back as it is, which makes the API server store it in the hub version; then the CRD may forget the others.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::ListParams;
use runtime::readiness::Readiness;
use serde_json::json;

use super::Turn;
use crate::access::CLASS_DEFINITION;
use crate::hub::Shared;
use crate::write::{Who, WriteError};

/// The version we read, and the only one that should be stored.
const HUB: &str = "v1";
const PAGE: u32 = 200;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What is to be done about stored versions.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    /// Write everything back, then forget these.
    Rewrite {
        older: Vec<String>,
    },
    /// The CRD is not ours yet: whatever we wrote would be stored in this version again.
    WrongStorage {
        version: String,
    },
}

/// Ends when everything is stored in the hub version; says in readiness what keeps it from that.
pub async fn run(hub: &Shared, readiness: &Readiness) {
    let mut wait = FIRST_WAIT;
    let mut gate = None;
    loop {
        match pass(hub).await {
            Ok(()) => {
                if let Some(gate) = gate {
                    runtime::readiness::Gate::open(&gate);
                }
                return;
            }
            Err(turn) => {
                let error = said(&turn);
                tracing::warn!(
                    error,
                    "stored classes could not be brought to version {HUB}; trying again"
                );
                let why = format!(
                    "classes stored in an older version cannot be rewritten ({error}); is joiner-webhook running?"
                );
                gate.get_or_insert_with(|| readiness.gate("storedversions", &why))
                    .close(&why);
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// The API server's own sentence, without what the client wraps around it.
fn said(turn: &Turn) -> String {
    if let Turn::Read(error) = turn
        && let kube::Error::Api(status) = &**error
    {
        return status.message.clone();
    }
    turn.to_string()
}

async fn pass(hub: &Shared) -> Result<(), Turn> {
    let definition = hub.access.definitions().get(CLASS_DEFINITION).await?;
    match plan(&definition) {
        Plan::Nothing => Ok(()),
        Plan::WrongStorage { version } => Err(Turn::Other(format!(
            "CustomResourceDefinition {CLASS_DEFINITION} stores {version}; apply the one of this release"
        ))),
        Plan::Rewrite { older } => {
            let count = rewrite(hub).await?;
            // Refused if the CRD has changed meanwhile: then the next pass looks again.
            let status = json!({ "storedVersions": [HUB] });
            hub.write
                .merge_status(&hub.access.definitions(), Who::Class, &definition, status)
                .await?;
            tracing::info!(count, ?older, "classes are stored in version {HUB} only");
            Ok(())
        }
    }
}

fn plan(definition: &CustomResourceDefinition) -> Plan {
    let storage = definition.spec.versions.iter().find(|one| one.storage);
    if let Some(other) = storage.filter(|one| one.name != HUB) {
        return Plan::WrongStorage {
            version: other.name.clone(),
        };
    }
    let stored = definition
        .status
        .as_ref()
        .and_then(|status| status.stored_versions.clone());
    let mut older = stored.unwrap_or_default();
    older.retain(|version| version != HUB);
    if older.is_empty() {
        Plan::Nothing
    } else {
        Plan::Rewrite { older }
    }
}

/// Every class, page by page, unchanged. One that changes or goes meanwhile has been written by somebody else.
async fn rewrite(hub: &Shared) -> Result<usize, Turn> {
    let mut count = 0;
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = hub.access.classes().list(&params).await?;
        for class in &page.items {
            let written = hub
                .write
                .merge(&hub.access.classes(), Who::Class, class, json!({}))
                .await;
            match written {
                Ok(_) | Err(WriteError::Gone | WriteError::Conflict) => count += 1,
                Err(error) => {
                    tracing::warn!(class = class.name_any(), %error, "a class could not be written back");
                    return Err(error.into());
                }
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn definition(storage: &str, stored: &[&str]) -> CustomResourceDefinition {
        let version =
            |name: &str| json!({ "name": name, "served": true, "storage": name == storage });
        serde_json::from_value(json!({
            "spec": {
                "group": "karpenter.k8s.openstack", "scope": "Cluster",
                "names": { "kind": "OpenStackNodeClass", "plural": "openstacknodeclasses" },
                "versions": [version("v1"), version("v1openstack")],
            },
            "status": { "storedVersions": stored },
        }))
        .unwrap()
    }

    fn rewrite_of(older: &str) -> Plan {
        Plan::Rewrite {
            older: vec![older.to_owned()],
        }
    }

    #[rstest]
    #[case::only_the_hub(&["v1"], Plan::Nothing)]
    #[case::nothing_known(&[], Plan::Nothing)]
    #[case::both(&["v1openstack", "v1"], rewrite_of("v1openstack"))]
    #[case::only_the_old_one(&["v1openstack"], rewrite_of("v1openstack"))]
    fn what_older_versions_have_stored_is_rewritten(
        #[case] stored: &[&str],
        #[case] expected: Plan,
    ) {
        assert_eq!(plan(&definition("v1", stored)), expected);
    }

    #[test]
    fn nothing_is_rewritten_into_an_older_version() {
        let version = "v1openstack".to_owned();
        assert_eq!(
            plan(&definition("v1openstack", &["v1openstack"])),
            Plan::WrongStorage { version }
        );
    }
}
