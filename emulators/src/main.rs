//! Where does the process start?

use clap::Parser;
use emulators::serve::{Args, serve};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    serve(Args::parse()).await
}
