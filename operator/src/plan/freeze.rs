//! How does everything that was read become one snapshot?

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use planner::snapshot::{Claim, MinValuesPolicy, Node, Options, Pods, PoolState, PreferencePolicy};
use planner::{ClassRef, Snapshot};

use super::catalog::Goods;
use super::gather::Gathered;
use super::trouble::Trouble;
use crate::snapshot::PassedOver;
use crate::snapshot::settle::{Rooms, join};

/// What flags decide.
#[derive(Clone, Copy)]
pub(super) struct Flags {
    pub(super) min_values: MinValuesPolicy,
    pub(super) preferences: PreferencePolicy,
}

pub(super) struct Frozen {
    pub(super) snapshot: Snapshot,
    pub(super) warnings: Vec<String>,
}

pub(super) fn freeze(
    mut all: Gathered,
    goods: &Goods,
    flags: Flags,
    now: Timestamp,
) -> Result<Frozen, Trouble> {
    let mut warnings = passed_by(&all);
    let mut snapshot = Snapshot::empty(now);
    snapshot.options = Options {
        well_known: goods.well_known.clone(),
        min_values: flags.min_values,
        preferences: flags.preferences,
        // A plan on paper buys nothing, so nothing can run away.
        guard: None,
        ..Options::default()
    };
    warnings.extend(about_pools(&all, goods));
    judge_classes(&mut all);
    let mut in_use: BTreeMap<ClassRef, Arc<str>> = BTreeMap::new();
    for seen in std::mem::take(&mut all.pools) {
        let mut pool = seen.pool;
        pool.class = goods.class_for(&pool.name, &pool.class);
        in_use.insert(pool.class.clone(), pool.name.clone());
        snapshot.pools.push(pool);
    }
    snapshot.catalogs = goods.catalogs(&in_use)?;
    let (nodes, claims) = places(&mut all, &mut warnings);
    snapshot.nodes = nodes;
    snapshot.claims = claims;
    snapshot.daemons = std::mem::take(&mut all.daemons);
    snapshot.namespaces = std::mem::take(&mut all.namespaces);
    snapshot.pods = pods(&all, &mut snapshot.nodes, &mut warnings);
    Ok(Frozen {
        snapshot: snapshot.freeze(),
        warnings,
    })
}

fn passed_by(all: &Gathered) -> Vec<String> {
    if all.documents == 0 {
        return vec!["the input holds no object".to_owned()];
    }
    let one = |(kind, count): (&String, &usize)| {
        let objects = if *count == 1 { "object" } else { "objects" };
        format!("passed by, because a plan does not look at them: {count} {objects} of kind {kind}")
    };
    all.passed_by.iter().map(one).collect()
}

/// Pools that will buy nothing, and entries of the catalog that are for none.
fn about_pools(all: &Gathered, goods: &Goods) -> Vec<String> {
    let fixed = all.pools.iter().map(|seen| &seen.pool);
    let fixed = fixed.filter(|pool| pool.state == PoolState::Fixed);
    let names: BTreeSet<&str> = all.pools.iter().map(|seen| &*seen.pool.name).collect();
    let strangers = goods.strangers(&names).into_iter();
    fixed
        .map(|pool| {
            let name = &pool.name;
            format!("NodePool {name} has as many nodes as its spec.replicas says: nothing is bought for it")
        })
        .chain(strangers.map(|pool| {
            format!("the catalog's pools name {pool}, but there is no such NodePool in the input")
        }))
        .collect()
}

/// Without any class in the input every class is ready; with some, those that are missing or say no are not.
fn judge_classes(all: &mut Gathered) {
    if all.classes.is_empty() {
        return;
    }
    for seen in &mut all.pools {
        let pool = &mut seen.pool;
        if pool.state != PoolState::Ready {
            continue;
        }
        let (group, kind, name) = (&pool.class.group, &pool.class.kind, &pool.class.name);
        let class = all.classes.iter().find(|class| {
            (
                class.key.0.as_str(),
                class.key.1.as_str(),
                class.key.2.as_str(),
            ) == (group.as_ref(), kind.as_ref(), name.as_ref())
        });
        let said = match class {
            None => Some(format!("{kind} {name} is not in the input")),
            Some(class) => class.not_ready.clone(),
        };
        if let Some(said) = said {
            pool.state = PoolState::NotReady { said: said.into() };
        }
    }
}

/// Nodes, and claims that are none yet.
fn places(all: &mut Gathered, warnings: &mut Vec<String>) -> (Vec<Node>, Vec<Claim>) {
    let mut seen = std::mem::take(&mut all.nodes);
    let by_name: HashMap<Arc<str>, usize> = seen
        .iter()
        .enumerate()
        .map(|(at, seen)| (seen.node.name.clone(), at))
        .collect();
    let by_id: HashMap<Arc<str>, usize> = seen
        .iter()
        .enumerate()
        .filter_map(|(at, seen)| Some((seen.provider_id.clone()?, at)))
        .collect();
    let mut flying = Vec::new();
    let mut claims = std::mem::take(&mut all.claims);
    claims.sort_by(|a, b| a.claim.name.cmp(&b.claim.name));
    for claim in claims {
        let named = claim.node_name.as_ref().and_then(|name| by_name.get(name));
        let known = claim.provider_id.as_ref().and_then(|id| by_id.get(id));
        match named.or(known) {
            Some(at) => {
                let node = &mut seen[*at].node;
                join(node, &claim.claim, &claim.startup_taints, claim.initialized);
            }
            None if claim.provider_id.is_none() && !claim.counts_as_room => {
                let name = &claim.claim.name;
                warnings.push(format!(
                    "NodeClaim {name} has neither provider id nor allocatable resources and was left out"
                ));
            }
            None => flying.push(claim.claim),
        }
    }
    let limits = &mut all.volume_limits;
    let nodes = seen.into_iter().map(|seen| {
        let pool = seen.pool();
        let volume_limits = limits.remove(&seen.node.name).unwrap_or_default();
        Node {
            pool,
            volume_limits,
            ..seen.node
        }
    });
    (nodes.collect(), flying)
}

/// Pods to place, and on the nodes what the others take.
fn pods(all: &Gathered, nodes: &mut [Node], warnings: &mut Vec<String>) -> Pods {
    let mut rooms = Rooms::new(nodes, &all.storage).on_paper();
    let pods = rooms.settle(&all.pods, &PassedOver::new());
    let lost = rooms.lost();
    if lost > 0 {
        let pods = if lost == 1 { "pod is" } else { "pods are" };
        warnings.push(format!(
            "{lost} {pods} on nodes that are not in the input and left out"
        ));
    }
    pods
}
