//! How often is a claim opened again exactly like the last two?
//!
//! Many pods of one shape fill many claims alike. Once two in a row came out the same, only an end can make the next one
//! different: of the pods, of the limits, of the guard, of a budget. Until then they are copied, not thought about.

use super::ask::Ask;
use super::choices::Choice;
use super::opens::Open;
use super::place::count;
use super::rules::Says;
use super::run::Run;
use super::strategy::Strategy;
use crate::snapshot::PodId;

impl Run<'_> {
    /// Copies the claim that was opened last as often as nothing can have changed; how many pods that placed.
    pub(super) fn repeat(
        &mut self,
        ask: &Ask<'_>,
        choices: &mut [Choice],
        pods: &[PodId],
    ) -> usize {
        if !self.can_repeat(ask) {
            return 0;
        }
        let last = self.opens.list.len() - 1;
        let twin = self.opens.list[last].with_pods(&[]);
        let each = self.opens.list[last].pods.len();
        let times = self.times(ask, &twin, (each, pods.len()));
        if times == 0 {
            return 0;
        }
        self.step(times);
        self.remember(times.saturating_mul(self.bytes(each)));
        for pods in pods.chunks_exact(each).take(times) {
            self.open_again(ask, &twin, pods);
        }
        // Who passed over the first of the twins passes over the copies.
        for choice in choices {
            choice.pass_over(last, times);
        }
        times * each
    }

    /// Are the last two claims alike, and does the next one depend on nothing but what they depend on?
    fn can_repeat(&self, ask: &Ask<'_>) -> bool {
        let placed_alone = ask.pins.is_empty() && ask.rules.is_empty();
        let near = ask.hosts.iter().any(|rule| rule.says == Says::Near);
        let together = near || ask.need > 1 || !ask.wanted.shared.is_empty();
        let [.., before, last] = self.opens.list.as_slice() else {
            return false;
        };
        placed_alone
            && !together
            && !self.one_by_one
            && self.strategy != Strategy::Even
            && last.reserve.is_none()
            && last.is_like(before)
    }

    /// How often the same question has the same answer.
    fn times(&self, ask: &Ask<'_>, twin: &Open, (each, waiting): (usize, usize)) -> usize {
        let at = self.lots.list[twin.lot as usize].stock;
        let (Ok(stock), Some(till)) = (&self.ground.stocks[at], &self.tills[at]) else {
            return 0;
        };
        // As long as more pods wait than any claim could take, their number makes no difference.
        let enough = (self.most_wanted(ask) as usize).max(each);
        let by_pods = waiting
            .checked_sub(enough)
            .map_or(0, |more| more / each + 1);
        let by_budget = self.left.min(self.memory / self.bytes(each) as u64);
        by_pods
            .min(usize::try_from(by_budget).unwrap_or(usize::MAX))
            .min(till.times(&stock.most_capacity, &twin.held))
    }

    /// The most such pods that any new claim could take.
    fn most_wanted(&self, ask: &Ask<'_>) -> u32 {
        let host = self.ground.rooms.len() + self.opens.list.len();
        self.intentions
            .most_copies()
            .min(self.cap_on_new(ask, host))
    }

    fn open_again(&mut self, ask: &Ask<'_>, twin: &Open, pods: &[PodId]) {
        let stock = self.lots.list[twin.lot as usize].stock;
        if let Some(till) = &mut self.tills[stock] {
            till.open_again(&twin.held);
        }
        let at = self.opens.push_again(twin.with_pods(pods));
        self.enter_zone(at);
        self.count_in_open(&ask.wanted.counted, at, count(pods));
        self.settle(super::Spot::Opening(super::index(at)), pods);
    }
}
