//! Which tables does this program generate from its own code?

pub mod events;
pub mod reasons;

use clap::CommandFactory;
use runtime::metrics::Metrics;
use runtime::serve::ConnectionMetrics;
use serde_json::{Value, json};

use crate::access::{GRANTS, Place};
use crate::args::Args;
use crate::explain;
use crate::metrics::Counts;

/// Grants, flags, metrics, events and reasons as one JSON document.
pub fn json() -> Value {
    json!({
        "grants": grants(),
        "flags": flags(),
        "metrics": metrics(),
        "events": events(),
        "reasons": reasons(),
    })
}

fn grants() -> Vec<Value> {
    let place = |place| match place {
        Place::Cluster => json!("cluster"),
        Place::Own => json!("own"),
        Place::SecretNamespaces => json!("secretNamespaces"),
        Place::Namespace(name) => json!({ "namespace": name }),
    };
    let one = |grant: &crate::access::Grant| {
        json!({
            "group": grant.group, "resource": grant.resource, "verbs": grant.verbs,
            "names": grant.names, "place": place(grant.place), "why": grant.why,
        })
    };
    GRANTS.iter().map(one).collect()
}

fn flags() -> Vec<Value> {
    let command = Args::command();
    let Some(run) = command.find_subcommand("run") else {
        return Vec::new();
    };
    run.get_arguments()
        .filter_map(|flag| {
            let long = flag.get_long()?;
            let env = flag.get_env().map(|env| env.to_string_lossy().into_owned());
            let default: Vec<_> = flag
                .get_default_values()
                .iter()
                .map(|value| value.to_string_lossy().into_owned())
                .collect();
            let takes_value = flag.get_action().takes_values();
            let choices: Vec<_> = flag
                .get_possible_values()
                .iter()
                .filter(|_| takes_value)
                .map(|choice| choice.get_name().to_owned())
                .collect();
            let help = flag.get_help().map(ToString::to_string);
            let default = if takes_value { default.join(",") } else { "false".to_owned() };
            Some(json!({ "flag": long, "env": env, "default": default, "choices": choices, "help": help }))
        })
        .collect()
}

/// What the process registers, as it registers it.
fn metrics() -> Vec<Value> {
    let metrics = Metrics::default();
    Counts::new(&metrics);
    ConnectionMetrics::register(&metrics);
    let one = |family: runtime::metrics::Described| json!({ "name": family.name, "type": family.kind, "help": family.help });
    metrics.described().into_iter().map(one).collect()
}

fn events() -> Vec<Value> {
    let one = |event: &events::Told| {
        json!({
            "reason": event.reason, "type": event.kind.as_str(), "about": event.about,
            "when": event.when, "fix": event.fix,
        })
    };
    events::ALL.iter().map(one).collect()
}

fn reasons() -> Vec<Value> {
    let one = |why: planner::Why| json!({ "code": why.code(), "says": explain::sentence(&why), "fix": why.fix() });
    reasons::samples().into_iter().map(one).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    /// Every source file of this package, without the part that tests.
    pub(crate) fn sources() -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        below(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut found,
        );
        assert!(found.len() > 20);
        found
    }

    fn below(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("\n#[cfg(test)]\n").next().unwrap().to_owned();
                found.push((path, code));
            }
        }
    }

    #[test]
    fn every_flag_says_what_it_is_for_and_has_a_variable() {
        for flag in flags() {
            assert!(
                flag["help"].as_str().is_some_and(|help| help.len() > 10),
                "{flag}"
            );
            assert!(flag["env"].as_str().is_some(), "{flag}");
        }
    }

    #[test]
    fn every_metric_is_told_once_and_says_what_it_counts() {
        let all = metrics();
        let mut names: Vec<_> = all.iter().map(|one| one["name"].to_string()).collect();
        let count = names.len();
        names.dedup();
        assert!(names.len() == count && count > 5, "{names:?}");
        assert!(
            all.iter()
                .all(|one| one["help"].as_str().is_some_and(|help| !help.is_empty()))
        );
    }
}
