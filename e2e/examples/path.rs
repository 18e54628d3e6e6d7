//! How long is the way from a pod to the create call? Started by `cargo xtask bench path`.

use anyhow::{Context, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut number = |what: &str| -> Result<u32> {
        let text = args.next().with_context(|| format!("no {what}"))?;
        text.parse().with_context(|| format!("{what} {text}"))
    };
    let (lone, burst) = (number("lone pods")?, number("pods of a burst")?);
    e2e::path::measure(lone, burst).await
}
