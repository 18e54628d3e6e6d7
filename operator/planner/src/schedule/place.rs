//! How do the pods of one shape get their places under one attempt?
//!
//! Rooms first, then claims; what was bought may have made a room the right one again, so both are asked in turn. Where
//! many pods would get the same answer they are placed at once.

use super::Spot;
use super::ask::{Ask, Wanted};
use super::relax::Attempt;
use super::run::Run;
use crate::snapshot::PodId;

impl Run<'_> {
    /// Places as many as possible under one attempt and returns the rest.
    pub(super) fn place<'p>(
        &mut self,
        wanted: &Wanted<'_>,
        attempt: &Attempt,
        pods: &'p [PodId],
    ) -> &'p [PodId] {
        if !self.step(self.ground.rooms.len() / 8) {
            return pods;
        }
        let mut ask = Ask::of(self.ground, wanted, attempt, &self.books);
        if self.standing {
            self.confine(&mut ask);
        }
        ask.ways = attempt.ways.iter().map(|way| self.lots.ask(way)).collect();
        let together = ask.hosts.iter().any(|rule| rule.begins(&self.books));
        let mut waiting = pods;
        if together && pods.len() > 1 {
            ask.need = count(pods);
            waiting = self.place_all(&ask, waiting);
            ask.need = 1;
        }
        waiting = self.place_all(&ask, waiting);
        if ask.decides && !waiting.is_empty() {
            // Nobody is refused a node because others would like to know where it counts.
            ask.decides = false;
            waiting = self.place_all(&ask, waiting);
        }
        waiting
    }

    fn place_all<'p>(&mut self, ask: &Ask<'_>, pods: &'p [PodId]) -> &'p [PodId] {
        self.intentions.clear();
        let mut waiting = pods;
        let mut buckets = self.buckets(ask, waiting.len());
        let mut choices = None;
        let mut opened = false;
        loop {
            waiting = self.fill(ask, &mut buckets, waiting);
            if waiting.is_empty() || !self.step(1) {
                return waiting;
            }
            let choices = choices.get_or_insert_with(|| self.choices(ask));
            let claims = self.opens.list.len();
            let placed = self.buy(ask, choices, waiting);
            if placed == 0 {
                return waiting;
            }
            waiting = &waiting[placed..];
            let opened_before = std::mem::replace(&mut opened, self.opens.list.len() > claims);
            if opened && opened_before {
                waiting = &waiting[self.repeat(ask, choices, waiting)..];
            }
            waiting = &waiting[self.deal_into_claims(ask, &buckets, choices, waiting)..];
        }
    }

    pub(super) fn settle(&mut self, spot: Spot, pods: &[PodId]) {
        let placed = pods.iter().map(|pod| (*pod, spot));
        self.schedule.placements.extend(placed);
    }
}

pub(super) fn count(pods: &[PodId]) -> u32 {
    u32::try_from(pods.len()).unwrap_or(u32::MAX)
}
