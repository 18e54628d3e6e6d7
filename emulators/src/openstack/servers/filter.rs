//! Which servers does a query mean? Unknown and forbidden filters are dropped, as the real one drops them.

use jiff::Timestamp;
use regex::Regex;

use super::super::errors;
use super::super::nova::Call;
use super::super::wire::Refusal;
use super::super::world::{Phase, Server};
use super::show;

const STATUSES: &[&str] = &[
    "ACTIVE",
    "BUILD",
    "DELETED",
    "ERROR",
    "HARD_REBOOT",
    "MIGRATING",
    "PASSWORD",
    "PAUSED",
    "REBOOT",
    "REBUILD",
    "RESCUE",
    "RESIZE",
    "REVERT_RESIZE",
    "SHELVED",
    "SHELVED_OFFLOADED",
    "SHUTOFF",
    "SOFT_DELETED",
    "SUSPENDED",
    "UNKNOWN",
    "VERIFY_RESIZE",
];

/// Every query parameter Nova knows; others are errors from 2.75.
const KNOWN: &[&str] = &[
    "limit",
    "marker",
    "sort_key",
    "sort_dir",
    "all_tenants",
    "name",
    "status",
    "flavor",
    "image",
    "ip",
    "ip6",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
    "changes-since",
    "changes-before",
    "reservation_id",
    "key_name",
    "locked",
    "availability_zone",
    "deleted",
    "uuid",
    "host",
    "hostname",
    "node",
    "metadata",
    "system_metadata",
    "project_id",
    "tenant_id",
    "user_id",
    "power_state",
    "task_state",
    "vm_state",
    "progress",
    "config_drive",
    "created_at",
    "launched_at",
    "terminated_at",
    "description",
    "display_name",
    "instance_name",
    "kernel_id",
    "launch_index",
    "ramdisk_id",
    "root_device_name",
    "soft_deleted",
    "access_ip_v4",
    "access_ip_v6",
    "auto_disk_config",
    "disk_config",
    "not_tags",
    "not_tags_any",
    "tags_any",
];

pub(super) struct Filter {
    name: Option<Regex>,
    address: Option<Regex>,
    statuses: Vec<String>,
    exact: Vec<(&'static str, String)>,
    tags: Vec<(TagRule, Vec<String>)>,
    pub since: Option<Timestamp>,
    before: Option<Timestamp>,
}

#[derive(Clone, Copy)]
enum TagRule {
    All,
    Any,
    NotAll,
    NotAny,
}

impl Filter {
    pub(super) fn read(call: &Call, ignore_tags: bool) -> Result<Self, Refusal> {
        let ask = call.ask;
        if call.version >= 75
            && let Some((key, _)) = ask.query.iter().find(|(key, _)| !known(key))
        {
            let message = format!("'{key}' does not match any of the regexes: '^_'");
            return Err(errors::nova(400, message));
        }
        let statuses = ask
            .params("status")
            .into_iter()
            .map(str::to_ascii_uppercase);
        let statuses: Vec<String> = statuses.collect();
        if statuses
            .iter()
            .any(|status| !STATUSES.contains(&status.as_str()))
        {
            return Err(errors::nova(400, "Invalid status value"));
        }
        Ok(Self {
            name: pattern(call, "name")?,
            address: pattern(call, "ip")?,
            statuses,
            exact: exact(call),
            tags: if ignore_tags {
                Vec::new()
            } else {
                tag_rules(call)
            },
            since: time(call, "changes-since")?,
            before: time(call, "changes-before")?,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.address.is_none()
            && self.statuses.is_empty()
            && self.exact.is_empty()
            && self.tags.is_empty()
            && self.since.is_none()
            && self.before.is_none()
    }

    pub(super) fn takes(&self, server: &Server) -> bool {
        let name = self
            .name
            .as_ref()
            .is_none_or(|name| name.is_match(&server.name));
        let address = self.address.as_ref().is_none_or(|pattern| {
            server
                .addresses
                .iter()
                .any(|address| pattern.is_match(&address.addr))
        });
        let status = show::status(server);
        name && address
            && (self.statuses.is_empty() || self.statuses.iter().any(|wanted| wanted == status))
            && self
                .exact
                .iter()
                .all(|(member, wanted)| value(server, member) == *wanted)
            && self
                .tags
                .iter()
                .all(|(rule, tags)| tagged(server, *rule, tags))
            && self.since.is_none_or(|since| server.updated >= since)
            && self.before.is_none_or(|before| server.updated <= before)
    }
}

fn known(key: &str) -> bool {
    KNOWN.contains(&key) || key.starts_with('_')
}

fn pattern(call: &Call, name: &str) -> Result<Option<Regex>, Refusal> {
    let Some(text) = call.ask.param(name) else {
        return Ok(None);
    };
    let built = Regex::new(text);
    built
        .map(Some)
        .map_err(|_| errors::nova(400, format!("Invalid regular expression in {name}: {text}")))
}

fn time(call: &Call, name: &str) -> Result<Option<Timestamp>, Refusal> {
    if name == "changes-before" && call.version < 66 {
        return Ok(None);
    }
    let Some(text) = call.ask.param(name) else {
        return Ok(None);
    };
    let zoned = if text.ends_with('Z') || text.contains('+') {
        text.to_owned()
    } else {
        format!("{text}Z")
    };
    let message = || {
        format!(
            "Invalid input for query parameters {name}. Value: {text}. '{text}' is not a 'date-time'"
        )
    };
    zoned
        .parse()
        .map(Some)
        .map_err(|_| errors::nova(400, message()))
}

/// Compared as they are. Members of a project may use only these, the last ones from 2.83.
fn exact(call: &Call) -> Vec<(&'static str, String)> {
    let filters = [
        ("flavor", 1),
        ("image", 1),
        ("locked", 73),
        ("availability_zone", 83),
        ("key_name", 83),
        ("vm_state", 83),
        ("task_state", 83),
        ("power_state", 83),
    ];
    let asked = filters.iter().filter(|(_, since)| call.version >= *since);
    asked
        .filter_map(|(name, _)| Some((*name, call.ask.param(name)?.to_owned())))
        .collect()
}

fn tag_rules(call: &Call) -> Vec<(TagRule, Vec<String>)> {
    if call.version < 26 {
        return Vec::new();
    }
    let rules = [
        ("tags", TagRule::All),
        ("tags-any", TagRule::Any),
        ("not-tags", TagRule::NotAll),
        ("not-tags-any", TagRule::NotAny),
    ];
    let asked = rules.iter().filter_map(|(name, rule)| {
        let tags = call.ask.param(name)?.split(',').map(str::to_owned);
        Some((*rule, tags.collect()))
    });
    asked.collect()
}

fn tagged(server: &Server, rule: TagRule, tags: &[String]) -> bool {
    let has = |tag: &String| server.tags.contains(tag);
    match rule {
        TagRule::All => tags.iter().all(has),
        TagRule::Any => tags.iter().any(has),
        TagRule::NotAll => !tags.iter().all(has),
        TagRule::NotAny => !tags.iter().any(has),
    }
}

fn value(server: &Server, member: &str) -> String {
    match member {
        "flavor" => server.flavor.id.clone(),
        "image" => server.image.clone().unwrap_or_default(),
        "locked" => server.locked.to_string(),
        "availability_zone" => server.zone.clone(),
        "key_name" => server.key_name.clone().unwrap_or_default(),
        "vm_state" => show::states(server).0.to_owned(),
        "task_state" => show::task(server).unwrap_or_default().to_owned(),
        _ => show::states(server).1.to_string(),
    }
}

/// Deleted servers are listed only for those who ask what changed.
pub(super) fn listed(server: &Server, filter: &Filter) -> bool {
    match server.phase {
        Phase::Gone | Phase::Deleted => filter.since.is_some(),
        Phase::SoftDeleted => false,
        _ => true,
    }
}
