//! Is every class and group that users were shown read, converted and written back as it was?
//!
//! `<name>.<version>.yaml`; two files of one name are the same object in two versions.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crds::joiner::NodeGroup;
use serde_json::Value;
use support::kinds;

#[test]
fn every_golden_class_comes_back_as_it_was_written() {
    let mut seen = 0;
    for (path, written) in manifests(&["openstack", "cloudstack", "ovhcloud"]) {
        let kind = kinds::all()
            .into_iter()
            .find(|kind| written["kind"] == kind.pair.kind)
            .unwrap();
        let is_hub = written["apiVersion"] == kind.pair.hub_api_version();
        let (there, back, typed) = if is_hub {
            (
                kind.pair.spoke_api_version(),
                kind.pair.hub_api_version(),
                kind.hub_type,
            )
        } else {
            (
                kind.pair.hub_api_version(),
                kind.pair.spoke_api_version(),
                kind.spoke_type,
            )
        };
        assert_eq!(typed(&written).unwrap(), written, "{}", path.display());
        let converted = crds::convert::convert(written.clone(), &there).unwrap();
        assert_eq!(
            crds::convert::convert(converted, &back).unwrap(),
            written,
            "{}",
            path.display()
        );
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} manifests found");
}

#[test]
fn files_of_one_name_are_the_same_object_in_two_versions() {
    let mut pairs = 0;
    let all: BTreeMap<PathBuf, Value> = manifests(&["openstack", "cloudstack", "ovhcloud"])
        .into_iter()
        .collect();
    for kind in kinds::all() {
        let hubs = all
            .iter()
            .filter(|(_, object)| object["apiVersion"] == kind.pair.hub_api_version());
        for (path, hub) in hubs {
            let name = path.to_str().unwrap().replace(
                &format!(".{}.yaml", kind.pair.hub),
                &format!(".{}.yaml", kind.pair.spoke),
            );
            let Some(spoke) = all.get(Path::new(&name)) else {
                continue;
            };
            let up = crds::convert::convert(spoke.clone(), &kind.pair.hub_api_version()).unwrap();
            assert_eq!(&up, hub, "{name}");
            let down = crds::convert::convert(hub.clone(), &kind.pair.spoke_api_version()).unwrap();
            assert_eq!(&down, spoke, "{name}");
            pairs += 1;
        }
    }
    assert!(pairs >= 4, "only {pairs} pairs found");
}

#[test]
fn the_full_example_of_an_older_version_uses_every_field_of_it() {
    for (path, written) in manifests(&["openstack", "cloudstack", "ovhcloud"]) {
        let kind = kinds::all()
            .into_iter()
            .find(|kind| written["kind"] == kind.pair.kind)
            .unwrap();
        let schema = match path
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .split_once('.')
            .unwrap()
        {
            ("full", version) if version == kind.pair.spoke => &kind.spoke_schema,
            ("rich", _) => &kind.hub_schema,
            _ => continue,
        };
        for field in schema["properties"]["spec"]["properties"]
            .as_object()
            .unwrap()
            .keys()
        {
            // Two fields that exclude each other cannot both be in one example.
            let excluded = field == "projectID" && written["spec"].get("account").is_some();
            assert!(
                excluded || written["spec"].get(field).is_some(),
                "{}: {field}",
                path.display()
            );
        }
    }
}

#[test]
fn every_golden_group_comes_back_as_it_was_written() {
    let groups = manifests(&["joiner"]);
    assert!(groups.len() >= 2);
    for (path, written) in groups {
        assert_eq!(
            kinds::typed::<NodeGroup>(&written).unwrap(),
            written,
            "{}",
            path.display()
        );
    }
}

#[test]
fn no_golden_manifest_is_refused() {
    for (path, written) in manifests(&["openstack", "cloudstack", "ovhcloud", "joiner"]) {
        let check = match written["kind"].as_str().unwrap() {
            "OpenStackNodeClass" => crds::openstack::check,
            "CloudStackNodeClass" => crds::cloudstack::check,
            "OVHNodeClass" => crds::ovhcloud::check,
            _ => crds::joiner::check,
        };
        assert_eq!(check(&written, None).refusals, [], "{}", path.display());
    }
}

fn manifests(folders: &[&str]) -> Vec<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let object = serde_saphyr::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, object)
    };
    files.map(|file| read(file.unwrap().path())).collect()
}
