//! Which of the claims opened in this run has room for one more?
//!
//! Three rows of numbers per claim: what is spare in the cheapest type that carries it now, how far it may grow, and how far
//! any type would let it.

use super::columns::Amounts;
use super::lots::LotId;
use super::reserves::ReserveId;
use super::rows::Rows;
use crate::requirements::Text;
use crate::snapshot::{HostPort, PodId, ShapeId};

/// A claim that is being filled.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) lot: LotId,
    /// Position on the lot's ladder of the cheapest type that carries it.
    pub(super) rung: usize,
    /// It grows up to this row of amounts.
    pub(super) target: Amounts,
    /// Requests of its pods, without daemons.
    pub(super) total: Amounts,
    pub(super) pods: Vec<PodId>,
    /// How many of each shape.
    pub(super) shapes: Vec<(ShapeId, u32)>,
    pub(super) ports: Vec<HostPort>,
    /// Shared claims of volumes that count here already.
    pub(super) attached: Vec<Text>,
    /// What it holds of the pool's limits.
    pub(super) held: Amounts,
    /// The reservation it holds an instance of.
    pub(super) reserve: Option<ReserveId>,
    pub(super) relaxed: bool,
    /// Its zone is decided and counted.
    pub(super) counted: bool,
}

impl Open {
    /// Was it opened for the same, and filled in the same way?
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.pods.len() == other.pods.len()
            && (self.lot, self.rung, self.reserve) == (other.lot, other.rung, other.reserve)
            && (self.relaxed, self.counted) == (other.relaxed, other.counted)
            && self.shapes == other.shapes
            && self.target == other.target
            && self.total == other.total
            && self.held == other.held
            && self.ports == other.ports
            && self.attached == other.attached
    }

    pub(super) fn with_pods(&self, pods: &[PodId]) -> Self {
        Self {
            target: self.target.clone(),
            total: self.total.clone(),
            pods: pods.to_vec(),
            shapes: self.shapes.clone(),
            ports: self.ports.clone(),
            attached: self.attached.clone(),
            held: self.held.clone(),
            ..*self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Spare,
    Target,
    Any,
    /// The same in claims of heavier pools than the one that is to be asked next.
    Heavier,
}

#[derive(Default)]
pub(super) struct Opens {
    pub(super) list: Vec<Open>,
    width: usize,
    rooms: [Rows; 3],
}

impl Opens {
    pub(super) fn with_width(width: usize) -> Self {
        Self {
            list: Vec::new(),
            width,
            rooms: std::array::from_fn(|_| Rows::with_width(width)),
        }
    }

    /// Adds a claim; `update` must follow.
    pub(super) fn push(&mut self, open: Open) -> usize {
        self.list.push(open);
        let nothing = Amounts::nothing(self.width);
        for rows in &mut self.rooms {
            rows.push(&nothing);
        }
        self.list.len() - 1
    }

    /// Adds a claim like the one that was added last.
    pub(super) fn push_again(&mut self, open: Open) -> usize {
        let last = self.list.len() - 1;
        self.list.push(open);
        for rows in &mut self.rooms {
            let row: Amounts = rows.row(last).into();
            rows.push(&row);
        }
        last + 1
    }

    /// Writes what the claim has left: in its type, up to its target, in any type.
    pub(super) fn update(&mut self, at: usize, carries: &[i64], any: &[i64]) {
        let open = &self.list[at];
        for (rows, free) in self.rooms.iter_mut().zip([carries, &open.target, any]) {
            rows.change(at, |row| {
                for (column, left) in row.iter_mut().enumerate() {
                    let free = free.get(column);
                    *left = free.map_or(-1, |free| free.saturating_sub(open.total[column]));
                }
            });
        }
    }

    /// The next claim, from `from` on, whose row has this much in every column.
    pub(super) fn next(&mut self, room: Room, from: usize, asked: &[i64]) -> Option<usize> {
        let any = Room::Any as usize;
        self.rooms[any.min(room as usize)].next(from, asked)
    }
}
