//! Where can all volumes of a pod be reached at once, and what do they take of a node's limit?

use super::columns::{Amounts, Columns};
use super::relax::merged;
use crate::requirements::{Requirements, Text};
use crate::snapshot::Shape;
use crate::why::Why;

/// More combinations than this are not tried: volumes with so many choices can be reached nearly everywhere.
const MOST_WAYS: usize = 64;

/// Every combination of the volumes' alternatives that does not contradict itself; without volumes one that asks for nothing.
pub(super) fn alternatives(shape: &Shape) -> Result<Vec<Requirements>, Why> {
    let mut ways = vec![Requirements::new()];
    for volume in &shape.volumes {
        let choices: Vec<_> = volume.alternatives.iter().collect();
        if choices.is_empty() {
            continue;
        }
        let mut next: Vec<Requirements> = Vec::new();
        for way in &ways {
            for choice in &choices {
                let Ok(both) = merged(way.iter().chain(choice.iter())) else {
                    continue;
                };
                if !next.contains(&both) {
                    next.push(both);
                }
            }
        }
        next.truncate(MOST_WAYS);
        if next.is_empty() {
            return Err(Why::VolumesApart);
        }
        ways = next;
    }
    Ok(ways)
}

/// The pod's own terms and its volumes exclude each other.
pub(super) fn elsewhere(shape: &Shape) -> Why {
    let keys = shape.volumes.iter().flat_map(|volume| &volume.alternatives);
    let key = keys.flatten().map(|asked| Text::from(asked.key())).next();
    Why::VolumeElsewhere {
        key: key.unwrap_or_default(),
    }
}

/// What one pod takes, and the shared claims that are attached once per node with their columns.
pub(super) fn asked(shape: &Shape, columns: &Columns) -> (Amounts, Vec<(Text, usize)>) {
    let mut amounts = columns.lower(&shape.requests);
    let mut shared = Vec::new();
    for volume in &shape.volumes {
        let Some(column) = volume.driver.as_ref().and_then(|name| columns.driver(name)) else {
            continue;
        };
        if volume.claim.is_empty() {
            amounts[column] += 1;
        } else {
            shared.push((volume.claim.clone(), column));
        }
    }
    (amounts, shared)
}
