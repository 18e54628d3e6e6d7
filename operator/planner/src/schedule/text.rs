//! How does a schedule read as text? The same schedule always gives the same lines; tests compare them.

use super::{Opening, Schedule, Spot};
use crate::snapshot::Snapshot;
use std::fmt::Write;

impl Schedule {
    /// One line per placement, opening and refusal, sorted.
    pub fn text(&self, snapshot: &Snapshot) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (pod, spot) in &self.placements {
            let name = &snapshot.pods.pod(*pod).name;
            lines.push(format!("{name} -> {}", self.spot_name(*spot, snapshot)));
        }
        lines.extend(self.openings.iter().map(|opening| opening.line(snapshot)));
        for (pod, whys) in self.refused(&snapshot.pods) {
            let codes: Vec<_> = whys.iter().map(crate::Why::code).collect();
            lines.push(format!(
                "{}: {}",
                snapshot.pods.pod(pod).name,
                codes.join(", ")
            ));
        }
        for shape in &self.unserved {
            lines.push(format!("shape {} unserved", shape.0));
        }
        lines.sort_unstable();
        lines.join("\n")
    }

    fn spot_name(&self, spot: Spot, snapshot: &Snapshot) -> String {
        match spot {
            Spot::Node(id) => snapshot.node(id).name.to_string(),
            Spot::Claim(id) => format!("claim {}", snapshot.claim(id).name),
            Spot::Opening(at) => self
                .openings
                .get(at as usize)
                .map(|opening| opening.handle.to_string())
                .unwrap_or_default(),
        }
    }
}

impl Opening {
    fn line(&self, snapshot: &Snapshot) -> String {
        let mut line = format!("{}:", self.handle);
        let catalog = snapshot.catalog_of(&snapshot.pool(self.pool).class);
        if let (Some(catalog), Some(first)) = (catalog, self.offerings.first()) {
            let _ = write!(line, " {}", catalog.offering(*first));
        }
        match self.price {
            Some(price) => {
                let _ = write!(line, " at {price}");
            }
            None => line.push_str(" at an unknown price"),
        }
        let others = self.offerings.len().saturating_sub(1);
        let _ = write!(line, " or {others} others, for {}", self.requests);
        line
    }
}
