//! What is the smallest change that would turn this no into a yes?

use super::Why;

impl Why {
    /// The remedy; empty where waiting is all there is to do.
    pub fn fix(&self) -> String {
        self.in_the_pod()
            .or_else(|| self.in_the_pool())
            .or_else(|| self.on_the_node())
            .unwrap_or_default()
    }

    fn in_the_pod(&self) -> Option<String> {
        Some(match self {
            Self::Contradiction { key } => format!("remove one of the pod's terms on {key}"),
            Self::UnknownConstraint { constraint, .. } => {
                format!(
                    "remove the {} from the pod, or provide a node for it yourself",
                    constraint.field()
                )
            }
            Self::BadTerm(term) => term.to_string(),
            Self::Unreadable { field, .. } => format!("correct {field}"),
            Self::TaintNotTolerated { taint, .. } => {
                format!("add a toleration for {taint} to the pod")
            }
            Self::LabelUnknown {
                hint: Some(hint), ..
            } => format!("write {hint}"),
            Self::NoTypeWithLabel { asked, .. } => format!("change the pod's term {asked}"),
            Self::VolumesApart => {
                "put the pod's volumes where one node can reach them all".to_owned()
            }
            Self::VolumeElsewhere { key } => {
                format!("let the pod's terms on {key} admit the place of its volumes")
            }
            Self::TopologyUnknown { key } => {
                format!("give nodes or a NodePool the label {key}, or use another topologyKey")
            }
            Self::SpreadUnmet { key, max_skew, .. } => format!(
                "make room where {key} is emptiest, raise maxSkew above {max_skew}, or use ScheduleAnyway"
            ),
            Self::AffinityUnmet { selector, .. } => {
                format!("run a pod that matches {selector} first")
            }
            Self::AntiAffinityUnmet { key, .. } | Self::UnwantedThere { key, .. } => {
                format!("allow more values of {key}, or prefer instead of requiring")
            }
            Self::VolumeLimit { most, .. } => format!("use at most {most} such volumes in one pod"),
            Self::HostPortTaken { port, .. } => format!("use another host port than {port}"),
            _ => return None,
        })
    }

    fn in_the_pool(&self) -> Option<String> {
        Some(match self {
            Self::NoPool => "create a NodePool".to_owned(),
            Self::PoolNotReady { pool, .. } => format!("see the conditions of NodePool {pool}"),
            Self::PoolPaused { pool } => {
                format!("remove the annotation joiner.dev/paused from NodePool {pool}")
            }
            Self::NoCatalog { class, .. } => format!("see the conditions of {class}"),
            Self::LabelUnknown {
                pool,
                key,
                hint: None,
            } => {
                format!("add a requirement or label {key} to NodePool {pool}")
            }
            Self::LabelConflict { pool, labels } => {
                format!("allow {} in NodePool {pool}", labels.asked)
            }
            Self::NothingLargeEnough {
                pool,
                resource,
                largest,
                ..
            } => {
                let most = resource.quantity((*largest).max(0));
                if *largest > 0 {
                    format!(
                        "ask for at most {most} of {resource}, or allow larger types in NodePool {pool}"
                    )
                } else {
                    format!("allow instance types with {resource} in NodePool {pool}")
                }
            }
            Self::ReservationUsedUp { pool, .. } => {
                format!("enlarge the reservation, or allow other capacity types in NodePool {pool}")
            }
            Self::LimitReached { pool, resource, .. } => {
                format!("raise limits.{resource} of NodePool {pool}")
            }
            Self::MinValuesUnmet {
                pool, key, found, ..
            } => {
                format!("lower minValues of {key} in NodePool {pool} to {found}")
            }
            Self::DisruptionBudget { pool, .. } => {
                format!("raise the disruption budget of NodePool {pool}")
            }
            Self::BadBudget { pool, .. } => {
                format!("correct the disruption budgets of NodePool {pool}")
            }
            Self::NeverConsolidates { pool } => {
                format!("set consolidateAfter of NodePool {pool} to a duration")
            }
            _ => return None,
        })
    }

    fn on_the_node(&self) -> Option<String> {
        Some(match self {
            Self::DoNotDisrupt { pod } => {
                format!("remove karpenter.sh/do-not-disrupt from pod {pod}")
            }
            Self::NodeDoNotDisrupt => "remove karpenter.sh/do-not-disrupt from the node".to_owned(),
            Self::BudgetBlocks { budget, .. } => {
                format!("let PodDisruptionBudget {budget} allow a disruption")
            }
            Self::SeveralBudgets { pod } => {
                format!("leave one PodDisruptionBudget that selects pod {pod}")
            }
            _ => return None,
        })
    }
}
