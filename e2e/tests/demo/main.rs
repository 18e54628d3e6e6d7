//! Does the demo's picture show something in a real browser?
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
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

#[test]
fn the_picture_shows_charts_in_a_real_browser() -> Result<()> {
    let Some(browser) = browser() else {
        println!("not looked at: there is no Chromium on this machine");
        return Ok(());
    };
    let scratch = Scratch::new()?;
    let (full, blank) = (scratch.path().join("full"), scratch.path().join("blank"));
    std::fs::write(full.with_extension("html"), page(&story()))?;
    std::fs::write(blank.with_extension("html"), page(&Story::default()))?;
    let (full, blank) = (photograph(browser, &full)?, photograph(browser, &blank)?);
    // Bars, areas and names take more bytes than bare axes.
    ensure!(
        full.len() * 10 > blank.len() * 13,
        "{} bytes against {} of an empty page",
        full.len(),
        blank.len()
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
fn photograph(browser: &str, page: &Path) -> Result<Vec<u8>> {
    let picture = page.with_extension("png");
    let mut said = String::new();
    for attempt in ["first", "second"] {
        let profile = page.with_extension(attempt);
        let ended = Command::new("timeout")
            .args([
                "--kill-after=5",
                "60",
                browser,
                "--headless",
                "--no-sandbox",
            ])
            .args(["--disable-gpu", "--no-first-run", "--window-size=1040,1300"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--screenshot={}", picture.display()))
            .arg(format!("file://{}", page.with_extension("html").display()))
            .output()?;
        said = String::from_utf8_lossy(&ended.stderr).into_owned();
        if picture.exists() {
            break;
        }
    }
    let shot = std::fs::read(&picture).with_context(|| format!("no picture: {said}"))?;
    ensure!(shot.starts_with(b"\x89PNG"), "not a PNG");
    Ok(shot)
}
