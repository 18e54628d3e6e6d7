//! How many more pods of a shape may a domain take?

use super::counters::CounterId;
use super::domains::{KeyId, NONE};
use std::borrow::Cow;

/// What a constraint says about a domain with so many pods in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// No domain may have more than `max_skew` pods above the emptiest.
    Spread { max_skew: u32, min_domains: u32 },
    /// Only where one of them is.
    Near,
    /// Only where none of them is.
    Apart,
    /// Only where nobody is who does not want it.
    Unwanted,
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) says: Says,
    pub(super) counter: CounterId,
    /// `None`: by host.
    pub(super) key: Option<KeyId>,
    /// The pod counts itself.
    pub(super) mine: bool,
    /// By domain: a node can be there, as far as the constraint looks.
    pub(super) known: Vec<bool>,
    /// By domain: and the pod's own affinity admits it.
    pub(super) compared: Vec<bool>,
    /// By host: what the emptiest has. None, as long as another host can be made.
    pub(super) least: u32,
}

/// How empty the emptiest domain is. One that fills up is held back by the others only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor {
    least: u32,
    at: u32,
    /// The least of all but that one.
    next: u32,
}

impl Floor {
    pub(super) fn level(least: u32) -> Self {
        Self {
            least,
            at: NONE,
            next: least,
        }
    }

    fn beside(self, domain: u32) -> u32 {
        if domain == self.at {
            self.next
        } else {
            self.least
        }
    }
}

/// The counts of all counters at this moment.
///
/// A counter is copied when its first pod comes or goes: a what-if touches few of them.
#[derive(Clone, Default)]
pub(super) struct Books<'b> {
    counts: Vec<Cow<'b, [u32]>>,
    totals: Vec<u64>,
    /// By counter, by domain: how many nodes are there that are looked at?
    seen: Vec<Cow<'b, [u32]>>,
}

impl<'b> Books<'b> {
    pub(super) fn opened(base: &'b [Vec<u32>], totals: &[u64], seen: &'b [Vec<u32>]) -> Self {
        let borrowed = |counts: &'b Vec<u32>| Cow::Borrowed(counts.as_slice());
        Self {
            counts: base.iter().map(borrowed).collect(),
            totals: totals.to_vec(),
            seen: seen.iter().map(borrowed).collect(),
        }
    }

    pub(super) fn seen(&self, counter: CounterId) -> &[u32] {
        &self.seen[counter as usize]
    }

    /// One node less is looked at there.
    pub(super) fn unsee(&mut self, counter: CounterId, slot: u32) {
        let seen = &mut self.seen[counter as usize].to_mut()[slot as usize];
        *seen = seen.saturating_sub(1);
    }

    pub(super) fn count(&self, counter: CounterId, slot: u32) -> u32 {
        let counts = &self.counts[counter as usize];
        counts.get(slot as usize).copied().unwrap_or(0)
    }

    pub(super) fn total(&self, counter: CounterId) -> u64 {
        self.totals[counter as usize]
    }

    pub(super) fn add(&mut self, counter: CounterId, slot: u32, pods: u32) {
        let counts = self.counts[counter as usize].to_mut();
        let slot = slot as usize;
        if slot >= counts.len() {
            counts.resize(slot + 1, 0);
        }
        counts[slot] = counts[slot].saturating_add(pods);
        self.totals[counter as usize] += u64::from(pods);
    }

    pub(super) fn remove(&mut self, counter: CounterId, slot: u32) {
        let count = &mut self.counts[counter as usize].to_mut()[slot as usize];
        if *count > 0 {
            *count -= 1;
            self.totals[counter as usize] -= 1;
        }
    }
}

impl Rule {
    /// What the emptiest domain has, as far as the rule compares at all.
    pub(super) fn floor(&self, books: &Books<'_>) -> Floor {
        let Says::Spread { min_domains, .. } = self.says else {
            return Floor::level(0);
        };
        if self.key.is_none() {
            return Floor::level(self.least);
        }
        let compared = (0_u32..).zip(&self.compared).filter(|(_, known)| **known);
        let (mut domains, mut floor) = (0_u32, Floor::level(u32::MAX));
        for (domain, _) in compared {
            domains += 1;
            let count = books.count(self.counter, domain);
            if count < floor.least {
                (floor.next, floor.least, floor.at) = (floor.least, count, domain);
            } else {
                floor.next = floor.next.min(count);
            }
        }
        if domains < min_domains || domains == 0 {
            Floor::level(0)
        } else {
            floor
        }
    }

    /// How many more may go there: 0 is no, `u32::MAX` as many as fit.
    pub(super) fn allowance(&self, books: &Books<'_>, domain: u32, floor: Floor) -> u32 {
        let count = || books.count(self.counter, domain);
        match self.says {
            // Without the label there is no domain to be crowded; kube-scheduler lets the pod in.
            Says::Apart | Says::Unwanted if domain == NONE => u32::MAX,
            _ if domain == NONE => 0,
            Says::Spread { max_skew, .. } => {
                let known = self.key.is_none() || self.known.get(domain as usize) == Some(&true);
                let most = floor.beside(domain).saturating_add(max_skew);
                match (known, self.mine) {
                    (false, _) => 0,
                    (true, true) => most.saturating_sub(count()),
                    (true, false) => u32::from(count() <= most) * u32::MAX,
                }
            }
            Says::Near => {
                let there = count() > 0 || (self.mine && books.total(self.counter) == 0);
                u32::from(there) * u32::MAX
            }
            Says::Apart if count() > 0 => 0,
            Says::Apart => {
                if self.mine {
                    1
                } else {
                    u32::MAX
                }
            }
            Says::Unwanted => u32::from(count() == 0) * u32::MAX,
        }
    }

    /// Fewer is better when a domain is chosen.
    pub(super) fn weight(&self, books: &Books<'_>, domain: u32) -> u32 {
        match self.says {
            Says::Spread { .. } if domain != NONE => books.count(self.counter, domain),
            _ => 0,
        }
    }

    pub(super) fn balances(&self) -> bool {
        matches!(self.says, Says::Spread { .. }) && self.mine && self.key.is_some()
    }

    /// Are these all the domains that a spread compares, each as full as the others?
    pub(super) fn is_level(&self, books: &Books<'_>, domains: &[u32]) -> bool {
        let Says::Spread { min_domains, .. } = self.says else {
            return false;
        };
        let compared = self.compared.iter().filter(|compared| **compared).count();
        let full = |domain: &u32| books.count(self.counter, *domain);
        let level = domains.first().map(full);
        let alike = |domain: &u32| {
            self.compared.get(*domain as usize) == Some(&true) && Some(full(domain)) == level
        };
        compared == domains.len()
            && compared >= min_domains.max(1) as usize
            && domains.iter().all(alike)
    }

    /// Nobody is there yet and the pod may be the first.
    pub(super) fn begins(&self, books: &Books<'_>) -> bool {
        self.says == Says::Near && self.mine && books.total(self.counter) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(says: Says, mine: bool) -> Rule {
        Rule {
            says,
            counter: 0,
            key: Some(0),
            mine,
            known: vec![true; 3],
            compared: vec![true; 3],
            least: 0,
        }
    }

    fn allowed(rule: &Rule, counts: &[u32]) -> Vec<u32> {
        let (base, total) = (
            [counts.to_vec()],
            counts.iter().map(|n| u64::from(*n)).sum(),
        );
        let books = Books::opened(&base, &[total], &[]);
        let floor = rule.floor(&books);
        (0..3)
            .map(|domain| rule.allowance(&books, domain, floor))
            .collect()
    }

    const ALL: u32 = u32::MAX;

    #[test]
    fn a_spread_allows_what_keeps_the_skew() {
        let spread = |min_domains| Says::Spread {
            max_skew: 1,
            min_domains,
        };
        assert_eq!(allowed(&rule(spread(0), true), &[1, 1, 0]), [0, 0, 2]);
        assert_eq!(allowed(&rule(spread(0), true), &[1, 1, 1]), [1, 1, 1]);
        assert_eq!(
            allowed(&rule(spread(0), false), &[2, 1, 1]),
            [ALL, ALL, ALL]
        );
        assert_eq!(allowed(&rule(spread(0), false), &[3, 1, 1]), [0, ALL, ALL]);
        assert_eq!(allowed(&rule(spread(4), true), &[1, 1, 1]), [0, 0, 0]);
    }

    #[test]
    fn affinity_goes_where_somebody_is_or_begins_itself() {
        assert_eq!(allowed(&rule(Says::Near, true), &[0, 2, 0]), [0, ALL, 0]);
        assert_eq!(
            allowed(&rule(Says::Near, true), &[0, 0, 0]),
            [ALL, ALL, ALL]
        );
        assert_eq!(allowed(&rule(Says::Near, false), &[0, 0, 0]), [0, 0, 0]);
    }

    #[test]
    fn anti_affinity_goes_where_nobody_is() {
        assert_eq!(allowed(&rule(Says::Apart, true), &[0, 2, 0]), [1, 0, 1]);
        assert_eq!(
            allowed(&rule(Says::Apart, false), &[0, 2, 0]),
            [ALL, 0, ALL]
        );
        assert_eq!(
            allowed(&rule(Says::Unwanted, false), &[1, 0, 0]),
            [0, ALL, ALL]
        );
        assert_eq!(
            rule(Says::Apart, true).allowance(
                &Books::opened(&[vec![]], &[0], &[]),
                NONE,
                Floor::level(0)
            ),
            ALL
        );
    }
}
