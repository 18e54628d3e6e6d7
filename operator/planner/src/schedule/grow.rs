//! How many pods of a shape can a claim take that is not created yet, and what can it still become then?

use super::columns::{Amounts, copies, give};
use super::min_values::{self, Unmet};
use super::relax::Attempt;
use super::stock::Stock;
use crate::catalog::Offerings;
use crate::requirements::{Requirements, Undefined};
use crate::snapshot::{HostPort, MinValuesPolicy, PodId, Shape};
use crate::taints;

/// A claim that is being filled.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// Position in the run's list of stocks.
    pub(super) stock: usize,
    pub(super) requirements: Requirements,
    /// What it can still become.
    pub(super) offerings: Offerings,
    /// Requests of its pods, without daemons.
    pub(super) total: Amounts,
    pub(super) pods: Vec<PodId>,
    pub(super) relaxed: bool,
    ports: Vec<HostPort>,
    /// What it holds of the pool's limits: the most its first offering can take.
    held: Amounts,
    /// Per column the most any remaining type has left: a quick no.
    most_free: Amounts,
}

/// Who wants in.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) shape: &'a Shape,
    pub(super) attempt: &'a Attempt,
    pub(super) amounts: &'a [i64],
    pub(super) min_values: MinValuesPolicy,
}

/// What a claim becomes when it takes `count` more pods.
pub(super) struct Growth {
    pub(super) count: u32,
    requirements: Requirements,
    offerings: Offerings,
    relaxed: bool,
}

impl Stock<'_> {
    /// A claim without pods: everything the pool sells is still possible.
    pub(super) fn blank(&self, at: usize) -> Open {
        let nothing: Amounts = self.left.iter().map(|_| 0).collect();
        let mut open = Open {
            stock: at,
            requirements: self.template.clone(),
            offerings: self.buyable.clone(),
            total: nothing.clone(),
            pods: Vec::new(),
            relaxed: false,
            ports: Vec::new(),
            held: nothing.clone(),
            most_free: nothing,
        };
        open.most_free = self.most_free(&open.offerings);
        open
    }

    /// How the claim grows when it takes as many of these pods as it can, at most `wanted`. `None` if it can take none.
    pub(super) fn growth(&mut self, open: &Open, asked: Asked<'_>, wanted: u32) -> Option<Growth> {
        let left: Amounts = open
            .most_free
            .iter()
            .zip(&open.total)
            .map(|(free, total)| free - total)
            .collect();
        if copies(&left, asked.amounts) == 0 {
            return None;
        }
        let shape = asked.shape;
        if taints::first_untolerated(
            &self.pool.taints,
            &shape.tolerations,
            asked.attempt.preferred,
        )
        .is_some()
        {
            return None;
        }
        let (requirements, mut offerings) = self.narrowed(open, &asked.attempt.requirements)?;
        let mut wanted = wanted;
        if !shape.ports.is_empty() {
            wanted = 1;
            if conflict(&shape.ports, &open.ports) {
                return None;
            }
            offerings.retain(|id| !conflict(&shape.ports, &self.load[self.type_of(id)].ports));
        }
        offerings.retain(|id| self.within_limits(self.type_of(id), &open.held));
        let most = offerings
            .ids()
            .map(|id| self.copies(self.type_of(id), open, asked.amounts))
            .max()?;
        let grown = Growth {
            count: most.min(wanted),
            requirements,
            offerings,
            relaxed: open.relaxed,
        };
        self.with_choice(open, asked, grown)
    }

    /// Lets the claim take these pods.
    pub(super) fn apply(
        &mut self,
        open: &mut Open,
        asked: Asked<'_>,
        growth: Growth,
        pods: &[PodId],
    ) {
        open.requirements = growth.requirements;
        open.offerings = growth.offerings;
        open.relaxed = growth.relaxed;
        open.pods.extend_from_slice(pods);
        open.ports.extend(&asked.shape.ports);
        give(&mut open.total, asked.amounts, growth.count);
        open.most_free = self.most_free(&open.offerings);
        let held = self.first_takes(&open.offerings);
        for (at, left) in self.left.iter_mut().enumerate() {
            // What is not limited stays unlimited.
            if *left != i64::MAX {
                *left = left.saturating_add(open.held[at]).saturating_sub(held[at]);
            }
        }
        open.held = held;
    }

    /// Would the type's capacity stay within what the pool's limits leave, besides what the claim holds already?
    pub(super) fn within_limits(&self, kind: usize, held: &[i64]) -> bool {
        self.capacity[kind]
            .iter()
            .zip(&self.left)
            .zip(held)
            .all(|((capacity, left), held)| {
                *left == i64::MAX || *capacity <= left.saturating_add(*held)
            })
    }

    fn narrowed(&mut self, open: &Open, asked: &Requirements) -> Option<(Requirements, Offerings)> {
        open.requirements
            .compatible(asked, Undefined::WellKnown(self.known))
            .ok()?;
        let mut requirements = open.requirements.clone();
        requirements.add_all(asked);
        let mut offerings = open.offerings.clone();
        for key in asked.iter().map(crate::Requirement::key) {
            let both = requirements.get(key)?;
            if Some(both) != open.requirements.get(key) {
                offerings.keep_only(self.meeting(both));
            }
        }
        Some((requirements, offerings))
    }

    /// Keeps the offerings that carry the count, and lowers the count while too little choice is left.
    fn with_choice(&self, open: &Open, asked: Asked<'_>, mut grown: Growth) -> Option<Growth> {
        let wide = grown.offerings.clone();
        let carrying = |count: u32| {
            let mut kept = wide.clone();
            kept.retain(|id| self.copies(self.type_of(id), open, asked.amounts) >= count);
            kept
        };
        if grown.count == 0 {
            return None;
        }
        grown.offerings = carrying(grown.count);
        let enough = |requirements: &Requirements, offerings: &Offerings| {
            !requirements.has_min_values()
                || min_values::unmet(self, requirements, offerings).is_empty()
        };
        if enough(&grown.requirements, &grown.offerings) {
            return Some(grown);
        }
        // More pods leave fewer types, so the largest count with enough choice can be searched by halves.
        let (mut fine, mut bad) = (0, grown.count);
        while bad - fine > 1 {
            let middle = fine + (bad - fine) / 2;
            if enough(&grown.requirements, &carrying(middle)) {
                fine = middle;
            } else {
                bad = middle;
            }
        }
        if fine > 0 {
            let offerings = carrying(fine);
            return Some(Growth {
                count: fine,
                offerings,
                ..grown
            });
        }
        let lowered = asked.min_values == MinValuesPolicy::BestEffort && open.pods.is_empty();
        lowered.then(|| self.with_less_choice(grown))
    }

    /// Lowers the minValues that cannot be met to what there is.
    fn with_less_choice(&self, mut grown: Growth) -> Growth {
        for Unmet {
            requirement, found, ..
        } in min_values::unmet(self, &grown.requirements, &grown.offerings)
        {
            grown
                .requirements
                .replace(requirement.with_min_values(Some(found)));
        }
        Growth {
            relaxed: true,
            ..grown
        }
    }

    fn copies(&self, kind: usize, open: &Open, asked: &[i64]) -> u32 {
        let Some(free) = &self.free[kind] else {
            return 0;
        };
        let left: Amounts = free
            .iter()
            .zip(&open.total)
            .map(|(free, total)| free - total)
            .collect();
        copies(&left, asked)
    }

    fn most_free(&self, offerings: &Offerings) -> Amounts {
        let mut most: Amounts = self.left.iter().map(|_| 0).collect();
        for id in offerings.ids() {
            let Some(free) = &self.free[self.type_of(id)] else {
                continue;
            };
            for (most, free) in most.iter_mut().zip(free) {
                *most = (*most).max(*free);
            }
        }
        most
    }

    /// Per column the most that the offering bought first can take; ties are not decided yet, so all of them count.
    fn first_takes(&self, offerings: &Offerings) -> Amounts {
        let first = offerings.ids().map(|id| self.ranking.rank(id)).min();
        let mut most: Amounts = self.left.iter().map(|_| 0).collect();
        for id in offerings
            .ids()
            .filter(|id| Some(self.ranking.rank(*id)) == first)
        {
            for (most, capacity) in most.iter_mut().zip(&self.capacity[self.type_of(id)]) {
                *most = (*most).max(*capacity);
            }
        }
        most
    }
}

pub(super) fn conflict(ours: &[HostPort], theirs: &[HostPort]) -> bool {
    ours.iter()
        .any(|our| theirs.iter().any(|their| our.conflicts(their)))
}
