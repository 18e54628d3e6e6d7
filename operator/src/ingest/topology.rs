//! Beside whom, or away from whom, does a pod want to be?

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelectorTerm, PodAffinityTerm, PodSpec, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use planner::snapshot::{PodTerm, Policy, Selector, Shape, Spread};
use planner::{Operator, Requirement, Why};

use super::pod::Terms;

/// Adds spreads, affinities and preferences to the shape; what cannot be read becomes a reason.
pub fn constrain(spec: &PodSpec, shape: &mut Shape) {
    for raw in spec.topology_spread_constraints.iter().flatten() {
        match spread(raw) {
            Ok(spread) => shape.spreads.push(spread),
            Err(why) => shape.unreadable.push(why),
        }
    }
    let Some(affinity) = &spec.affinity else {
        return;
    };
    preferred_nodes(affinity, shape);
    let near = affinity.pod_affinity.as_ref();
    let apart = affinity.pod_anti_affinity.as_ref();
    let terms = |list: Option<&Vec<PodAffinityTerm>>, shape: &mut Shape| {
        required(list.map_or(&[], Vec::as_slice), shape)
    };
    shape.near = terms(
        near.and_then(|all| {
            all.required_during_scheduling_ignored_during_execution
                .as_ref()
        }),
        shape,
    );
    shape.apart = terms(
        apart.and_then(|all| {
            all.required_during_scheduling_ignored_during_execution
                .as_ref()
        }),
        shape,
    );
    let weighed = |list: Option<&Vec<WeightedPodAffinityTerm>>, shape: &mut Shape| {
        preferred(list.map_or(&[], Vec::as_slice), shape)
    };
    shape.preferred_near = weighed(
        near.and_then(|all| {
            all.preferred_during_scheduling_ignored_during_execution
                .as_ref()
        }),
        shape,
    );
    shape.preferred_apart = weighed(
        apart.and_then(|all| {
            all.preferred_during_scheduling_ignored_during_execution
                .as_ref()
        }),
        shape,
    );
}

fn preferred_nodes(affinity: &Affinity, shape: &mut Shape) {
    let nodes = affinity.node_affinity.as_ref();
    let list = nodes.and_then(|all| {
        all.preferred_during_scheduling_ignored_during_execution
            .as_ref()
    });
    for one in list.into_iter().flatten() {
        match node_term(&one.preference) {
            Ok(term) if term.is_empty() => {}
            Ok(term) => shape.preferred.push((one.weight, term)),
            Err(why) => shape.unreadable.push(why),
        }
    }
}

/// Whatever it asks for: what cannot be had is given up.
fn node_term(term: &NodeSelectorTerm) -> Result<Vec<Requirement>, Why> {
    let expressions = term.match_expressions.iter().flatten();
    expressions
        .map(|one| super::pod::expressed(one, Terms::AsWritten))
        .collect()
}

fn required(list: &[PodAffinityTerm], shape: &mut Shape) -> Vec<PodTerm> {
    let read = |raw| keep(pod_term(raw), shape);
    list.iter().filter_map(read).collect()
}

fn preferred(list: &[WeightedPodAffinityTerm], shape: &mut Shape) -> Vec<(i32, PodTerm)> {
    let read = |raw: &WeightedPodAffinityTerm| {
        Some((raw.weight, keep(pod_term(&raw.pod_affinity_term), shape)?))
    };
    list.iter().filter_map(read).collect()
}

fn keep<T>(read: Result<T, Why>, shape: &mut Shape) -> Option<T> {
    read.map_err(|why| shape.unreadable.push(why)).ok()
}

pub fn spread(raw: &TopologySpreadConstraint) -> Result<Spread, Why> {
    let field = format!("topologySpreadConstraints of {}", raw.topology_key);
    let hard = match raw.when_unsatisfiable.as_str() {
        "DoNotSchedule" => true,
        "ScheduleAnyway" => false,
        other => {
            return Err(super::pod::unreadable(
                &field,
                &format!("whenUnsatisfiable {other:?}"),
            ));
        }
    };
    let positive = |number: i32, what: &str| {
        let said = format!("{what} {number} is not above zero");
        u32::try_from(number)
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| super::pod::unreadable(&field, &said))
    };
    let policy = |text: Option<&str>, default: Policy| match text {
        None => Ok(default),
        Some("Honor") => Ok(Policy::Honor),
        Some("Ignore") => Ok(Policy::Ignore),
        Some(other) => Err(super::pod::unreadable(&field, &format!("policy {other:?}"))),
    };
    Ok(Spread {
        hard,
        min_domains: raw
            .min_domains
            .map_or(Ok(0), |least| positive(least, "minDomains"))?,
        node_affinity: policy(raw.node_affinity_policy.as_deref(), Policy::Honor)?,
        node_taints: policy(raw.node_taints_policy.as_deref(), Policy::Ignore)?,
        match_label_keys: keys(raw.match_label_keys.as_ref()),
        ..Spread::new(
            raw.topology_key.as_str(),
            positive(raw.max_skew, "maxSkew")?,
            raw.label_selector.as_ref().map(selector).transpose()?,
        )
    })
}

fn pod_term(raw: &PodAffinityTerm) -> Result<PodTerm, Why> {
    Ok(PodTerm {
        namespaces: keys(raw.namespaces.as_ref()),
        namespace_selector: raw.namespace_selector.as_ref().map(selector).transpose()?,
        match_label_keys: keys(raw.match_label_keys.as_ref()),
        mismatch_label_keys: keys(raw.mismatch_label_keys.as_ref()),
        ..PodTerm::new(
            raw.topology_key.as_str(),
            raw.label_selector.as_ref().map(selector).transpose()?,
        )
    })
}

fn keys(list: Option<&Vec<String>>) -> Vec<planner::requirements::Text> {
    list.into_iter()
        .flatten()
        .map(|key| key.as_str().into())
        .collect()
}

/// A selector of pods: exact labels and expressions, all of which must hold.
pub fn selector(raw: &LabelSelector) -> Result<Selector, Why> {
    let exact = raw.match_labels.iter().flatten();
    let exact = exact.map(|(key, value)| expression(key, Operator::In, &[value.as_str()]));
    let more = raw.match_expressions.iter().flatten().map(|one| {
        let operator = match one.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                let field = format!("labelSelector on {}", one.key);
                return Err(super::pod::unreadable(
                    &field,
                    &format!("operator {other:?}"),
                ));
            }
        };
        let values: Vec<&str> = one.values.iter().flatten().map(String::as_str).collect();
        expression(&one.key, operator, &values)
    });
    let all: Result<Vec<Requirement>, Why> = exact.chain(more).collect();
    Ok(Selector::new(all?))
}

fn expression(key: &str, operator: Operator, values: &[&str]) -> Result<Requirement, Why> {
    let bad = |said: &dyn std::fmt::Display| {
        super::pod::unreadable(&format!("labelSelector on {key}"), &said.to_string())
    };
    if matches!(operator, Operator::In | Operator::NotIn) && values.is_empty() {
        return Err(bad(&format!("{operator} needs at least one value")));
    }
    Requirement::label(key, operator, values).map_err(|error| bad(&error))
}
