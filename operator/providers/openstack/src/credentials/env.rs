//! Which credentials do `OS_*` variables hold?

use std::collections::BTreeMap;

use super::{BadCredentials, Credentials, Fields};

/// Reads the variables of openstackclient, and those of older tools: `OS_TENANT_*`, `OS_USERID`, `OS_DOMAIN_*`.
pub fn from_env(env: &BTreeMap<String, String>) -> Result<Credentials, BadCredentials> {
    let get = |key: &str| env.get(&format!("OS_{}", key.to_uppercase())).cloned();
    let fields = Fields {
        get: &get,
        place: "the environment (OS_*)".to_owned(),
    };
    let insecure = get("insecure").is_some_and(|text| is_true(&text));
    Ok(Credentials {
        auth_url: fields.auth_url()?,
        method: fields.method()?,
        region: get("region_name").filter(|region| !region.is_empty()),
        interface: fields.interface()?,
        ca_file: get("cacert").filter(|file| !file.is_empty()),
        insecure,
        overrides: BTreeMap::new(),
    })
}

fn is_true(text: &str) -> bool {
    matches!(text.to_lowercase().as_str(), "1" | "true" | "yes" | "on")
}
