//! Where does `cargo xtask` start?

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{bench, cluster, demo, generated, sim, test, tidy};

/// One entry point for everything a contributor does here.
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows the main job in a minute: pending pods become nodes on an emulated cloud, then pods and machines go.
    ///
    /// Needs cargo and a C compiler, no cloud, no Docker. Ends with a table and a picture (demo.html).
    Demo(demo::Options),
    /// Runs the whole operator in one process on virtual time, with random workloads and faults.
    ///
    /// A failing seed prints its last calls and how to replay it. `--crashes` kills the operator at each outbound call instead.
    Sim(sim::Options),
    /// Writes every generated file (CRDs, reference tables, install manifest) from the code that defines it.
    ///
    /// Run it after changing a type in `crds`, a flag, a right, an event or a metric; `tidy` and the tests fail while a
    /// generated file is stale.
    Gen {
        /// Writes nothing and fails if a file on disk differs from what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Checks what compilers do not: layering, lengths, door signs, names, stale files, banned and duplicate crates.
    Tidy,
    /// Runs every test: builds the real control plane where Go is found, the binaries, lints, then all test binaries.
    ///
    /// The last line is `N passed, N failed, N skipped`. What could not run is named; with CI=true a skip is a failure.
    Test(test::Options),
    /// Starts, stops and lists real Kubernetes control planes on this host, without containers.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Measures; prints figures, never asserts them.
    #[command(subcommand)]
    Bench(bench::Command),
}

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Demo(options) => demo::run(&options),
        Command::Sim(options) => sim::run(&options),
        Command::Gen { check } => generated::run(check),
        Command::Tidy => tidy::run(),
        Command::Test(options) => test::run(&options),
        Command::Cluster(command) => cluster::run(command),
        Command::Bench(command) => bench::run(&command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
