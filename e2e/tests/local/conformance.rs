//! Does the real API do what we expect of every Kubernetes API?

use anyhow::Result;

#[tokio::test]
async fn the_conformance_suite_holds_on_the_real_api() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: conformance of the real API") else {
        return Ok(());
    };
    let cluster = control_plane.shared().await?;
    let kubeconfig = std::fs::read_to_string(cluster.kubeconfig())?;
    let client = e2e::conformance::client(&kubeconfig).await?;
    let count = e2e::conformance::all(&client).await?;
    println!("{count} behaviours");
    Ok(())
}
