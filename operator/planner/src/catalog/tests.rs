//! What a catalog accepts, and in which order it is bought from.

use super::*;

fn kind(name: &str, cpu: i64) -> InstanceType {
    InstanceType {
        name: name.into(),
        aliases: vec![format!("id-{name}").into()],
        capacity: Resources::new()
            .with(ResourceName::Cpu, cpu * 1000)
            .with(ResourceName::Memory, cpu << 31),
        overhead: Resources::new()
            .with(ResourceName::Cpu, 100)
            .with(ResourceName::Pods, 5),
        requirements: Requirements::new(),
    }
}

fn offering(text: &str) -> Offering {
    let mut words = text.split(' ');
    let (name, zone) = (words.next().unwrap(), words.next().unwrap());
    let offering = Offering::new(name, zone, CapacityType::OnDemand);
    match words.next() {
        Some(price) => offering.at(price.parse().unwrap()),
        None => offering,
    }
}

pub(super) fn catalog(types: &[(&str, i64)], offerings: &[&str]) -> Result<Catalog, BadCatalog> {
    let types = types.iter().map(|(name, cpu)| kind(name, *cpu)).collect();
    let class = ClassRef::new("g", "Class", "c");
    Catalog::new(
        class,
        Timestamp::UNIX_EPOCH,
        types,
        offerings.iter().map(|text| offering(text)).collect(),
    )
}

fn bought(catalog: &Catalog, crowd: impl Fn(&str) -> u32) -> String {
    let sorted = Ranking::of(catalog).sorted(
        catalog,
        catalog.available(Timestamp::UNIX_EPOCH).ids(),
        crowd,
    );
    let shown: Vec<_> = sorted
        .iter()
        .map(|id| catalog.offering(*id))
        .map(|o| format!("{}/{}", o.instance_type, o.zone))
        .collect();
    shown.join(" ")
}

#[test]
fn what_contradicts_itself_is_no_catalog() {
    assert_eq!(
        catalog(&[("a", 1), ("a", 2)], &[]).unwrap_err(),
        BadCatalog::TypeTwice("a".into())
    );
    assert!(matches!(
        catalog(&[("a", 1)], &["a z 1", "a z 2"]).unwrap_err(),
        BadCatalog::OfferingTwice(_)
    ));
    assert!(matches!(
        catalog(&[("a", 1)], &["b z 1"]).unwrap_err(),
        BadCatalog::TypeMissing { .. }
    ));
    assert!(matches!(
        catalog(&[("a", -1)], &[]).unwrap_err(),
        BadCatalog::Negative { .. }
    ));
}

#[test]
fn the_cheapest_offering_is_bought_first_and_ties_go_by_name() {
    let catalog = catalog(
        &[("big", 8), ("small", 2)],
        &["small b 1", "small a 1", "big a 0.5", "big b 3"],
    )
    .unwrap();
    assert_eq!(bought(&catalog, |_| 0), "big/a small/a small/b big/b");
}

#[test]
fn equal_prices_are_broken_by_the_fewest_nodes_of_that_pool_in_the_zone_then_by_name() {
    let catalog = catalog(&[("t", 2)], &["t a 1", "t b 1", "t c 1"]).unwrap();
    assert_eq!(
        bought(&catalog, |zone| if zone == "a" { 2 } else { 1 }),
        "t/b t/c t/a"
    );
}

#[test]
fn unknown_price_offerings_come_after_all_priced_ones_by_vcpu_memory_name() {
    let catalog = catalog(
        &[("x", 8), ("y", 2), ("z", 2), ("dear", 64)],
        &["x a", "y a", "z a", "dear a 99"],
    )
    .unwrap();
    assert_eq!(bought(&catalog, |_| 0), "dear/a y/a z/a x/a");
}

#[test]
fn an_unavailable_offering_comes_back_at_its_time() {
    let until = Timestamp::from_second(60).unwrap();
    let offering = Offering::new("t", "a", CapacityType::Spot).unavailable_until(until);
    assert!(
        !offering.is_available(Timestamp::from_second(59).unwrap()) && offering.is_available(until)
    );
    assert_eq!(offering.to_string(), "t/a/spot");
}

#[test]
fn a_type_is_found_by_its_name_before_any_alias() {
    let catalog = catalog(&[("a", 1), ("b", 1)], &[]).unwrap();
    assert_eq!(catalog.find_type("id-b"), Some(TypeId(1)));
    assert_eq!(catalog.find_type("a"), Some(TypeId(0)));
    assert_eq!(catalog.find_type("c"), None);
}

#[test]
fn allocatable_leaves_out_overhead_and_huge_pages_and_makes_nothing_up() {
    let mut t = kind("t", 2);
    t.capacity.set("hugepages-2Mi".into(), 1 << 30);
    assert_eq!(
        t.allocatable().to_string(),
        "cpu=1900m memory=3Gi hugepages-2Mi=1Gi"
    );
}

#[test]
fn a_reservation_with_nothing_left_is_not_to_be_had() {
    let left = |left| Offering::new("t", "a", CapacityType::Reserved).reserved_in("ours", left);
    let now = Timestamp::UNIX_EPOCH;
    assert!(left(1).is_available(now) && !left(0).is_available(now));
    assert!(!left(0).unavailable_until(now).is_available(now));
}
