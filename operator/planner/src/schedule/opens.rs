//! Which of the claims opened in this run has room for one more?
//!
//! Three rows of numbers per claim: what is spare in the cheapest type that carries it now, how far it may grow, and how far
//! any type would let it. Rows are kept in blocks with the most of each column, so full claims are passed over by the dozen.

use super::columns::{Amounts, fits};
use super::lots::LotId;
use super::reserves::ReserveId;
use crate::requirements::Text;
use crate::snapshot::{HostPort, PodId, ShapeId};

const BLOCK: usize = 32;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Spare,
    Target,
    Any,
}

#[derive(Default)]
pub(super) struct Opens {
    pub(super) list: Vec<Open>,
    width: usize,
    tables: [Table; 3],
}

#[derive(Default)]
struct Table {
    rows: Vec<i64>,
    /// By block: no row has more.
    most: Vec<i64>,
    /// By block: rows have become less since. That is looked at when nothing was found there.
    stale: Vec<bool>,
}

impl Opens {
    pub(super) fn with_width(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// Adds a claim; `update` must follow.
    pub(super) fn push(&mut self, open: Open) -> usize {
        self.list.push(open);
        for table in &mut self.tables {
            table.rows.resize(self.list.len() * self.width, -1);
            let blocks = self.list.len().div_ceil(BLOCK);
            table.most.resize(blocks * self.width, -1);
            table.stale.resize(blocks, false);
        }
        self.list.len() - 1
    }

    /// Writes what the claim has left: in its type, up to its target, in any type.
    pub(super) fn update(&mut self, at: usize, carries: &[i64], any: &[i64]) {
        let open = &self.list[at];
        for (table, free) in self.tables.iter_mut().zip([carries, &open.target, any]) {
            table.set(at, free, &open.total);
        }
    }

    /// The next claim, from `from` on, whose row has this much in every column.
    pub(super) fn next(&mut self, room: Room, from: usize, asked: &[i64]) -> Option<usize> {
        let table = match room {
            Room::Spare => &mut self.tables[0],
            Room::Target => &mut self.tables[1],
            Room::Any => &mut self.tables[2],
        };
        let (mut at, width) = (from, self.width);
        while at < self.list.len() {
            let block = at / BLOCK;
            let end = self.list.len().min((block + 1) * BLOCK);
            let most = &table.most[block * width..(block + 1) * width];
            if fits(asked, most) {
                let fits = |at: &usize| fits(asked, &table.rows[at * width..(at + 1) * width]);
                if let Some(found) = (at..end).find(fits) {
                    return Some(found);
                }
                table.measure(block, width);
            }
            at = end;
        }
        None
    }
}

impl Table {
    /// A row of what `free` has left beside `total`.
    fn set(&mut self, at: usize, free: &[i64], total: &[i64]) {
        let (width, block) = (total.len(), at / BLOCK);
        let row = &mut self.rows[at * width..(at + 1) * width];
        let most = &mut self.most[block * width..(block + 1) * width];
        for (column, (left, most)) in row.iter_mut().zip(most).enumerate() {
            let free = free.get(column);
            let now = free.map_or(-1, |free| free.saturating_sub(total[column]));
            self.stale[block] |= now < *left;
            *left = now;
            *most = (*most).max(now);
        }
    }

    fn measure(&mut self, block: usize, width: usize) {
        if !std::mem::take(&mut self.stale[block]) {
            return;
        }
        let end = self.rows.len().min((block + 1) * BLOCK * width);
        let most = &mut self.most[block * width..(block + 1) * width];
        most.fill(i64::MIN);
        for row in self.rows[block * BLOCK * width..end].chunks_exact(width) {
            for (most, left) in most.iter_mut().zip(row) {
                *most = (*most).max(*left);
            }
        }
    }
}
