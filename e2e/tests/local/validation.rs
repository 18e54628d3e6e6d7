//! Do our refusals and warnings reach the person at kubectl?

use anyhow::Result;
use e2e::ground::Ground;

const POOL: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: nights}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.openstack, kind: OpenStackNodeClass, name: default}
  disruption:
    budgets: [{nodes: \"0\", schedule: \"SCHEDULE\", duration: 8h}]
";

#[tokio::test]
async fn a_schedule_that_only_looks_like_cron_is_refused_with_its_field_and_the_fix() -> Result<()>
{
    let Some(control_plane) = e2e::need_control_plane("local: a refusal seen by kubectl") else {
        return Ok(());
    };
    let ground = Ground::shared(&control_plane).await?;
    // Five words: the CRD's pattern lets it through, Karpenter would stop disrupting for ever.
    let bad = ground
        .cluster
        .kubectl_with(
            &["apply", "-f", "-"],
            &POOL.replace("SCHEDULE", "every night at ten oclock"),
        )
        .await?;
    assert!(!bad.ok, "accepted: {}", bad.stdout);
    assert!(bad.stderr.contains("validate.joiner.dev"), "{}", bad.stderr);
    assert!(
        bad.stderr.contains("spec.disruption.budgets[0].schedule"),
        "{}",
        bad.stderr
    );
    let good = ground
        .cluster
        .kubectl_with(
            &["apply", "-f", "-"],
            &POOL.replace("SCHEDULE", "0 22 * * *"),
        )
        .await?;
    assert!(good.ok, "{}", good.stderr);
    ground
        .cluster
        .kubectl(&["delete", "nodepool", "nights"])
        .await?
        .success()?;
    Ok(())
}

const HUB: &str = "
apiVersion: karpenter.k8s.openstack/v1
kind: OpenStackNodeClass
metadata: {name: replaced}
spec:
  imageSelectorTerms: [{name: ubuntu}]
  ports: [{network: {name: private}}]
  availabilityZones: [az-a]
";

const OLD: &str = "
apiVersion: karpenter.k8s.openstack/v1openstack
kind: OpenStackNodeClass
metadata: {name: replaced}
spec:
  imageSelectorTerms: [{id: 6a7b8c9d-0e1f-2a3b-4c5d-6e7f8a9b0c1d}]
  imageRef: unused
  networks: [private]
";

#[tokio::test]
async fn a_replace_that_drops_fields_is_warned_about() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: a warning seen by kubectl") else {
        return Ok(());
    };
    let ground = Ground::shared(&control_plane).await?;
    ground
        .cluster
        .kubectl_with(&["apply", "-f", "-"], HUB)
        .await?
        .success()?;
    let replaced = ground
        .cluster
        .kubectl_with(&["replace", "-f", "-"], OLD)
        .await?;
    assert!(
        replaced.ok,
        "a warning must not refuse: {}",
        replaced.stderr
    );
    assert!(replaced.stderr.contains("Warning:"), "{}", replaced.stderr);
    assert!(
        replaced.stderr.contains("availabilityZones"),
        "{}",
        replaced.stderr
    );
    // The field nobody ever read, and the version that will go.
    assert!(replaced.stderr.contains("imageRef"), "{}", replaced.stderr);
    assert!(
        replaced.stderr.contains("deprecated"),
        "{}",
        replaced.stderr
    );
    ground
        .cluster
        .kubectl(&["delete", "openstacknodeclass", "replaced"])
        .await?
        .success()?;
    Ok(())
}

#[tokio::test]
async fn kubectl_explains_and_lists_our_kinds() -> Result<()> {
    let Some(control_plane) = e2e::need_control_plane("local: kubectl explain and get") else {
        return Ok(());
    };
    let ground = Ground::shared(&control_plane).await?;
    let explained = ground
        .cluster
        .kubectl(&["explain", "openstacknodeclass.spec.imageSelectorTerms"])
        .await?
        .success()?;
    assert!(explained.contains("nameRegex"), "{explained}");
    ground
        .cluster
        .kubectl_with(&["apply", "-f", "-"], &HUB.replace("replaced", "listed"))
        .await?
        .success()?;
    let table = ground.cluster.kubectl(&["get", "osnc"]).await?.success()?;
    assert!(
        table.contains("READY") && table.contains("listed"),
        "{table}"
    );
    let all = ground
        .cluster
        .kubectl(&["get", "karpenter"])
        .await?
        .success()?;
    assert!(
        all.contains("listed"),
        "the category `karpenter` lists it: {all}"
    );
    ground
        .cluster
        .kubectl(&["delete", "osnc", "listed"])
        .await?
        .success()?;
    Ok(())
}
