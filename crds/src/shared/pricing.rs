//! What does an instance type cost where the cloud does not say?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Prices for a cloud without a price list. An instance type takes the first of: its entry in types, its extra
/// spec, the sum of cpuHour, memoryGiBHour and gpuHour. What none of them prices has an unknown price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    /// ISO 4217 code, for people and metrics; prices of one class are never compared with another currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Z]{3}$"))]
    pub currency: Option<String>,
    /// Price per hour by instance type, as decimal strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 1000, "additionalProperties" = {"type": "string", "maxLength": 32}))]
    #[x_kube(validation = Rule::new(r#"self.all(t, self[t].matches('^[0-9]+(\\.[0-9]{1,9})?$'))"#).message("a price is a decimal such as 0.0425 with at most nine decimals, in quotes; remove signs and the currency"))]
    pub types: Option<BTreeMap<String, String>>,
    /// Price of one vCPU for one hour, a decimal string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(r#"self.matches('^[0-9]+(\\.[0-9]{1,9})?$')"#).message("a price is a decimal such as 0.0425 with at most nine decimals, in quotes; remove signs and the currency"))]
    pub cpu_hour: Option<String>,
    /// Price of one GiB of memory for one hour, a decimal string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(r#"self.matches('^[0-9]+(\\.[0-9]{1,9})?$')"#).message("a price is a decimal such as 0.0425 with at most nine decimals, in quotes; remove signs and the currency"))]
    pub memory_gi_b_hour: Option<String>,
    /// Price of one GPU for one hour, a decimal string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(r#"self.matches('^[0-9]+(\\.[0-9]{1,9})?$')"#).message("a price is a decimal such as 0.0425 with at most nine decimals, in quotes; remove signs and the currency"))]
    pub gpu_hour: Option<String>,
    /// Name of the flavor's extra spec (OpenStack) or of the offering's detail (CloudStack) that holds its
    /// price per hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub extra_spec: Option<String>,
}
