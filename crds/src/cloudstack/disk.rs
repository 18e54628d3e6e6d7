//! Which disks does an instance on CloudStack get?

#![allow(unreachable_pub, reason = "kube's derive repeats each struct inside a function")]

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::shared::reference::NamedOrId;

/// Root disk of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootDisk {
    /// Size in GiB. Absent means the template's or the offering's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub size_gi_b: Option<i64>,
    /// Disk offering of the root disk, in place of the one of the service offering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offering: Option<NamedOrId>,
}

/// A data disk of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("has(self.offering)").message("a data disk needs a disk offering; add offering or remove the disk"))]
#[serde(rename_all = "camelCase")]
pub struct DataDisk {
    /// Disk offering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offering: Option<NamedOrId>,
    /// Size in GiB, for offerings without a fixed size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub size_gi_b: Option<i64>,
}
