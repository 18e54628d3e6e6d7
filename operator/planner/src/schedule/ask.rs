//! What does one attempt ask of a place, once everything about it is looked up?

use super::columns::Amounts;
use super::counters::{CounterId, Traits};
use super::domains::{self, KeyId};
use super::ground::Ground;
use super::lots::AskId;
use super::relax::Attempt;
use super::rules::{Books, Rule, Says};
use super::stock::Stock;
use crate::requirements::{Requirements, Text};
use crate::snapshot::{Policy, Shape, ShapeId};
use crate::taints::{self, Preferred};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// A shape as it is worked with.
pub(super) struct Wanted<'a> {
    pub(super) id: ShapeId,
    pub(super) shape: &'a Shape,
    pub(super) traits: &'a Traits,
    pub(super) amounts: Amounts,
    /// Claims of volumes shared with others, and their columns: attached once per node.
    pub(super) shared: Vec<(Text, usize)>,
    /// Counters that somebody in this run looks at and that count this shape.
    pub(super) counted: Vec<CounterId>,
}

pub(super) struct Ask<'a> {
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) attempt: &'a Attempt,
    /// The attempt's ways by number.
    pub(super) ways: SmallVec<[AskId; 2]>,
    /// By domain of a label.
    pub(super) rules: Vec<Rule>,
    /// By host.
    pub(super) hosts: Vec<Rule>,
    /// Keys of the rules.
    pub(super) gates: Vec<KeyId>,
    /// These and the keys under which the pods will be counted: on a new claim they must be decided.
    pub(super) pins: Vec<KeyId>,
    /// A place must take at least so many: pods that must be together look for room for all first.
    pub(super) need: u32,
    /// New claims are made such that every spread knows whether it looks at them.
    pub(super) decides: bool,
}

impl<'a> Ask<'a> {
    pub(super) fn of(
        ground: &Ground<'_>,
        wanted: &'a Wanted<'a>,
        attempt: &'a Attempt,
        books: &Books<'_>,
    ) -> Self {
        let mut ask = Self {
            wanted,
            attempt,
            ways: SmallVec::new(),
            rules: Vec::new(),
            hosts: Vec::new(),
            gates: Vec::new(),
            pins: Vec::new(),
            need: 1,
            decides: ground.counters.have_filters(),
        };
        for said in said(wanted, attempt) {
            ask.add(ground, books, said);
        }
        for rule in &ask.rules {
            ask.gates.extend(rule.key);
        }
        ask.gates.sort_unstable();
        ask.gates.dedup();
        ask.pins.clone_from(&ask.gates);
        let list = &ground.counters.list;
        let counted = wanted.counted.iter();
        ask.pins
            .extend(counted.filter_map(|counter| list[*counter as usize].key));
        ask.pins.sort_unstable();
        ask.pins.dedup();
        ask
    }

    /// Would one domain more or less full make a difference after every single pod?
    pub(super) fn balances(&self) -> bool {
        self.rules.iter().any(Rule::balances)
    }

    fn add(
        &mut self,
        ground: &Ground<'_>,
        books: &Books<'_>,
        Said(says, counter, taints, affinity): Said,
    ) {
        let mine = self.wanted.traits.counted.contains(&counter);
        let nobody = books.total(counter) == 0;
        let idle = match says {
            Says::Unwanted => nobody,
            Says::Apart => nobody && !mine,
            Says::Near | Says::Spread { .. } => false,
        };
        if idle {
            return;
        }
        let key = ground.counters.list[counter as usize].key;
        let mut rule = Rule {
            says,
            counter,
            key,
            mine,
            known: Vec::new(),
            compared: Vec::new(),
            least: 0,
        };
        let Some(key) = key else {
            self.hosts.push(rule);
            return;
        };
        if matches!(says, Says::Spread { .. }) {
            rule.known = self.known(ground, books, (counter, key), (taints, affinity));
            let name = ground.domains.name(key);
            // Any of the pod's terms admits a domain, whichever this attempt follows.
            let admits = |value: &Text| {
                let admits = |way: &Requirements| way.get(name).is_none_or(|own| own.has(value));
                affinity == Policy::Ignore || self.attempt.terms.iter().any(admits)
            };
            let values = ground.domains.values(key).iter();
            let compared = values.zip(&rule.known);
            rule.compared = compared
                .map(|(value, known)| *known && admits(value))
                .collect();
        }
        self.rules.push(rule);
    }

    /// The domains where a node is or can be bought, as far as the constraint looks.
    fn known(
        &self,
        ground: &Ground<'_>,
        books: &Books<'_>,
        (counter, key): (CounterId, KeyId),
        (taints, affinity): (Policy, Policy),
    ) -> Vec<bool> {
        let seen = books.seen(counter).iter();
        let mut known: Vec<bool> = seen.map(|nodes| *nodes > 0).collect();
        let tolerations = &self.wanted.shape.tolerations;
        for (at, stock) in ground.stocks.iter().enumerate() {
            let Ok(stock) = stock else { continue };
            let barred = taints == Policy::Honor
                && taints::first_untolerated(&stock.pool.taints, tolerations, Preferred::Accept)
                    .is_some();
            if barred {
                continue;
            }
            let sold = ground.domains.sold_by(key, at);
            let reached = match affinity {
                Policy::Honor => self.reached(ground, stock, key),
                Policy::Ignore => None,
            };
            for (domain, (known, sold)) in known.iter_mut().zip(sold).enumerate() {
                let reached = reached.as_ref();
                let value = &ground.domains.values(key)[domain];
                *known |= *sold && reached.is_none_or(|reached| reached.contains(value));
            }
        }
        known
    }

    /// Where the pool sells what one of the pod's terms asks for; `None` if the pod asks for nothing.
    fn reached(
        &self,
        ground: &Ground<'_>,
        stock: &Stock<'_>,
        key: KeyId,
    ) -> Option<BTreeSet<Text>> {
        let terms = &self.attempt.terms;
        if terms.iter().any(Requirements::is_empty) {
            return None;
        }
        let (name, values) = (ground.domains.name(key), ground.domains.values(key));
        let mut reached = BTreeSet::new();
        for term in terms.iter() {
            let sold = stock.sold_to(term);
            let mut there = domains::values_sold(stock, name, &sold);
            if there.is_empty() && !sold.is_empty() && domains::left_open(stock, name).is_some() {
                there.extend(values.iter().cloned());
            }
            there.retain(|value| term.get(name).is_none_or(|asked| asked.has(value)));
            reached.append(&mut there);
        }
        Some(reached)
    }
}

/// A constraint with its counter, and whether it looks at taints and at the pod's own affinity.
struct Said(Says, CounterId, Policy, Policy);

/// The constraints of an attempt; anti-affinity of others last.
fn said(wanted: &Wanted<'_>, attempt: &Attempt) -> Vec<Said> {
    let (shape, traits) = (wanted.shape, wanted.traits);
    let spread = |at: &usize| {
        let spread = &shape.spreads[*at];
        let says = Says::Spread {
            max_skew: spread.max_skew,
            min_domains: spread.min_domains,
        };
        Said(
            says,
            traits.spreads[*at],
            spread.node_taints,
            spread.node_affinity,
        )
    };
    let plain =
        |says: Says| move |counter: &CounterId| Said(says, *counter, Policy::Honor, Policy::Honor);
    let near = attempt.near.iter().map(|at| &traits.preferred_near[*at]);
    let apart = attempt.apart.iter().map(|at| &traits.preferred_apart[*at]);
    let mut all: Vec<_> = attempt.spreads.iter().map(spread).collect();
    all.extend(traits.near.iter().chain(near).map(plain(Says::Near)));
    all.extend(traits.apart.iter().chain(apart).map(plain(Says::Apart)));
    all.extend(traits.unwanted.iter().map(plain(Says::Unwanted)));
    all
}
