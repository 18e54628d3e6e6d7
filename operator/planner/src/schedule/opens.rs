//! Which of the claims opened in this run has room for one more?
//!
//! Two rows of numbers per claim: what is spare in the cheapest type that carries it now, and how far it may grow. Rows are
//! kept in blocks with the most of each column, so full claims are passed over by the dozen.

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
    most: Vec<i64>,
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
        }
        self.list.len() - 1
    }

    /// Writes what the claim has left: in its type, up to its target, in any type.
    pub(super) fn update(&mut self, at: usize, carries: &[i64], any: &[i64]) {
        let open = &self.list[at];
        let left = |free: &[i64]| -> Amounts {
            let pairs = free.iter().zip(&open.total);
            pairs
                .map(|(free, total)| free.saturating_sub(*total))
                .collect()
        };
        let rows = [left(carries), left(&open.target), left(any)];
        for (table, row) in self.tables.iter_mut().zip(rows) {
            table.set(at, &row, self.width);
        }
    }

    /// The next claim, from `from` on, whose row has this much in every column.
    pub(super) fn next(&self, room: Room, from: usize, asked: &[i64]) -> Option<usize> {
        let table = match room {
            Room::Spare => &self.tables[0],
            Room::Target => &self.tables[1],
            Room::Any => &self.tables[2],
        };
        let mut at = from;
        while at < self.list.len() {
            if at.is_multiple_of(BLOCK) {
                let block = at / BLOCK;
                let most = &table.most[block * self.width..(block + 1) * self.width];
                if !fits(asked, most) {
                    at += BLOCK;
                    continue;
                }
            }
            if fits(asked, &table.rows[at * self.width..(at + 1) * self.width]) {
                return Some(at);
            }
            at += 1;
        }
        None
    }
}

impl Table {
    fn set(&mut self, at: usize, row: &[i64], width: usize) {
        self.rows[at * width..(at + 1) * width].copy_from_slice(row);
        let block = at / BLOCK;
        let end = self.rows.len().min((block + 1) * BLOCK * width);
        let rows = &self.rows[block * BLOCK * width..end];
        let most = &mut self.most[block * width..(block + 1) * width];
        most.fill(i64::MIN);
        for row in rows.chunks_exact(width) {
            for (most, amount) in most.iter_mut().zip(row) {
                *most = (*most).max(*amount);
            }
        }
    }
}
