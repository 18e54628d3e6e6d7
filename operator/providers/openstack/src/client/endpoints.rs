//! Where in the service catalog is the address we want?

use serde::Deserialize;

use crate::credentials::Interface;

/// The services we speak to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Compute,
    Network,
    Image,
}

pub type Catalog = Vec<Entry>;

#[derive(Clone, Debug, Deserialize)]
pub struct Entry {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

#[derive(Clone, Debug, Deserialize)]
struct Endpoint {
    #[serde(default)]
    interface: String,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    region_id: Option<String>,
    #[serde(default)]
    url: String,
}

impl Service {
    pub fn kind(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Network => "network",
            Self::Image => "image",
        }
    }

    /// Catalogs name the version in the address or leave it out; of Nova it is always there.
    pub fn versioned(self, address: &str) -> String {
        let address = address.trim_end_matches('/');
        let version = match self {
            Self::Compute => return address.to_owned(),
            Self::Network => "v2.0",
            Self::Image => "v2",
        };
        let path = address.split_once("://").map_or(address, |(_, rest)| rest);
        let named = path.rsplit('/').take(2).any(is_version);
        if named {
            address.to_owned()
        } else {
            format!("{address}/{version}")
        }
    }
}

/// The first fitting endpoint, or what there was instead.
pub fn choose(
    catalog: &Catalog,
    service: Service,
    interface: Interface,
    region: Option<&str>,
) -> Result<String, String> {
    let of_service: Vec<&Endpoint> = catalog
        .iter()
        .filter(|entry| entry.kind == service.kind())
        .flat_map(|entry| &entry.endpoints)
        .collect();
    let fits = |endpoint: &&&Endpoint| {
        let here = |found: &Option<String>| found.as_deref() == region;
        let in_region = region.is_none() || here(&endpoint.region) || here(&endpoint.region_id);
        endpoint.interface == interface.as_str() && in_region && !endpoint.url.is_empty()
    };
    if let Some(endpoint) = of_service.iter().find(fits) {
        return Ok(service.versioned(&endpoint.url));
    }
    let mut there: Vec<String> = of_service
        .iter()
        .map(|endpoint| {
            format!(
                "{} in {}",
                endpoint.interface,
                endpoint.region.as_deref().unwrap_or("no region")
            )
        })
        .collect();
    there.sort();
    there.dedup();
    let there = if there.is_empty() {
        "none".to_owned()
    } else {
        there.join(", ")
    };
    let wanted = region.map_or(String::new(), |region| format!(" in region {region}"));
    let (kind, interface) = (service.kind(), interface.as_str());
    Err(format!(
        "the catalog has no {interface} endpoint of {kind}{wanted}; it has {there}: correct the region or the interface"
    ))
}

/// The address without the project that some catalogs append to the version.
pub(crate) fn up_to_version(address: &str) -> &str {
    match address.rsplit_once('/') {
        Some((parent, last))
            if !is_version(last) && parent.rsplit('/').next().is_some_and(is_version) =>
        {
            parent
        }
        _ => address,
    }
}

/// `v2`, `v2.0`, `v2.1`, but not `vpc`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Service::Network, "http://h:9696", "http://h:9696/v2.0")]
    #[case(Service::Network, "http://h:9696/v2.0/", "http://h:9696/v2.0")]
    #[case(Service::Network, "https://vpc/network", "https://vpc/network/v2.0")]
    #[case(Service::Image, "http://h:9292/", "http://h:9292/v2")]
    #[case(Service::Image, "http://h/image/v2", "http://h/image/v2")]
    #[case(Service::Compute, "http://h:8774/v2.1/", "http://h:8774/v2.1")]
    #[case(Service::Compute, "http://h:8774/v2.1/abc", "http://h:8774/v2.1/abc")]
    fn addresses_come_with_and_without_a_version(
        #[case] service: Service,
        #[case] given: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(service.versioned(given), expected);
    }

    #[test]
    fn the_version_document_is_above_the_project() {
        assert_eq!(
            up_to_version("http://h:8774/v2.1/7e82"),
            "http://h:8774/v2.1"
        );
        assert_eq!(up_to_version("http://h:8774/v2.1"), "http://h:8774/v2.1");
    }

    #[test]
    fn a_region_that_is_not_there_names_those_that_are() {
        let entry = serde_json::json!([{"type": "compute", "endpoints": [
            {"interface": "public", "region": "one", "region_id": "one", "url": "http://a/v2.1"},
            {"interface": "internal", "region": "two", "region_id": "two", "url": "http://b/v2.1"}]}]);
        let catalog: Catalog = serde_json::from_value(entry).unwrap();
        let find = |interface, region| choose(&catalog, Service::Compute, interface, region);
        assert_eq!(find(Interface::Public, None).unwrap(), "http://a/v2.1");
        assert_eq!(
            find(Interface::Internal, Some("two")).unwrap(),
            "http://b/v2.1"
        );
        let error = find(Interface::Public, Some("two")).unwrap_err();
        assert!(error.contains("internal in two, public in one"), "{error}");
    }
}
