//! Where does the process start?

use std::process::ExitCode;

use clap::Parser;
use operator::args::{Args, Command};
use operator::{plan, wire};
use runtime::tls;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return Ok(misread(&error)),
    };
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

/// Help is no failure; a wrong word is bad input, and `joiner plan` keeps 2 for a plan with refusals.
fn misread(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell when the terminal is gone.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
