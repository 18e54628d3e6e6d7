//! Is every NodePool that users were shown read, and written back as it was?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use crds::karpenter::NodePool;
use serde_json::Value;

#[test]
fn every_golden_nodepool_comes_back_as_it_was_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/karpenter");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let written: Value =
            serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let typed: NodePool = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(
            serde_json::to_value(&typed).unwrap(),
            written,
            "{}",
            path.display()
        );
        assert_eq!(
            crds::validate::node_pool::findings(&typed.spec),
            [],
            "{}",
            path.display()
        );
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} manifests found");
}
