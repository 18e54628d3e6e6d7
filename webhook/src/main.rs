//! Where does the process start?

use clap::Parser;
use runtime::{Clock, shutdown, tls};
use webhook::args::Args;
use webhook::{Reviewers, Webhook};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    tls::install_provider();
    let (logs, _traces) = args.telemetry().start()?;
    let stop = shutdown::on_signal()?;
    let webhook = Webhook::prepare(
        args.settings(),
        Reviewers::of_crds(),
        Clock::real(),
        Some(logs),
    )?;
    webhook.run(stop).await?;
    Ok(())
}
