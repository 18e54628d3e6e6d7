//! How does one run go from the first shape to the finished schedule?

use super::columns::{Amounts, Columns};
use super::daemons;
use super::existing::Rooms;
use super::grow::{Asked, Open};
use super::queue::{self, Queued};
use super::relax::{self, Attempt};
use super::stock::Stock;
use super::{Budget, Schedule, Spot, explain, finish};
use crate::snapshot::{PodId, PoolId, PoolState, Shape, ShapeId, WhatIf};
use crate::taints::Effect;
use crate::why::Why;

pub(super) struct Run<'a> {
    pub(super) view: &'a WhatIf<'a>,
    pub(super) columns: Columns,
    /// By pool weight; a pool that cannot sell keeps its reason.
    pub(super) stocks: Vec<Result<Stock<'a>, Why>>,
    pub(super) opens: Vec<Open>,
    rooms: Rooms,
    soft_taints: bool,
    left: u64,
    budget: u64,
    schedule: Schedule,
}

impl<'a> Run<'a> {
    pub(super) fn new(view: &'a WhatIf<'a>, limits: Budget) -> Self {
        let snapshot = view.base;
        let columns = Columns::of(snapshot);
        let landers = daemons::landers(snapshot);
        let rooms = Rooms::of(view, &columns, &landers);
        let selling = snapshot
            .pools
            .iter()
            .enumerate()
            .filter(|(_, pool)| pool.state != PoolState::Fixed);
        let stocks: Vec<_> = selling
            .map(|(at, _)| {
                Stock::of(
                    view,
                    PoolId(u32::try_from(at).unwrap_or(u32::MAX)),
                    &columns,
                    &landers,
                )
            })
            .collect();
        let soft_pool = snapshot
            .pools
            .iter()
            .flat_map(|pool| &pool.taints)
            .any(|taint| taint.effect == Effect::PreferNoSchedule);
        let soft_taints = soft_pool || rooms.have_soft_taints();
        Self {
            view,
            columns,
            stocks,
            opens: Vec::new(),
            rooms,
            soft_taints,
            left: limits.steps,
            budget: limits.steps,
            schedule: Schedule::default(),
        }
    }

    /// Gives the pods of one shape their places, or the reasons why not.
    pub(super) fn serve(&mut self, queued: &Queued) {
        let view = self.view;
        let shape = view.base.pods.shape(queued.shape);
        let hopeless = queue::hopeless(shape);
        if !hopeless.is_empty() {
            self.refuse(queued.shape, hopeless);
            return;
        }
        let attempts = match relax::attempts(shape, self.soft_taints) {
            Ok(attempts) => attempts,
            Err(why) => return self.refuse(queued.shape, vec![why]),
        };
        let amounts = self.columns.lower(&shape.requests);
        let mut waiting = queued.pods.as_slice();
        for attempt in &attempts {
            waiting = self.place(shape, attempt, &amounts, waiting);
            if waiting.is_empty() {
                return;
            }
            if self.left == 0 {
                self.schedule.unserved.push(queued.shape);
                return;
            }
        }
        let whys = explain::refusal(self, shape, &attempts, &amounts);
        self.refuse(queued.shape, whys);
    }

    pub(super) fn finish(mut self) -> Schedule {
        self.schedule.openings = finish::openings(&mut self);
        let mut schedule = self.schedule;
        schedule.placements.sort_unstable();
        schedule.steps = self.budget - self.left;
        schedule
    }

    /// Places as many as possible under one attempt and returns the rest.
    fn place<'p>(
        &mut self,
        shape: &Shape,
        attempt: &Attempt,
        amounts: &Amounts,
        pods: &'p [PodId],
    ) -> &'p [PodId] {
        let mut waiting = pods;
        if !self.step(self.rooms.len()) {
            return waiting;
        }
        for (spot, count) in self.rooms.fill(shape, attempt, amounts, waiting.len()) {
            waiting = self.settle(spot, count, waiting);
        }
        let min_values = self.view.base.options.min_values;
        let asked = Asked {
            shape,
            attempt,
            amounts,
            min_values,
        };
        waiting = self.fill_opens(asked, waiting);
        self.open_more(asked, waiting)
    }

    fn fill_opens<'p>(&mut self, asked: Asked<'_>, pods: &'p [PodId]) -> &'p [PodId] {
        let mut waiting = pods;
        for at in 0..self.opens.len() {
            if waiting.is_empty() || !self.step(1) {
                break;
            }
            let open = &mut self.opens[at];
            let Ok(stock) = &mut self.stocks[open.stock] else {
                continue;
            };
            let Some(growth) = stock.growth(open, asked, wanted(waiting)) else {
                continue;
            };
            let count = growth.count as usize;
            stock.apply(open, asked, growth, &waiting[..count]);
            waiting = self.settle(opening(at), count, waiting);
        }
        waiting
    }

    fn open_more<'p>(&mut self, asked: Asked<'_>, pods: &'p [PodId]) -> &'p [PodId] {
        let mut waiting = pods;
        let mut at = 0;
        while at < self.stocks.len() && !waiting.is_empty() {
            let Ok(stock) = &mut self.stocks[at] else {
                at += 1;
                continue;
            };
            let steps = stock.buyable.len().max(1);
            let mut open = stock.blank(at);
            let Some(growth) = stock.growth(&open, asked, wanted(waiting)) else {
                at += 1;
                continue;
            };
            // The guard makes pods wait for the pool that suits them; it does not push them to the next one.
            if stock.guarded() || !self.step(steps) {
                break;
            }
            let Ok(stock) = &mut self.stocks[at] else {
                break;
            };
            let count = growth.count as usize;
            stock.apply(&mut open, asked, growth, &waiting[..count]);
            stock.opened += 1;
            waiting = self.settle(opening(self.opens.len()), count, waiting);
            self.opens.push(open);
        }
        waiting
    }

    fn settle<'p>(&mut self, spot: Spot, count: usize, pods: &'p [PodId]) -> &'p [PodId] {
        let (placed, waiting) = pods.split_at(count);
        self.schedule
            .placements
            .extend(placed.iter().map(|pod| (*pod, spot)));
        waiting
    }

    fn refuse(&mut self, shape: ShapeId, whys: Vec<Why>) {
        self.schedule.refusals.push((shape, whys));
    }

    /// Spends steps; false when there are none left.
    fn step(&mut self, steps: usize) -> bool {
        let steps = (steps as u64).max(1);
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        enough
    }
}

impl Stock<'_> {
    /// Are as many claims on their way as the runaway guard allows?
    pub(super) fn guarded(&self) -> bool {
        self.unregistered.saturating_add(self.opened) >= self.allowed
    }
}

fn wanted(pods: &[PodId]) -> u32 {
    u32::try_from(pods.len()).unwrap_or(u32::MAX)
}

fn opening(at: usize) -> Spot {
    Spot::Opening(u32::try_from(at).unwrap_or(u32::MAX))
}
