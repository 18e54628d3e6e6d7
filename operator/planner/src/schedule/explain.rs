//! Why does this shape get no new claim from any pool?
//!
//! Runs only after everything failed, so it may look at each type again: facts are grouped by cause with counts.

use super::grow::conflict;
use super::min_values;
use super::relax::Attempt;
use super::run::Run;
use super::stock::Stock;
use crate::catalog::{Availability, Offerings};
use crate::requirements::{Conflict, Requirements, Undefined};
use crate::resources::ResourceName;
use crate::snapshot::Shape;
use crate::taints::{self, Preferred};
use crate::why::Why;
use std::collections::BTreeMap;

/// All facts, each once, sorted.
pub(super) fn refusal(
    run: &mut Run<'_>,
    shape: &Shape,
    attempts: &[Attempt],
    amounts: &[i64],
) -> Vec<Why> {
    let names = run.columns.names().to_vec();
    let mut whys = Vec::new();
    for stock in &mut run.stocks {
        match stock {
            Err(why) => whys.push(why.clone()),
            Ok(stock) => {
                for attempt in attempts {
                    stock.explain(shape, attempt, (&names, amounts), &mut whys);
                }
            }
        }
    }
    if run.stocks.is_empty() {
        whys.push(Why::NoPool);
    }
    whys.sort_unstable();
    whys.dedup();
    whys
}

type Named<'a> = (&'a [ResourceName], &'a [i64]);

impl Stock<'_> {
    fn explain(&mut self, shape: &Shape, attempt: &Attempt, asked: Named<'_>, whys: &mut Vec<Why>) {
        let pool = self.pool.name.clone();
        // A preference is never the reason: the last attempts accept it.
        if let Some(taint) =
            taints::first_untolerated(&self.pool.taints, &shape.tolerations, Preferred::Accept)
        {
            whys.push(Why::TaintNotTolerated {
                pool,
                taint: taint.clone(),
            });
            return;
        }
        let (requirements, matching) = match self.matching(&attempt.requirements) {
            Ok(matching) => matching,
            Err(why) => return whys.push(why),
        };
        let mut buyable = matching.clone();
        buyable.keep_only(&self.buyable);
        if buyable.is_empty() {
            whys.push(self.nothing_available(&matching));
            return;
        }
        let (mut fitting, short) = self.short_types(&buyable, asked);
        whys.extend(short);
        self.explain_fitting(shape, &requirements, (&mut fitting, asked.0), whys);
    }

    /// The offerings are large enough; what else keeps the pod away from them?
    fn explain_fitting(
        &self,
        shape: &Shape,
        requirements: &Requirements,
        fitting: (&mut Offerings, &[ResourceName]),
        whys: &mut Vec<Why>,
    ) {
        let pool = &self.pool.name;
        let (fitting, names) = fitting;
        if fitting.is_empty() {
            return;
        }
        fitting.retain(|id| !conflict(&shape.ports, &self.load[self.type_of(id)].ports));
        if let (true, Some(port)) = (fitting.is_empty(), shape.ports.first()) {
            whys.push(Why::HostPortTaken {
                pool: pool.clone(),
                port: port.port,
            });
            return;
        }
        let limits = self.beyond_limits(fitting, names);
        if !limits.is_empty() {
            whys.extend(limits);
            return;
        }
        let nothing = vec![0; self.left.len()];
        fitting.retain(|id| self.within_limits(self.type_of(id), &nothing));
        if self.guarded() {
            whys.push(Why::GuardReached {
                pool: pool.clone(),
                unregistered: self.unregistered + self.opened,
                allowed: self.allowed,
            });
            return;
        }
        let unmet = min_values::unmet(self, requirements, fitting);
        whys.extend(unmet.into_iter().map(|unmet| Why::MinValuesUnmet {
            pool: pool.clone(),
            key: unmet.requirement.key().into(),
            wanted: unmet.wanted,
            found: unmet.found,
        }));
    }

    /// The pool's offerings, available or not, that have the labels asked for.
    fn matching(&mut self, asked: &Requirements) -> Result<(Requirements, Offerings), Why> {
        let pool = self.pool.name.clone();
        let compatible = self
            .template
            .compatible(asked, Undefined::WellKnown(self.known));
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
        let mut requirements = self.template.clone();
        requirements.add_all(asked);
        let mut matching = self.visible.clone();
        let of = self.count_types(&matching);
        for requirement in asked.iter() {
            let Some(both) = requirements.get(requirement.key()) else {
                continue;
            };
            matching.keep_only(self.meeting(both));
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

    fn nothing_available(&self, matching: &Offerings) -> Why {
        let until = matching
            .ids()
            .filter_map(|id| match self.catalog.offering(id).availability {
                Availability::UnavailableUntil(until) => Some(until),
                Availability::Available | Availability::Unavailable => None,
            });
        let offerings = u32::try_from(matching.len()).unwrap_or(u32::MAX);
        Why::NothingAvailable {
            pool: self.pool.name.clone(),
            offerings,
            until: until.min(),
        }
    }

    /// The offerings one pod fits on, and for the others which resource is short on how many types.
    fn short_types(&self, offerings: &Offerings, asked: Named<'_>) -> (Offerings, Vec<Why>) {
        let mut fitting = offerings.clone();
        fitting.retain(|id| self.first_short(self.type_of(id), asked.1).is_none());
        let of = self.count_types(offerings);
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for kind in self.types(offerings) {
            if let Some(column) = self.first_short(kind, asked.1) {
                groups.entry(column).or_default().push(kind);
            }
        }
        let whys = groups.into_iter().map(|(column, kinds)| {
            let free = |kind: &usize| self.free[*kind].as_ref().map_or(0, |free| free[column]);
            let largest = kinds
                .iter()
                .copied()
                .max_by_key(|kind| (free(kind), std::cmp::Reverse(*kind)))
                .unwrap_or(0);
            Why::NothingLargeEnough {
                pool: self.pool.name.clone(),
                resource: asked.0[column].clone(),
                asked: asked.1[column],
                largest: free(&largest),
                daemons: self.load[largest].requests.get(&asked.0[column]),
                types: u32::try_from(kinds.len()).unwrap_or(u32::MAX),
                of,
            }
        });
        (fitting, whys.collect())
    }

    /// If every fitting type would break a limit: which limit stops how many types.
    fn beyond_limits(&self, fitting: &Offerings, names: &[ResourceName]) -> Vec<Why> {
        let kinds = self.types(fitting);
        let nothing = vec![0; self.left.len()];
        if kinds.iter().any(|kind| self.within_limits(*kind, &nothing)) {
            return Vec::new();
        }
        let mut groups: BTreeMap<usize, u32> = BTreeMap::new();
        for kind in &kinds {
            let over = |column: &usize| {
                self.left[*column] != i64::MAX && self.capacity[*kind][*column] > self.left[*column]
            };
            if let Some(column) = (0..self.left.len()).find(over) {
                *groups.entry(column).or_default() += 1;
            }
        }
        let why = |(column, types): (usize, u32)| Why::LimitReached {
            pool: self.pool.name.clone(),
            resource: names[column].clone(),
            limit: self.pool.limits.get(&names[column]),
            left: self.left[column],
            types,
            of: u32::try_from(kinds.len()).unwrap_or(u32::MAX),
        };
        groups.into_iter().map(why).collect()
    }

    fn first_short(&self, kind: usize, asked: &[i64]) -> Option<usize> {
        let free = self.free[kind].as_ref()?;
        (0..asked.len()).find(|column| asked[*column] > free[*column])
    }

    fn types(&self, offerings: &Offerings) -> Vec<usize> {
        let mut kinds: Vec<usize> = offerings.ids().map(|id| self.type_of(id)).collect();
        kinds.dedup();
        kinds
    }

    fn count_types(&self, offerings: &Offerings) -> u32 {
        u32::try_from(self.types(offerings).len()).unwrap_or(u32::MAX)
    }
}
