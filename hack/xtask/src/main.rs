//! Where does `cargo xtask` start?

use clap::Parser;

#[derive(Parser)]
enum Args {
    #[command(subcommand)]
    Cluster(xtask::cluster::Command),
}

fn main() -> anyhow::Result<()> {
    let Args::Cluster(command) = Args::parse();
    xtask::cluster::run(command)
}
