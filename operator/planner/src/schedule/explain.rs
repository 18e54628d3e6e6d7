//! Why does this shape get no new claim from any pool?
//!
//! Runs only after everything failed, so it may look at each type again: facts are grouped by cause with counts.

mod unsold;

use super::ask::{Ask, Wanted};
use super::fill::conflict;
use super::min_values;
use super::relax::Attempt;
use super::rules::{Rule, Says};
use super::run::Run;
use super::stock::Stock;
use super::till::Till;
use crate::catalog::Offerings;
use crate::labels;
use crate::requirements::{Conflict, Requirements, Text, Undefined};
use crate::resources::ResourceName;
use crate::snapshot::Shape;
use crate::taints::{self, Preferred};
use crate::why::Why;
use std::collections::BTreeMap;

/// All facts, each once, sorted. Preferences are never the reason: they were given up.
pub(super) fn refusal(run: &Run<'_>, wanted: &Wanted<'_>, attempts: &[Attempt]) -> Vec<Why> {
    let ground = run.ground;
    let mut asked: Vec<&Requirements> = Vec::new();
    let plain = attempts.iter().filter(|attempt| !attempt.wishes);
    for way in plain.flat_map(|attempt| &attempt.ways) {
        if !asked.contains(&way) {
            asked.push(way);
        }
    }
    let mut amounts = wanted.amounts.clone();
    for (_, column) in &wanted.shared {
        amounts[*column] += 1;
    }
    let mut whys = Vec::new();
    for (stock, till) in ground.stocks.iter().zip(&run.tills) {
        match (stock, till) {
            (Err(why), _) => whys.push(why.clone()),
            (Ok(_), None) => {}
            (Ok(stock), Some(till)) => {
                let desk = Desk {
                    stock,
                    till,
                    names: ground.columns.names(),
                    drivers: ground.columns.drivers(),
                    reserves: &run.reserves,
                    asked: &amounts,
                };
                for way in &asked {
                    desk.explain(wanted.shape, way, &mut whys);
                }
            }
        }
    }
    if ground.stocks.is_empty() {
        whys.push(Why::NoPool);
    }
    if let Some(attempt) = attempts.last() {
        let ask = Ask::of(ground, wanted, attempt, &run.books);
        whys.extend(
            ask.rules
                .iter()
                .chain(&ask.hosts)
                .filter_map(|rule| kept_away(run, rule)),
        );
    }
    if whys.is_empty() {
        whys.push(Why::NoPlace);
    }
    whys.sort_unstable();
    whys.dedup();
    whys
}

/// What a constraint on other pods leaves, if it leaves less than all.
fn kept_away(run: &Run<'_>, rule: &Rule) -> Option<Why> {
    let ground = run.ground;
    let counter = &ground.counters.list[rule.counter as usize];
    let key: Text = rule.key.map_or_else(
        || labels::HOSTNAME.into(),
        |key| ground.domains.name(key).clone(),
    );
    let selector: Text = counter
        .selector
        .as_ref()
        .map_or_else(|| "no pod".to_owned(), ToString::to_string)
        .into();
    let values = rule.key.map_or(&[][..], |key| ground.domains.values(key));
    let floor = rule.floor(&run.books);
    let open = |at: u32| rule.allowance(&run.books, at, floor) > 0;
    let mut allowed: Vec<Text> = Vec::new();
    for (value, at) in values.iter().zip(0_u32..) {
        if open(at) {
            allowed.push(value.clone());
        }
    }
    if rule.key.is_some() && allowed.len() == values.len() && !values.is_empty() {
        return None;
    }
    Some(match rule.says {
        Says::Spread { .. } if rule.key.is_some() && !rule.known.contains(&true) => {
            Why::TopologyUnknown { key }
        }
        Says::Spread { max_skew, .. } => Why::SpreadUnmet {
            key,
            max_skew,
            selector,
            allowed: allowed.join(", ").into(),
        },
        Says::Near => Why::AffinityUnmet { key, selector },
        Says::Apart => Why::AntiAffinityUnmet { key, selector },
        Says::Unwanted => Why::UnwantedThere { key, selector },
    })
}

/// A pool and what is asked of it.
struct Desk<'d, 'a> {
    stock: &'d Stock<'a>,
    till: &'d Till,
    names: &'d [ResourceName],
    drivers: &'d [Text],
    /// What is left of each reservation.
    reserves: &'d [u32],
    asked: &'d [i64],
}

impl Desk<'_, '_> {
    fn explain(&self, shape: &Shape, asked: &Requirements, whys: &mut Vec<Why>) {
        let pool = self.stock.pool.name.clone();
        // A preference is never the reason: the last attempts accept it.
        if let Some(taint) = taints::first_untolerated(
            &self.stock.pool.taints,
            &shape.tolerations,
            Preferred::Accept,
        ) {
            whys.push(Why::TaintNotTolerated {
                pool,
                taint: taint.clone(),
            });
            return;
        }
        let (requirements, matching) = match self.matching(asked) {
            Ok(matching) => matching,
            Err(why) => return whys.push(why),
        };
        let mut buyable = matching.clone();
        buyable.keep_only(&self.stock.buyable);
        if buyable.is_empty() {
            let eaten = self.eaten_by_daemons(&matching);
            whys.push(eaten.unwrap_or_else(|| self.nothing_available(&matching)));
            return;
        }
        let (mut fitting, short) = self.short_types(&buyable);
        whys.extend(short);
        self.explain_fitting(shape, &requirements, &mut fitting, whys);
    }

    /// The offerings are large enough; what else keeps the pod away from them?
    fn explain_fitting(
        &self,
        shape: &Shape,
        requirements: &Requirements,
        fitting: &mut Offerings,
        whys: &mut Vec<Why>,
    ) {
        let stock = self.stock;
        let pool = &stock.pool.name;
        if fitting.is_empty() {
            return;
        }
        fitting.retain(|id| !conflict(&shape.ports, &stock.load[stock.type_of(id)].ports));
        if let (true, Some(port)) = (fitting.is_empty(), shape.ports.first()) {
            whys.push(Why::HostPortTaken {
                pool: pool.clone(),
                port: port.port,
            });
            return;
        }
        let offerings = fitting.len();
        let has_left = |at: u32| self.reserves[at as usize] > 0;
        fitting.retain(|id| stock.reserve_of(id).is_none_or(has_left));
        if fitting.is_empty() {
            whys.push(Why::ReservationUsedUp {
                pool: pool.clone(),
                offerings: super::index(offerings),
            });
            return;
        }
        let limits = self.beyond_limits(fitting);
        if !limits.is_empty() {
            whys.extend(limits);
            return;
        }
        let nothing = vec![0; self.till.left.len()];
        fitting.retain(|id| {
            self.till
                .within_limits(&stock.capacity[stock.type_of(id)], &nothing)
        });
        if self.till.guarded() {
            whys.push(Why::GuardReached {
                pool: pool.clone(),
                unregistered: self.till.unregistered + self.till.opened,
                allowed: self.till.allowed,
            });
            return;
        }
        let unmet = min_values::unmet_by(stock, requirements, fitting);
        whys.extend(unmet.into_iter().map(|unmet| Why::MinValuesUnmet {
            pool: pool.clone(),
            key: unmet.requirement.key().into(),
            wanted: unmet.wanted,
            found: unmet.found,
        }));
    }

    /// The pool's offerings, available or not, that have the labels asked for.
    fn matching(&self, asked: &Requirements) -> Result<(Requirements, Offerings), Why> {
        let stock = self.stock;
        let pool = stock.pool.name.clone();
        let compatible = stock
            .template
            .compatible(asked, Undefined::WellKnown(stock.known));
        compatible.map_err(|conflict| match conflict {
            Conflict::Unknown { key, hint } => Why::LabelUnknown {
                pool: pool.clone(),
                key,
                hint,
            },
            Conflict::Disjoint(labels) => Why::LabelConflict {
                pool: pool.clone(),
                labels,
            },
        })?;
        let mut requirements = stock.template.clone();
        requirements.add_all(asked);
        let mut matching = stock.visible.clone();
        if matching.is_empty() {
            return Err(self.sells_nothing());
        }
        let of = self.count_types(&matching);
        for requirement in asked.iter() {
            let Some(both) = requirements.get(requirement.key()) else {
                continue;
            };
            matching.keep_only(&stock.find_meeting(both));
            if matching.is_empty() {
                return Err(Why::NoTypeWithLabel {
                    pool,
                    asked: Box::new(requirement.clone()),
                    of,
                });
            }
        }
        Ok((requirements, matching))
    }

    /// The offerings one pod fits on, and for the others which resource is short on how many types.
    fn short_types(&self, offerings: &Offerings) -> (Offerings, Vec<Why>) {
        let stock = self.stock;
        let mut fitting = offerings.clone();
        fitting.retain(|id| self.first_short(stock.type_of(id)).is_none());
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for kind in self.types(offerings) {
            if let Some(column) = self.first_short(kind) {
                groups.entry(column).or_default().push(kind);
            }
        }
        let of = self.count_types(offerings);
        let whys = groups
            .into_iter()
            .map(|(column, kinds)| self.short(column, &kinds, of));
        (fitting, whys.collect())
    }

    /// These types are short of this resource, or of room for volumes.
    fn short(&self, column: usize, kinds: &[usize], of: u32) -> Why {
        let stock = self.stock;
        let free = |kind: &usize| stock.free[*kind].as_ref().map_or(0, |free| free[column]);
        let largest = kinds
            .iter()
            .copied()
            .max_by_key(|kind| (free(kind), std::cmp::Reverse(*kind)))
            .unwrap_or(0);
        let pool = stock.pool.name.clone();
        let types = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
        match self.names.get(column) {
            Some(resource) => Why::NothingLargeEnough {
                pool,
                resource: resource.clone(),
                asked: self.asked[column],
                largest: free(&largest),
                daemons: stock.load[largest].requests.get(resource),
                types,
                of,
            },
            None => Why::VolumeLimit {
                pool,
                driver: self.drivers[column - self.names.len()].clone(),
                asked: self.asked[column],
                most: free(&largest),
                types,
                of,
            },
        }
    }

    /// If every fitting type would break a limit: which limit stops how many types.
    fn beyond_limits(&self, fitting: &Offerings) -> Vec<Why> {
        let (stock, left, names) = (self.stock, &self.till.left, self.names);
        let kinds = self.types(fitting);
        let nothing = vec![0; left.len()];
        let within = |kind: &usize| self.till.within_limits(&stock.capacity[*kind], &nothing);
        if kinds.iter().any(within) {
            return Vec::new();
        }
        let mut groups: BTreeMap<usize, u32> = BTreeMap::new();
        for kind in &kinds {
            let over = |column: &usize| {
                left[*column] != i64::MAX && stock.capacity[*kind][*column] > left[*column]
            };
            if let Some(column) = (0..names.len()).find(over) {
                *groups.entry(column).or_default() += 1;
            }
        }
        let why = |(column, types): (usize, u32)| Why::LimitReached {
            pool: self.stock.pool.name.clone(),
            resource: names[column].clone(),
            limit: stock.pool.limits.get(&names[column]),
            left: left[column],
            types,
            of: u32::try_from(kinds.len()).unwrap_or(u32::MAX),
        };
        groups.into_iter().map(why).collect()
    }

    fn first_short(&self, kind: usize) -> Option<usize> {
        let free = self.stock.free[kind].as_ref()?;
        (0..self.asked.len()).find(|column| self.asked[*column] > free[*column])
    }

    fn types(&self, offerings: &Offerings) -> Vec<usize> {
        let mut kinds: Vec<usize> = offerings.ids().map(|id| self.stock.type_of(id)).collect();
        kinds.dedup();
        kinds
    }

    fn count_types(&self, offerings: &Offerings) -> u32 {
        u32::try_from(self.types(offerings).len()).unwrap_or(u32::MAX)
    }
}
