//! What does a class amount to, and what is said when it amounts to nothing?

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use cloud::{CloudError, Provider, Resolved};
use planner::{Availability, CapacityType, Catalog, labels};
use rstest::rstest;
use serde_json::{Value, json};
use support::*;

async fn resolved(spec: Value, change: impl Fn(&Cloud)) -> Result<Resolved, cloud::ClassTrouble> {
    let cloud = cloud();
    furnished(&cloud);
    change(&cloud);
    provider(&cloud, spec).resolve().await
}

async fn catalog(spec: Value, flavors: Value) -> Catalog {
    let cloud = cloud();
    furnished(&cloud);
    cloud.json("GET /nova/v2.1/flavors/detail", json!({"flavors": flavors}));
    let provider = provider(&cloud, spec);
    let on = provider.resolve().await.unwrap();
    provider.catalog(&on).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_class_resolves_to_the_newest_image_and_one_of_each() {
    let on = resolved(
        json!({"securityGroupSelectorTerms": [{"name": "nodes"}]}),
        |_| {},
    )
    .await
    .unwrap();
    let images: Vec<&str> = on.images.iter().map(|image| image.id.as_ref()).collect();
    assert_eq!(images, ["img", "old"]);
    assert_eq!(on.account.as_deref(), Some("p1"));
    assert_eq!(
        (on.zone_id("az-a"), on.zone_id("az-b")),
        (Some("az-a"), None)
    );
    assert_eq!(on.type_named("m1.small").unwrap().image.as_ref(), "img");
    assert_eq!(on.ports[0].network.id.as_ref(), "net");
    assert_eq!(on.security_groups[0].id.as_ref(), "sg");
}

#[rstest]
#[case(json!({"imageSelectorTerms": [{"name": "nope"}]}), "ImagesReady", "spec.imageSelectorTerms")]
#[case(json!({"imageSelectorTerms": [{"nameRegex": "(("}]}), "ImagesReady", "is no regular expression")]
#[case(json!({"imageSelectorTerms": [{}]}), "ImagesReady", "no active image")]
#[case(json!({"ports": [{"network": {"name": "nope"}}]}), "NetworksReady", "spec.ports[0].network (name nope)")]
#[case(json!({"ports": [{"network": {"name": "k8s"}, "subnets": [{"name": "nope"}]}]}), "NetworksReady", "spec.ports[0].subnets[0]")]
#[case(json!({"securityGroupSelectorTerms": [{"name": "nodes"}, {"id": "nope"}]}), "SecurityGroupsReady", "spec.securityGroupSelectorTerms[1] (id nope)")]
#[case(json!({"flavorSelectorTerms": [{"name": "nope"}]}), "FlavorsReady", "spec.flavorSelectorTerms")]
#[case(json!({"availabilityZones": ["az-z"]}), "ZonesReady", "the cloud has az-a, az-b")]
#[case(json!({"floatingIP": {"enabled": true}}), "ValidationSucceeded", "spec.floatingIP")]
#[case(json!({"serverGroup": {"policy": "anti-affinity"}}), "ValidationSucceeded", "spec.serverGroup")]
#[tokio::test(start_paused = true)]
async fn what_is_missing_is_named_with_its_field(
    #[case] spec: Value,
    #[case] condition: &str,
    #[case] text: &str,
) {
    let trouble = resolved(spec, |_| {}).await.unwrap_err();
    assert_eq!(trouble.troubles.len(), 1, "{trouble}");
    let one = &trouble.troubles[0];
    assert_eq!((one.condition, one.transient), (condition, false));
    assert!(one.message.contains(text), "{}", one.message);
}

#[tokio::test(start_paused = true)]
async fn one_missing_thing_does_not_hide_another_nor_what_was_found() {
    let spec =
        json!({"imageSelectorTerms": [{"name": "nope"}], "ports": [{"network": {"id": "nope"}}]});
    let trouble = resolved(spec, |_| {}).await.unwrap_err();
    let conditions: Vec<&str> = trouble.troubles.iter().map(|one| one.condition).collect();
    assert_eq!(conditions, ["ImagesReady", "NetworksReady"]);
    assert_eq!(trouble.found.zones.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_old_nova_is_refused_clearly() {
    let old = |cloud: &Cloud| {
        cloud.json(
            "GET /nova/v2.1/$",
            json!({"version": {"version": "2.42", "min_version": "2.1"}}),
        );
    };
    let trouble = resolved(json!({}), old).await.unwrap_err();
    assert_eq!(trouble.troubles[0].reason, "ComputeTooOld");
    assert!(trouble.troubles[0].message.contains("tags at create"));
}

#[tokio::test(start_paused = true)]
async fn a_region_that_is_not_in_the_catalog_names_those_that_are() {
    let trouble = resolved(json!({"cloud": {"region": "Mars"}}), |_| {})
        .await
        .unwrap_err();
    let one = &trouble.troubles[0];
    assert_eq!(one.condition, "CredentialsReady");
    assert!(
        one.message.contains("Mars") && one.message.contains("RegionOne"),
        "{}",
        one.message
    );
}

#[tokio::test(start_paused = true)]
async fn terms_are_ored_and_their_fields_anded() {
    let flavors = json!([
        flavor("1", "c1.a", 1, 2048, 20),
        flavor("2", "c1.b", 2, 2048, 20),
        flavor("3", "m1.a", 4, 2048, 20)
    ]);
    let names = async |terms: Value| {
        let catalog = catalog(json!({"flavorSelectorTerms": terms}), flavors.clone()).await;
        catalog
            .types()
            .iter()
            .map(|kind| kind.name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(json!([{"nameRegex": "c1"}, {"nameRegex": "c1\\..*", "id": "2"}])).await,
        ["c1.b"]
    );
    assert_eq!(
        names(json!([{"name": "c1.a"}, {"id": "3"}])).await,
        ["c1.a", "m1.a"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_flavor_becomes_an_instance_type_with_exact_numbers() {
    let mut gpu = flavor("f9", "g1 large/x", 8, 65536, 100);
    gpu["extra_specs"] = json!({"pci_passthrough:alias": "a100:2,sriov-nic:1", "trait:HW_ARCH_X86_64": "required", "price": "2.5"});
    let spec = json!({"kubelet": {"maxPods": 60, "podsPerCore": 10, "kubeReserved": {"cpu": "100m", "memory": "1Gi"},
                                  "evictionHard": {"memory.available": "5%"}},
                      "pricing": {"currency": "EUR", "types": {"m1.small": "0.05"}, "extraSpec": "price", "cpuHour": "0.01"}});
    let catalog = catalog(
        spec,
        json!([
            flavor("f1", "m1.small", 2, 4096, 20),
            gpu,
            flavor("f3", "m1.big", 4, 8192, 40)
        ]),
    )
    .await;
    assert_eq!(catalog.currency(), Some("EUR"));
    let small = catalog.instance_type(catalog.find_type("m1.small").unwrap());
    assert_eq!(
        small.capacity.to_string(),
        "cpu=2 memory=4Gi ephemeral-storage=20Gi pods=20"
    );
    // 1 GiB reserved, 5 % evicted, 5 % the kernel's.
    let overhead = (1_i64 << 30) + (4_i64 << 30) / 100 * 5 + (4_i64 << 30) * 5 / 100;
    assert_eq!(small.overhead.get(&planner::ResourceName::Memory), overhead);
    assert_eq!(small.overhead.get(&planner::ResourceName::Cpu), 100);
    assert!(small.requirements.get(labels::ARCH).unwrap().has("amd64"));
    assert!(
        small
            .requirements
            .get(labels::REGION)
            .unwrap()
            .has("RegionOne")
    );
    // A name that is no label value gives way to the id, and is still accepted.
    let large = catalog.instance_type(catalog.find_type("g1 large/x").unwrap());
    assert_eq!(large.name.as_ref(), "f9");
    assert_eq!(large.capacity.get(&"nvidia.com/gpu".into()), 2);
    let price = |kind: &str| {
        let id = catalog
            .find_offering(kind, "az-a", CapacityType::OnDemand)
            .unwrap();
        catalog.offering(id).price.map(|price| price.to_string())
    };
    assert_eq!(
        (
            price("m1.small").as_deref(),
            price("f9").as_deref(),
            price("m1.big").as_deref()
        ),
        (Some("0.05"), Some("2.5"), Some("0.04"))
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_price_is_unknown_and_a_full_quota_is_not_offered() {
    let both = json!([
        flavor("f1", "m1.small", 2, 4096, 20),
        flavor("f2", "m1.huge", 2, 16384, 20)
    ]);
    let catalog = catalog(json!({}), both).await;
    let offering = |kind: &str| {
        let id = catalog
            .find_offering(kind, "az-a", CapacityType::OnDemand)
            .unwrap();
        catalog.offering(id).clone()
    };
    assert_eq!(offering("m1.small").price, None);
    assert_eq!(offering("m1.small").availability, Availability::Available);
    assert!(
        matches!(
            offering("m1.huge").availability,
            Availability::UnavailableUntil(_)
        ),
        "8192 - 2048 MiB are left"
    );
}

#[tokio::test(start_paused = true)]
async fn flavors_that_fit_no_image_or_have_no_disk_are_not_offered() {
    let flavors = json!([
        flavor("f1", "tiny", 1, 512, 5),
        flavor("f2", "diskless", 2, 4096, 0),
        flavor("f3", "ok", 2, 4096, 20),
        flavor("f4", "broken", 0, 4096, 20)
    ]);
    let names = |catalog: &Catalog| {
        catalog
            .types()
            .iter()
            .map(|kind| kind.name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&catalog(json!({}), flavors.clone()).await), ["ok"]);
    let volume = json!({"blockDevices": [{"sizeGiB": 30, "boot": true}]});
    let from_volume = catalog(volume, flavors).await;
    assert_eq!(names(&from_volume), ["diskless", "ok", "tiny"]);
    assert_eq!(
        from_volume.types()[0]
            .capacity
            .get(&planner::ResourceName::EphemeralStorage),
        30 << 30
    );
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_boots_from_a_volume_has_no_image_of_its_own() {
    let cloud = cloud();
    furnished(&cloud);
    let provider = provider(
        &cloud,
        json!({"blockDevices": [{"sizeGiB": 30, "boot": true, "volumeType": "fast"}, {"sizeGiB": 5, "name": "data"}]}),
    );
    let order = order(provider.resolve().await.unwrap());
    cloud.on(
        "POST /nova/v2.1/servers",
        [Reply::Json(202, json!({"server": {"id": "s1"}}))],
    );
    provider.launch(&order).await.unwrap();
    let sent = cloud.only("POST /nova/v2.1/servers").body;
    assert!(sent["server"].get("imageRef").is_none());
    assert_eq!(
        sent["server"]["block_device_mapping_v2"],
        json!([
        {"boot_index": 0, "source_type": "image", "destination_type": "volume", "uuid": "img", "volume_size": 30, "volume_type": "fast", "delete_on_termination": true},
        {"boot_index": -1, "source_type": "blank", "destination_type": "volume", "volume_size": 5, "tag": "data", "delete_on_termination": true}])
    );
}

#[tokio::test(start_paused = true)]
async fn an_offering_the_cloud_refused_is_not_offered_for_a_while() {
    let cloud = cloud();
    furnished(&cloud);
    let mut failed = server("a", "ERROR", &OURS);
    failed["fault"] = json!({"code": 500, "message": "No valid host was found. "});
    failed["OS-EXT-AZ:availability_zone"] = json!("");
    failed["metadata"] = json!({"joiner-type": "m1.small", "joiner-zone": "az-a"});
    cloud.json("GET /nova/v2.1/servers/a", json!({"server": failed}));
    let provider = provider(&cloud, json!({}));
    let on = provider.resolve().await.unwrap();
    let failure = provider.get(&"a".into()).await.unwrap().failure().unwrap();
    assert!(matches!(failure, CloudError::NoCapacity { .. }));
    let offered = async || {
        provider
            .catalog(&on)
            .await
            .unwrap()
            .available(cloud.now())
            .len()
    };
    assert_eq!(offered().await, 0);
    tokio::time::advance(std::time::Duration::from_secs(181)).await;
    assert_eq!(offered().await, 1);
}

#[tokio::test(start_paused = true)]
async fn user_data_that_nova_would_refuse_never_leaves() {
    let cloud = cloud();
    furnished(&cloud);
    let provider = provider(&cloud, json!({}));
    let mut order = order(provider.resolve().await.unwrap());
    order.user_data = cloud::bootstrap::UserData::new("x".repeat(49_152));
    assert!(matches!(
        provider.launch(&order).await,
        Err(CloudError::Rejected { .. })
    ));
    assert_eq!(cloud.count("POST /nova/v2.1/servers"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_order_from_before_the_class_changed_is_not_sent_with_a_network_less() {
    let (cloud, provider, mut order) = ready(json!({})).await;
    let mut stale = (*order.on).clone();
    stale.ports.clear();
    order.on = std::sync::Arc::new(stale);
    let outcome = provider.launch(&order).await;
    assert!(
        matches!(outcome, Err(CloudError::Rejected { .. })),
        "{outcome:?}"
    );
    assert_eq!(cloud.count("POST /nova/v2.1/servers"), 0);
}
