//! Which disruption budgets hold a pod?

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use planner::drain::PodBudget;

/// Those that select the pod.
pub fn of_pod(pod: &Pod, budgets: &[std::sync::Arc<PodDisruptionBudget>]) -> Vec<PodBudget> {
    budgets
        .iter()
        .filter(|budget| budget.namespace() == pod.namespace())
        .filter(|budget| {
            let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            selector.is_some_and(|selector| selects(selector, pod.labels()))
        })
        .map(|budget| read(budget))
        .collect()
}

fn read(budget: &PodDisruptionBudget) -> PodBudget {
    let spec = budget.spec.as_ref();
    let is = |value: Option<&IntOrString>, number: i32, text: &str| match value {
        Some(IntOrString::Int(value)) => *value == number,
        Some(IntOrString::String(value)) => value == text,
        None => false,
    };
    let never = spec.is_some_and(|spec| {
        is(spec.max_unavailable.as_ref(), 0, "0%")
            || is(spec.min_available.as_ref(), i32::MIN, "100%")
    });
    let policy = spec.and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
    PodBudget {
        name: crate::mirror::key(budget).into(),
        allowed: budget
            .status
            .as_ref()
            .and_then(|status| status.disruptions_allowed)
            .unwrap_or(0),
        never,
        lets_unready_go: policy == Some("AlwaysAllow"),
    }
}

/// As the API machinery matches: an empty selector matches everything.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let exact = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.iter().flatten();
    exact
        .into_iter()
        .all(|(key, value)| labels.get(key) == Some(value))
        && expressions.into_iter().all(|one| {
            let value = labels.get(&one.key);
            let named = |value: &String| one.values.iter().flatten().any(|named| named == value);
            match one.operator.as_str() {
                "In" => value.is_some_and(named),
                "NotIn" => value.is_none_or(|value| !named(value)),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    #[rstest]
    #[case(json!({ "maxUnavailable": 0 }), true)]
    #[case(json!({ "maxUnavailable": "0%" }), true)]
    #[case(json!({ "maxUnavailable": 1 }), false)]
    #[case(json!({ "maxUnavailable": "10%" }), false)]
    #[case(json!({ "minAvailable": "100%" }), true)]
    #[case(json!({ "minAvailable": "99%" }), false)]
    #[case(json!({ "minAvailable": 100 }), false)]
    #[case(json!({ "minAvailable": 0 }), false)]
    #[case(json!({}), false)]
    fn a_budget_that_by_its_text_never_allows_anything_is_known_as_such(
        #[case] spec: Value,
        #[case] never: bool,
    ) {
        let budget = json!({ "metadata": { "name": "b", "namespace": "d" }, "spec": spec });
        assert_eq!(read(&serde_json::from_value(budget).unwrap()).never, never);
    }

    #[rstest]
    #[case(json!({}), true)]
    #[case(json!(null), false)]
    #[case(json!({ "matchLabels": { "app": "a" } }), true)]
    #[case(json!({ "matchLabels": { "app": "b" } }), false)]
    #[case(json!({ "matchExpressions": [{ "key": "app", "operator": "In", "values": ["a", "b"] }] }), true)]
    #[case(json!({ "matchExpressions": [{ "key": "app", "operator": "Exists" }] }), true)]
    #[case(json!({ "matchExpressions": [{ "key": "app", "operator": "DoesNotExist" }] }), false)]
    #[case(json!({ "matchExpressions": [{ "key": "tier", "operator": "DoesNotExist" }] }), true)]
    #[case(json!({ "matchExpressions": [{ "key": "app", "operator": "Near", "values": ["a"] }] }), false)]
    fn a_budget_holds_whom_its_selector_means(#[case] selector: Value, #[case] holds: bool) {
        let budget = json!({ "metadata": { "name": "b", "namespace": "d" }, "spec": { "selector": selector } });
        let budget = std::sync::Arc::new(serde_json::from_value(budget).unwrap());
        let pod =
            json!({ "metadata": { "name": "p", "namespace": "d", "labels": { "app": "a" } } });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        assert_eq!(!of_pod(&pod, &[budget]).is_empty(), holds);
    }

    #[test]
    fn a_budget_holds_the_pods_its_selector_names_in_its_namespace() {
        let budget = |namespace: &str| -> std::sync::Arc<PodDisruptionBudget> {
            std::sync::Arc::new(serde_json::from_value(json!({
                "metadata": { "name": "b", "namespace": namespace },
                "spec": { "maxUnavailable": 0, "selector": { "matchLabels": { "app": "a" },
                    "matchExpressions": [{ "key": "tier", "operator": "NotIn", "values": ["x"] }] } },
            })).unwrap())
        };
        let pod: Pod = serde_json::from_value(
            json!({ "metadata": { "name": "p", "namespace": "d", "labels": { "app": "a" } } }),
        )
        .unwrap();
        let held = of_pod(&pod, &[budget("d"), budget("other")]);
        assert_eq!(held.len(), 1);
        assert!(held[0].never);
    }
}
