//! How many reviews a second, how long does one take, and does memory come back?
//!
//! `cargo bench -p webhook --bench reviews [-- COUNT]`: starts the real binary on loopback, sends COUNT (100,000) conversion
//! and validation reviews over connections that are kept, then one review with 5,000 objects; prints rates, percentiles and
//! the memory of the process. Ends by itself and takes the process with it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/webhook/kit.rs"]
mod kit;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kit::{Authority, Folder, admission, client, conversion};
use serde_json::Value;

const AT_ONCE: usize = 16;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("run by `cargo bench` only: a test run must stay short");
        return;
    }
    let count = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(100_000);
    let folder = Folder::new();
    let authority = Authority::new("bench");
    folder.write(&authority.sign(2099));
    let webhook = Webhook::start(&folder);
    let client = client([&authority]).build().unwrap();

    let small = [
        (
            "/convert",
            Arc::new(conversion("00000000-0000-4000-8000-000000000001", 1).to_string()),
        ),
        (
            "/validate",
            Arc::new(admission("00000000-0000-4000-8000-000000000002").to_string()),
        ),
    ];
    // The first requests pay for connections and first-time work.
    storm(&client, &webhook.url, &small, 200).await;
    println!("start:    {}", webhook.memory());
    let begun = Instant::now();
    let mut times = storm(&client, &webhook.url, &small, count).await;
    let took = begun.elapsed();
    times.sort_unstable();
    #[allow(clippy::cast_precision_loss)]
    let rate = times.len() as f64 / took.as_secs_f64();
    println!(
        "reviews:  {} in {took:.1?}, {AT_ONCE} at once: {rate:.0}/s",
        times.len()
    );
    println!(
        "latency:  p50 {:?}, p99 {:?}, max {:?}",
        at(&times, 50),
        at(&times, 99),
        at(&times, 100)
    );
    println!("after:    {}", webhook.memory());

    one_list(&client, &webhook).await;
}

/// All objects of a LIST in one review, the largest thing an API server may send.
async fn one_list(client: &reqwest::Client, webhook: &Webhook) {
    let list = conversion("00000000-0000-4000-8000-000000000003", 5000).to_string();
    let size = list.len();
    let begun = Instant::now();
    let answer = client
        .post(format!("{}/convert", webhook.url))
        .header("content-type", "application/json")
        .body(list);
    let said: Value = answer.send().await.unwrap().json().await.unwrap();
    let verdict = &said["response"]["result"]["status"];
    println!(
        "list:     5000 objects, {size} bytes in {:?}: {verdict}",
        begun.elapsed()
    );
    println!("after:    {}", webhook.memory());
}

/// The time of every review, in microseconds.
async fn storm(
    client: &reqwest::Client,
    url: &str,
    reviews: &[(&'static str, Arc<String>); 2],
    count: usize,
) -> Vec<Duration> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, url, reviews, next) = (
            client.clone(),
            url.to_owned(),
            reviews.clone(),
            next.clone(),
        );
        senders.spawn(async move {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return times;
                }
                let (path, review) = &reviews[number % 2];
                let request = client
                    .post(format!("{url}{path}"))
                    .header("content-type", "application/json");
                let begun = Instant::now();
                let answer = request
                    .body(review.as_str().to_owned())
                    .send()
                    .await
                    .unwrap();
                assert_eq!(answer.status(), 200);
                answer.bytes().await.unwrap();
                times.push(begun.elapsed());
            }
        });
    }
    senders.join_all().await.concat()
}

fn at(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// The process under test; it does not outlive the bench.
struct Webhook {
    child: Child,
    url: String,
}

impl Webhook {
    fn start(folder: &Folder) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_joiner-webhook"))
            .env_clear()
            .args([
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "127.0.0.1:0",
                "--tls-cert",
            ])
            .arg(folder.files().certificate)
            .arg("--tls-key")
            .arg(folder.files().key)
            // A reviewer that is not there yet would write a line for every review.
            .args(["--log-level", "info,webhook::answer=off"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        // Whatever it says later must not fill the pipe.
        std::thread::spawn(move || stdout.lines().for_each(drop));
        let line: Value =
            serde_json::from_str(&line).expect("its first line says where it listens");
        Webhook {
            child,
            url: format!("https://{}", line["https"].as_str().unwrap()),
        }
    }

    fn memory(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .unwrap_or_default();
        let of = |field: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(field))
                .unwrap_or("? kB");
            line.trim_start_matches(':').trim().to_owned()
        };
        format!("memory {}, peak {}", of("VmRSS"), of("VmHWM"))
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
