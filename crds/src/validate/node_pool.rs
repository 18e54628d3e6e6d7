//! What can CEL not say about a NodePool?
//!
//! Upstream finds these at run time and sets `ValidationSucceeded=False`; the author is told at once. All findings are
//! collected, none hides another.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize as _;
use serde_json::Value;

use super::{Finding, Verdict, cron, labels, requirements};
use crate::karpenter::node_pool::{Budget, NodePoolSpec};
use crate::karpenter::template::{NodeClaimTemplateSpec, Taint};
use crate::shared::duration::GoDuration;
use crate::shared::quantity::{BadQuantity, ResourceList, Sign};

/// Judges a NodePool as an API server sends it. What was wrong before and is wrong still is a warning, not a refusal:
/// nobody should have to repair a pool to change something else in it.
pub fn check(new: &Value, old: Option<&Value>) -> Verdict {
    let known = old.map(findings_in).unwrap_or_default();
    let (known, refusals): (Vec<_>, Vec<_>) = findings_in(new)
        .into_iter()
        .partition(|finding| known.contains(finding));
    let mut warnings: Vec<_> = known.iter().map(ToString::to_string).collect();
    if let Ok(spec) = read_spec(new) {
        warnings.extend(doubts(&spec));
    }
    Verdict { refusals, warnings }
}

/// Everything wrong with a pool.
pub fn findings(spec: &NodePoolSpec) -> Vec<Finding> {
    let template = &spec.template;
    let at = "spec.template.spec";
    let mut found = Vec::new();
    if let Some(labels) = template
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.labels.as_ref())
    {
        check_labels(labels, &mut found);
    }
    check_taints(&template.spec, &mut found);
    for (index, requirement) in template.spec.requirements.iter().enumerate() {
        requirements::check(
            &format!("{at}.requirements[{index}]"),
            requirement,
            &mut found,
        );
    }
    check_duration(
        &format!("{at}.expireAfter"),
        template.spec.expire_after.as_ref(),
        &mut found,
    );
    check_duration(
        &format!("{at}.terminationGracePeriod"),
        template.spec.termination_grace_period.as_ref(),
        &mut found,
    );
    if let Some(disruption) = &spec.disruption {
        check_duration(
            "spec.disruption.consolidateAfter",
            disruption.consolidate_after.as_ref(),
            &mut found,
        );
        for (index, budget) in disruption.budgets.iter().flatten().enumerate() {
            check_budget(
                &format!("spec.disruption.budgets[{index}]"),
                budget,
                &mut found,
            );
        }
    }
    check_limits(spec.limits.as_ref(), &mut found);
    found
}

/// What is allowed but probably not meant.
fn doubts(spec: &NodePoolSpec) -> Vec<String> {
    let mut doubts = Vec::new();
    for (index, requirement) in spec.template.spec.requirements.iter().enumerate() {
        let unknown = requirements::unknown_capacity_types(requirement);
        if !unknown.is_empty() && unknown.len() < requirement.values.as_ref().map_or(0, Vec::len) {
            doubts.push(format!("spec.template.spec.requirements[{index}].values: {unknown:?} are no capacity types and are ignored"));
        }
    }
    let budgets = spec
        .disruption
        .iter()
        .flat_map(|disruption| disruption.budgets.iter().flatten());
    for (index, budget) in budgets.enumerate() {
        let field = format!("spec.disruption.budgets[{index}]");
        let never = |schedule: &&String| cron::parse(schedule).is_ok_and(|cron| !cron.ever_fires());
        if let Some(schedule) = budget.schedule.as_ref().filter(never) {
            doubts.push(format!(
                "{field}.schedule: {schedule:?} names a moment that never comes, so this budget never applies"
            ));
        }
        if budget.reasons.as_ref().is_some_and(Vec::is_empty) {
            doubts.push(format!(
                "{field}.reasons: an empty list means no reason at all, so this budget limits nothing; remove it to mean every reason"
            ));
        }
    }
    doubts
}

fn findings_in(object: &Value) -> Vec<Finding> {
    match read_spec(object) {
        Ok(spec) => findings(&spec),
        Err(error) => vec![Finding::new(
            "spec",
            format!("cannot be read: {error}"),
            "write it as `kubectl explain nodepool.spec` shows",
        )],
    }
}

/// Only the spec: metadata may nest as deep as it likes without anyone walking it.
fn read_spec(object: &Value) -> serde_json::Result<NodePoolSpec> {
    NodePoolSpec::deserialize(object.get("spec").unwrap_or(&Value::Null))
}

fn check_labels(labels: &BTreeMap<String, String>, found: &mut Vec<Finding>) {
    for (key, value) in labels {
        let field = format!("spec.template.metadata.labels[{key}]");
        if key == labels::NODE_POOL {
            found.push(Finding::new(
                &field,
                format!("label {key:?} is restricted"),
                "remove it: every node gets the name of its pool",
            ));
        }
        if let Some(problem) = labels::restricted(key) {
            found.push(Finding::new(
                &field,
                problem,
                "use a domain of your own, for example \"example.com/team\"",
            ));
        }
        found.extend(
            labels::bad_key(key).map(|problem| Finding::new(&field, problem, "rename the label")),
        );
        found.extend(
            labels::bad_value(value)
                .map(|problem| Finding::new(&field, problem, "change the value")),
        );
    }
}

/// Taints and start-up taints share one set of pairs: both end up on the same node.
fn check_taints(spec: &NodeClaimTemplateSpec, found: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for (list, taints) in [
        ("taints", &spec.taints),
        ("startupTaints", &spec.startup_taints),
    ] {
        for (index, taint) in taints.iter().flatten().enumerate() {
            check_taint(
                &format!("spec.template.spec.{list}[{index}]"),
                taint,
                &mut seen,
                found,
            );
        }
    }
}

fn check_taint<'a>(
    field: &str,
    taint: &'a Taint,
    seen: &mut BTreeSet<(&'a str, &'static str)>,
    found: &mut Vec<Finding>,
) {
    found.extend(
        labels::bad_key(&taint.key)
            .map(|problem| Finding::new(&format!("{field}.key"), problem, "rename the taint")),
    );
    if let Some(value) = taint.value.as_deref().filter(|value| !value.is_empty()) {
        let problem = labels::bad_key(value);
        found.extend(problem.map(|problem| {
            Finding::new(
                &format!("{field}.value"),
                problem,
                "write the value like a label key",
            )
        }));
    }
    if !seen.insert((&taint.key, taint.effect.as_str())) {
        let problem = format!(
            "a taint {:?} with effect {} is already there",
            taint.key,
            taint.effect.as_str()
        );
        found.push(Finding::new(
            field,
            problem,
            "keep one of them, or give them different effects",
        ));
    }
}

fn check_duration(field: &str, duration: Option<&GoDuration>, found: &mut Vec<Finding>) {
    if let Some(Err(error)) = duration.map(GoDuration::nanoseconds) {
        found.push(Finding::new(field, error.to_string(), error.fix()));
    }
}

fn check_budget(field: &str, budget: &Budget, found: &mut Vec<Finding>) {
    let nodes = &budget.nodes;
    if !nodes.ends_with('%') && nodes.parse::<i32>().is_err() {
        let fix = "write a number up to 2147483647 or a percentage, for example \"10%\"";
        found.push(Finding::new(
            &format!("{field}.nodes"),
            format!("{nodes:?} is no number of nodes"),
            fix,
        ));
    }
    if let Some(schedule) = &budget.schedule
        && let Err(error) = cron::parse(schedule)
    {
        let fix = "write five cron fields in UTC, for example \"0 9 * * mon-fri\", or a name such as \"@daily\"";
        found.push(Finding::new(
            &format!("{field}.schedule"),
            format!("{schedule:?} is no schedule: {error}"),
            fix,
        ));
    }
    let field = format!("{field}.duration");
    if budget.duration.as_ref().is_some_and(GoDuration::is_never) {
        found.push(Finding::new(
            &field,
            "a budget cannot last \"Never\"".to_owned(),
            "write hours and minutes, for example \"8h30m\"",
        ));
    }
    check_duration(&field, budget.duration.as_ref(), found);
}

fn check_limits(limits: Option<&ResourceList>, found: &mut Vec<Finding>) {
    for (name, quantity) in limits.into_iter().flatten() {
        let field = format!("spec.limits[{name}]");
        match quantity.sign() {
            Err(error) => found.push(Finding::new(&field, error.to_string(), BadQuantity::FIX)),
            Ok(Sign::Negative) => found.push(Finding::new(
                &field,
                format!("{} is negative", quantity.text()),
                "write 0 to forbid any, or remove the limit",
            )),
            Ok(Sign::Zero | Sign::Positive) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A pool that is fine, changed by an RFC 7386 merge patch of its spec.
    #[allow(clippy::needless_pass_by_value)] // `json!` at the call reads better without `&`
    fn pool(change: Value) -> Value {
        let mut pool = json!({"spec": {"template": {"spec": {
            "requirements": [], "nodeClassRef": {"group": "g", "kind": "k", "name": "n"},
        }}}});
        json_patch::merge(&mut pool, &json!({"spec": change}));
        pool
    }

    /// Fields and problems found, one per line.
    #[track_caller]
    fn check_says(change: Value, expected: &[&str]) {
        let verdict = check(&pool(change), None);
        let said: Vec<_> = verdict
            .refusals
            .iter()
            .map(|finding| format!("{}: {}", finding.field, finding.problem))
            .collect();
        assert_eq!(said, expected);
        assert!(
            verdict
                .refusals
                .iter()
                .all(|finding| !finding.fix.is_empty())
        );
    }

    fn template(spec: &Value) -> Value {
        json!({"template": {"spec": spec}})
    }

    fn requirement(requirement: &Value) -> Value {
        template(&json!({"requirements": [{"key": "a", "operator": "Exists"}, requirement]}))
    }

    const SECOND: &str = "spec.template.spec.requirements[1]";

    #[test]
    fn a_plain_pool_has_nothing_wrong() {
        check_says(json!({}), &[]);
        check_says(
            requirement(
                &json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}),
            ),
            &[],
        );
        check_says(
            json!({"template": {"metadata": {"labels": {"kubernetes.io/custom": "", "karpenter.sh/capacity-type": "spot"}}}}),
            &[],
        );
    }

    #[test]
    fn labels_in_our_domain_are_refused_like_malformed_ones() {
        let labels = json!({"karpenter.sh/nodepool": "x", "a.karpenter.sh/b": "x", "kubernetes.io/hostname": "x", "-": "x", "ok": "a b"});
        let at = |key: &str| format!("spec.template.metadata.labels[{key}]");
        let shape = "letters, digits, '-', '_', '.', at most 63, a letter or digit at both ends";
        check_says(
            json!({"template": {"metadata": {"labels": labels}}}),
            &[
                &format!("{}: \"-\" is not a label name: {shape}", at("-")),
                &format!(
                    "{}: label \"a.karpenter.sh/b\" is in the restricted domain \"karpenter.sh\"",
                    at("a.karpenter.sh/b")
                ),
                &format!(
                    "{}: label \"karpenter.sh/nodepool\" is restricted",
                    at("karpenter.sh/nodepool")
                ),
                &format!(
                    "{}: label \"kubernetes.io/hostname\" is restricted",
                    at("kubernetes.io/hostname")
                ),
                &format!("{}: \"a b\" is not a label value: {shape}", at("ok")),
            ],
        );
    }

    #[test]
    fn two_taints_of_one_key_and_effect_collide_across_both_lists() {
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        check_says(
            template(&json!({
                "taints": [taint("a", "NoSchedule"), taint("a", "NoExecute"), taint("b", "NoSchedule")],
                "startupTaints": [taint("b", "NoSchedule")],
            })),
            &[
                "spec.template.spec.startupTaints[0]: a taint \"b\" with effect NoSchedule is already there",
            ],
        );
    }

    #[test]
    fn a_taint_needs_a_name_and_a_value_like_a_name() {
        let shape = "letters, digits, '-', '_', '.', at most 63, a letter or digit at both ends";
        check_says(
            template(
                &json!({"taints": [{"key": "", "effect": "NoExecute"}, {"key": "a", "value": "x y", "effect": "NoExecute"},
                                        {"key": "b", "value": "", "effect": "NoExecute"}]}),
            ),
            &[
                &format!("spec.template.spec.taints[0].key: \"\" is not a label name: {shape}"),
                &format!(
                    "spec.template.spec.taints[1].value: \"x y\" is not a label name: {shape}"
                ),
            ],
        );
    }

    #[test]
    fn requirement_keys_are_checked_under_their_present_name() {
        check_says(
            requirement(&json!({"key": "beta.kubernetes.io/arch", "operator": "Exists"})),
            &[],
        );
        check_says(
            requirement(&json!({"key": "karpenter.sh/nodepool", "operator": "Exists"})),
            &[&format!(
                "{SECOND}.key: label \"karpenter.sh/nodepool\" is restricted"
            )],
        );
        check_says(
            requirement(&json!({"key": "karpenter.sh/registered", "operator": "Exists"})),
            &[&format!(
                "{SECOND}.key: label \"karpenter.sh/registered\" is in the restricted domain \"karpenter.sh\""
            )],
        );
        check_says(
            requirement(&json!({"key": "kubernetes.io/hostname", "operator": "Exists"})),
            &[&format!(
                "{SECOND}.key: label \"kubernetes.io/hostname\" is restricted"
            )],
        );
    }

    #[test]
    fn requirement_values_fit_their_operator() {
        check_says(
            requirement(&json!({"key": "a", "operator": "In"})),
            &[&format!("{SECOND}.values: operator In has no values")],
        );
        check_says(
            requirement(&json!({"key": "a", "operator": "In", "values": ["x"], "minValues": 2})),
            &[&format!(
                "{SECOND}.minValues: 2 different values are wanted but 1 listed"
            )],
        );
        for (operator, values) in [
            ("Gt", json!(["-1"])),
            ("Lt", json!(["x"])),
            ("Gte", json!(["1", "2"])),
            ("Lte", json!([])),
        ] {
            let change = requirement(&json!({"key": "a", "operator": operator, "values": values}));
            let verdict = check(&pool(change), None);
            let last = verdict.refusals.last().unwrap();
            assert_eq!(last.field, format!("{SECOND}.values"), "{operator}");
            assert!(
                last.problem
                    .starts_with(&format!("operator {operator} has ")),
                "{operator}"
            );
        }
        check_says(
            requirement(&json!({"key": "a", "operator": "Gt", "values": ["0"]})),
            &[],
        );
    }

    #[test]
    fn capacity_types_are_a_closed_set() {
        let of = |values: Value, min: Value| {
            requirement(
                &json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": values, "minValues": min}),
            )
        };
        check_says(
            of(json!(["Spot"]), Value::Null),
            &[&format!(
                "{SECOND}.values: none of [\"Spot\"] is a capacity type"
            )],
        );
        check_says(
            of(json!(["spot", "Spot"]), json!(2)),
            &[&format!(
                "{SECOND}.values: only 1 of [\"spot\", \"Spot\"] are capacity types but minValues is 2"
            )],
        );
        let verdict = check(&pool(of(json!(["spot", "Spot"]), Value::Null)), None);
        assert_eq!(verdict.refusals, []);
        assert_eq!(
            verdict.warnings,
            [format!(
                "{SECOND}.values: [\"Spot\"] are no capacity types and are ignored"
            )]
        );
    }

    #[test]
    fn absurd_durations_are_refused() {
        let long = "9999999999h";
        check_says(
            json!({
                "template": {"spec": {"expireAfter": long, "terminationGracePeriod": long}},
                "disruption": {"consolidateAfter": long, "budgets": [{"nodes": "1", "schedule": "@daily", "duration": long}]},
            }),
            &[
                "spec.template.spec.expireAfter: \"9999999999h\" is longer than a duration can be",
                "spec.template.spec.terminationGracePeriod: \"9999999999h\" is longer than a duration can be",
                "spec.disruption.consolidateAfter: \"9999999999h\" is longer than a duration can be",
                "spec.disruption.budgets[0].duration: \"9999999999h\" is longer than a duration can be",
            ],
        );
        check_says(template(&json!({"expireAfter": "Never"})), &[]);
    }

    #[test]
    fn budgets_have_a_readable_schedule_and_number() {
        check_says(
            json!({"disruption": {"budgets": [{"nodes": "10%"}, {"nodes": "99999999999", "schedule": "61 * * * *", "duration": "Never"}]}}),
            &[
                "spec.disruption.budgets[1].nodes: \"99999999999\" is no number of nodes",
                "spec.disruption.budgets[1].schedule: \"61 * * * *\" is no schedule: \"61\" lies outside the minutes 0 to 59",
                "spec.disruption.budgets[1].duration: a budget cannot last \"Never\"",
            ],
        );
        let february =
            json!({"disruption": {"budgets": [{"schedule": "0 0 31 2 *", "duration": "1h"}]}});
        let verdict = check(&pool(february), None);
        assert_eq!(verdict.refusals, []);
        assert!(verdict.warnings[0].contains("never comes"), "{verdict:?}");
    }

    #[test]
    fn a_budget_for_no_reason_at_all_is_doubted() {
        let nothing =
            json!({"disruption": {"budgets": [{"nodes": "0"}, {"nodes": "0", "reasons": []}]}});
        let verdict = check(&pool(nothing), None);
        assert_eq!(verdict.refusals, []);
        assert_eq!(verdict.warnings.len(), 1);
        assert!(
            verdict.warnings[0].starts_with("spec.disruption.budgets[1].reasons: "),
            "{verdict:?}"
        );
    }

    #[test]
    fn limits_are_amounts_of_zero_or_more() {
        check_says(
            json!({"limits": {"cpu": "1e1.5", "memory": -1, "nodes": 0, "pods": "10"}}),
            &[
                "spec.limits[cpu]: \"1e1.5\" is not a quantity",
                "spec.limits[memory]: -1 is negative",
            ],
        );
    }
}
