//! Is drift seen where the cloud is certain, and nowhere else?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::sync::Arc;

use cloud::{Instance, InstanceState, Provider};
use rstest::rstest;
use serde_json::json;
use support::*;

fn fresh() -> Instance {
    Instance {
        id: "a".into(),
        identity: who(),
        name: "n".into(),
        state: InstanceState::Running,
        created_at: None,
        instance_type: Some("m1.small".into()),
        zone: Some("az-a".into()),
        image: Some("img".into()),
        security_groups: Some(vec![Arc::from("nodes")]),
        addresses: vec![],
        side: vec![],
    }
}

#[rstest]
#[case::nothing_changed(fresh(), None)]
#[case::image(Instance { image: Some("old".into()), ..fresh() }, Some("ImageDrifted"))]
#[case::zone(Instance { zone: Some("az-b".into()), ..fresh() }, Some("ZoneDrifted"))]
#[case::kind(Instance { instance_type: Some("gone".into()), ..fresh() }, Some("InstanceTypeDrifted"))]
#[case::groups(Instance { security_groups: Some(vec!["x".into()]), ..fresh() }, Some("SecurityGroupsDrifted"))]
#[case::not_running(Instance { image: Some("old".into()), state: InstanceState::Pending, ..fresh() }, None)]
#[case::not_shown(Instance { security_groups: None, image: None, zone: None, instance_type: None, ..fresh() }, None)]
#[tokio::test(start_paused = true)]
async fn drift_is_seen_only_where_the_cloud_is_certain(
    #[case] instance: Instance,
    #[case] expected: Option<&str>,
) {
    let (_, provider, order) =
        ready(json!({"securityGroupSelectorTerms": [{"name": "nodes"}]})).await;
    let drift = provider.drifted(&order.on, &instance);
    assert_eq!(drift.map(|drift| drift.cause.reason()), expected);
}
