//! Where does the process start?

use clap::Parser;
use operator::args::{Args, Command};
use operator::wire;
use runtime::tls;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    tls::install_provider();
    match args.command {
        Command::Run(run) => Box::pin(wire::run(*run)).await,
        Command::Reference { json: _ } => {
            println!("{}", operator::reference::json());
            Ok(())
        }
    }
}
