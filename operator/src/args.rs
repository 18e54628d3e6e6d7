//! What can be set when the operator is started, and what is each setting for?
//!
//! Flags and variables that Karpenter has keep its names and defaults.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;
use planner::batch::{BatchSettings, Idle};
use planner::snapshot::{MinValuesPolicy, PreferencePolicy};
use runtime::lease::{BadTimings, Timings};
use runtime::telemetry::{LogFormat, Telemetry};

/// Just-in-time nodes for Kubernetes on OpenStack, Apache CloudStack and OVHcloud.
#[derive(Debug, Clone, Parser)]
#[command(name = "joiner", version, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Watch the cluster, buy nodes for pods that need them, remove nodes that nobody needs
    Run(Box<Run>),
    /// Print what would be bought for the objects in some files, without cluster or cloud
    Plan(Box<crate::plan::Asked>),
    /// Print what is generated from code: grants, flags, metrics, events, reasons
    #[command(hide = true)]
    Reference {
        #[arg(long, required = true)]
        json: bool,
    },
}

/// Every flag can also be given as the environment variable shown beside it. Durations are written 500ms, 30s, 2m.
#[derive(Debug, Clone, Parser)]
#[command(args_override_self = true)]
#[allow(clippy::struct_excessive_bools)] // each is one switch of the command line
pub struct Run {
    /// Name of the cluster, for people: it is written on instances, and decides nothing.
    #[arg(long, env = "CLUSTER_NAME", default_value = "")]
    pub cluster_name: String,
    /// Address of the API server as nodes reach it; a class may say otherwise. Empty: from kube-public/cluster-info.
    #[arg(long, env = "CLUSTER_ENDPOINT", default_value = "")]
    pub cluster_endpoint: String,
    /// File with the CA certificates of the API server, PEM, as nodes must trust it. Empty: from kube-public/cluster-info.
    #[arg(long, env = "CLUSTER_CA_FILE")]
    pub cluster_ca_file: Option<PathBuf>,
    /// Kubeconfig file. Absent: the pod's own account, else the usual kubeconfig.
    #[arg(long, env = "JOINER_KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// Namespace of the operator: its lease, and Secrets that classes may refer to.
    #[arg(long, env = "SYSTEM_NAMESPACE", default_value = "kube-system")]
    pub namespace: String,
    /// Further namespaces whose Secrets classes may refer to, separated by commas.
    #[arg(long, env = "SECRET_NAMESPACES", value_delimiter = ',')]
    pub secret_namespaces: Vec<String>,

    /// Port on which metrics are served. 0: any free one.
    #[arg(long, env = "METRICS_PORT", default_value_t = 8080)]
    pub metrics_port: u16,
    /// Port on which probes (/healthz, /readyz) are served. 0: any free one.
    #[arg(long, env = "HEALTH_PROBE_PORT", default_value_t = 8081)]
    pub health_probe_port: u16,
    /// Address on which metrics and probes are served.
    #[arg(long, env = "ADMIN_ADDRESS", default_value = "0.0.0.0")]
    pub admin_address: std::net::IpAddr,

    /// Name of the lease that only one process of a cluster holds.
    #[arg(long, env = "LEADER_ELECTION_NAME", default_value = runtime::lease::NAME)]
    pub leader_election_name: String,
    /// Namespace of the lease. Empty: that of the operator.
    #[arg(long, env = "LEADER_ELECTION_NAMESPACE", default_value = "")]
    pub leader_election_namespace: String,
    /// How long others wait before they take a lease that is not renewed.
    #[arg(long, env = "LEASE_DURATION", default_value = "15s", value_parser = duration)]
    pub lease_duration: Duration,
    /// How long the holder acts without having renewed the lease. Shorter than --lease-duration.
    #[arg(long, env = "LEASE_RENEW_DEADLINE", default_value = "10s", value_parser = duration)]
    pub lease_renew_deadline: Duration,
    /// How often the lease is renewed or asked for. Shorter than --lease-renew-deadline.
    #[arg(long, env = "LEASE_RETRY_PERIOD", default_value = "2s", value_parser = duration)]
    pub lease_retry_period: Duration,

    /// Longest time pods are gathered for one plan.
    #[arg(long, env = "BATCH_MAX_DURATION", default_value = "10s", value_parser = duration)]
    pub batch_max_duration: Duration,
    /// Silence that ends the gathering. Absent: 100 ms after a lone burst, growing with arrival up to 1 s.
    #[arg(long, env = "BATCH_IDLE_DURATION", value_parser = duration)]
    pub batch_idle_duration: Option<Duration>,
    /// What if fewer distinct values remain than minValues asks for: strict refuses, BestEffort lowers it.
    #[arg(
        long,
        env = "MIN_VALUES_POLICY",
        value_enum,
        default_value = "strict",
        ignore_case = true
    )]
    pub min_values_policy: MinValues,
    /// Respect tries preferences of pods before they are given up, Ignore does not look at them.
    #[arg(
        long,
        env = "PREFERENCE_POLICY",
        value_enum,
        default_value = "Respect",
        ignore_case = true
    )]
    pub preference_policy: Preferences,
    /// kube-scheduler's configuration file: its default topology constraints apply to pods that have none.
    #[arg(long, env = "SCHEDULER_CONFIG", value_name = "FILE")]
    pub scheduler_config: Option<PathBuf>,

    /// Change nothing in any cloud, and open no claims. What is under way is watched.
    #[arg(long, env = "JOINER_PAUSED")]
    pub paused: bool,
    /// Tell about orphans and ghosts, remove none.
    #[arg(long, env = "SWEEP_REPORT_ONLY")]
    pub sweep_report_only: bool,
    /// How often instances without claim and claims without instance are looked for.
    #[arg(long, env = "SWEEP_INTERVAL", default_value = "2m", value_parser = duration)]
    pub sweep_interval: Duration,
    /// Youngest age at which an instance without claim is an orphan; longer than any create takes.
    #[arg(long, env = "SWEEP_LONGEST_CREATE", default_value = "15m", value_parser = duration)]
    pub sweep_longest_create: Duration,
    /// How long a claim may be without instance.
    #[arg(long, env = "LAUNCH_TIMEOUT", default_value = "5m", value_parser = duration)]
    pub launch_timeout: Duration,
    /// How long an instance may take to become a node.
    #[arg(long, env = "REGISTRATION_TIMEOUT", default_value = "15m", value_parser = duration)]
    pub registration_timeout: Duration,

    /// A level (error, warn, info, debug, trace) or directives like info,operator=debug.
    #[arg(long, env = "LOG_LEVEL", default_value = "info")]
    pub log_level: String,
    /// json for machines, pretty for people.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value = "json")]
    pub log_format: Format,
    /// Send traces to this OTLP collector (http://host:4317). None are made without it.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Json,
    Pretty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MinValues {
    Strict,
    #[value(name = "BestEffort")]
    BestEffort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preferences {
    #[value(name = "Respect")]
    Respect,
    #[value(name = "Ignore")]
    Ignore,
}

impl From<MinValues> for MinValuesPolicy {
    fn from(asked: MinValues) -> Self {
        match asked {
            MinValues::Strict => Self::Strict,
            MinValues::BestEffort => Self::BestEffort,
        }
    }
}

impl From<Preferences> for PreferencePolicy {
    fn from(asked: Preferences) -> Self {
        match asked {
            Preferences::Respect => Self::Respect,
            Preferences::Ignore => Self::Ignore,
        }
    }
}

impl Run {
    pub fn timings(&self) -> Result<Timings, BadTimings> {
        Timings::new(
            self.lease_duration,
            self.lease_renew_deadline,
            self.lease_retry_period,
        )
    }

    pub fn batch(&self) -> BatchSettings {
        let idle = match self.batch_idle_duration {
            Some(idle) => Idle::Exactly(signed(idle)),
            None => BatchSettings::default().idle,
        };
        BatchSettings {
            idle,
            max: signed(self.batch_max_duration),
        }
    }

    pub fn telemetry(&self) -> Telemetry {
        Telemetry {
            service: "joiner",
            format: match self.log_format {
                Format::Json => LogFormat::Json,
                Format::Pretty => LogFormat::Pretty,
            },
            filter: self.log_level.clone(),
            otlp_endpoint: self.otlp_endpoint.clone().filter(|text| !text.is_empty()),
        }
    }
}

pub(crate) fn signed(length: Duration) -> SignedDuration {
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}

/// `500ms`, `30s`, `2m`, `1h30m`.
fn duration(text: &str) -> Result<Duration, String> {
    let fix = || format!("{text:?} is not a duration; write for example 500ms, 30s or 2m");
    let length: SignedDuration = text.parse().map_err(|_| fix())?;
    Duration::try_from(length).map_err(|_| fix())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(more: &[&str]) -> Run {
        let words = ["joiner", "run"].iter().chain(more);
        match Args::try_parse_from(words).unwrap().command {
            Command::Run(run) => *run,
            other => unreachable!("run was asked for, not {other:?}"),
        }
    }

    #[test]
    fn an_idle_time_nobody_set_grows_and_one_that_was_set_is_obeyed() {
        assert_eq!(run(&[]).batch(), BatchSettings::default());
        let set = run(&["--batch-idle-duration", "3s"]).batch();
        assert_eq!(set.idle, Idle::Exactly(SignedDuration::from_secs(3)));
    }

    #[test]
    fn a_duration_without_unit_is_refused_with_an_example() {
        let refusal = Args::try_parse_from(["joiner", "run", "--lease-duration", "15"]);
        assert!(refusal.unwrap_err().to_string().contains("30s"));
    }

    #[test]
    fn lease_timings_that_would_let_two_lead_are_refused() {
        assert!(run(&[]).timings().is_ok());
        assert!(run(&["--lease-renew-deadline", "20s"]).timings().is_err());
    }
}
