//! Is every create preceded by a look, whatever came of the one before?

use std::time::Duration;

use anyhow::{Result, ensure};
use emulators::faults::{Act, Fault};

use crate::lane::{CREATE, LIST, Lane};

fn status(code: u16) -> Act {
    Act::Status {
        code,
        retry_after: (code == 429).then(|| "1".to_owned()),
        body: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_comes_before_every_create_also_after_a_refusal_or_silence() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("crash: a look before every create") else {
        return Ok(());
    };
    let lane = Lane::start(&control_plane).await?;
    let troubles = [
        status(429),
        status(401),
        status(500),
        status(503),
        Act::Reset,
        Act::Refuse,
    ];
    let count = troubles.len();
    let nth = 1..;
    let faults = troubles.into_iter().zip(nth);
    lane.cloud
        .script(faults.map(|(act, nth)| Fault::on("POST", CREATE, act).nth(nth)));
    let from = lane.cloud.now();
    lane.scale(3).await?;
    let mut operator = lane.operator(&[])?;
    lane.until("pods to run", &operator, Lane::all_run).await?;
    let calls = lane.cloud.calls_since(from);
    let (mut creates, mut looked) = (0, false);
    for call in &calls {
        match (call.method.as_str(), call.path.as_str()) {
            ("GET", LIST) => looked = true,
            ("POST", CREATE) => {
                creates += 1;
                ensure!(
                    looked,
                    "create no. {creates} was sent without a look: {calls:?}"
                );
                looked = false;
            }
            _ => {}
        }
    }
    ensure!(creates > count, "{creates} creates for {count} troubles");
    println!("{creates} creates, each after a look");
    lane.scale_to_nothing().await?;
    lane.until("nothing to be left", &operator, Lane::nothing_left)
        .await?;
    operator.terminate(Duration::from_secs(30)).await?;
    lane.cloud.stop().await;
    Ok(())
}
