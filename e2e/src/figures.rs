//! What do measured ways from a pod to a create call amount to?

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::Value;

/// The legs of one pod's way, in order.
pub const LEGS: [&str; 6] = [
    "scheduler's verdict, and our watch",
    "batch window, mirror caught up, freeze",
    "plan",
    "claim written",
    "claim read, ledger written, find, token",
    "create call on the wire",
];

/// The moments between the legs, in milliseconds since the pod was asked for.
pub type Way = [f64; LEGS.len()];

/// What the operator logged between the creation of pods and their create calls; the k-th claim and the k-th call count as the
/// k-th pod's. Ways of which a line is missing are left out.
pub fn ways(log: &str, asked: &[Timestamp], called: &[Timestamp]) -> Vec<Way> {
    let (Some(begin), Some(end)) = (asked.first(), called.last()) else {
        return Vec::new();
    };
    let lines: Vec<(Timestamp, Value)> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|line: Value| Some((time(&line, "time")?, line)))
        .filter(|(at, _)| at >= begin && at <= end)
        .collect();
    let said = |message: &'static str| {
        lines
            .iter()
            .filter(move |line| line.1["message"] == message)
    };
    let last = |message, until: Timestamp| said(message).rfind(|line| line.0 <= until);
    let claims = said("created nodeclaim").zip(said("launching"));
    let pods = asked.iter().zip(called).zip(claims);
    pods.filter_map(|((asked, called), (created, launching))| {
        let found = last("found provisionable pod(s)", created.0)?;
        let computed = last("computed new nodeclaim(s) to fit pod(s)", created.0)?;
        let moments = [
            time(&found.1, "first")?,
            found.0,
            computed.0,
            created.0,
            launching.0,
            *called,
        ];
        Some(moments.map(|at| at.duration_since(*asked).as_secs_f64() * 1000.0))
    })
    .collect()
}

fn time(line: &Value, field: &str) -> Option<Timestamp> {
    line[field].as_str()?.parse().ok()
}

/// The smallest value that so many percent of all do not exceed.
pub fn percentile(all: &[f64], percent: u32) -> f64 {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent as usize).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// One row per kind of arrival.
pub fn table(rows: &[(&str, Vec<f64>)]) -> String {
    let mut text = format!(
        "{:<42}{:>6}{:>10}{:>10}{:>10}\n",
        "milliseconds", "pods", "p50", "p99", "worst"
    );
    for (what, all) in rows {
        let figure = |percent| percentile(all, percent);
        let _ = writeln!(
            text,
            "{what:<42}{:>6}{:>10.1}{:>10.1}{:>10.1}",
            all.len(),
            figure(50),
            figure(99),
            figure(100)
        );
    }
    text
}

/// What the time consists of.
pub fn legs(ways: &[Way]) -> String {
    let mut rows = Vec::new();
    for (at, name) in LEGS.iter().enumerate() {
        let leg = |way: &Way| way[at] - at.checked_sub(1).map_or(0.0, |before| way[before]);
        rows.push((*name, ways.iter().map(leg).collect()));
    }
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let all: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let shown = [50, 99, 100].map(|percent| percentile(&all, percent).to_string());
        assert_eq!(shown, ["10", "20", "20"]);
        assert!(percentile(&[], 50).is_nan());
    }

    #[test]
    fn the_way_of_a_pod_is_read_from_the_log_of_the_plan_that_opened_its_claim() {
        let log = r#"
{"time":"1970-01-01T00:00:01.000Z","message":"created nodeclaim"}
{"time":"1970-01-01T00:00:10.110Z","message":"found provisionable pod(s)","first":"1970-01-01T00:00:10.010Z"}
{"time":"1970-01-01T00:00:10.111Z","message":"computed new nodeclaim(s) to fit pod(s)"}
{"time":"1970-01-01T00:00:10.115Z","message":"created nodeclaim"}
{"time":"1970-01-01T00:00:10.117Z","message":"found provisionable pod(s)","first":"1970-01-01T00:00:10.116Z"}
not json
{"time":"1970-01-01T00:00:10.130Z","message":"launching"}"#;
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let found = ways(log, &[at(10_000)], &[at(10_131)]);
        let whole: Vec<_> = found.iter().map(|way| way.map(f64::round)).collect();
        assert_eq!(whole, [[10.0, 110.0, 111.0, 115.0, 130.0, 131.0]]);
        assert!(ways(log, &[at(11_000)], &[at(12_000)]).is_empty());
    }

    #[test]
    fn the_legs_of_a_way_add_up_to_it() {
        let text = legs(&[[10.0, 110.0, 111.0, 115.0, 130.0, 131.0]]);
        let medians = text.lines().skip(1).map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            words[words.len() - 3].parse::<f64>().unwrap()
        });
        assert!((medians.sum::<f64>() - 131.0).abs() < 0.1, "{text}");
    }
}
