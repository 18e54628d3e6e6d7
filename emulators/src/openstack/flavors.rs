//! Which sizes of servers can be had?

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::nova::Call;
use super::wire::{Outcome, Refusal, Said};
use super::world::Flavor;
use super::{OpenStack, errors};

impl OpenStack {
    pub(super) fn flavors(&self, call: &Call, rest: &[&str]) -> Option<Outcome> {
        let outcome = match rest {
            [] => self.list_flavors(call, false),
            ["detail"] => self.list_flavors(call, true),
            [id] => self
                .flavor(id)
                .map(|flavor| Said::json(200, json!({"flavor": self.show_flavor(call, flavor)}))),
            [id, "os-extra_specs"] => self
                .flavor(id)
                .map(|flavor| Said::json(200, json!({"extra_specs": flavor.extra_specs}))),
            _ => return None,
        };
        Some(outcome)
    }

    fn flavor(&self, id: &str) -> Result<&Flavor, Refusal> {
        let found = self.world.flavors.iter().find(|flavor| flavor.id == id);
        found.ok_or_else(|| errors::nova(404, format!("Flavor {id} could not be found.")))
    }

    fn list_flavors(&self, call: &Call, detail: bool) -> Outcome {
        call.refuse_unknown(&[
            "limit",
            "marker",
            "is_public",
            "minRam",
            "minDisk",
            "sort_key",
            "sort_dir",
        ])?;
        let least = |name: &str| -> Result<u64, Refusal> {
            let text = call.ask.param(name).unwrap_or("0");
            text.parse()
                .map_err(|_| errors::nova(400, format!("Invalid {name} filter [{text}]")))
        };
        let (ram, disk) = (least("minRam")?, least("minDisk")?);
        let flavors = self.world.flavors.iter();
        let mut flavors: Vec<&Flavor> = flavors
            .filter(|flavor| flavor.ram >= ram && flavor.disk >= disk)
            .collect();
        let key = call.ask.param("sort_key").unwrap_or("flavorid");
        let down = call.ask.param("sort_dir") == Some("desc");
        flavors.sort_by(|one, two| {
            let order = compare(one, two, key);
            (if down { order.reverse() } else { order }).then_with(|| one.id.cmp(&two.id))
        });
        let (page, next) = call.page(flavors, |flavor| &flavor.id, self.settings.page_limit)?;
        let shown: Vec<Value> = page
            .iter()
            .map(|flavor| {
                if detail {
                    return self.show_flavor(call, flavor);
                }
                let links = call.link(&format!("flavors/{}", flavor.id));
                let mut shown = json!({"id": flavor.id, "name": flavor.name, "links": links});
                if call.version >= 55 {
                    shown["description"] = Value::Null;
                }
                shown
            })
            .collect();
        let mut body = json!({"flavors": shown});
        if let Some(next) = next {
            body["flavors_links"] = next;
        }
        Ok(Said::json(200, body))
    }

    fn show_flavor(&self, call: &Call, flavor: &Flavor) -> Value {
        let mut shown = json!({
            "id": flavor.id, "name": flavor.name, "ram": flavor.ram, "disk": flavor.disk, "swap": flavor.swap,
            "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral, "OS-FLV-DISABLED:disabled": false, "vcpus": flavor.vcpus,
            "os-flavor-access:is_public": true, "rxtx_factor": 1.0,
            "links": call.link(&format!("flavors/{}", flavor.id)),
        });
        if flavor.swap == 0 && call.version < 75 {
            shown["swap"] = json!("");
        }
        if call.version >= 55 {
            shown["description"] = Value::Null;
        }
        if call.version >= 61 && !self.settings.hide_extra_specs {
            shown["extra_specs"] = json!(flavor.extra_specs);
        }
        shown
    }
}

fn compare(one: &Flavor, two: &Flavor, key: &str) -> Ordering {
    match key {
        "name" => one.name.cmp(&two.name),
        "memory_mb" => one.ram.cmp(&two.ram),
        "vcpus" => one.vcpus.cmp(&two.vcpus),
        "root_gb" => one.disk.cmp(&two.disk),
        _ => one.id.cmp(&two.id),
    }
}
