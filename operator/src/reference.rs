//! Which tables does this program generate from its own code?

use clap::CommandFactory;
use serde_json::{Value, json};

use crate::access::{GRANTS, Place};
use crate::args::Args;

/// Grants, flags, metrics and events as one JSON document.
pub fn json() -> Value {
    json!({ "grants": grants(), "flags": flags(), "metrics": crate::metrics::NAMES, "events": crate::explain::REASONS })
}

fn grants() -> Vec<Value> {
    let place = |place| match place {
        Place::Cluster => json!("cluster"),
        Place::Own => json!("own namespace"),
        Place::SecretNamespaces => json!("own namespace and --secret-namespaces"),
        Place::Namespace(name) => json!({ "namespace": name }),
    };
    GRANTS
        .iter()
        .map(|grant| json!({ "group": grant.group, "resource": grant.resource, "verbs": grant.verbs, "place": place(grant.place), "why": grant.why }))
        .collect()
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
            let help = flag.get_help().map(ToString::to_string);
            Some(json!({ "flag": long, "env": env, "default": default.join(","), "help": help }))
        })
        .collect()
}
