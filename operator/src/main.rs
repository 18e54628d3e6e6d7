//! Where does the process start?

use std::process::ExitCode;

use clap::Parser;
use operator::args::{Args, Command};
use operator::{plan, wire};
use runtime::tls;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    tls::install_provider();
    match args.command {
        Command::Run(run) => Box::pin(wire::run(*run)).await?,
        Command::Plan(asked) => return Ok(plan::run(&asked)),
        Command::Reference { json: _ } => {
            println!("{}", operator::reference::json());
        }
    }
    Ok(ExitCode::SUCCESS)
}
