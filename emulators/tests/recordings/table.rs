//! Which differences do we know of, and why do we live with them?

use std::collections::BTreeMap;

use crate::recorded::Exchange;

pub(crate) struct Table {
    /// By the number of the call.
    pub differences: BTreeMap<u64, String>,
    /// `service path-prefix`.
    pub kinds: Vec<String>,
}

impl Table {
    /// The kind of a call this core does not implement.
    pub(crate) fn left_out(&self, exchange: &Exchange) -> Option<String> {
        let call = format!("{} {}", exchange.service, exchange.request.path);
        self.kinds
            .iter()
            .find(|kind| call.starts_with(kind.as_str()))
            .cloned()
    }
}

pub(crate) fn read() -> Table {
    let text = include_str!("differences.md");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line
            .trim()
            .trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        (cells.len() == 3 && !cells[0].starts_with('-')).then_some(cells)
    });
    let mut table = Table {
        differences: BTreeMap::new(),
        kinds: Vec::new(),
    };
    for cells in rows {
        assert!(!cells[2].is_empty(), "{cells:?} has no reason");
        if let Ok(n) = cells[0].parse() {
            table.differences.insert(n, cells[1].to_owned());
        } else if cells[0] == "kind" {
            table.kinds.push(cells[1].trim_matches('`').to_owned());
        }
    }
    table
}
