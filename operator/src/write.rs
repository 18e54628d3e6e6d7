//! How is anything written to Kubernetes, by whom, and may it be written now?
//!
//! The only writer. Labels, annotations and whole objects of ours are applied or merged; every list that others write too
//! (taints, conditions, finalizers) is changed by merge patch with the resourceVersion it was read at. Field managers:
//! `joiner-provision`, `joiner-claim`, `joiner-node`, `joiner-class`.

#![allow(clippy::disallowed_methods)] // this is where they are allowed

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crds::karpenter::NodeClaim;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Resource, ResourceExt};
use runtime::Clock;
use runtime::lease::Leadership;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::access::Access;
use crate::events::{Next, Reporter, Said, Told, repeated};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Provision,
    Claim,
    Node,
    Class,
}

impl Who {
    fn field_manager(self) -> &'static str {
        match self {
            Self::Provision => "joiner-provision",
            Self::Claim => "joiner-claim",
            Self::Node => "joiner-node",
            Self::Class => "joiner-class",
        }
    }
}

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("this process does not hold the lease; nothing was written")]
    NotLeading,
    #[error("the object has changed since it was read")]
    Conflict,
    #[error("the object does not exist any more")]
    Gone,
    /// A disruption budget says no.
    #[error("not now: {0}")]
    TooMany(String),
    #[error("the API server: {0}")]
    Api(#[source] Box<kube::Error>),
}

#[derive(Clone)]
pub struct Write {
    access: Access,
    leadership: Leadership,
    reporter: Reporter,
    clock: Clock,
    told: Told,
    ours: Written,
}

/// Claims we wrote and the mirror may not have seen yet: name → uid and resourceVersion.
#[derive(Clone, Default)]
pub struct Written(Arc<Mutex<BTreeMap<String, (String, u64)>>>);

impl Written {
    fn note(&self, claim: &NodeClaim) {
        let version = claim.resource_version().and_then(|text| text.parse().ok());
        if let (Some(uid), Some(version)) = (claim.uid(), version) {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(claim.name_any(), (uid, version));
        }
    }

    /// Forgets what `seen` has caught up with; returns the names that are still missing.
    pub fn unseen(&self, seen: impl Fn(&str) -> Option<(String, u64)>) -> Vec<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|name, (uid, version)| match seen(name) {
            Some((other, _)) if other != *uid => false,
            Some((_, at)) => at < *version,
            None => true,
        });
        all.keys().cloned().collect()
    }

    /// A GET has said that it does not exist.
    pub fn forget(&self, name: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(name);
    }
}

impl Write {
    /// `identity` is how events name us.
    pub fn new(access: Access, leadership: Leadership, identity: &str, clock: Clock) -> Self {
        Self {
            access,
            leadership,
            reporter: Reporter::named(identity),
            clock,
            told: Told::default(),
            ours: Written::default(),
        }
    }

    pub fn written(&self) -> &Written {
        &self.ours
    }

    fn may_write(&self) -> Result<(), WriteError> {
        if self.leadership.may_act() {
            Ok(())
        } else {
            Err(WriteError::NotLeading)
        }
    }

    pub async fn create_claim(&self, claim: &NodeClaim) -> Result<NodeClaim, WriteError> {
        self.may_write()?;
        let params = PostParams {
            field_manager: Some(Who::Provision.field_manager().to_owned()),
            ..PostParams::default()
        };
        let made = self.access.claims().create(&params, claim).await;
        let made = made.map_err(meaning)?;
        self.ours.note(&made);
        Ok(made)
    }

    /// Merges `change` into a claim as it was read.
    pub async fn claim(&self, claim: &NodeClaim, change: Value) -> Result<NodeClaim, WriteError> {
        let written = self
            .merge(&self.access.claims(), Who::Claim, claim, change)
            .await?;
        self.ours.note(&written);
        Ok(written)
    }

    pub async fn claim_status(
        &self,
        claim: &NodeClaim,
        status: Value,
    ) -> Result<NodeClaim, WriteError> {
        let written = self
            .merge_status(&self.access.claims(), Who::Claim, claim, status)
            .await?;
        self.ours.note(&written);
        Ok(written)
    }

    /// Deletes exactly this object. One that is gone already is as good.
    pub async fn delete<K>(&self, api: &Api<K>, object: &K) -> Result<(), WriteError>
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    {
        self.may_write()?;
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match api
            .delete(&object.name_any(), &params)
            .await
            .map_err(meaning)
        {
            Ok(_) | Err(WriteError::Gone) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Merges `change` into an object as it was read: 409 if it has changed since.
    pub async fn merge<K>(
        &self,
        api: &Api<K>,
        who: Who,
        read: &K,
        change: Value,
    ) -> Result<K, WriteError>
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    {
        self.may_write()?;
        let params = by(who);
        let patch = Patch::Merge(versioned(read, change));
        let written = api.patch(&read.name_any(), &params, &patch).await;
        written.map_err(meaning)
    }

    pub async fn merge_status<K>(
        &self,
        api: &Api<K>,
        who: Who,
        read: &K,
        status: Value,
    ) -> Result<K, WriteError>
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    {
        self.may_write()?;
        let params = by(who);
        let patch = Patch::Merge(versioned(read, json!({ "status": status })));
        let written = api.patch_status(&read.name_any(), &params, &patch).await;
        written.map_err(meaning)
    }

    /// Puts a Secret of ours in place, whole.
    pub async fn apply_secret(&self, namespace: &str, secret: &Secret) -> Result<(), WriteError> {
        self.may_write()?;
        let params = by(Who::Claim).force();
        let api = self.access.secrets_in(namespace);
        let applied = api
            .patch(&secret.name_any(), &params, &Patch::Apply(secret))
            .await;
        applied.map(|_| ()).map_err(meaning)
    }

    /// One that does not exist is as good.
    pub async fn delete_secret(&self, namespace: &str, name: &str) -> Result<(), WriteError> {
        self.may_write()?;
        let api = self.access.secrets_in(namespace);
        match api
            .delete(name, &DeleteParams::default())
            .await
            .map_err(meaning)
        {
            Ok(_) | Err(WriteError::Gone) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Asks a pod to leave.
    pub async fn evict(&self, namespace: &str, name: &str, uid: &str) -> Result<(), WriteError> {
        self.may_write()?;
        let params = EvictParams {
            delete_options: Some(exactly(uid)),
            ..EvictParams::default()
        };
        let evicted = self.access.pods_in(namespace).evict(name, &params).await;
        evicted.map(|_| ()).map_err(meaning)
    }

    /// Removes a pod whose node has no time left.
    pub async fn delete_pod(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        grace: u32,
    ) -> Result<(), WriteError> {
        self.may_write()?;
        let params = DeleteParams {
            grace_period_seconds: Some(grace),
            ..exactly(uid)
        };
        let deleted = self.access.pods_in(namespace).delete(name, &params).await;
        match deleted.map_err(meaning) {
            Ok(_) | Err(WriteError::Gone) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Tells people, once per cause. An event that cannot be written is only logged.
    pub async fn tell(&self, about: &ObjectReference, warning: bool, reason: &str, note: String) {
        if self.may_write().is_err() {
            return;
        }
        let said = Said::new(about, warning, reason, &note);
        let told = match self.told.next(&said, self.clock.now()) {
            Next::Silence => return,
            Next::First => match self.first(&said).await {
                // An earlier process has told it: at least twice by now.
                Err(WriteError::Conflict) => self.again(&said, 2).await,
                told => told,
            },
            Next::Repeat(times) => match self.again(&said, times).await {
                Err(WriteError::Gone) => self.first(&said).await,
                told => told,
            },
        };
        if let Err(error) = told {
            tracing::warn!(reason, %error, "an event could not be written");
            self.told.forget(&said);
        }
    }

    async fn first(&self, said: &Said) -> Result<(), WriteError> {
        let event = said.event(&self.reporter, self.clock.now());
        let api = self.access.events_in(said.namespace());
        let made = api.create(&PostParams::default(), &event).await;
        made.map(drop).map_err(meaning)
    }

    async fn again(&self, said: &Said, times: i32) -> Result<(), WriteError> {
        let change = Patch::Merge(repeated(times, self.clock.now()));
        let api = self.access.events_in(said.namespace());
        let patched = api
            .patch(&said.name(), &PatchParams::default(), &change)
            .await;
        patched.map(drop).map_err(meaning)
    }
}

fn by(who: Who) -> PatchParams {
    PatchParams {
        field_manager: Some(who.field_manager().to_owned()),
        ..PatchParams::default()
    }
}

fn exactly(uid: &str) -> DeleteParams {
    DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    }
}

/// The change, to be refused unless the object is still as it was read.
fn versioned(read: &impl ResourceExt, mut change: Value) -> Value {
    change["metadata"]["resourceVersion"] = json!(read.resource_version());
    change["metadata"]["uid"] = json!(read.uid());
    change
}

fn meaning(error: kube::Error) -> WriteError {
    let kube::Error::Api(status) = &error else {
        return WriteError::Api(Box::new(error));
    };
    match status.code {
        404 => WriteError::Gone,
        409 => WriteError::Conflict,
        429 => WriteError::TooMany(status.message.clone()),
        _ => WriteError::Api(Box::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(uid: &str, version: &str) -> NodeClaim {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": { "name": "c", "uid": uid, "resourceVersion": version },
            "spec": { "requirements": [], "nodeClassRef": { "group": "g", "kind": "k", "name": "n" } },
        }))
        .unwrap()
    }

    #[test]
    fn our_own_write_is_unseen_until_the_mirror_has_that_version_or_another_object() {
        let ours = Written::default();
        ours.note(&claim("u1", "7"));
        assert_eq!(ours.unseen(|_| None), ["c"]);
        assert_eq!(ours.unseen(|_| Some(("u1".into(), 6))), ["c"]);
        assert!(ours.unseen(|_| Some(("u1".into(), 7))).is_empty());
        ours.note(&claim("u1", "7"));
        assert!(ours.unseen(|_| Some(("u2".into(), 1))).is_empty());
    }

    #[test]
    fn a_change_carries_the_version_it_was_decided_on() {
        let change = versioned(
            &claim("u1", "7"),
            json!({ "metadata": { "labels": { "a": "b" } } }),
        );
        assert_eq!(change["metadata"]["resourceVersion"], "7");
        assert_eq!(change["metadata"]["labels"]["a"], "b");
    }
}
