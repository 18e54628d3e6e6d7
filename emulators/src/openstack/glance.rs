//! Which images are there?

use http::Method;
use serde_json::{Value, json};

use super::wire::{Ask, Object, Outcome, Said, encode, str_of};
use super::{OpenStack, errors, versions};

const DEFAULT_PAGE: usize = 25;

impl OpenStack {
    pub(super) fn glance(&self, ask: &Ask) -> Outcome {
        match ask.parts().as_slice() {
            [] => return Ok(versions::glance_root(&ask.base, 300)),
            ["versions"] => return Ok(versions::glance_root(&ask.base, 200)),
            _ => {}
        }
        let caller = self
            .caller(ask)
            .map_err(|_| errors::unauthorized_glance(&ask.base, ask.header("accept")))?;
        let project = caller.project();
        match ask.parts().as_slice() {
            ["v2", "images"] if ask.method == Method::GET => self.list_images(ask, project),
            ["v2", "images", id] if ask.method == Method::GET => {
                let mut images = self
                    .world
                    .images
                    .iter()
                    .filter(|image| visible(image, project));
                let image = images.find(|image| str_of(image, "id") == *id);
                let image = image
                    .ok_or_else(|| errors::webob(404, &format!("No image found with ID {id}")))?;
                Ok(Said::json(200, Value::Object(image.clone())))
            }
            ["v2", "images", ..] if ask.method != Method::GET => Err(errors::webob(
                403,
                "You are not authorized to complete this action: the emulator's images are fixed.",
            )),
            _ => Err(errors::webob(404, "The resource could not be found.")),
        }
    }

    fn list_images(&self, ask: &Ask, project: &str) -> Outcome {
        let limit = match ask.param("limit") {
            None => DEFAULT_PAGE,
            Some(text) => {
                let limit: i64 = text
                    .parse()
                    .map_err(|_| errors::webob(400, "limit param must be an integer"))?;
                usize::try_from(limit)
                    .map_err(|_| errors::webob(400, "limit param must be positive"))?
            }
        };
        let limit = limit.min(self.settings.page_limit);
        let mut images: Vec<&Object> = self
            .world
            .images
            .iter()
            .filter(|image| visible(image, project) && matches(image, ask, project))
            .collect();
        sort(&mut images, ask);
        let from = match ask.param("marker") {
            None => 0,
            Some(marker) => {
                let at = images
                    .iter()
                    .position(|image| str_of(image, "id") == marker);
                at.ok_or_else(|| errors::webob(400, &format!("No image found with ID {marker}")))?
                    + 1
            }
        };
        let page: Vec<&Object> = images.into_iter().skip(from).take(limit).collect();
        let mut body = json!({"images": page, "schema": "/v2/schemas/images", "first": address(&query(ask, None))});
        // a path from the root of the host, whatever the endpoint's own path is
        if let Some(last) = page.last().filter(|_| page.len() == limit) {
            body["next"] = json!(address(&query(ask, Some(str_of(last, "id")))));
        }
        Ok(Said::json(200, body))
    }
}

fn visible(image: &Object, project: &str) -> bool {
    matches!(str_of(image, "visibility"), "public" | "community")
        || str_of(image, "owner") == project
}

fn address(query: &str) -> String {
    if query.is_empty() {
        "/v2/images".to_owned()
    } else {
        format!("/v2/images?{query}")
    }
}

/// The query of another page. Of several `tag=` only one survives, as in the real one.
fn query(ask: &Ask, marker: Option<&str>) -> String {
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for (key, value) in ask.query.iter().filter(|(key, _)| key != "marker") {
        parts.retain(|(known, _)| known != key);
        parts.push((key, value));
    }
    parts.extend(marker.map(|marker| ("marker", marker)));
    let parts: Vec<String> = parts
        .iter()
        .map(|(key, value)| format!("{key}={}", encode(value)))
        .collect();
    parts.join("&")
}

fn matches(image: &Object, ask: &Ask, project: &str) -> bool {
    let visibility = ask.param("visibility");
    let hidden = ask
        .param("os_hidden")
        .is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let shown = match visibility {
        Some("all") => true,
        Some(wanted) => str_of(image, "visibility") == wanted,
        // community images are listed only for those who ask
        None => str_of(image, "visibility") != "community" || str_of(image, "owner") == project,
    };
    let is_hidden = image.get("os_hidden") == Some(&Value::Bool(true));
    shown
        && hidden == is_hidden
        && ask
            .query
            .iter()
            .all(|(key, wanted)| member_matches(image, key, wanted))
}

fn member_matches(image: &Object, key: &str, wanted: &str) -> bool {
    let number = |name: &str| image.get(name).and_then(Value::as_u64).unwrap_or_default();
    match key {
        "limit" | "marker" | "sort" | "sort_key" | "sort_dir" | "visibility" | "os_hidden"
        | "member_status" => true,
        "tag" => {
            let tags = image.get("tags").and_then(Value::as_array);
            tags.into_iter().flatten().any(|tag| tag == wanted)
        }
        "size_min" => wanted
            .parse()
            .is_ok_and(|least: u64| number("size") >= least),
        "size_max" => wanted.parse().is_ok_and(|most: u64| number("size") <= most),
        _ => {
            let value = match image.get(key) {
                None => return false,
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            };
            compared(&value, wanted)
        }
    }
}

/// `in:a,b`, `gt:…` and so on; times compare as text because they are written alike.
fn compared(value: &str, wanted: &str) -> bool {
    match wanted.split_once(':') {
        Some(("in", list)) => list.split(',').any(|item| item.trim_matches('"') == value),
        Some(("gt", bound)) => value > bound,
        Some(("gte", bound)) => value >= bound,
        Some(("lt", bound)) => value < bound,
        Some(("lte", bound)) => value <= bound,
        Some(("eq", bound)) => value == bound,
        Some(("neq", bound)) => value != bound,
        _ => {
            value.eq_ignore_ascii_case(wanted)
                && (value == wanted
                    || wanted.eq_ignore_ascii_case("true")
                    || wanted.eq_ignore_ascii_case("false"))
        }
    }
}

/// `sort=created_at:desc,name:asc`, or the older two; without either the order is Glance's own.
fn sort(images: &mut [&Object], ask: &Ask) {
    let mut keys: Vec<(String, bool)> = Vec::new();
    if let Some(text) = ask.param("sort") {
        keys.extend(text.split(',').map(|part| {
            let (key, direction) = part.split_once(':').unwrap_or((part, "desc"));
            (key.to_owned(), direction == "desc")
        }));
    } else {
        let directions = ask.params("sort_dir");
        for (at, key) in ask.params("sort_key").into_iter().enumerate() {
            keys.push((
                key.to_owned(),
                directions
                    .get(at)
                    .is_none_or(|direction| *direction == "desc"),
            ));
        }
    }
    for (key, down) in keys.iter().rev() {
        images.sort_by(|one, two| {
            let order = sortable(one, key).cmp(&sortable(two, key));
            if *down { order.reverse() } else { order }
        });
    }
}

fn sortable(image: &Object, key: &str) -> String {
    match image.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => format!("{:>20}", number.to_string()),
        _ => String::new(),
    }
}
