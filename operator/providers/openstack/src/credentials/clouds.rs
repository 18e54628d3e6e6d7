//! Which credentials does a `clouds.yaml` hold?

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{BadCredentials, Credentials, Fields};

/// Reads one cloud of a `clouds.yaml`; a `secure.yaml` is merged over it.
pub fn from_clouds_yaml(
    clouds: &[u8],
    secure: Option<&[u8]>,
    cloud: Option<&str>,
) -> Result<Credentials, BadCredentials> {
    let mut document = parsed(clouds, "clouds.yaml")?;
    if let Some(secure) = secure {
        merge(&mut document, parsed(secure, "secure.yaml")?);
    }
    let (name, entry) = chosen(&document, cloud)?;
    let auth = entry.get("auth").cloned().unwrap_or_default();
    let get = |key: &str| text(auth.get(key)).or_else(|| text(entry.get(key)));
    let fields = Fields {
        get: &get,
        place: format!("clouds.{name} of clouds.yaml"),
    };
    let insecure = entry.get("verify") == Some(&Value::Bool(false))
        || entry.get("insecure") == Some(&Value::Bool(true));
    Ok(Credentials {
        auth_url: fields.auth_url()?,
        method: fields.method()?,
        region: get("region_name").or_else(|| only_region(entry)),
        interface: fields.interface()?,
        ca_file: get("cacert"),
        insecure,
        overrides: overrides(entry, &fields)?,
    })
}

/// Where a `clouds.yaml` may be, first match first.
pub fn paths(env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    if let Some(file) = env
        .get("OS_CLIENT_CONFIG_FILE")
        .filter(|file| !file.is_empty())
    {
        return vec![file.into()];
    }
    let home = env
        .get("HOME")
        .map(|home| PathBuf::from(home).join(".config"));
    let config = env
        .get("XDG_CONFIG_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .or(home);
    let mut all = vec![PathBuf::from("clouds.yaml")];
    all.extend(config.map(|dir| dir.join("openstack/clouds.yaml")));
    all.push("/etc/openstack/clouds.yaml".into());
    all
}

fn parsed(bytes: &[u8], place: &'static str) -> Result<Value, BadCredentials> {
    let text = std::str::from_utf8(bytes).map_err(|_| BadCredentials::NotYaml { place })?;
    serde_saphyr::from_str(text).map_err(|_| BadCredentials::NotYaml { place })
}

fn chosen<'a>(
    document: &'a Value,
    cloud: Option<&str>,
) -> Result<(String, &'a Map<String, Value>), BadCredentials> {
    let clouds = document.get("clouds").and_then(Value::as_object);
    let clouds =
        clouds
            .filter(|clouds| !clouds.is_empty())
            .ok_or_else(|| BadCredentials::Missing {
                wanted: "clouds",
                place: "clouds.yaml".to_owned(),
            })?;
    let name = match cloud {
        Some(name) => name,
        None if clouds.len() == 1 => clouds.keys().next().map_or("", String::as_str),
        None => "openstack",
    };
    let entry = clouds.get(name).and_then(Value::as_object);
    entry
        .map(|entry| (name.to_owned(), entry))
        .ok_or_else(|| BadCredentials::NoSuchCloud {
            wanted: name.to_owned(),
            have: clouds.keys().cloned().collect::<Vec<_>>().join(", "),
        })
}

fn only_region(entry: &Map<String, Value>) -> Option<String> {
    match entry
        .get("regions")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        Some([one]) => text(Some(one)).or_else(|| text(one.get("name"))),
        _ => None,
    }
}

fn overrides(
    entry: &Map<String, Value>,
    fields: &Fields<'_>,
) -> Result<BTreeMap<String, url::Url>, BadCredentials> {
    let mut all = BTreeMap::new();
    for service in ["compute", "network", "image"] {
        let Some(address) = text(entry.get(&format!("{service}_endpoint_override"))) else {
            continue;
        };
        let url = address.parse().map_err(|_| BadCredentials::Wrong {
            key: "…_endpoint_override",
            place: fields.place.clone(),
            problem: format!("no URL for {service}"),
            fix: "write the whole address with http:// or https://",
        })?;
        all.insert(service.to_owned(), url);
    }
    Ok(all)
}

/// Numbers are texts too: a project id of digits need not be quoted.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}
