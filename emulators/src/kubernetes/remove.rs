//! How are objects deleted: one, many, or a pod that a budget protects?

use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::ask::{Ask, body};
use super::object::Object;
use super::paths::{at, list, text};
use super::rules::{Deleted, Deletion, Propagation, prepare_delete};
use super::selectors::{all_hold, of_object};
use super::status::{Cause, Status};
use super::{Kubernetes, Said, crds, view};

impl Kubernetes {
    pub(super) fn delete(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let how = options(ask, request)?;
        let old = self.find(ask)?;
        if how_dry(ask, request)? {
            prepare_delete(&ask.stored, &old, &how, now)?;
            return Ok(Said::bytes(200, view::answer(ask, &old, now)));
        }
        match self.delete_one(ask, &old, &how, now)? {
            Deleted::Gone(last) => Ok(Said::json(200, &success(ask, &last))),
            Deleted::Marked(marked) => Ok(Said::bytes(200, view::answer(ask, &marked, now))),
        }
    }

    pub(super) fn delete_many(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let how = options(ask, request)?;
        let all = self.matching(ask)?;
        if !how_dry(ask, request)? {
            for object in &all {
                self.delete_one(ask, object, &how, now)?;
            }
        }
        let items: Vec<Bytes> = all.iter().map(|object| view::bytes(ask, object)).collect();
        let meta = json!({"resourceVersion": self.world.store.revision().to_string()});
        Ok(Said::bytes(200, view::list(ask, &meta, &items)))
    }

    fn delete_one(
        &mut self,
        ask: &Ask,
        old: &Object,
        how: &Deletion,
        now: Timestamp,
    ) -> Result<Deleted, Status> {
        let at = (old.namespace(), old.name());
        if ask.stored.id == crds::ID {
            self.delete_objects_of(old, now);
        }
        self.world.store.delete(&ask.stored.id, at, how, now)
    }

    /// With the definition of a kind go all objects of it. Those with finalizers are not waited for.
    fn delete_objects_of(&mut self, definition: &Object, now: Timestamp) {
        let id = crds::kind(&definition.value()).id;
        let all: Vec<(String, String)> = self
            .world
            .store
            .list(&id, None)
            .map(|object| (object.namespace().to_owned(), object.name().to_owned()))
            .collect();
        for (namespace, name) in all {
            let key = super::store::key(&namespace, &name);
            let _ = self.world.store.remove(&id, &key);
        }
        let _ = now;
        self.world.store.kinds.remove(&id);
    }

    pub(super) fn evict(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let wish = body(request)?;
        let pod = self.find(ask)?;
        let how = deletion(&wish["deleteOptions"])?;
        let dry = ask.dry_run()? || wish["deleteOptions"]["dryRun"][0] == "All";
        let running = !matches!(pod.meta.phase.as_str(), "Succeeded" | "Failed" | "Pending");
        if running && pod.meta.deleted_at.is_none() {
            self.ask_budgets(&pod, dry, now)?;
        }
        if !dry {
            self.world
                .store
                .delete("pods", (pod.namespace(), pod.name()), &how, now)?;
        }
        let done = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success", "code": 201});
        Ok(Said::json(201, &done))
    }

    /// Takes one of the budget's allowed disruptions, or says why not.
    fn ask_budgets(&mut self, pod: &Object, dry: bool, now: Timestamp) -> Result<(), Status> {
        const ID: &str = "poddisruptionbudgets.policy";
        let budgets: Vec<_> = self
            .world
            .store
            .list(ID, Some(pod.namespace()))
            .filter(|budget| {
                let selector = of_object(&budget.value()["spec"]["selector"]);
                selector.is_some_and(|wanted| all_hold(&wanted, &pod.meta.labels))
            })
            .cloned()
            .collect();
        let budget = match budgets.as_slice() {
            [] => return Ok(()),
            [one] => one,
            _ => {
                return Err(Status::new(
                    500,
                    "InternalError",
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        };
        let allowed = match verdict(budget, pod)? {
            Verdict::Free => return Ok(()),
            Verdict::Takes { allowed } => allowed,
        };
        if dry {
            return Ok(());
        }
        let evicted = pod.name().to_owned();
        self.world
            .store
            .change(ID, (budget.namespace(), budget.name()), now, |value| {
                super::paths::set(
                    value,
                    &["status", "disruptionsAllowed"],
                    (allowed - 1).into(),
                );
                let stamp = super::object::stamp(now);
                super::paths::set(value, &["status", "disruptedPods", &evicted], stamp.into());
            })?;
        Ok(())
    }

    pub(super) fn bind(
        &mut self,
        ask: &Ask,
        request: &Request<Bytes>,
        now: Timestamp,
    ) -> Result<Said, Status> {
        let wish = body(request)?;
        let node = text(&wish["target"], "name").to_owned();
        if node.is_empty() {
            let cause = Cause::new("target.name", "FieldValueRequired", "Required value");
            return Err(Status::invalid("Binding", &ask.name, vec![cause]));
        }
        let pod = self.find(ask)?;
        if !pod.meta.node.is_empty() {
            let why = format!(
                "pod {} is already assigned to node \"{}\"",
                pod.name(),
                pod.meta.node
            );
            return Err(Status::conflict("pods/binding", pod.name(), &why));
        }
        if pod.meta.deleted_at.is_some() {
            let why = format!(
                "pod {} is being deleted, cannot be assigned to a host",
                pod.name()
            );
            return Err(Status::conflict("pods/binding", pod.name(), &why));
        }
        if !ask.dry_run()? {
            bind_pod(&mut self.world.store, &pod, &node, now)?;
        }
        let done = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success", "code": 201});
        Ok(Said::json(201, &done))
    }
}

/// Assigns a pod to a node, as the binding subresource does.
pub fn bind_pod(
    store: &mut super::store::Store,
    pod: &Object,
    node: &str,
    now: Timestamp,
) -> Result<(), Status> {
    store.change("pods", (pod.namespace(), pod.name()), now, |value| {
        super::paths::set(value, &["spec", "nodeName"], node.into());
        let scheduled = json!({"type": "PodScheduled", "status": "True",
            "lastProbeTime": null, "lastTransitionTime": super::object::stamp(now)});
        let mut conditions = list(at(value, &["status", "conditions"])).to_vec();
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(scheduled);
        super::paths::set(value, &["status", "conditions"], conditions.into());
    })?;
    Ok(())
}

/// Does an eviction count against the budget?
enum Verdict {
    /// A pod that is not ready may go without asking.
    Free,
    Takes {
        allowed: i64,
    },
}

fn verdict(budget: &Object, pod: &Object) -> Result<Verdict, Status> {
    let value = budget.value();
    let status = &value["status"];
    let ready = list(&pod.value()["status"]["conditions"])
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let healthy = status["currentHealthy"].as_i64().unwrap_or(0);
    let desired = status["desiredHealthy"].as_i64().unwrap_or(0);
    let always = value["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
    if !ready && (always || healthy >= desired && desired > 0) {
        return Ok(Verdict::Free);
    }
    let behind = status["observedGeneration"].as_i64().unwrap_or(0) < budget.meta.generation;
    if behind {
        let said = "The disruption budget is still being processed by the server.";
        return Err(too_many(said, budget, &[]).retry_after(10));
    }
    let allowed = status["disruptionsAllowed"].as_i64().unwrap_or(0);
    if allowed < 1 {
        let name = budget.name();
        let message = format!(
            "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        );
        let cause = Cause::new("", "DisruptionBudget", message);
        let said = "Cannot evict pod as it would violate the pod's disruption budget.";
        return Err(too_many(said, budget, &[cause]));
    }
    Ok(Verdict::Takes { allowed })
}

fn too_many(said: &str, budget: &Object, causes: &[Cause]) -> Status {
    Status::new(429, "TooManyRequests", said)
        .about("poddisruptionbudgets.policy", budget.name())
        .because(causes)
}

fn success(ask: &Ask, last: &Object) -> Value {
    let mut details = json!({"name": last.name(), "kind": ask.kind.plural, "uid": last.meta.uid});
    if !ask.kind.group.is_empty() {
        details["group"] = ask.kind.group.clone().into();
    }
    json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success", "details": details})
}

fn options(ask: &Ask, request: &Request<Bytes>) -> Result<Deletion, Status> {
    let mut how = if request.body().is_empty() {
        Deletion::default()
    } else {
        deletion(&body(request)?)?
    };
    if let Some(seconds) = ask.query.number("gracePeriodSeconds")? {
        how.grace_seconds = i64::try_from(seconds).ok();
    }
    if let Some(wanted) = propagation(ask.query.get("propagationPolicy"))? {
        how.propagation = Some(wanted);
    }
    Ok(how)
}

fn deletion(options: &Value) -> Result<Deletion, Status> {
    let own = |value: &Value| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let grace = &options["gracePeriodSeconds"];
    if !grace.is_null() && grace.as_i64().is_none_or(|seconds| seconds < 0) {
        let cause = Cause::new(
            "gracePeriodSeconds",
            "FieldValueInvalid",
            format!("Invalid value: {grace}: must be non-negative"),
        );
        return Err(Status::invalid("DeleteOptions", "", vec![cause]));
    }
    let orphans = (options["orphanDependents"] == true).then_some(Propagation::Orphan);
    Ok(Deletion {
        grace_seconds: grace.as_i64(),
        uid: own(&options["preconditions"]["uid"]),
        resource_version: own(&options["preconditions"]["resourceVersion"]),
        propagation: propagation(text(options, "propagationPolicy"))?.or(orphans),
    })
}

fn propagation(word: &str) -> Result<Option<Propagation>, Status> {
    match word {
        "" => Ok(None),
        "Background" => Ok(Some(Propagation::Background)),
        "Foreground" => Ok(Some(Propagation::Foreground)),
        "Orphan" => Ok(Some(Propagation::Orphan)),
        other => Err(Status::bad_request(format!(
            "invalid propagationPolicy {other:?}; there are Orphan, Background, Foreground"
        ))),
    }
}

fn how_dry(ask: &Ask, request: &Request<Bytes>) -> Result<bool, Status> {
    let in_body = body(request).unwrap_or_default();
    Ok(ask.dry_run()? || in_body["dryRun"][0] == "All")
}
