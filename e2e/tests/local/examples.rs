//! Can a user apply every manifest in `examples/` as it is?

use anyhow::{Context, Result, ensure};
use e2e::ground::{Ground, files, repository};

#[tokio::test]
async fn every_example_is_accepted() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: every example is accepted") else {
        return Ok(());
    };
    let ground = Ground::private(&control_plane).await?;
    let manifests = files(&repository().join("examples/openstack"))?;
    ensure!(manifests.len() >= 5, "found only {manifests:?}");
    for manifest in manifests {
        let path = manifest.to_str().context("a path in UTF-8")?;
        let applied = ground
            .cluster
            .kubectl(&["apply", "--server-side", "-f", path])
            .await?;
        ensure!(applied.ok, "{path}: {}", applied.stderr);
        ensure!(
            !applied.stderr.contains("Warning"),
            "{path}: {}",
            applied.stderr
        );
    }
    Ok(())
}
