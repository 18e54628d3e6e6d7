//! Which of many rows of numbers has this much in every column?
//!
//! Rows are kept in blocks with the most of each column, so full rooms and claims are passed over by the dozen.

use super::columns::fits;

const BLOCK: usize = 32;

#[derive(Clone, Default)]
pub(super) struct Rows {
    width: usize,
    list: Vec<i64>,
    /// By block: no row has more.
    most: Vec<i64>,
    /// By block: rows have become less since. That is looked at when nothing was found there.
    stale: Vec<bool>,
    len: usize,
}

impl Rows {
    pub(super) fn with_width(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, row: &[i64]) {
        if self.len.is_multiple_of(BLOCK) {
            self.most.resize(self.most.len() + self.width, i64::MIN);
            self.stale.push(false);
        }
        self.list.extend_from_slice(row);
        self.len += 1;
        let block = (self.len - 1) / BLOCK;
        self.raise_most(block, self.len - 1);
    }

    pub(super) fn row(&self, at: usize) -> &[i64] {
        &self.list[at * self.width..(at + 1) * self.width]
    }

    pub(super) fn change(&mut self, at: usize, change: impl FnOnce(&mut [i64])) {
        change(&mut self.list[at * self.width..(at + 1) * self.width]);
        let block = at / BLOCK;
        self.stale[block] = true;
        self.raise_most(block, at);
    }

    /// The next row, from `from` on, that has this much in every column.
    pub(super) fn next(&mut self, from: usize, asked: &[i64]) -> Option<usize> {
        let mut at = from;
        while at < self.len {
            let end = self.end(at);
            if self.may_fit(at, asked) {
                if let Some(found) = (at..end).find(|at| fits(asked, self.row(*at))) {
                    return Some(found);
                }
                self.measure(at / BLOCK);
            }
            at = end;
        }
        None
    }

    /// The position of the next such row among these, which are sorted, from a position on.
    pub(super) fn next_among(
        &mut self,
        among: &[usize],
        from: usize,
        asked: &[i64],
    ) -> Option<usize> {
        let mut position = from;
        while let Some(at) = among.get(position).copied() {
            let end = self.end(at);
            let here = among[position..].iter().take_while(|at| **at < end);
            let here = here.count();
            if self.may_fit(at, asked) {
                let rows = &among[position..position + here];
                if let Some(found) = rows.iter().position(|at| fits(asked, self.row(*at))) {
                    return Some(position + found);
                }
                self.measure(at / BLOCK);
            }
            position += here;
        }
        None
    }

    /// Where the block of a row ends.
    fn end(&self, at: usize) -> usize {
        self.len.min((at / BLOCK + 1) * BLOCK)
    }

    fn may_fit(&self, at: usize, asked: &[i64]) -> bool {
        let block = at / BLOCK;
        fits(
            asked,
            &self.most[block * self.width..(block + 1) * self.width],
        )
    }

    fn raise_most(&mut self, block: usize, at: usize) {
        let most = &mut self.most[block * self.width..(block + 1) * self.width];
        let row = &self.list[at * self.width..(at + 1) * self.width];
        for (most, now) in most.iter_mut().zip(row) {
            *most = (*most).max(*now);
        }
    }

    fn measure(&mut self, block: usize) {
        if !std::mem::take(&mut self.stale[block]) {
            return;
        }
        self.most[block * self.width..(block + 1) * self.width].fill(i64::MIN);
        for at in block * BLOCK..self.end(block * BLOCK) {
            self.raise_most(block, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred rows; every seventh has more than the others.
    fn rows() -> Rows {
        let mut rows = Rows::with_width(2);
        for at in 0..100 {
            rows.push(&[1, if at % 7 == 0 { 9 } else { 3 }]);
        }
        rows
    }

    #[test]
    fn the_next_row_that_fits_is_found_across_blocks() {
        let mut rows = rows();
        assert_eq!(rows.next(1, &[1, 9]), Some(7));
        assert_eq!(rows.next(64, &[1, 9]), Some(70));
        assert_eq!(rows.next(99, &[1, 9]), None);
        assert_eq!(rows.next(0, &[2, 1]), None);
    }

    #[test]
    fn what_was_taken_is_missed_and_what_was_given_back_is_found() {
        let mut rows = rows();
        for at in (0..100).step_by(7) {
            rows.change(at, |row| row[1] = 0);
        }
        assert_eq!(rows.next(0, &[0, 9]), None);
        rows.change(50, |row| row[1] = 12);
        assert_eq!(rows.next(0, &[0, 9]), Some(50));
    }

    #[test]
    fn only_the_rows_that_are_asked_about_count() {
        let mut rows = rows();
        let among = [3, 5, 40, 49, 50, 98];
        assert_eq!(rows.next_among(&among, 0, &[1, 9]), Some(3));
        assert_eq!(rows.next_among(&among, 4, &[1, 9]), Some(5));
        assert_eq!(rows.next_among(&among, 6, &[1, 9]), None);
        assert_eq!(rows.next_among(&among, 1, &[1, 3]), Some(1));
    }

    #[test]
    fn without_columns_every_row_fits() {
        let mut rows = Rows::with_width(0);
        rows.push(&[]);
        assert_eq!(rows.next(0, &[]), Some(0));
    }
}
