//! What do we answer an API server that asks whether an object may be stored?

use serde_json::{Value, json};

use super::{Verdict, node_pool};

/// Judges a new object, and what it was before if it is an update.
type Check = fn(&Value, Option<&Value>) -> Verdict;

/// Who judges which kind, by API group and kind.
const CHECKS: &[(&str, &str, Check)] = &[
    ("karpenter.sh", "NodePool", node_pool::check),
    (
        "karpenter.k8s.openstack",
        "OpenStackNodeClass",
        crate::openstack::check,
    ),
    (
        "karpenter.k8s.cloudstack",
        "CloudStackNodeClass",
        crate::cloudstack::check,
    ),
    (
        "karpenter.ovhcloud.sh",
        "OVHNodeClass",
        crate::ovhcloud::check,
    ),
    ("joiner.dev", "NodeGroup", crate::joiner::check),
];

/// Answers an `admission.k8s.io/v1` AdmissionReview (as JSON) with one; never fails, a malformed review is a refusal.
///
/// Let through without a look: deletions, subresources (their schema guards them), and objects on their way out, whose
/// finalizers could else never be removed. An update that leaves the spec as it was is warned about, not refused:
/// whatever is wrong was stored before we watched.
pub fn review(review: &Value) -> Value {
    match judge(review) {
        Ok(verdict) => answer(uid(review), verdict),
        Err(malformed) => refusal(uid(review), 400, "BadRequest", &malformed, Vec::new()),
    }
}

fn judge(review: &Value) -> Result<Verdict, String> {
    let text = |pointer: &str| review.pointer(pointer).and_then(Value::as_str);
    if text("/apiVersion") != Some("admission.k8s.io/v1")
        || text("/kind") != Some("AdmissionReview")
    {
        return Err("this is not an AdmissionReview of admission.k8s.io/v1".to_owned());
    }
    if uid(review).is_empty() {
        return Err("the review has no request.uid".to_owned());
    }
    let (Some(group), Some(kind)) = (text("/request/kind/group"), text("/request/kind/kind"))
    else {
        return Err("the review does not name the kind of its object in request.kind".to_owned());
    };
    let operation = text("/request/operation").ok_or("the review has no request.operation")?;
    let passes = !matches!(operation, "CREATE" | "UPDATE")
        || text("/request/subResource").is_some_and(|name| !name.is_empty())
        || present(review, "/request/object/metadata/deletionTimestamp").is_some();
    if passes {
        return Ok(Verdict::default());
    }
    let object =
        present(review, "/request/object").ok_or("the review carries no request.object")?;
    let Some((.., check)) = CHECKS
        .iter()
        .find(|(for_group, for_kind, _)| (*for_group, *for_kind) == (group, kind))
    else {
        let warning = format!(
            "joiner-webhook has no rules for kind {kind:?} of group {group:?}; the object was let through unchecked"
        );
        return Ok(Verdict {
            warnings: vec![warning],
            ..Verdict::default()
        });
    };
    let old = present(review, "/request/oldObject").filter(|_| operation == "UPDATE");
    let mut verdict = check(object, old);
    if old.is_some_and(|old| old.get("spec") == object.get("spec")) {
        let stale = verdict
            .refusals
            .drain(..)
            .map(|finding| finding.to_string());
        verdict.warnings.extend(stale);
    }
    Ok(verdict)
}

fn present<'a>(review: &'a Value, pointer: &str) -> Option<&'a Value> {
    review.pointer(pointer).filter(|value| !value.is_null())
}

fn uid(review: &Value) -> &str {
    review
        .pointer("/request/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn answer(uid: &str, verdict: Verdict) -> Value {
    if verdict.refusals.is_empty() {
        return respond(json!({"uid": uid, "allowed": true}), verdict.warnings);
    }
    let findings: Vec<_> = verdict.refusals.iter().map(ToString::to_string).collect();
    refusal(uid, 422, "Invalid", &findings.join("\n"), verdict.warnings)
}

fn refusal(uid: &str, code: u16, reason: &str, message: &str, warnings: Vec<String>) -> Value {
    let status = json!({"status": "Failure", "code": code, "reason": reason, "message": message});
    respond(
        json!({"uid": uid, "allowed": false, "status": status}),
        warnings,
    )
}

fn respond(mut response: Value, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        response["warnings"] = warnings.into();
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(schedule: &str) -> Value {
        json!({"metadata": {"name": "p"}, "spec": {
            "template": {"spec": {"requirements": [], "nodeClassRef": {"group": "g", "kind": "k", "name": "n"}}},
            "disruption": {"budgets": [{"nodes": "1", "schedule": schedule, "duration": "1h"}]},
        }})
    }

    #[allow(clippy::needless_pass_by_value)] // `json!` at the call reads better without `&`
    fn asked(operation: &str, object: Value, old: Value) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u-1", "operation": operation, "object": object, "oldObject": old,
            "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodePool"},
        }})
    }

    fn response(request: &Value) -> Value {
        review(request)["response"].clone()
    }

    #[test]
    fn a_good_pool_is_let_in_without_a_word() {
        let answer = review(&asked("CREATE", pool("@daily"), Value::Null));
        assert_eq!(
            answer,
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "u-1", "allowed": true}})
        );
    }

    #[test]
    fn a_refusal_lists_every_finding_with_its_fix() {
        let mut object = pool("@dailyish");
        object["spec"]["limits"] = json!({"cpu": "-1"});
        let answer = response(&asked("CREATE", object, Value::Null));
        assert_eq!(answer["uid"], "u-1");
        assert_eq!(answer["allowed"], false);
        assert_eq!(
            (&answer["status"]["code"], &answer["status"]["reason"]),
            (&json!(422), &json!("Invalid"))
        );
        assert_eq!(
            answer["status"]["message"],
            "spec.disruption.budgets[0].schedule: \"@dailyish\" is no schedule: @dailyish is not a named schedule; \
             write five cron fields in UTC, for example \"0 9 * * mon-fri\", or a name such as \"@daily\"\n\
             spec.limits[cpu]: -1 is negative; write 0 to forbid any, or remove the limit"
        );
    }

    #[test]
    fn an_update_may_leave_an_old_fault_but_not_add_one() {
        let mut labelled = pool("@dailyish");
        labelled["metadata"]["labels"] = json!({"a": "b"});
        let answer = response(&asked("UPDATE", labelled, pool("@dailyish")));
        assert_eq!(
            (
                &answer["allowed"],
                answer["warnings"].as_array().map(Vec::len)
            ),
            (&json!(true), Some(1))
        );

        let mut heavier = pool("@dailyish");
        heavier["spec"]["weight"] = json!(5);
        let answer = response(&asked("UPDATE", heavier.clone(), pool("@dailyish")));
        assert_eq!(
            (
                &answer["allowed"],
                answer["warnings"].as_array().map(Vec::len)
            ),
            (&json!(true), Some(1))
        );

        heavier["spec"]["limits"] = json!({"cpu": "x"});
        let answer = response(&asked("UPDATE", heavier, pool("@dailyish")));
        assert_eq!(answer["allowed"], false);
        assert_eq!(
            answer["status"]["message"]
                .as_str()
                .unwrap()
                .lines()
                .count(),
            1
        );
    }

    #[test]
    fn deletions_subresources_and_objects_on_their_way_out_pass() {
        assert_eq!(
            response(&asked("DELETE", Value::Null, pool("@x")))["allowed"],
            true
        );
        let mut leaving = pool("@x");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(
            response(&asked("UPDATE", leaving, pool("@daily")))["allowed"],
            true
        );
        let mut status = asked("UPDATE", pool("@x"), pool("@daily"));
        status["request"]["subResource"] = json!("status");
        assert_eq!(response(&status), json!({"uid": "u-1", "allowed": true}));
    }

    #[test]
    fn an_unknown_kind_passes_with_a_warning() {
        let mut request = asked("CREATE", json!({}), Value::Null);
        request["request"]["kind"]["kind"] = json!("Teapot");
        let answer = response(&request);
        assert_eq!(answer["allowed"], true);
        assert!(answer["warnings"][0].as_str().unwrap().contains("Teapot"));
    }

    #[test]
    fn a_malformed_review_is_refused_with_a_reason_and_its_uid() {
        let whole = asked("CREATE", pool("@daily"), Value::Null);
        for gone in [
            "/apiVersion",
            "/kind",
            "/request/kind",
            "/request/operation",
            "/request/object",
        ] {
            let mut broken = whole.clone();
            *broken.pointer_mut(gone).unwrap() = Value::Null;
            let answer = response(&broken);
            assert_eq!(
                (&answer["allowed"], &answer["uid"]),
                (&json!(false), &json!("u-1")),
                "{gone}"
            );
            assert_eq!(answer["status"]["code"], 400, "{gone}");
            assert!(
                !answer["status"]["message"].as_str().unwrap().is_empty(),
                "{gone}"
            );
        }
        for absurd in [Value::Null, json!([]), json!("x"), json!({"request": 5})] {
            assert_eq!(response(&absurd)["allowed"], false, "{absurd}");
        }
    }

    #[test]
    fn an_unreadable_or_deeply_nested_pool_is_refused_and_nothing_overflows() {
        for spec in [
            Value::Null,
            json!([]),
            json!({"template": 5}),
            json!({"template": {"spec": {"requirements": "x"}}}),
        ] {
            let answer = response(&asked("CREATE", json!({"spec": spec}), Value::Null));
            assert_eq!(answer["status"]["code"], 422);
            assert!(
                answer["status"]["message"]
                    .as_str()
                    .unwrap()
                    .starts_with("spec: cannot be read"),
                "{answer}"
            );
        }
        // 120 levels is about what a JSON reader lets in; 20,000 is what only a hand-made value could be.
        for depth in [120, 20_000] {
            let deep = (0..depth).fold(json!(1), |inner, _| Value::Array(vec![inner]));
            let mut request = asked(
                "CREATE",
                json!({"spec": {"template": {"metadata": {}}}}),
                Value::Null,
            );
            request["request"]["object"]["spec"]["template"]["metadata"]["labels"] = deep; // `json!` would copy it, recursing
            assert_eq!(response(&request)["allowed"], false);
            std::mem::forget(request); // dropping a value nested that deep is what would overflow
        }
    }
}
