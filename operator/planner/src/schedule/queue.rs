//! Who is served, in which order, and who cannot be served at all?

use crate::labels;
use crate::requirements::Operator;
use crate::snapshot::{PodId, Shape, ShapeId, WhatIf};
use crate::why::Why;

/// The pods of one shape that wait for a place.
pub(super) struct Queued {
    pub(super) shape: ShapeId,
    pub(super) pods: Vec<PodId>,
}

/// Shapes in the order of the snapshot: passed over before, then largest first. `pending` are those of the snapshot itself.
pub(super) fn line_up(pending: &[PodId], view: &WhatIf<'_>) -> Vec<Queued> {
    let mut waiting = [pending, view.extra].concat();
    // Numbers follow the order of the shapes.
    waiting.sort_unstable();
    waiting.dedup();
    let mut line: Vec<Queued> = Vec::new();
    for id in waiting {
        let shape = view.base.pods.pod(id).shape();
        match line.last_mut() {
            Some(last) if last.shape == shape => last.pods.push(id),
            _ => line.push(Queued {
                shape,
                pods: vec![id],
            }),
        }
    }
    line
}

/// Reasons that no place in the world could change. A constraint that this planner does not know is one of them:
/// placing the pod anyway could be wrong.
pub(super) fn hopeless(shape: &Shape) -> Vec<Why> {
    let beyond = shape
        .beyond
        .iter()
        .map(|(constraint, name)| Why::UnknownConstraint {
            constraint: *constraint,
            name: name.clone(),
        });
    let negative = shape
        .requests
        .iter()
        .filter(|(_, amount)| *amount < 0)
        .map(|(name, amount)| Why::Unreadable {
            field: format!("requests.{name}").into(),
            said: format!("{} is negative", name.quantity(amount)).into(),
        });
    let mut whys: Vec<Why> = shape
        .unreadable
        .iter()
        .cloned()
        .chain(beyond)
        .chain(negative)
        .collect();
    if opted_out(shape) {
        whys.push(Why::OptedOut);
    }
    whys.sort_unstable();
    whys.dedup();
    whys
}

/// The pod says that it wants no node of any pool.
fn opted_out(shape: &Shape) -> bool {
    let first_term = shape.terms.first().into_iter().flatten();
    shape
        .selector
        .iter()
        .chain(first_term)
        .any(|term| term.key() == labels::POOL && term.operator() == Operator::DoesNotExist)
}
