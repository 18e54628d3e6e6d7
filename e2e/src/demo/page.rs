//! How does the story look as a picture?
//!
//! One HTML file that needs nothing else: no script, no font, no network. Three charts share one time axis: pods that wait and
//! run, one bar per machine, and the price per hour of all of them.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::show::{each_hour, figures};
use super::story::{From, Pods, Story, What};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 180.0;
const RIGHT: f64 = 20.0;
const LANE: f64 = 26.0;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d2330; --faint: #6b7385; --line: #d9dde6; --paper: #fff; --wait: #e0a030; --run: #2f9e6e; --boot: #9bb8e8; --up: #3b6fd4; --cost: #b0417a }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --faint: #97a0b4; --line: #343b4c; --paper: #161a22; --boot: #3a5486; --up: #6c9bf5 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1rem; margin: 2rem 0 .4rem } p { color: var(--faint); margin: .3rem 0 }
svg { width: 100%; height: auto; display: block } text { font: 12px system-ui, sans-serif; fill: var(--faint) }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--faint); font-weight: 500 } td:first-child { white-space: nowrap } .axis { stroke: var(--line) } .key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 1em }
";

pub fn page(story: &Story) -> String {
    let axis = Axis::of(story);
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Joiner: pods in, machines out</title><style>{STYLE}</style></head><body>\
         <h1>Pods in, machines out</h1><p>What a run of <code>cargo xtask demo</code> saw: Kubernetes objects as the API server told of \
         them, servers from the emulated cloud's own change log.</p>"
    );
    section(&mut html, "Pods", PODS_KEY, &pods(story, &axis));
    section(&mut html, "Machines", MACHINES_KEY, &machines(story, &axis));
    section(
        &mut html,
        "Price per hour of all machines",
        COST_KEY,
        &cost(story, &axis),
    );
    html.push_str("<h2>Figures</h2><table>");
    for (label, value) in figures(story) {
        let _ = write!(
            html,
            "<tr><th>{label}</th><td>{}</td></tr>",
            escaped(&value)
        );
    }
    html.push_str("</table><h2>Why each claim was opened</h2><table><tr><th>claim</th><th>offering</th><th>why</th></tr>");
    for beat in story.beats() {
        if let What::ClaimOpened { offering, why } = &beat.what {
            let cells =
                [&beat.name, offering, why].map(|cell| format!("<td>{}</td>", escaped(cell)));
            let _ = write!(html, "<tr>{}</tr>", cells.concat());
        }
    }
    html.push_str("</table></body></html>\n");
    html
}

const PODS_KEY: &str = "<span class=key style='background:var(--wait)'></span>wait<span class=key style='background:var(--run)'></span>run";
const MACHINES_KEY: &str = "<span class=key style='background:var(--boot)'></span>boots<span class=key style='background:var(--up)'></span>is a Ready node";
const COST_KEY: &str = "<span class=key style='background:var(--cost)'></span>EUR per hour";

fn section(html: &mut String, title: &str, key: &str, chart: &str) {
    let _ = write!(html, "<h2>{title}</h2><p>{key}</p>{chart}");
}

/// Time from left to right.
struct Axis {
    start: Timestamp,
    seconds: f64,
}

impl Axis {
    fn of(story: &Story) -> Self {
        let start = story
            .beats()
            .first()
            .map_or(Timestamp::UNIX_EPOCH, |beat| beat.at);
        Self {
            start,
            seconds: story.length().as_secs_f64().max(1.0),
        }
    }

    fn x(&self, at: Timestamp) -> f64 {
        let share = at.duration_since(self.start).as_secs_f64() / self.seconds;
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    /// Opens a chart with its time marks.
    fn frame(&self, height: f64) -> String {
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=img>", height + 22.0);
        let every = [1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 300.0, 600.0];
        let every = every
            .into_iter()
            .find(|step| self.seconds / step <= 12.0)
            .unwrap_or(3600.0);
        let mut second = 0.0;
        while second <= self.seconds {
            let x = LEFT + second / self.seconds * (WIDTH - LEFT - RIGHT);
            let _ = write!(
                svg,
                "<line class=axis x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{height}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=middle>{second:.0} s</text>",
                height + 16.0
            );
            second += every;
        }
        svg
    }
}

fn pods(story: &Story, axis: &Axis) -> String {
    let steps = story.pods();
    let most = steps
        .iter()
        .map(|step| step.value.pending + step.value.running)
        .max();
    let most = most.unwrap_or(0).max(1);
    let height = 120.0;
    let up = |count: usize| {
        f64::from(u32::try_from(count).unwrap_or(u32::MAX)) * height
            / f64::from(u32::try_from(most).unwrap_or(u32::MAX))
    };
    let mut svg = axis.frame(height);
    let area = |of: fn(Pods) -> usize, colour: &str| {
        let steps: Vec<From<f64>> = steps
            .iter()
            .map(|step| From {
                at: step.at,
                value: up(of(step.value)),
            })
            .collect();
        stairs(
            &steps,
            axis,
            height,
            &format!("fill=\"var({colour})\" opacity=\".85\""),
        )
    };
    svg.push_str(&area(|pods| pods.pending + pods.running, "--wait"));
    svg.push_str(&area(|pods| pods.running, "--run"));
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"12\" text-anchor=end>{most} pods</text></svg>",
        LEFT - 8.0
    );
    svg
}

fn machines(story: &Story, axis: &Axis) -> String {
    let machines = story.machines();
    let lanes = f64::from(u32::try_from(machines.len().max(1)).unwrap_or(u32::MAX));
    let mut svg = axis.frame(LANE * lanes);
    let end = axis.start + jiff::SignedDuration::from_secs_f64(axis.seconds);
    let mut top = 4.0;
    for machine in machines {
        let gone = machine.gone.unwrap_or(end);
        let ready = machine.ready.unwrap_or(gone).min(gone);
        let title = format!(
            "{} {}{}",
            machine.name,
            machine.flavor,
            each_hour(machine.hourly)
        );
        let bar = |from: Timestamp, to: Timestamp, colour: &str| {
            let (from, to) = (axis.x(from), axis.x(to));
            format!(
                "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"18\" rx=\"3\" fill=\"var({colour})\"/>",
                (to - from).max(0.5)
            )
        };
        let _ = write!(
            svg,
            "<g><title>{}</title>{}{}<text x=\"{}\" y=\"{:.1}\" text-anchor=end>{}</text></g>",
            escaped(&title),
            bar(machine.created, ready, "--boot"),
            bar(ready, gone, "--up"),
            LEFT - 8.0,
            top + 13.0,
            escaped(&format!("{} {}", machine.name, machine.flavor))
        );
        top += LANE;
    }
    svg.push_str("</svg>");
    svg
}

fn cost(story: &Story, axis: &Axis) -> String {
    let steps = story.hourly();
    let most = steps
        .iter()
        .map(|step| step.value)
        .fold(0.0, f64::max)
        .max(0.001);
    let height = 90.0;
    let steps: Vec<From<f64>> = steps
        .iter()
        .map(|step| From {
            at: step.at,
            value: step.value / most * (height - 8.0),
        })
        .collect();
    let style =
        "fill=\"var(--cost)\" fill-opacity=\".25\" stroke=\"var(--cost)\" stroke-width=\"2\"";
    let chart = stairs(&steps, axis, height, style);
    format!(
        "{}{chart}<text x=\"{}\" y=\"12\" text-anchor=end>{most:.3}</text></svg>",
        axis.frame(height),
        LEFT - 8.0
    )
}

/// A line that jumps at each step and holds until the next.
fn stairs(steps: &[From<f64>], axis: &Axis, height: f64, style: &str) -> String {
    let mut path = format!("M{LEFT:.1} {height:.1}");
    for From { at, value } in steps {
        let _ = write!(path, " H{:.1} V{:.1}", axis.x(*at), height - value);
    }
    format!(
        "<path d=\"{path} H{:.1} V{height:.1} Z\" {style}/>",
        WIDTH - RIGHT
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::story::Beat;
    use super::*;

    #[test]
    fn names_from_the_cluster_cannot_break_out_of_the_page() {
        let beat = Beat {
            at: Timestamp::UNIX_EPOCH,
            name: "<script>".to_owned(),
            what: What::ServerCreated {
                flavor: "a\"b".to_owned(),
                hourly: None,
            },
        };
        let html = page(&Story::new(vec![beat]));
        assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"));
    }

    #[test]
    fn an_empty_story_is_still_a_page() {
        let html = page(&Story::default());
        assert!(html.ends_with("</html>\n"));
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
    }

    #[test]
    fn the_page_fetches_nothing() {
        let html = page(&Story::default());
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("src="));
    }
}
