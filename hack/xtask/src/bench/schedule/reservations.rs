//! Is nothing taken from a reservation beyond what is left of it, and does who takes from one become nothing else?

use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{list, text};

const ZONE: &str = "topology.kubernetes.io/zone";
const CAPACITY: &str = "karpenter.sh/capacity-type";
const RESERVED: &str = "reserved";

pub fn check(catalog: &Value, plan: &Value, wrong: &mut Vec<String>) {
    let mut left = left(catalog);
    for claim in list(plan, "/claims") {
        let cheapest = &claim["cheapest"];
        if text(cheapest, "/capacityType") != RESERVED {
            continue;
        }
        let (name, place) = (text(claim, "/name"), text(cheapest, "/instanceType"));
        let place = (place.to_owned(), text(cheapest, "/zone").to_owned());
        match left.get_mut(&place) {
            Some(0) => wrong.push(format!("{name}: nothing is left of {place:?}")),
            Some(left) => *left -= 1,
            None => wrong.push(format!("{name}: {place:?} is not reserved")),
        }
        // Other schedulers do not print what else a claim could become.
        if claim["requirements"].is_null() {
            continue;
        }
        let mut asked = list(claim, "/requirements").iter();
        let pinned = |one: &Value| text(one, "/key") == CAPACITY && values(one) == [RESERVED];
        if !asked.any(pinned) {
            wrong.push(format!("{name}: reserved, and may become something else"));
        }
    }
}

/// By instance type and zone.
fn left(catalog: &Value) -> BTreeMap<(String, String), u64> {
    let mut left = BTreeMap::new();
    for kind in list(catalog, "/instanceTypes") {
        for offering in list(kind, "/offerings") {
            let under = |key: &str| {
                let mut all = list(offering, "/requirements").iter();
                all.find(|one| text(one, "/key") == key).map(values)
            };
            let capacity = offering["reservationCapacity"].as_u64();
            let (Some(zones), Some(capacity)) = (under(ZONE), capacity) else {
                continue;
            };
            for zone in zones {
                left.insert((text(kind, "/name").to_owned(), zone.to_owned()), capacity);
            }
        }
    }
    left
}

fn values(requirement: &Value) -> Vec<&str> {
    let values = list(requirement, "/values").iter();
    values.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn claim(name: &str, may_become: &[&str]) -> Value {
        json!({ "name": name, "requirements": [{ "key": CAPACITY, "operator": "In", "values": may_become }],
            "cheapest": { "instanceType": "t", "zone": "a", "capacityType": RESERVED } })
    }

    fn findings(claims: &[Value]) -> Vec<String> {
        let offering = json!({ "reservationCapacity": 1, "requirements": [
            { "key": ZONE, "operator": "In", "values": ["a"] }, { "key": CAPACITY, "operator": "In", "values": [RESERVED] }] });
        let catalog = json!({ "instanceTypes": [{ "name": "t", "offerings": [offering] }] });
        let mut wrong = Vec::new();
        check(&catalog, &json!({ "claims": claims }), &mut wrong);
        wrong
    }

    #[test]
    fn one_claim_more_than_is_left_is_found() {
        assert!(findings(&[claim("x", &[RESERVED])]).is_empty());
        let two = findings(&[claim("x", &[RESERVED]), claim("y", &[RESERVED])]);
        assert!(two[0].starts_with("y: nothing is left"), "{two:?}");
    }

    #[test]
    fn a_claim_that_may_become_something_else_is_found() {
        let found = findings(&[claim("x", &["on-demand", RESERVED])]);
        assert!(found[0].starts_with("x: reserved"), "{found:?}");
    }
}
