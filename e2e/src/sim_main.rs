//! Where does the simulation start? (`cargo xtask sim` builds and runs this.)

use std::process::ExitCode;

use clap::Parser;
use e2e::sim::rounds;

/// The whole operator in one process on virtual time, with random workloads and faults.
#[derive(Parser)]
#[command(name = "joiner-sim")]
struct Args {
    /// How many seeds, from --first on
    #[arg(long, default_value_t = 200, value_name = "N")]
    seeds: u64,
    #[arg(long, default_value_t = 0, value_name = "X")]
    first: u64,
    /// Only this seed, with what went out
    #[arg(long, value_name = "X", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// With --seed: also questions that were answered, and the lease
    #[arg(long, requires = "seed")]
    whole: bool,
    /// Instead: one story, with the operator's death before and after each of its outbound calls
    #[arg(long, conflicts_with_all = ["seeds", "seed"])]
    crashes: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match (args.crashes, args.seed) {
        (true, _) => rounds::crashes(),
        (false, Some(seed)) => rounds::replay(seed, args.whole),
        (false, None) => rounds::seeds(args.first, args.seeds),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
