//! When has the cluster become what a test expects, and if never, what was seen instead?

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Result, bail};
use kube::Api;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};

const EVERY: Duration = Duration::from_millis(100);

/// Waits until the named object fulfils `condition`. `what` completes the sentence "waited for it to be …".
pub async fn until<K>(
    api: &Api<K>,
    name: &str,
    what: &str,
    within: Duration,
    condition: impl Fn(&K) -> bool,
) -> Result<K>
where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Serialize,
{
    let deadline = Instant::now() + within;
    loop {
        let seen = match api.get_opt(name).await {
            Ok(Some(object)) if condition(&object) => return Ok(object),
            Ok(seen) => Ok(seen),
            Err(error) => Err(error.to_string()),
        };
        if Instant::now() >= deadline {
            bail!(
                "{}",
                instead(
                    &format!("{} {name} to be {what}", api.resource_url()),
                    within,
                    &seen
                )
            );
        }
        sleep(EVERY).await;
    }
}

/// Waits until the named object is no longer there.
pub async fn gone<K>(api: &Api<K>, name: &str, within: Duration) -> Result<()>
where
    K: kube::Resource + Clone + DeserializeOwned + Debug + Serialize,
{
    let deadline = Instant::now() + within;
    loop {
        let seen = match api.get_opt(name).await {
            Ok(None) => return Ok(()),
            Ok(seen) => Ok(seen),
            Err(error) => Err(error.to_string()),
        };
        if Instant::now() >= deadline {
            bail!(
                "{}",
                instead(
                    &format!("{} {name} to be gone", api.resource_url()),
                    within,
                    &seen
                )
            );
        }
        sleep(EVERY).await;
    }
}

/// Waits until `attempt` succeeds; the message on time-out carries its last error. For everything that is not one object.
pub async fn succeeds<T>(
    what: &str,
    within: Duration,
    attempt: impl AsyncFn() -> Result<T>,
) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        match attempt().await {
            Ok(answer) => return Ok(answer),
            Err(error) if Instant::now() >= deadline => {
                bail!("waited {within:?} for {what}; seen instead: {error:#}")
            }
            Err(_) => sleep(EVERY).await,
        }
    }
}

/// Does the object carry this status condition? For [`until`].
pub fn condition<K: Serialize>(kind: &str, status: &str) -> impl Fn(&K) -> bool {
    let (kind, status) = (kind.to_owned(), status.to_owned());
    move |object| {
        let object = serde_json::to_value(object).unwrap_or_default();
        let conditions = object["status"]["conditions"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        conditions
            .iter()
            .any(|condition| condition["type"] == *kind && condition["status"] == *status)
    }
}

/// The message of a wait that was in vain.
fn instead<K: Serialize>(what: &str, within: Duration, seen: &Result<Option<K>, String>) -> String {
    let seen = match seen {
        Ok(Some(object)) => {
            let mut object = serde_json::to_value(object).unwrap_or_default();
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields"); // long, and never the reason
            }
            format!("{object:#}")
        }
        Ok(None) => "no such object".to_owned(),
        Err(error) => error.clone(),
    };
    format!("waited {within:?} for {what}; seen instead: {seen}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_in_vain_says_what_was_seen_instead() {
        let within = Duration::from_secs(5);
        let object = serde_json::json!({"metadata": {"name": "a", "managedFields": [1]}, "status": {"phase": "Pending"}});
        let said = instead("pod a to be Running", within, &Ok(Some(object)));
        assert!(
            said.starts_with("waited 5s for pod a to be Running; seen instead: {"),
            "{said}"
        );
        assert!(
            said.contains("\"phase\": \"Pending\"") && !said.contains("managedFields"),
            "{said}"
        );
        assert_eq!(
            instead::<Value>("x", within, &Ok(None)),
            "waited 5s for x; seen instead: no such object"
        );
        assert_eq!(
            instead::<Value>("x", within, &Err("refused".into())),
            "waited 5s for x; seen instead: refused"
        );
    }

    #[test]
    fn a_condition_holds_only_with_its_status() {
        let ready = condition::<Value>("Ready", "True");
        assert!(ready(
            &serde_json::json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        ));
        assert!(!ready(
            &serde_json::json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
        ));
        assert!(!ready(&serde_json::json!({})));
    }
}
