//! How is a schedule written down?

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::sync::Arc;

use planner::price::Price;
use planner::snapshot::Snapshot;
use planner::{
    Catalog, OfferingId, Opening, Operator, Requirement, Requirements, Schedule, Spot, TypeId, Why,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::{self, Name};
use super::timing::Timing;
use crate::{explain, ingest};

/// What to do with the pending pods (`-o json`). Everything is sorted: the same input gives the same bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// `joiner.dev/v1alpha1`
    pub api_version: String,
    /// `Plan`
    pub kind: String,
    /// Pods that go to rooms in the input, by pod.
    pub placements: Vec<Placement>,
    /// Claims to open, by name.
    pub claims: Vec<Claim>,
    /// Pods that get no place, by pod.
    pub refusals: Vec<Refusal>,
    pub totals: Totals,
    /// Only with `--timing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// One pod and its room: either a node or a claim in flight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// `namespace/name`
    pub pod: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// A claim of the input that is no node yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
}

/// A claim to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub name: String,
    pub pool: String,
    pub pods: Vec<String>,
    /// Of the pods and of the daemons that will land on the node.
    pub requests: BTreeMap<String, String>,
    #[serde(with = "shared")]
    #[schemars(with = "Vec<Asked>")]
    pub requirements: Arc<Vec<Asked>>,
    /// By price, then by name.
    #[serde(with = "shared")]
    #[schemars(with = "Vec<String>")]
    pub instance_types: Arc<Vec<Name>>,
    /// The offering that is tried.
    pub cheapest: Option<Bought>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    pub key: String,
    /// In, NotIn, Exists, DoesNotExist, Gte or Lte
    pub operator: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub values: Vec<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_values: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bought {
    pub instance_type: String,
    pub zone: String,
    pub capacity_type: String,
    /// Per hour; null if nobody knows it.
    pub price: Option<f64>,
}

/// A pod without place, and every reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    pub pod: String,
    pub why: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(clippy::struct_field_names)] // the name is public: plan-format 3
pub struct Reason {
    /// A stable word.
    pub reason: String,
    pub message: String,
    /// The smallest change that would help, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// How many instance types or offerings it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    pub pods: usize,
    pub placed: usize,
    pub on_existing: usize,
    pub claims: usize,
    pub refused: usize,
    /// Sum over the cheapest offerings of all claims whose price is known.
    pub price_per_hour: f64,
    /// Claims whose price nobody knows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Plan {
    pub fn to_json(&self) -> String {
        let mut text = Vec::new();
        // Nothing can go wrong in memory.
        let _ = self.write_json(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// One line for each entry: to be read by people and by `grep`, and a third as long as one line for each word.
    pub(super) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{{\"apiVersion\":")?;
        serde_json::to_writer(&mut *out, &self.api_version)?;
        write!(out, ",\"kind\":")?;
        serde_json::to_writer(&mut *out, &self.kind)?;
        entries(out, "placements", &self.placements)?;
        entries(out, "claims", &self.claims)?;
        entries(out, "refusals", &self.refusals)?;
        write!(out, ",\n\"totals\":")?;
        serde_json::to_writer(&mut *out, &self.totals)?;
        if let Some(timing) = &self.timing {
            write!(out, ",\n\"timing\":")?;
            serde_json::to_writer(&mut *out, timing)?;
        }
        writeln!(out, "}}")
    }
}

fn entries<T: Serialize>(out: &mut impl Write, name: &str, list: &[T]) -> io::Result<()> {
    write!(out, ",\n\"{name}\":[")?;
    for (at, entry) in list.iter().enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, entry)?;
    }
    write!(out, "]")
}

pub(super) fn plan(snapshot: &Snapshot, schedule: &Schedule) -> Plan {
    let mut placements: Vec<Placement> = schedule
        .placements
        .iter()
        .filter_map(|(pod, spot)| {
            let (node, claim) = match spot {
                Spot::Node(id) => (Some(snapshot.node(*id).name.to_string()), None),
                Spot::Claim(id) => (None, Some(snapshot.claim(*id).name.to_string())),
                Spot::Opening(_) => return None,
            };
            let pod = snapshot.pods.pod(*pod).name.to_string();
            Some(Placement { pod, node, claim })
        })
        .collect();
    placements.sort();
    let mut written = Written::default();
    let mut claims: Vec<Claim> = schedule
        .openings
        .iter()
        .map(|opening| written.claim(snapshot, opening))
        .collect();
    claims.sort_by(|a, b| a.name.cmp(&b.name));
    let refusals = refusals(snapshot, schedule);
    let pods = snapshot
        .pods
        .members()
        .filter(|(_, pod)| pod.pending)
        .count();
    let totals = Totals {
        pods,
        placed: schedule.placements.len(),
        on_existing: placements.len(),
        claims: claims.len(),
        refused: refusals.len(),
        price_per_hour: sum(schedule.openings.iter().filter_map(|one| one.price)),
        unpriced: schedule
            .openings
            .iter()
            .filter(|one| one.price.is_none())
            .count(),
    };
    Plan {
        api_version: "joiner.dev/v1alpha1".to_owned(),
        kind: "Plan".to_owned(),
        placements,
        claims,
        refusals,
        totals,
        timing: None,
    }
}

/// Every pending pod without placement; one the planner gave no reason for was not reached.
fn refusals(snapshot: &Snapshot, schedule: &Schedule) -> Vec<Refusal> {
    let told: BTreeMap<_, _> = schedule.refused(&snapshot.pods).collect();
    let mut all: Vec<Refusal> = snapshot
        .pods
        .members()
        .filter(|(id, pod)| pod.pending && schedule.spot_of(*id).is_none())
        .map(|(id, pod)| {
            let whys = told.get(&id).copied().unwrap_or(&[Why::OutOfSteps]);
            Refusal {
                pod: pod.name.to_string(),
                why: whys.iter().map(reason).collect(),
            }
        })
        .collect();
    all.sort_by(|a, b| a.pod.cmp(&b.pod));
    all
}

fn reason(why: &Why) -> Reason {
    let (pool, count) = scope(why);
    Reason {
        reason: why.code().to_owned(),
        message: explain::sentence(why),
        fix: why.fix(),
        pool: pool.map(str::to_owned),
        count,
    }
}

/// The pool a reason speaks of, and of how many things.
fn scope(why: &Why) -> (Option<&str>, Option<u32>) {
    match why {
        Why::NothingLargeEnough { pool, types, .. } => (Some(pool), Some(*types)),
        Why::NothingAvailable {
            pool, offerings, ..
        }
        | Why::ReservationUsedUp { pool, offerings } => (Some(pool), Some(*offerings)),
        Why::NoTypeWithLabel { pool, of, .. } => (Some(pool), Some(*of)),
        Why::PoolNotReady { pool, .. }
        | Why::PoolPaused { pool }
        | Why::NoCatalog { pool, .. }
        | Why::TaintNotTolerated { pool, .. }
        | Why::LabelUnknown { pool, .. }
        | Why::LabelConflict { pool, .. }
        | Why::HostPortTaken { pool, .. }
        | Why::LimitReached { pool, .. }
        | Why::MinValuesUnmet { pool, .. }
        | Why::GuardReached { pool, .. } => (Some(pool), None),
        _ => (None, None),
    }
}

/// Lists that were written for one claim and are the same for others, by where the planner keeps them.
#[derive(Default)]
struct Written {
    requirements: HashMap<*const Requirements, Arc<Vec<Asked>>>,
    types: HashMap<*const OfferingId, Arc<Vec<Name>>>,
}

impl Written {
    fn claim(&mut self, snapshot: &Snapshot, opening: &Opening) -> Claim {
        let pool = snapshot.pool(opening.pool);
        let catalog = snapshot.catalog_of(&pool.class);
        let mut pods: Vec<String> = opening
            .pods
            .iter()
            .map(|pod| snapshot.pods.pod(*pod).name.to_string())
            .collect();
        pods.sort();
        Claim {
            name: opening.handle.to_string(),
            pool: pool.name.to_string(),
            pods,
            requests: ingest::written(&opening.requests),
            requirements: self.requirements(opening),
            instance_types: catalog
                .map(|catalog| self.types(catalog, opening))
                .unwrap_or_default(),
            cheapest: catalog.and_then(|catalog| {
                let first = catalog.offering(*opening.offerings.first()?);
                Some(Bought {
                    instance_type: first.instance_type.to_string(),
                    zone: first.zone.to_string(),
                    capacity_type: first.capacity_type.to_string(),
                    price: opening.price.map(number),
                })
            }),
        }
    }

    fn requirements(&mut self, opening: &Opening) -> Arc<Vec<Asked>> {
        let key = Arc::as_ptr(&opening.requirements);
        let known = self.requirements.entry(key);
        let write = || Arc::new(opening.requirements.iter().flat_map(written).collect());
        known.or_insert_with(write).clone()
    }

    fn types(&mut self, catalog: &Catalog, opening: &Opening) -> Arc<Vec<Name>> {
        let known = self.types.entry(opening.offerings.as_ptr());
        let write = || Arc::new(types_by_price(catalog, opening));
        known.or_insert_with(write).clone()
    }
}

fn types_by_price(catalog: &Catalog, opening: &Opening) -> Vec<Name> {
    let mut least: BTreeMap<TypeId, Option<Price>> = BTreeMap::new();
    for id in opening.offerings.iter() {
        let price = catalog.offering(*id).price;
        let known = least.entry(catalog.type_of(*id)).or_insert(price);
        *known = match (*known, price) {
            (Some(known), Some(price)) => Some(known.min(price)),
            (known, price) => known.or(price),
        };
    }
    let mut types: Vec<_> = least
        .into_iter()
        .map(|(id, price)| (price.is_none(), price, &catalog.instance_type(id).name))
        .collect();
    types.sort();
    let name = |(_, _, name): (bool, Option<Price>, &Arc<str>)| Name(name.clone());
    types.into_iter().map(name).collect()
}

/// As a claim's spec writes it: bounds become comparisons of their own.
fn written(one: &Requirement) -> Vec<Asked> {
    let write = |operator: Operator, values: Vec<Name>, min_values| Asked {
        key: one.key().to_owned(),
        operator: operator.to_string(),
        values,
        min_values,
    };
    let bound = |operator, bound: i64| {
        let value = Name(bound.to_string().into());
        write(operator, vec![value], one.min_values())
    };
    let (gte, lte) = one.bounds();
    let bounded = gte.is_some() || lte.is_some();
    let mut all = match one.operator() {
        Operator::Exists if bounded => Vec::new(),
        operator => {
            let named = one.named().iter().cloned().map(Name).collect();
            vec![write(operator, named, one.min_values())]
        }
    };
    all.extend(gte.map(|value| bound(Operator::Gte, value)));
    all.extend(lte.map(|value| bound(Operator::Lte, value)));
    all
}

fn sum(prices: impl Iterator<Item = Price>) -> f64 {
    let billionths: u128 = prices.map(|price| u128::from(price.billionths())).sum();
    decimal(&billionths)
}

fn number(price: Price) -> f64 {
    decimal(&u128::from(price.billionths()))
}

/// Through text, so that 46500000 billionths are 0.0465 and nothing beside it.
fn decimal(billionths: &u128) -> f64 {
    format!("{billionths}e-9").parse().unwrap_or(f64::MAX)
}
