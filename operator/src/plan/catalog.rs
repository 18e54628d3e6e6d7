//! What can be bought, as the catalog file says it?

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use planner::labels::{self, WellKnown};
use planner::{
    Availability, CapacityType, Catalog, ClassRef, InstanceType, Offering, Operator, Price,
    Requirement, Requirements, Resources,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::typed;
use super::read::{parse, unreadable};
use super::trouble::{Place, Trouble};
use crate::ingest::file::not_negative;

/// What can be bought (`--catalog`).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CatalogFile {
    /// `joiner.dev/v1alpha1`
    pub api_version: String,
    /// `Catalog`
    pub kind: String,
    /// Printed beside prices.
    #[serde(default)]
    pub currency: Option<String>,
    /// Label keys that pods may ask for without the pool defining them, beside the usual ones.
    #[serde(default)]
    pub well_known_labels: Vec<String>,
    pub instance_types: Vec<TypeEntry>,
    /// The types one pool may see; a pool not named sees all.
    #[serde(default)]
    pub pools: BTreeMap<String, Vec<String>>,
}

/// A thing that can be bought.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TypeEntry {
    /// The value of `node.kubernetes.io/instance-type`.
    pub name: String,
    /// What the node can be, label by label; several values: any of them.
    #[serde(default)]
    pub requirements: Vec<Asked>,
    #[serde(default)]
    pub capacity: BTreeMap<String, Amount>,
    /// allocatable = capacity - overhead
    #[serde(default)]
    pub overhead: BTreeMap<String, Amount>,
    #[serde(default)]
    pub offerings: Vec<OfferingEntry>,
}

/// One label and the values it may have.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    pub key: String,
    /// In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte
    pub operator: String,
    #[serde(default)]
    pub values: Vec<String>,
}

/// A quantity: a number, or a number with a suffix.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Amount {
    Text(String),
    Whole(i64),
    Number(f64),
}

/// The type in one zone, bought in one way.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OfferingEntry {
    /// `topology.kubernetes.io/zone` and `karpenter.sh/capacity-type`, both with operator In.
    pub requirements: Vec<Asked>,
    /// Per hour; absent: unknown.
    #[serde(default)]
    pub price: Option<f64>,
    #[serde(default = "yes")]
    pub available: bool,
    /// How many instances can still be taken from the reservation; reserved offerings only. Absent: nobody counts them.
    #[serde(default)]
    pub reservation_capacity: Option<u32>,
}

fn yes() -> bool {
    true
}

/// The catalog in planner values, still without the pools that will use it.
pub(super) struct Goods {
    pub(super) currency: Option<String>,
    pub(super) well_known: WellKnown,
    types: Vec<InstanceType>,
    offerings: Vec<Offering>,
    pools: BTreeMap<String, BTreeSet<String>>,
    place: Place,
    now: Timestamp,
}

pub(super) fn read(path: &Path, now: Timestamp) -> Result<Goods, Trouble> {
    let text = fs::read_to_string(path).map_err(|error| Trouble::file(path, unreadable(&error)))?;
    let place = Place {
        file: path.display().to_string(),
        document: 1,
        item: None,
    };
    let wrong = |field: String, said: String| Trouble::new(place.clone(), field, said);
    // JSON is YAML too, but reads much faster as what it is.
    let json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
    let text = if json {
        text.into_bytes()
    } else {
        let value = parse(&text).map_err(|said| wrong(String::new(), said))?;
        if value.is_null() {
            return Err(wrong(String::new(), format!("empty; {A_CATALOG}")));
        }
        serde_json::to_vec(&value).map_err(|e| wrong(String::new(), e.to_string()))?
    };
    let file: CatalogFile = typed(&text).map_err(|(field, said)| wrong(field, said))?;
    goods(&file, &place, now).map_err(|(field, said)| wrong(field, said))
}

const A_CATALOG: &str = "write apiVersion: joiner.dev/v1alpha1, kind: Catalog and instanceTypes";

type Wrong = (String, String);

fn goods(file: &CatalogFile, place: &Place, now: Timestamp) -> Result<Goods, Wrong> {
    if file.api_version != "joiner.dev/v1alpha1" || file.kind != "Catalog" {
        return Err(("kind".to_owned(), format!("not a catalog; {A_CATALOG}")));
    }
    let mut goods = Goods {
        currency: file.currency.clone(),
        well_known: WellKnown::with(file.well_known_labels.iter().map(|key| key.as_str().into())),
        types: Vec::new(),
        offerings: Vec::new(),
        pools: BTreeMap::new(),
        place: place.clone(),
        now,
    };
    let mut names = BTreeSet::new();
    for (at, entry) in file.instance_types.iter().enumerate() {
        let field = format!("instanceTypes[{at}] ({})", entry.name);
        if entry.name.is_empty() || !names.insert(entry.name.as_str()) {
            let said = "its name is empty or taken; give each type a name of its own";
            return Err((field, said.to_owned()));
        }
        goods.types.push(instance_type(entry, &field)?);
        for (at, offering) in entry.offerings.iter().enumerate() {
            let field = format!("{field}.offerings[{at}]");
            goods
                .offerings
                .extend(offered(&entry.name, offering, &field)?);
        }
    }
    for (pool, types) in &file.pools {
        if let Some(unknown) = types.iter().find(|name| !names.contains(name.as_str())) {
            let said = format!("{unknown} is no instance type of this catalog");
            return Err((format!("pools.{pool}"), said));
        }
        goods
            .pools
            .insert(pool.clone(), types.iter().cloned().collect());
    }
    Ok(goods)
}

fn instance_type(entry: &TypeEntry, field: &str) -> Result<InstanceType, Wrong> {
    Ok(InstanceType {
        name: entry.name.as_str().into(),
        aliases: Vec::new(),
        capacity: amounts(&entry.capacity, &format!("{field}.capacity"))?,
        overhead: amounts(&entry.overhead, &format!("{field}.overhead"))?,
        requirements: requirements(&entry.requirements, &format!("{field}.requirements"))?,
    })
}

fn amounts(list: &BTreeMap<String, Amount>, field: &str) -> Result<Resources, Wrong> {
    let texts: Vec<(&String, String)> = list
        .iter()
        .map(|(name, amount)| (name, amount.text()))
        .collect();
    Resources::parse(
        texts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    )
    .and_then(not_negative)
    .map_err(|bad| (format!("{field}.{}", bad.name), bad.cause.to_string()))
}

fn requirements(list: &[Asked], field: &str) -> Result<Requirements, Wrong> {
    let mut all = Requirements::new();
    for (at, one) in list.iter().enumerate() {
        let wrong = |said| (format!("{field}[{at}]"), said);
        let read = requirement(one).map_err(wrong)?;
        if all
            .get(read.key())
            .is_some_and(|before| !before.has_intersection(&read))
        {
            let said = format!(
                "excludes what was said of {} before; keep one of them",
                read.key()
            );
            return Err(wrong(said));
        }
        all.add(read);
    }
    Ok(all)
}

fn requirement(one: &Asked) -> Result<Requirement, String> {
    let operator: Operator = one.operator.parse().map_err(|()| {
        let known = "In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte";
        format!("operator {:?} is unknown; write {known}", one.operator)
    })?;
    let values: Vec<&str> = one.values.iter().map(String::as_str).collect();
    if operator == Operator::In && values.is_empty() {
        return Err("operator In has no values; list at least one".to_owned());
    }
    Requirement::new(&one.key, operator, &values).map_err(|bad| bad.to_string())
}

/// One offering for each zone and capacity type it names; nearly always exactly one.
fn offered(name: &str, entry: &OfferingEntry, field: &str) -> Result<Vec<Offering>, Wrong> {
    let wrong = |said: &str| (field.to_owned(), said.to_owned());
    let asked = requirements(&entry.requirements, &format!("{field}.requirements"))?;
    let listed = |key: &str| {
        let values = asked.get(key).and_then(Requirement::listed);
        values.filter(|values| !values.is_empty())
    };
    let zones = listed(labels::ZONE).ok_or_else(|| {
        wrong("without a zone; add {key: topology.kubernetes.io/zone, operator: In, values: [...]}")
    })?;
    let kinds = listed(labels::CAPACITY_TYPE).ok_or_else(|| {
        wrong("without a capacity type; add {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}")
    })?;
    let known = [labels::ZONE, labels::CAPACITY_TYPE];
    if let Some(other) = asked.iter().find(|one| !known.contains(&one.key())) {
        let said = format!("{} does not belong here; write it on the type", other.key());
        return Err((format!("{field}.requirements"), said));
    }
    let price = price(entry.price).map_err(|said| (format!("{field}.price"), said))?;
    let reserved = CapacityType::Reserved.as_str();
    if entry.reservation_capacity.is_some() && !kinds.iter().any(|kind| &**kind == reserved) {
        let said = "only offerings of capacity type reserved have one; remove it";
        return Err((format!("{field}.reservationCapacity"), said.to_owned()));
    }
    let mut all = Vec::new();
    for zone in zones {
        for kind in kinds {
            let capacity_type: CapacityType = kind.parse().map_err(|()| {
                wrong(&format!(
                    "{kind:?} is no capacity type; use on-demand, spot or reserved"
                ))
            })?;
            let mut offering = Offering::new(name, zone, capacity_type);
            offering.price = price;
            if !entry.available {
                offering.availability = Availability::Unavailable;
            }
            if let (CapacityType::Reserved, Some(left)) =
                (capacity_type, entry.reservation_capacity)
            {
                offering = offering.reserved_in(format!("{name}/{zone}"), left);
            }
            all.push(offering);
        }
    }
    Ok(all)
}

fn price(raw: Option<f64>) -> Result<Option<Price>, String> {
    match raw {
        // Nobody sells for nothing: a price of 0 is a price nobody knows.
        None | Some(0.0) => Ok(None),
        Some(price) => price
            .to_string()
            .parse()
            .map(Some)
            .map_err(|bad: planner::BadPrice| bad.to_string()),
    }
}

impl Amount {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
        }
    }
}

impl Goods {
    /// Pools of `pools:` that nobody has heard of.
    pub(super) fn strangers<'g>(&'g self, known: &'g BTreeSet<&str>) -> Vec<&'g str> {
        let named = self.pools.keys().map(String::as_str);
        named.filter(|pool| !known.contains(pool)).collect()
    }

    /// The name under which a pool's class finds its catalog: pools that see a part have one of their own.
    pub(super) fn class_for(&self, pool: &str, class: &ClassRef) -> ClassRef {
        if self.pools.contains_key(pool) {
            let name = format!("{} for pool {pool}", class.name);
            return ClassRef::new(class.group.clone(), class.kind.clone(), name);
        }
        class.clone()
    }

    /// One catalog for each class in use, by the pool that uses it.
    pub(super) fn catalogs(
        &self,
        in_use: &BTreeMap<ClassRef, Arc<str>>,
    ) -> Result<Vec<Catalog>, Trouble> {
        let wrong =
            |bad: planner::BadCatalog| Trouble::new(self.place.clone(), "", bad.to_string());
        in_use
            .iter()
            .map(|(class, pool)| self.catalog(class, pool).map_err(wrong))
            .collect()
    }

    fn catalog(&self, class: &ClassRef, pool: &str) -> Result<Catalog, planner::BadCatalog> {
        let part = self.pools.get(pool);
        let sees = |name: &str| part.is_none_or(|part| part.contains(name));
        let types = self.types.iter().filter(|kind| sees(&kind.name)).cloned();
        let offerings = self.offerings.iter();
        let offerings = offerings.filter(|one| sees(&one.instance_type)).cloned();
        Catalog::new(
            class.clone(),
            self.now,
            types.collect(),
            offerings.collect(),
        )
    }
}
