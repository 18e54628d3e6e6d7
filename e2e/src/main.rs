//! Where does the demo start? (`cargo xtask demo` builds and runs this.)

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use e2e::demo::{Play, World, play};

/// Pending pods become nodes on an emulated cloud; then the pods go, and the machines with them.
#[derive(Parser)]
#[command(name = "joiner-demo")]
struct Args {
    /// Where it plays: an embedded Kubernetes API, or a real control plane (needs a Go toolchain for its first build)
    #[arg(long, value_enum, default_value = "embedded")]
    world: Where,
    /// Leave everything running at the end, with commands to play with; Ctrl-C ends it
    #[arg(long)]
    keep: bool,
    /// The timeline as a picture
    #[arg(long, default_value = "demo.html", value_name = "FILE")]
    page: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Where {
    Embedded,
    Local,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let world = match args.world {
        Where::Embedded => World::Embedded,
        Where::Local => World::Local,
    };
    let outcome = play(Play {
        world,
        keep: args.keep,
        page: args.page,
    });
    match outcome.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
