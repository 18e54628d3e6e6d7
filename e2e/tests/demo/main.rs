//! Does the demo's picture show something in a real browser?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use e2e::Scratch;
use e2e::demo::page::page;
use e2e::demo::story::{Beat, Story, What};
use jiff::{SignedDuration, Timestamp};

/// A small story with every kind of beat.
fn story() -> Story {
    let start = Timestamp::UNIX_EPOCH;
    let beat = |second: i64, name: &str, what: What| Beat {
        at: start + SignedDuration::from_secs(second),
        name: name.to_owned(),
        what,
    };
    let (flavor, node) = ("m1.large".to_owned(), "general-a".to_owned());
    let bought = What::ServerCreated {
        flavor,
        hourly: Some(0.05),
    };
    let opened = What::ClaimOpened {
        offering: "m1.large/az-a/on-demand".to_owned(),
        why: "two pods".to_owned(),
    };
    Story::new(vec![
        beat(0, "one", What::PodPending),
        beat(0, "two", What::PodPending),
        beat(1, "general-a", opened),
        beat(1, "general-a", bought),
        beat(4, "general-a", What::NodeReady),
        beat(5, "one", What::PodRunning { node: node.clone() }),
        beat(6, "two", What::PodRunning { node }),
        beat(9, "one", What::PodGone),
        beat(9, "two", What::PodGone),
        beat(12, "general-a", What::ServerGone),
    ])
}

/// Asks the browser where it drew each mark, in what colour, and whether inside its chart: a line per mark at the page's end.
const SURVEY: &str = "<pre id=survey hidden></pre><script>
const lines = [...document.querySelectorAll('svg rect, svg path, svg text')].map(mark => {
  const box = mark.getBoundingClientRect(), chart = mark.closest('svg').getBoundingClientRect();
  const inside = box.left >= chart.left - 1 && box.right <= chart.right + 1 && box.top >= chart.top - 1 && box.bottom <= chart.bottom + 1;
  return [mark.tagName, Math.round(box.width), Math.round(box.height), inside, getComputedStyle(mark).fill].join('|');
});
document.getElementById('survey').textContent = lines.join('\\n');
</script>";

#[derive(Debug)]
struct Mark {
    kind: String,
    width: f64,
    height: f64,
    inside: bool,
    fill: String,
}

#[test]
fn the_picture_shows_charts_in_a_real_browser() -> Result<()> {
    let Some(browser) = browser() else {
        println!("not looked at: there is no Chromium on this machine");
        return Ok(());
    };
    let scratch = Scratch::new()?;
    let drawn = survey(browser, &scratch.path().join("full.html"), &story())?;
    let outside: Vec<&Mark> = drawn.iter().filter(|mark| !mark.inside).collect();
    ensure!(outside.is_empty(), "outside their chart: {outside:?}");
    let seen = |kind: &str, least: f64| {
        let large = |mark: &&Mark| mark.kind == kind && mark.width > least && mark.height > 10.0;
        drawn.iter().filter(large).count()
    };
    ensure!(seen("rect", 50.0) == 2, "a boot and a life: {drawn:?}");
    ensure!(
        seen("path", 500.0) == 3,
        "pods twice and the price: {drawn:?}"
    );
    let colours: BTreeSet<&str> = (drawn.iter().filter(|mark| mark.kind != "text"))
        .map(|mark| mark.fill.as_str())
        .collect();
    ensure!(colours.len() == 5, "each thing has its colour: {colours:?}");

    let empty = survey(
        browser,
        &scratch.path().join("blank.html"),
        &Story::default(),
    )?;
    let tall = |mark: &&Mark| mark.kind != "text" && mark.height > 3.0;
    let tall: Vec<&Mark> = empty.iter().filter(tall).collect();
    ensure!(tall.is_empty(), "an empty story draws {tall:?}");
    Ok(())
}

fn survey(browser: &str, file: &Path, story: &Story) -> Result<Vec<Mark>> {
    let html = page(story).replace("</body>", &format!("{SURVEY}</body>"));
    std::fs::write(file, html)?;
    photograph(browser, file)?;
    let dom = ask(browser, file, "--dump-dom")?;
    let lines = dom.split("<pre id=\"survey\" hidden=\"\">").nth(1);
    let lines = lines.and_then(|rest| rest.split("</pre>").next());
    let lines = lines.with_context(|| format!("no survey in {dom}"))?;
    lines.lines().map(mark).collect()
}

fn mark(line: &str) -> Result<Mark> {
    let words: Vec<&str> = line.split('|').collect();
    let [kind, width, height, inside, fill] = words[..] else {
        bail!("not a mark: {line}");
    };
    Ok(Mark {
        kind: kind.to_owned(),
        width: width.parse()?,
        height: height.parse()?,
        inside: inside == "true",
        fill: fill.to_owned(),
    })
}

/// The page as people see it; left where `cargo test` keeps its scrap, for whoever wants to look.
fn photograph(browser: &str, file: &Path) -> Result<()> {
    let name = file.with_extension("png");
    let name = name.file_name().context("a page has a name")?;
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    ask(
        browser,
        file,
        &format!("--screenshot={}", picture.display()),
    )?;
    ensure!(
        std::fs::read(&picture)?.starts_with(b"\x89PNG"),
        "not a PNG"
    );
    Ok(())
}

fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            let asked = Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            asked.is_ok_and(|status| status.success())
        })
}

/// A browser on a busy machine may hang for ever; it gets a minute, twice.
fn ask(browser: &str, page: &Path, what: &str) -> Result<String> {
    let mut said = String::new();
    for attempt in ["first", "second"] {
        let ended = Command::new("timeout")
            .args([
                "--kill-after=5",
                "60",
                browser,
                "--headless",
                "--no-sandbox",
            ])
            .args(["--disable-gpu", "--no-first-run", "--window-size=1040,1300"])
            .arg(format!(
                "--user-data-dir={}",
                page.with_extension(attempt).display()
            ))
            .arg(what)
            .arg(format!("file://{}", page.display()))
            .output()?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
        }
        said = String::from_utf8_lossy(&ended.stderr).into_owned();
    }
    bail!("the browser did not answer {what}: {said}")
}
