//! What does a person want to see of a plan?
//!
//! First the sum, then what is bought and what fills it, then what fits already, then who gets nothing and what would help.
//! Claims that are alike share a line.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::report::{Claim, Placement, Plan, Refusal};

/// Names shown before "and n more".
const SHOWN: usize = 4;

pub(super) fn table(plan: &Plan, currency: Option<&str>) -> String {
    let mut text = headline(plan, currency);
    for part in [
        claims(&plan.claims, currency),
        placements(&plan.placements),
        refusals(&plan.refusals),
        timing(plan),
    ] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    text
}

fn headline(plan: &Plan, currency: Option<&str>) -> String {
    let totals = &plan.totals;
    let mut parts = Vec::new();
    if totals.on_existing > 0 {
        parts.push(format!("{} fit what is there", totals.on_existing));
    }
    if totals.claims > 0 {
        let unknown = if totals.unpriced > 0 { "≥ " } else { "" };
        parts.push(format!(
            "{} on {} for {unknown}{} an hour",
            totals.placed.saturating_sub(totals.on_existing),
            counted(totals.claims, "new node"),
            money(totals.price_per_hour, currency),
        ));
    }
    if totals.refused > 0 {
        parts.push(format!("{} refused", totals.refused));
    }
    if parts.is_empty() {
        return "No pod waits for a place.\n".to_owned();
    }
    format!("{}: {}\n", counted(totals.pods, "pod"), parts.join(", "))
}

fn claims(claims: &[Claim], currency: Option<&str>) -> String {
    let mut groups: BTreeMap<Vec<String>, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        groups
            .entry(columns(claim, currency))
            .or_default()
            .push(claim);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|a, b| a.1[0].name.cmp(&b.1[0].name));
    let mut rows = vec![
        [
            "NEW NODES",
            "POOL",
            "TYPE",
            "ZONE",
            "CAPACITY",
            "PRICE/H",
            "REQUESTS",
            "FILLED BY",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for (columns, alike) in groups {
        let mut row = vec![format!("{} ×", alike.len())];
        row.extend(columns);
        rows.push(row);
    }
    aligned(&rows)
}

fn columns(claim: &Claim, currency: Option<&str>) -> Vec<String> {
    let (kind, zone, capacity, price) = match &claim.cheapest {
        Some(first) => (
            first.instance_type.as_str(),
            first.zone.as_str(),
            first.capacity_type.as_str(),
            first.price,
        ),
        None => ("?", "?", "?", None),
    };
    let requests = ["cpu", "memory"]
        .iter()
        .filter_map(|name| Some(format!("{name} {}", rounded(claim.requests.get(*name)?))));
    vec![
        claim.pool.clone(),
        others(kind, claim.instance_types.len()),
        zone.to_owned(),
        capacity.to_owned(),
        price.map_or("unknown".to_owned(), |price| money(price, currency)),
        requests.collect::<Vec<_>>().join(", "),
        by_workload(claim.pods.iter().map(String::as_str)),
    ]
}

/// Up to whole mebibytes, where there are any: nobody reads 704857600 or 2446150Ki.
fn rounded(quantity: &str) -> String {
    let bytes = match quantity.strip_suffix("Ki") {
        Some(kibibytes) => kibibytes
            .parse::<u64>()
            .ok()
            .and_then(|one| one.checked_mul(1 << 10)),
        None => quantity.parse().ok(),
    };
    match bytes {
        Some(bytes) if bytes >= 1 << 20 => format!("{}Mi", bytes.div_ceil(1 << 20)),
        _ => quantity.to_owned(),
    }
}

fn others(kind: &str, types: usize) -> String {
    match types {
        0 | 1 => kind.to_owned(),
        2 => format!("{kind} (or 1 other)"),
        more => format!("{kind} (or {} others)", more - 1),
    }
}

fn placements(placements: &[Placement]) -> String {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for placement in placements {
        let place = match (&placement.node, &placement.claim) {
            (Some(node), _) => node.clone(),
            (None, Some(claim)) => format!("{claim} (on its way)"),
            (None, None) => continue,
        };
        places.entry(place).or_default().push(&placement.pod);
    }
    let more = places.len().saturating_sub(20);
    let mut rows = vec![["EXISTING NODES", "GETS"].map(str::to_owned).to_vec()];
    for (place, pods) in places.into_iter().take(20) {
        rows.push(vec![place, by_workload(pods.into_iter())]);
    }
    if more > 0 {
        rows.push(vec![
            format!("and {} more", counted(more, "node")),
            String::new(),
        ]);
    }
    aligned(&rows)
}

/// Pods with the same reasons are told once.
fn refusals(refusals: &[Refusal]) -> String {
    let mut groups: Vec<(&Refusal, Vec<&str>)> = Vec::new();
    for refusal in refusals {
        match groups
            .iter_mut()
            .find(|(first, _)| first.why == refusal.why)
        {
            Some((_, pods)) => pods.push(&refusal.pod),
            None => groups.push((refusal, vec![&refusal.pod])),
        }
    }
    let mut text = String::new();
    for (first, pods) in groups {
        let heading = if text.is_empty() { "REFUSED\n" } else { "" };
        let _ = writeln!(text, "{heading}{}", by_workload(pods.into_iter()));
        for why in &first.why {
            let _ = writeln!(text, "  {}: {}", why.reason, why.message);
            if !why.fix.is_empty() && why.fix != why.message {
                let _ = writeln!(text, "    to fix: {}", why.fix);
            }
        }
    }
    text
}

fn timing(plan: &Plan) -> String {
    let Some(timing) = &plan.timing else {
        return String::new();
    };
    let solves: Vec<String> = timing
        .solve_ms
        .iter()
        .map(|ms| format!("{ms:.1}"))
        .collect();
    format!(
        "read in {:.1} ms, solved in {} ms ({} steps), at most {} MiB of memory\n",
        timing.read_ms,
        solves.join(", "),
        timing.steps,
        timing.peak_rss_kib / 1024
    )
}

/// `default/web ×3, default/db-0`: pods of one workload are one word.
fn by_workload<'a>(pods: impl Iterator<Item = &'a str>) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for pod in pods {
        groups.entry(workload(pod)).or_default().push(pod);
    }
    let more = groups.len().saturating_sub(SHOWN);
    let one = |(workload, pods): (&str, Vec<&str>)| match pods.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("{workload} ×{}", several.len()),
    };
    let mut words: Vec<String> = groups.into_iter().take(SHOWN).map(one).collect();
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

/// The pod's name without what its controller appended.
fn workload(pod: &str) -> &str {
    let Some((rest, last)) = pod.rsplit_once('-') else {
        return pod;
    };
    let ordinal = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let random = last.len() == 5 && last.bytes().all(is_random);
    match rest.rsplit_once('-') {
        Some((name, hash)) if random && is_hash(hash) => name,
        _ if ordinal || random => rest,
        _ => pod,
    }
}

fn is_hash(text: &str) -> bool {
    (6..=10).contains(&text.len()) && text.bytes().all(is_random)
}

/// Kubernetes leaves vowels out of random names, so that they say nothing.
fn is_random(byte: u8) -> bool {
    byte.is_ascii_digit() || (byte.is_ascii_lowercase() && !b"aeiou".contains(&byte))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn money(price: f64, currency: Option<&str>) -> String {
    let shown = format!("{price:.4}");
    currency.map_or(shown.clone(), |currency| format!("{shown} {currency}"))
}

/// Columns as wide as their widest entry; nothing if there is only the heading.
fn aligned(rows: &[Vec<String>]) -> String {
    if rows.len() < 2 {
        return String::new();
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("default/web-7d4b9c6f5d-x2x4z", "default/web")]
    #[case("default/db-0", "default/db")]
    #[case("default/job-zzb5k", "default/job")]
    #[case("default/my-app", "default/my-app")]
    #[case("default/lonely", "default/lonely")]
    fn pods_of_one_workload_are_one_word(#[case] pod: &str, #[case] expected: &str) {
        assert_eq!(workload(pod), expected);
    }

    #[rstest]
    #[case("704857600", "673Mi")]
    #[case("2446150Ki", "2389Mi")]
    #[case("7296Mi", "7296Mi")]
    #[case("1023Ki", "1023Ki")]
    #[case("3", "3")]
    #[case("1500m", "1500m")]
    #[case("99999999999999999999Ki", "99999999999999999999Ki")]
    fn quantities_are_rounded_up_to_what_people_read(#[case] quantity: &str, #[case] shown: &str) {
        assert_eq!(rounded(quantity), shown);
    }

    #[rstest]
    #[case(1, "a")]
    #[case(2, "a (or 1 other)")]
    #[case(3, "a (or 2 others)")]
    fn other_types_are_counted(#[case] types: usize, #[case] shown: &str) {
        assert_eq!(others("a", types), shown);
    }

    #[test]
    fn columns_line_up_and_lines_end_without_blanks() {
        let rows = [
            vec!["A".into(), "B".into()],
            vec!["long".into(), "é".into()],
        ];
        assert_eq!(aligned(&rows), "A     B\nlong  é\n");
        assert_eq!(aligned(&rows[..1]), "");
    }
}
