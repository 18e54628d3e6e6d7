//! What does `kubectl get` show? Tables with the columns people expect.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::ask::Ask;
use super::object::Object;
use super::paths::{at, json_path, list, text};
use super::view;

struct Column {
    name: String,
    kind: String,
    priority: i64,
    path: String,
}

/// Columns of kinds for which a path is enough: (kind, "Name=path Name=path"), `@` for an age, `_` for a blank.
#[rustfmt::skip]
const PLAIN: &[(&str, &str)] = &[
    ("namespaces", "Status=.status.phase Age=@"),
    ("services", "Type=.spec.type Cluster-IP=.spec.clusterIP Age=@"),
    ("secrets", "Type=.type Age=@"),
    ("events", "Last_Seen=@.lastTimestamp Type=.type Reason=.reason Object=.involvedObject.name Message=.message"),
    ("persistentvolumeclaims", "Status=.status.phase Volume=.spec.volumeName StorageClass=.spec.storageClassName Age=@"),
    ("persistentvolumes", "Capacity=.spec.capacity.storage Status=.status.phase Claim=.spec.claimRef.name StorageClass=.spec.storageClassName Age=@"),
    ("deployments.apps", "Up-to-date=.status.updatedReplicas Available=.status.availableReplicas Age=@"),
    ("replicasets.apps", "Desired=.spec.replicas Current=.status.replicas Ready=.status.readyReplicas Age=@"),
    ("daemonsets.apps", "Desired=.status.desiredNumberScheduled Current=.status.currentNumberScheduled Ready=.status.numberReady Up-to-date=.status.updatedNumberScheduled Available=.status.numberAvailable Age=@"),
    ("jobs.batch", "Status=.status.conditions[0].type Completions=.status.succeeded Age=@"),
    ("poddisruptionbudgets.policy", "Min_Available=.spec.minAvailable Max_Unavailable=.spec.maxUnavailable Allowed_Disruptions=.status.disruptionsAllowed Age=@"),
    ("leases.coordination.k8s.io", "Holder=.spec.holderIdentity Age=@"),
    ("storageclasses.storage.k8s.io", "Provisioner=.provisioner ReclaimPolicy=.reclaimPolicy VolumeBindingMode=.volumeBindingMode Age=@"),
    ("priorityclasses.scheduling.k8s.io", "Value=.value Global-Default=.globalDefault Age=@"),
    ("customresourcedefinitions.apiextensions.k8s.io", "Created_At=.metadata.creationTimestamp"),
    ("clusterrolebindings.rbac.authorization.k8s.io", "Role=.roleRef.name Age=@"),
    ("rolebindings.rbac.authorization.k8s.io", "Role=.roleRef.name Age=@"),
];

pub(super) fn table(ask: &Ask, rows: Vec<Value>, with_head: bool, meta: &Value) -> Value {
    let columns = if with_head { head(ask) } else { Vec::new() };
    let mut table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "columnDefinitions": columns});
    table["rows"] = Value::Array(rows);
    table
}

pub(super) fn row(ask: &Ask, object: &Object, now: Timestamp) -> Value {
    let value = view::value(&whole(ask), object);
    let mut cells = vec![Value::from(object.name())];
    cells.extend(special(ask, &value, now).into_iter().map(|(_, cell)| cell));
    cells.extend(columns(ask).iter().map(|column| cell(&value, column, now)));
    let shown = match ask.query.get("includeObject") {
        "None" => Value::Null,
        "Object" => value,
        _ => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"]})
        }
    };
    json!({"cells": cells, "object": shown})
}

fn head(ask: &Ask) -> Vec<Value> {
    let define = |name: &str, kind: &str, format: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority});
    let mut all = vec![define("Name", "string", "name", 0)];
    for (name, _) in special(ask, &Value::Null, Timestamp::UNIX_EPOCH) {
        let wide = i64::from(matches!(name, "IP" | "Node"));
        all.push(define(name, "string", "", wide));
    }
    for column in columns(ask) {
        let kind = match column.kind.as_str() {
            "date" => "string",
            kind => kind,
        };
        all.push(define(&column.name, kind, "", column.priority));
    }
    all
}

fn columns(ask: &Ask) -> Vec<Column> {
    let column = |name: &str, kind: &str, path: &str| Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        priority: 0,
        path: path.to_owned(),
    };
    if let Some(custom) = ask.kind.custom.get(&ask.version) {
        let own = list(&custom.columns).iter().map(|wish| Column {
            name: text(wish, "name").to_owned(),
            kind: text(wish, "type").to_owned(),
            priority: wish["priority"].as_i64().unwrap_or(0),
            path: text(wish, "jsonPath").to_owned(),
        });
        let own: Vec<Column> = own.collect();
        if !own.is_empty() {
            return own;
        }
    }
    if matches!(ask.stored.id.as_str(), "pods" | "nodes") {
        return Vec::new();
    }
    let row = PLAIN.iter().find(|(id, _)| *id == ask.stored.id);
    let words = row.map_or("Age=@", |(_, words)| *words).split(' ');
    let words = words.filter_map(|word| word.split_once('='));
    words
        .map(|(name, path)| match path.strip_prefix('@') {
            Some("") => column(name, "date", ".metadata.creationTimestamp"),
            Some(path) => column(&name.replace('_', " "), "date", path),
            None => column(&name.replace('_', " "), "string", path),
        })
        .collect()
}

/// Cells that are more than a path.
fn special(ask: &Ask, value: &Value, now: Timestamp) -> Vec<(&'static str, Value)> {
    match ask.stored.id.as_str() {
        "pods" => pod(value, now),
        "nodes" => node(value, now),
        "deployments.apps" => {
            let ready = value["status"]["readyReplicas"].as_i64().unwrap_or(0);
            let wanted = value["spec"]["replicas"].as_i64().unwrap_or(1);
            vec![("Ready", format!("{ready}/{wanted}").into())]
        }
        "configmaps" => {
            let count = |member: &str| value[member].as_object().map_or(0, serde_json::Map::len);
            vec![("Data", (count("data") + count("binaryData")).into())]
        }
        _ => Vec::new(),
    }
}

fn pod(value: &Value, now: Timestamp) -> Vec<(&'static str, Value)> {
    let containers = list(&value["spec"]["containers"]).len();
    let statuses = list(&value["status"]["containerStatuses"]);
    let ready = statuses
        .iter()
        .filter(|status| status["ready"] == true)
        .count();
    let restarts: i64 = statuses
        .iter()
        .filter_map(|status| status["restartCount"].as_i64())
        .sum();
    let status = if value["metadata"]["deletionTimestamp"].is_string() {
        "Terminating"
    } else if !text(&value["status"], "reason").is_empty() {
        text(&value["status"], "reason")
    } else {
        text(&value["status"], "phase")
    };
    vec![
        ("Ready", format!("{ready}/{containers}").into()),
        ("Status", status.into()),
        ("Restarts", restarts.into()),
        (
            "Age",
            age(text(&value["metadata"], "creationTimestamp"), now).into(),
        ),
        ("IP", or_none(text(&value["status"], "podIP"))),
        ("Node", or_none(text(&value["spec"], "nodeName"))),
    ]
}

fn node(value: &Value, now: Timestamp) -> Vec<(&'static str, Value)> {
    let ready = list(&value["status"]["conditions"])
        .iter()
        .find(|condition| condition["type"] == "Ready");
    let mut status = match ready.map(|condition| text(condition, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if value["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let labels = value["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flatten();
    let roles: Vec<&str> = labels
        .filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"))
        .collect();
    vec![
        ("Status", status.into()),
        ("Roles", or_none(&roles.join(","))),
        (
            "Age",
            age(text(&value["metadata"], "creationTimestamp"), now).into(),
        ),
        (
            "Version",
            text(at(value, &["status", "nodeInfo"]), "kubeletVersion").into(),
        ),
    ]
}

fn cell(value: &Value, column: &Column, now: Timestamp) -> Value {
    let found = json_path(value, &column.path);
    match (column.kind.as_str(), found) {
        ("date", Some(Value::String(at))) => age(at, now).into(),
        ("string", Some(Value::Object(_) | Value::Array(_))) => found.map(Value::to_string).into(),
        ("string", Some(Value::Number(number))) => number.to_string().into(),
        ("string", Some(Value::Bool(yes))) => yes.to_string().into(),
        (_, Some(found)) => found.clone(),
        ("date", None) => "<unknown>".into(),
        (_, None) => Value::Null,
    }
}

/// `5s`, `3m10s`, `2h`, `9d`: as people read ages.
fn age(since: &str, now: Timestamp) -> String {
    let Ok(since) = since.parse::<Timestamp>() else {
        return "<unknown>".to_owned();
    };
    let seconds = now.duration_since(since).as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let both = |big: i64, name: char, small: i64, other: char| {
        if small == 0 {
            format!("{big}{name}")
        } else {
            format!("{big}{name}{small}{other}")
        }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => both(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => both(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => both(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}

fn or_none(text: &str) -> Value {
    if text.is_empty() {
        "<none>".into()
    } else {
        text.into()
    }
}

fn whole(ask: &Ask) -> Ask {
    Ask {
        metadata_only: false,
        ..ask.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let ages = [
            ("2026-01-09T23:59:30Z", "30s"),
            ("2026-01-09T23:57:00Z", "3m"),
            ("2026-01-09T23:56:50Z", "3m10s"),
            ("2026-01-09T20:30:00Z", "3h30m"),
            ("2026-01-01T00:00:00Z", "9d"),
            ("2027-01-01T00:00:00Z", "0s"),
            ("x", "<unknown>"),
        ];
        for (since, shown) in ages {
            assert_eq!(age(since, now), shown);
        }
    }
}
